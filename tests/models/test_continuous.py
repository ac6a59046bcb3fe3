"""Continuous variables: codes between knots, whose weights the model reads and predicts."""

import numpy as np
import pytest
import torch

from nadek import NADEkImputer
from nadek.inference import explain_cells, greedy, log_prob
from nadek.inference.order_agnostic import step_costs
from nadek.inference.sampling import impute, level_probabilities, sample
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.codes import split_missing
from nadek.models.cores import DeepConfig
from nadek.models.variables import variables_of
from nadek.training import prepare
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
def test_decoders_agree_on_numbers(model, generator, remembers):
    model = _remembering(model, generator) if remembers else model
    x, ordering = codes(40, generator), torch.tensor([2, 0, 4, 1, 3])
    whole = log_prob(model, x, ordering=ordering, decoder="full")
    for decoder in ("batched", "incremental"):
        torch.testing.assert_close(log_prob(model, x, ordering=ordering, decoder=decoder), whole, rtol=0, atol=1e-11)
    x[::2, 2], x[1::3, 1] = torch.nan, torch.nan
    seen = log_prob(model, x, orderings=ordering[None])[0]
    one_by_one = torch.cat([log_prob(model, row[None], orderings=ordering[None])[0] for row in x])
    torch.testing.assert_close(seen, one_by_one, rtol=0, atol=1e-11)


def test_density_is_the_spline_of_the_knots(model, generator):
    x = codes(30, generator)
    unknown = x.clone()
    unknown[:, CONTINUOUS] = torch.nan
    p = level_probabilities(model, unknown)
    for j in CONTINUOUS:
        ordering = torch.tensor([1, 3, j, *(k for k in CONTINUOUS if k != j)])
        row = unknown.clone()
        row[:, j] = x[:, j]
        spline = (p[:, j] * (1 - (x[:, [j]] - torch.arange(5)).abs()).clamp(min=0)).sum(1).log()
        given = log_prob(model, unknown, orderings=ordering[None])[0]
        torch.testing.assert_close(log_prob(model, row, orderings=ordering[None])[0] - given, spline)


def test_costs_are_cross_entropies_of_weights(model, generator):
    x = codes(30, generator)
    hidden = torch.arange(5).expand(30, 5) == 0
    log_p = level_probabilities(model, x.masked_fill(hidden, torch.nan))[:, 0, :4].log()
    weights = (1 - (x[:, [0]] - torch.arange(4)).abs()).clamp(min=0)
    torch.testing.assert_close(step_costs(model, x, hidden)[-1], -5 * (weights * log_p).sum(1))


def test_draws_follow_the_spline(model, generator):
    """The third variable is drawn given the exact number of the first: the mixture over its spline."""
    drawn = sample(model, 40_000, orderings=torch.tensor([[0, 2, 4, 1, 3]]), generator=generator).double()
    x = torch.full((300, 5), torch.nan, dtype=torch.float64)
    first = level_probabilities(model, x[:1])[0, 0, :4].numpy()
    grid = np.arange(0.005, 3, 0.01)
    density, ends = np.interp(grid, np.arange(4), first) * 0.01, first[[0, 3]] / 2
    assert (drawn[:, 0] == 0).double().mean() == pytest.approx(ends[0], abs=0.012)  # half a bin has the code of the end
    for edge in np.quantile(grid, [0.2, 0.5, 0.8]):
        assert (drawn[:, 0] < edge).double().mean() == pytest.approx(ends[0] + density[grid < edge].sum(), abs=0.012)
    x[:, 0] = torch.from_numpy(grid)
    x[[0, -1], 0] = torch.tensor([0.0, 3.0], dtype=torch.float64)
    weight = np.concatenate((density[:1] + ends[0], density[1:-1], density[-1:] + ends[1]))
    second = weight @ level_probabilities(model, x)[:, 2, :3].numpy()
    # at the ends of the line half of a knot's codes are a third away, the others are its own
    assert drawn[:, 2].mean() == pytest.approx(second @ [1 / 6, 1, 2 - 1 / 6], abs=0.012)


def test_single_numbers_have_no_codes_around_them(model, generator):
    drawn = sample(model, 5000, generator=generator)[:, 4]
    apart = (drawn > 0) & (drawn < 1) | (drawn > 2) & (drawn < 4) & (drawn != 3)
    assert not apart.any()
    assert ((drawn > 1) & (drawn < 2)).any()


def test_most_probable_answers_are_knots(model, generator):
    x = codes(30, generator)
    assert (explain_cells(model, x).log_prob <= 0).all()
    x[:, 0] = torch.nan
    best = level_probabilities(model, x)[:, 0].argmax(1)
    assert torch.equal(greedy(model, x, ordering=torch.arange(5)).x[:, 0], best.double())


@pytest.mark.parametrize("j", range(5))
def test_surprise_is_the_part_of_draws_as_improbable(model, generator, j):
    """Of codes that the model draws given the others, exp(-s) have a surprise of s or more."""
    x = codes(1, generator).repeat(4000, 1)
    x[:, j] = torch.nan
    surprise = explain_cells(model, impute(model, x, generator=generator)).surprise[:, j].sort().values
    for s in surprise[::200]:
        assert (surprise >= s - 1e-6).double().mean() == pytest.approx((-s).exp().item(), abs=0.03)


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
