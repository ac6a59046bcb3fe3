"""Continuous variables: codes between knots, whose weights the model reads and predicts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import entr

from nadek import NADEkImputer
from nadek.inference import estimate_log_prob, explain_cells, greedy, log_prob, position_losses
from nadek.inference.chunk_sizes import chunk_slices
from nadek.inference.order_agnostic import step_costs
from nadek.inference.sampling import impute, level_probabilities, sample
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.codes import split_missing
from nadek.models.cores import DeepConfig
from nadek.models.knot_densities import Shape
from nadek.models.variables import variables_of
from nadek.training import prepare
from support.models import close, seeded
from zoo import _remembering

LEVELS, KNOTS = (4, 2, 3, 1, 5), ((), None, (), None, (0, 3))
RUNS = [[0, 3], [0, 2], [1, 2]]  # of knots that are joined, by variable
CONTINUOUS = [0, 2, 4]


@pytest.fixture
def model(generator):
    config = ModelConfig(n_variables=5, levels=LEVELS, knots=KNOTS, core=DeepConfig(hidden=(6, 5)), steps=2)
    network = IterativeNADE(config, generator=generator).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.7 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return network


def codes(n_rows, generator):
    u = torch.rand(n_rows, 5, generator=generator, dtype=torch.float64)
    x = (u * torch.tensor(LEVELS)).floor()
    for (first, last), j in zip(RUNS, CONTINUOUS, strict=True):
        inside = (x[:, j] >= first) & (x[:, j] <= last)
        x[inside, j] = first + (last - first) * torch.rand(int(inside.sum()), generator=generator, dtype=torch.float64)
    return x


def test_columns_interpolate_between_knots(generator):
    variables, x = variables_of(LEVELS, KNOTS), codes(200, generator)
    for j, n in enumerate(LEVELS):
        weights = variables.encode(x)[:, variables.columns(slice(j, j + 1))]
        hats = np.stack([np.interp(x[:, j], np.arange(n), row) for row in np.eye(n)], 1)
        np.testing.assert_allclose(weights, hats[:, 1:] if n == 2 else hats, atol=1e-12)


@pytest.mark.parametrize("remembers", [False, True])
def test_decoders_agree_on_numbers(sharp, generator, remembers):
    model = _remembering(sharp, generator) if remembers else sharp
    x, ordering = codes(40, generator), torch.tensor([2, 0, 4, 1, 3])
    whole = log_prob(model, x, ordering=ordering, decoder="full")
    for decoder in ("batched", "incremental"):
        torch.testing.assert_close(log_prob(model, x, ordering=ordering, decoder=decoder), whole, rtol=0, atol=1e-11)
    x[::2, 2], x[1::3, 1] = torch.nan, torch.nan
    seen = log_prob(model, x, orderings=ordering[None])[0]
    one_by_one = torch.cat([log_prob(model, row[None], orderings=ordering[None])[0] for row in x])
    torch.testing.assert_close(seen, one_by_one, rtol=0, atol=1e-11)


SHARPNESS, FOCUS, BENDS = (1.7, 1.0, 0.6, 1.0, 2.5), 0.4, (3.0, 0.0, 0.0, 0.0, 1.5)


@pytest.fixture
def sharp(model):
    config = replace(model.config, sharpness=SHARPNESS, focus=FOCUS, bends=BENDS)
    network = IterativeNADE(config, generator=seeded()).double().eval()
    network.load_state_dict(model.state_dict())
    return network


def logarithm(codes, p, j):
    """Of the density at codes of a variable, but for a constant; ``p`` is of its knots."""
    (first, last), n = RUNS[CONTINUOUS.index(j)], LEVELS[j]
    ends = np.arange(8 * n - 7) / 8
    bow = BENDS[j] * (entr(ends % 1) + entr(1 - ends % 1)) * ((ends > first) & (ends < last))
    return np.interp(codes, ends, np.interp(ends, np.arange(n), np.log(p[:n])) + bow)


def by_quadrature(p, j, n_points=2000):
    """Codes of a variable, what lies near each and the log-density there, slowly; ``p`` is of its knots."""
    (first, last), n = RUNS[CONTINUOUS.index(j)], LEVELS[j]
    inside = first + (np.arange(n_points) + 0.5) / n_points * (last - first)
    codes = np.concatenate([np.arange(n), inside])
    own = [0.5 if k in (first, last) else float(not first < k < last) for k in range(n)]
    widths = np.concatenate([own, np.full(n_points, (last - first) / n_points)])
    line, joined = logarithm(codes, p, j), (codes >= first) & (codes <= last)
    mass = p[first : last + 1].sum()  # what the softmax gives to joined knots
    return codes, widths, line + np.where(joined, np.log(mass / (widths @ np.where(joined, np.exp(line), 0))), 0)


def test_logarithm_of_the_density_bows_between_knots(sharp, generator):
    x = codes(30, generator)
    unknown = x.clone()
    unknown[:, CONTINUOUS] = torch.nan
    p = level_probabilities(sharp, unknown)
    for j in CONTINUOUS:
        ordering = torch.tensor([1, 3, j, *(k for k in CONTINUOUS if k != j)])
        row = unknown.clone()
        row[:, j] = x[:, j]
        log_p = (
            log_prob(sharp, row, orderings=ordering[None])[0] - log_prob(sharp, unknown, orderings=ordering[None])[0]
        )
        for one, of_knots, found in zip(x[:, j], p[:, j].numpy(), log_p, strict=True):
            at, widths, line = by_quadrature(of_knots, j)
            (first, last), term = RUNS[CONTINUOUS.index(j)], line - logarithm(at, of_knots, j)
            height = logarithm(one.item(), of_knots, j) + term[first if first <= one <= last else int(one)]
            assert found.item() == pytest.approx(height, abs=1e-6)
            assert widths @ np.exp(line) == pytest.approx(1)


def test_sharpness_scales_the_logits_of_answers_only(model, sharp, generator):
    x = codes(10, generator)
    x[:, 0] = torch.nan
    p, sharper = (level_probabilities(network, x)[:, 0, :4] for network in (model, sharp))
    level = torch.arange(4)
    variance = (p * level**2).sum(1, keepdim=True) - (p * level).sum(1, keepdim=True) ** 2
    factor = 1.7 * (1 + FOCUS / (variance + 0.25))
    torch.testing.assert_close((factor * p.log()).softmax(1), sharper)
    assert torch.equal(model(x, x.isnan())[-1], sharp(x, x.isnan())[-1])


def test_single_numbers_keep_the_probability_of_the_softmax(model, sharp, generator):
    x = codes(10, generator)
    x[:, 4] = torch.nan
    variable = torch.full((10,), 4)
    scores = model.variables.scores(model(x, x.isnan())[-1], variable)
    for found in (sharp.variables.level_log_probs(scores, variable).exp(), level_probabilities(sharp, x)[:, 4]):
        torch.testing.assert_close(found[:, [0, 3, 4]], scores.softmax(1)[:, [0, 3, 4]])


@pytest.mark.parametrize("code", [2.25, 2.5, 3.875])
def test_bent_densities_are_highest_where_the_number_is(code):
    """Of the weights of a number straight logarithms are highest at a knot."""
    codes = torch.arange(41, dtype=torch.float64) / 8
    scores = (1 - (torch.arange(6) - code).abs()).clamp(min=1e-4).double().log().expand(41, 6)
    straight, bent = (
        variables_of((6,), [()], Shape([20.0], 0.0, bends)).log_prob(scores, codes, torch.zeros(41, dtype=torch.long))
        for bends in (None, [20.0])
    )
    assert codes[bent.argmax()] == code
    assert bent.max() > straight[codes == code] + 1


def test_levels_beside_a_gap_are_not_joined(generator):
    variables, scores = variables_of((6,), [(2.5,)], Shape([1.7])), torch.randn(6, generator=generator)
    zeros = torch.zeros(20_000, dtype=torch.long)
    drawn = variables.sample(scores.expand(20_000, 6), zeros, torch.rand(20_000, 2, generator=generator))
    assert not ((drawn > 2) & (drawn < 3)).any()
    assert (drawn <= 2).double().mean() == pytest.approx(scores.softmax(0)[:3].sum().item(), abs=0.012)


def test_costs_are_cross_entropies_of_weights(model, generator):
    x = codes(30, generator)
    hidden = torch.arange(5).expand(30, 5) == 0
    log_p = level_probabilities(model, x.masked_fill(hidden, torch.nan))[:, 0, :4].log()
    weights = (1 - (x[:, [0]] - torch.arange(4)).abs()).clamp(min=0)
    torch.testing.assert_close(step_costs(model, x, hidden)[-1], -5 * (weights * log_p).sum(1))


def test_draws_follow_the_density(sharp, generator):
    """The third variable is drawn given the exact number of the first: a mixture over its density."""
    drawn = sample(sharp, 40_000, orderings=torch.tensor([[0, 2, 4, 1, 3]]), generator=generator).double()
    x = torch.full((1, 5), torch.nan, dtype=torch.float64)
    first, widths, line = by_quadrature(level_probabilities(sharp, x)[0, 0].numpy(), 0, 300)
    weight = widths * np.exp(line)
    assert (drawn[:, 0] == 0).double().mean() == pytest.approx(weight[0], abs=0.012)  # half a bin has its code
    for edge in np.quantile(first, [0.2, 0.5, 0.8]) + 1e-3:
        assert (drawn[:, 0] < edge).double().mean() == pytest.approx(weight[first < edge].sum(), abs=0.012)
    x = x.expand(len(first), 5).clone()
    x[:, 0] = torch.from_numpy(first)
    mean = 0.0
    for share, of_knots in zip(weight, level_probabilities(sharp, x)[:, 2].numpy(), strict=True):
        second, widths, line = by_quadrature(of_knots, 2, 300)
        mean += share * (widths * np.exp(line)) @ second
    assert drawn[:, 2].mean() == pytest.approx(mean, abs=0.012)


def test_single_numbers_have_no_codes_around_them(model, generator):
    drawn = sample(model, 5000, generator=generator)[:, 4]
    apart = (drawn > 0) & (drawn < 1) | (drawn > 2) & (drawn < 4) & (drawn != 3)
    assert not apart.any()
    assert ((drawn > 1) & (drawn < 2)).any()


def test_most_probable_answers_are_knots(model, generator):
    x = codes(30, generator)
    x[:, 0] = torch.nan
    best = level_probabilities(model, x)[:, 0].argmax(1)
    assert torch.equal(greedy(model, x, ordering=torch.arange(5)).x[:, 0], best.double())


@pytest.mark.parametrize("sizes", [[1] * 5, [2, 3]])
def test_losses_of_positions_add_up(sharp, generator, sizes):
    x, ordering = codes(12, generator), torch.tensor([2, 0, 4, 1, 3])
    losses = position_losses(sharp, x, ordering[None])
    total = sum(losses[one.start, one].sum() for one in chunk_slices(sizes, 0, 5))
    close(total, -log_prob(sharp, x, ordering=ordering, chunk=sizes).mean())


def test_no_estimate_from_costs_of_knots(sharp, generator):
    with pytest.raises(ValueError, match="discrete variables, found numbers; log_prob is exact"):
        estimate_log_prob(sharp, codes(3, generator))


@pytest.mark.parametrize("j", range(5))
def test_surprise_is_the_part_of_draws_as_improbable(sharp, generator, j):
    """Of codes that the model draws given the others, exp(-s) have a surprise of s or more."""
    x = codes(1, generator).repeat(4000, 1)
    x[:, j] = torch.nan
    surprise = explain_cells(sharp, impute(sharp, x, generator=generator)).surprise[:, j].sort().values
    for s in surprise[::200]:
        assert (surprise >= s - 1e-6).double().mean() == pytest.approx((-s).exp().item(), abs=0.03)


def test_surprise_is_at_most_that_of_the_number_itself(sharp, generator):
    x = codes(50, generator)
    plain, own = explain_cells(sharp, x), torch.full_like(x, -2.0)
    most = -(plain.log_prob + own)
    assert (plain.surprise > most).any()
    close(explain_cells(sharp, x, own=own).surprise, plain.surprise.minimum(most).clamp(min=0))


def test_only_continuous_codes_have_parts():
    x = torch.tensor([[2.9, 1, 0.2, 0, 1.5]])
    assert torch.equal(split_missing(x, LEVELS, KNOTS)[0], x)
    for column, code, expected in [(0, 3.1, "a number from 0 to 3"), (1, 0.5, "0, 1")]:
        wrong = x.clone()
        wrong[0, column] = code
        with pytest.raises(ValueError, match=rf"expected {expected} or NaN \(missing\), found {code}"):
            split_missing(wrong, LEVELS, KNOTS)
    assert prepare(x, levels=LEVELS, knots=KNOTS).values.dtype == torch.float32


def test_near_copies_are_filled_in_finely():
    """Of eight bins of equal width the means alone would be 0.036 away."""
    first = np.random.default_rng(0).random(900)
    X = np.column_stack([first, 1 - first])
    imputer = NADEkImputer(n_bins=8, max_iter=60, random_state=0).fit(X[:800])
    hidden = np.where([False, True], np.nan, X[800:])
    assert np.sqrt(((imputer.transform(hidden) - X[800:])[:, 1] ** 2).mean()) < 0.025
    assert all(imputer.network_.config.bends)
    draws = np.array(imputer.set_params(n_imputations=200).transform_multiple(hidden))[:, :, 1]
    quantiles = imputer.predict_missing_quantiles(hidden, (0.1, 0.5, 0.9))[1]
    assert (draws[..., None] < quantiles).mean((0, 1)) == pytest.approx([0.1, 0.5, 0.9], abs=0.02)
    means = imputer.transform(hidden)[:, 1]
    assert np.abs(draws.mean(0) - means).mean() < 0.1 * draws.std(0).mean()
