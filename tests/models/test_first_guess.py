"""The first guess of variables: a factor analysis, against the Gaussian it stands for and numbers it made."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from nadek.models import IterativeNADE, ModelConfig
from nadek.models.first_guess import LEAST_VARIANCE, Evidence, FactorAnalysis, eliminated
from nadek.training import AdamW, Phase, Recipe, Rows, TrainingConfig
from nadek.training.fit_factors import factor_analysis, fit_factors
from nadek.training.table_training import fit_table

LEVELS, ORDINAL = (5, 2, 4, 3, 6), (0, 2, 4)
SHARES = torch.tensor([0.1, 0.2, 0.4, 0.25, 0.05, 0.3, *[0.25] * 4, 0.5, 0.3, 0.2, 0.5, *[0.1] * 5]).double()
"""Of the columns: the binary variable has one."""


def network_of(analysis, levels=LEVELS, ordinal=ORDINAL, **options):
    rank = analysis.loadings.shape[1]
    config = ModelConfig(n_variables=len(levels), levels=levels, ordinal=ordinal, factors=rank, **options)
    network = IterativeNADE(config).double()
    network.first_guess.use_normal_scores(SHARES, network.variables)
    network.first_guess.begin(analysis, network.variables)
    return network


def of_all_cells(mean, loadings, noise):
    return FactorAnalysis(mean, loadings, noise, mean, loadings.square().sum(1) + noise)


def drawn_analysis(n_features, rank):
    generator = torch.Generator().manual_seed(3)
    normal = torch.randn(n_features, rank + 2, generator=generator, dtype=torch.float64)
    return of_all_cells(normal[:, 0], normal[:, 2:], 0.2 + normal[:, 1] ** 2)


def test_levels_are_placed_at_normal_scores():
    network = network_of(drawn_analysis(6, 2), number_trust=0.7)
    codes, share, placed = np.arange(5), SHARES[:5].numpy(), network.first_guess.level[:5].numpy()
    line = np.polyfit(norm.ppf(np.cumsum(share) - share / 2), placed, 1)
    np.testing.assert_allclose(placed, np.polyval(line, norm.ppf(np.cumsum(share) - share / 2)), atol=1e-6)
    for power in (1, 2):  # with the mean and the spread of the codes
        assert share @ placed**power == pytest.approx(share @ codes**power, rel=1e-6)


@pytest.mark.parametrize("options", [{}, {"number_trust": 0.7}])
def test_logits_are_those_of_the_conditional_gaussian(options):
    analysis = drawn_analysis(6, 2)  # features: one each, but for two of the variable of three levels
    observed = analysis.observed_mean - 0.5, analysis.observed_variance / 2  # large values are missing
    network = network_of(FactorAnalysis(*analysis[:3], *observed), **options)
    x = torch.tensor([[4, 1, 3, 2, 0]], dtype=torch.float64)
    placed, trust = network.first_guess.level.numpy(), options.get("number_trust", 1)
    features = np.array([4, 1, placed[9], 0, 1, placed[13]])  # the level 2 of three
    owner = np.array([0, 1, 2, 3, 3, 4])
    covariance = (analysis.loadings @ analysis.loadings.T + torch.diag(analysis.noise)).numpy()
    mean = analysis.mean.numpy()

    def moments(seen, place):
        s = np.flatnonzero(seen)
        weights = np.linalg.solve(covariance[np.ix_(s, s)], covariance[s, place]) if len(s) else np.zeros(0)
        return mean[place] + weights @ (features - mean)[s], covariance[place, place] - weights @ covariance[s, place]

    def gaussian(seen, place, levels):
        centre, variance = moments(seen, place)
        sharpness = trust / (variance + LEAST_VARIANCE) + (1 - trust) / (covariance[place, place] + LEAST_VARIANCE)
        return -0.5 * sharpness * (levels - centre) ** 2

    for missing in ([True, False, False, False, False], [True, True, False, True, True], [True] * 5):
        missing = np.array(missing)
        columns = network.variables.encode(x).double() * ~network.variables.expand(torch.from_numpy(missing))
        guess = network.first_guess(columns, torch.from_numpy(missing).unsqueeze(0))[0].numpy()
        own = -0.5 * (placed[:5] - float(observed[0][0])) ** 2 / (float(observed[1][0]) + LEAST_VARIANCE)
        expected = gaussian(~missing[owner], 0, placed[:5]) - own
        np.testing.assert_allclose(guess[:5] - guess[0], expected - expected[0], atol=1e-12)
        assert (guess[10:13] == 0).all()  # of three levels, without trust


@pytest.mark.parametrize("trust", [1.0, 0.4])
def test_a_little_evidence_moves_probabilities_as_the_means_of_columns(trust):
    mean, loadings, noise = drawn_analysis(6, 1)[:3]
    mean[[1, 3, 4]] = torch.tensor([0.3, 0.5, 0.3]).double()  # the first of three levels has 0.2
    loadings[[1, 3, 4]] = torch.tensor([[2e-6], [1e-6], [-3e-6]]).double()
    network = network_of(of_all_cells(mean, loadings, noise), category_trust=trust)
    logits = network.first_guess.logits(Evidence(torch.ones(1).double(), torch.zeros(1).double()))
    for place, before, moves in (1, [0.7, 0.3], [-2e-6, 2e-6]), (3, [0.2, 0.5, 0.3], [2e-6, 1e-6, -3e-6]):
        own = logits[network.variables.columns(slice(place, place + 1))]
        own = torch.cat([own.new_zeros(len(before) - len(own)), own])
        p = torch.tensor(before, dtype=torch.float64)
        expected = torch.tensor(moves).double() * (trust if place == 3 else 1)
        torch.testing.assert_close((p.log() + own).softmax(0) - p, expected, atol=1e-10, rtol=1e-3)


def test_a_rare_answer_is_never_certain():
    """However often it came with another one."""
    values = torch.zeros(300, 3)
    values[:, 0], values[:2, 1:] = torch.arange(300) % 5, 1
    config = ModelConfig(n_variables=3, levels=(5, 2, 2), ordinal=(0,), factors=3)
    network = IterativeNADE(config).double()
    fit_factors(network, Rows(values, torch.ones(300, 3, dtype=torch.bool), 0))
    missing = torch.tensor([[False, False, True]]).expand(2, -1)
    rows = torch.tensor([[0, 0, 0], [0, 1, 0]]).double()
    columns = network.variables.encode(rows).double() * ~network.variables.expand(missing)
    without, beside = (torch.logit(torch.tensor(2 / 300)) + network.first_guess(columns, missing)[:, -1]).sigmoid()
    assert 0.0005 < without < 2 / 300
    assert 0.5 < beside < 0.95


def test_elimination_is_the_inverse():
    a = torch.randn(7, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    matrices = a @ a.mT + torch.eye(5, dtype=torch.float64)
    torch.testing.assert_close(eliminated(matrices), torch.linalg.inv(matrices))


@pytest.mark.parametrize("part_missing", [0.0, 0.3, "where another is large"])
def test_analysis_finds_what_rows_were_drawn_from(part_missing):
    generator = torch.Generator().manual_seed(1)
    true = drawn_analysis(6, 2)
    factors = torch.randn(20_000, 2, generator=generator, dtype=torch.float64)
    noise = true.noise.sqrt() * torch.randn(20_000, 6, generator=generator, dtype=torch.float64)
    z = true.mean + factors @ true.loadings.T + noise
    if isinstance(part_missing, str):
        observed = torch.ones_like(z)
        observed[:, 4] = (z[:, 0] < true.mean[0]).double()
    else:
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
    trusts = {"category_trust": 0.5, "number_trust": 0.7}
    model = ModelConfig(n_variables=5, levels=LEVELS, ordinal=ORDINAL, factors=2, **trusts)
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
