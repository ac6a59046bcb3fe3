"""The first guess of variables: a factor analysis, against the Gaussian it stands for and numbers it made."""

import numpy as np
import pytest
import torch

from nadek.models import IterativeNADE, ModelConfig
from nadek.models.first_guess import LEAST_VARIANCE, TRUST, Evidence, FactorAnalysis, eliminated
from nadek.training import AdamW, Phase, Recipe, Rows, TrainingConfig
from nadek.training.fit_factors import factor_analysis, fit_factors
from nadek.training.table_training import fit_table

LEVELS, ORDINAL = (5, 2, 4, 3, 6), (0, 2, 4)


def network_of(analysis, levels=LEVELS, ordinal=ORDINAL, **options):
    rank = analysis.loadings.shape[1]
    config = ModelConfig(n_variables=len(levels), levels=levels, ordinal=ordinal, factors=rank, **options)
    network = IterativeNADE(config).double()
    network.first_guess.begin(analysis, network.variables)
    return network


def drawn_analysis(n_features, rank):
    generator = torch.Generator().manual_seed(3)
    normal = torch.randn(n_features, rank + 2, generator=generator, dtype=torch.float64)
    return FactorAnalysis(normal[:, 0], normal[:, 2:], 0.2 + normal[:, 1] ** 2)


def test_logits_are_those_of_the_conditional_gaussian():
    analysis = drawn_analysis(6, 2)  # features: one each, but for two of the variable of three levels
    network = network_of(analysis)
    x = torch.tensor([[4, 1, 3, 2, 0]], dtype=torch.float64)
    features = np.array([4, 1, 3, 0, 1, 0])  # codes; the level 2 of three
    owner = np.array([0, 1, 2, 3, 3, 4])
    covariance = (analysis.loadings @ analysis.loadings.T + torch.diag(analysis.noise)).numpy()
    mean = analysis.mean.numpy()

    def moments(seen, place):
        s = np.flatnonzero(seen)
        weights = np.linalg.solve(covariance[np.ix_(s, s)], covariance[s, place]) if len(s) else np.zeros(0)
        return mean[place] + weights @ (features - mean)[s], covariance[place, place] - weights @ covariance[s, place]

    def gaussian(seen, place, levels):
        centre, variance = moments(seen, place)
        sharpness = TRUST / (variance + LEAST_VARIANCE) + (1 - TRUST) / (covariance[place, place] + LEAST_VARIANCE)
        return -0.5 * sharpness * (levels - centre) ** 2

    for missing in ([True, False, False, False, False], [True, True, False, True, True], [True] * 5):
        missing = np.array(missing)
        columns = network.variables.encode(x).double() * ~network.variables.expand(torch.from_numpy(missing))
        guess = network.first_guess(columns, torch.from_numpy(missing).unsqueeze(0))[0].numpy()
        levels = np.arange(5)
        expected = gaussian(~missing[owner], 0, levels) - gaussian(np.zeros(6, bool), 0, levels)
        np.testing.assert_allclose(guess[:5] - guess[0], expected - expected[0], atol=1e-12)
        assert (guess[[5, 10, 11, 12]] == 0).all()  # of variables without an order


def test_logit_of_a_binary_variable_is_the_linear_discriminant(monkeypatch):
    """Of two classes that differ by their means, where x given the class is Gaussian; but for the constant."""
    monkeypatch.setattr("nadek.models.first_guess.LEAST_VARIANCE", 0.0)
    share = 0.3
    difference, spread = torch.tensor([[1.5, -0.5], [0.7, 1.3]], dtype=torch.float64)
    # a common factor for the class; x beside it is a multiple of the class, and noise of its own
    deviation = (share * (1 - share)) ** 0.5
    loadings = torch.cat([torch.ones(1).double(), difference]).unsqueeze(1) * deviation
    mean = torch.cat([torch.tensor([share], dtype=torch.float64), 2 + share * difference])
    noise = torch.cat([torch.tensor([1e-9], dtype=torch.float64), spread])
    network = network_of(FactorAnalysis(mean, loadings, noise), (2, 7, 5), (1, 2), category_trust=1.0)
    rows = torch.tensor([[0, 0, 0], [0, 6, 4], [0, 3, 1]], dtype=torch.float64)
    missing = torch.tensor([[True, False, False]]).expand(3, -1)
    columns = network.variables.encode(rows).double() * ~network.variables.expand(missing)
    guess = network.first_guess(columns, missing)[:, 0]
    discriminant = (rows[:, 1:] - 2 - difference / 2) @ (difference / spread)
    torch.testing.assert_close(guess, discriminant, atol=1e-6, rtol=1e-6)


def test_guess_of_categories_is_that_of_frequencies_to_first_order():
    """A little evidence moves the probability of each level as it moves the mean of its column."""
    analysis = drawn_analysis(6, 1)
    shares = torch.tensor([0.5, 0.3], dtype=torch.float64)  # of the levels 1 and 2; 0.2 are at level 0
    mean, loadings, noise = (part.clone() for part in analysis)
    mean[3:5], noise[3:5] = shares, 0.9 * shares * (1 - shares)  # and 0.1 of it by `LEAST_VARIANCE`
    loadings[3:5] = torch.tensor([[1e-6], [-3e-6]])
    network = network_of(FactorAnalysis(mean, loadings, noise), category_trust=1.0)
    guess = network.first_guess
    guess.variance[guess.guesses.index((3, 0))] = 0.9 * 0.2 * 0.8  # these exclude each other, which a sum does not know
    zeros = torch.zeros(1, dtype=torch.float64)
    guess.alone.copy_(guess._gaussian(Evidence(zeros, zeros)))
    logits = guess.logits(Evidence(torch.ones(1, dtype=torch.float64), zeros))[network.variables.columns(slice(3, 4))]
    frequencies = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    moved = (frequencies.log() + logits).softmax(0) - frequencies
    torch.testing.assert_close(moved, torch.tensor([2e-6, 1e-6, -3e-6], dtype=torch.float64), atol=1e-10, rtol=1e-3)


def test_elimination_is_the_inverse():
    a = torch.randn(7, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    matrices = a @ a.mT + torch.eye(5, dtype=torch.float64)
    torch.testing.assert_close(eliminated(matrices), torch.linalg.inv(matrices))


@pytest.mark.parametrize("part_missing", [0.0, 0.3])
def test_analysis_finds_the_covariance_that_rows_were_drawn_from(part_missing):
    generator = torch.Generator().manual_seed(1)
    true = drawn_analysis(6, 2)
    factors = torch.randn(20_000, 2, generator=generator, dtype=torch.float64)
    noise = true.noise.sqrt() * torch.randn(20_000, 6, generator=generator, dtype=torch.float64)
    z = true.mean + factors @ true.loadings.T + noise
    observed = (torch.rand(z.shape, generator=generator) >= part_missing).double()
    learnt = factor_analysis(z * observed, observed, torch.ones(20_000, dtype=torch.float64), 2)
    torch.testing.assert_close(learnt.mean, true.mean, atol=0.05, rtol=0)

    def covariance(a):
        return a.loadings @ a.loadings.T + torch.diag(a.noise)

    torch.testing.assert_close(covariance(learnt), covariance(true), atol=0.12, rtol=0.05)


@pytest.mark.parametrize("part_missing", [0.0, 0.3])
def test_a_network_begins_from_rows_as_often_as_they_count(part_missing):
    """Its means and its first guess; the rate of learning is too small to move them."""
    generator = torch.Generator().manual_seed(1)
    values = torch.stack([torch.randint(n, (200,), generator=generator) for n in LEVELS], 1)
    values[:, 4] = values[:, 0] + values[:, 1]
    observed, times = torch.rand(values.shape, generator=generator) >= part_missing, torch.arange(200) % 4 + 1
    model = ModelConfig(n_variables=5, levels=LEVELS, ordinal=ORDINAL, factors=2, category_trust=0.5)
    training = TrainingConfig(phases=(Phase(epochs=1),), optimizer=AdamW(lr=1e-12))
    recipe = Recipe(model=model, training=training)
    weighted = Rows(values, observed, 0, weights=times.float())
    repeated = Rows(values.repeat_interleave(times, 0), observed.repeat_interleave(times, 0), 0)
    one, other, plain = (fit_table(recipe, rows).network for rows in (weighted, repeated, Rows(values, observed, 0)))
    for name, expected in other.state_dict().items():
        torch.testing.assert_close(one.state_dict()[name], expected, atol=1e-5, rtol=1e-4, msg=name)
    assert not torch.allclose(one.b, plain.b, atol=0.02)
    assert not torch.allclose(one.first_guess.mean, plain.first_guess.mean, atol=0.02)


@pytest.mark.parametrize("trust", [None, 0.5])
def test_columns_that_tell_nothing_or_are_never_seen_stay_finite(trust):
    network = network_of(drawn_analysis(6, 2), category_trust=trust)
    values = torch.zeros(30, 5)
    values[:, 4] = torch.arange(30) % 6
    observed = torch.ones(30, 5, dtype=torch.bool)
    observed[:, 2] = False
    fit_factors(network, Rows(values, observed, 0))
    assert all(buffer.isfinite().all() for buffer in network.first_guess.buffers())
    logits = network(values.double(), ~observed)[-1]
    assert logits.isfinite().all()


def test_a_network_without_ordered_variables_has_nothing_to_guess():
    with pytest.raises(ValueError, match="factors: expected a category_trust or an ordinal variable"):
        ModelConfig(n_variables=2, levels=(2, 4), ordinal=(0,), factors=3)
