"""Chunks of different sizes: their distribution, the losses of positions, and the sizes of least loss."""

import inspect
import itertools

import pytest
import torch

from nadek.inference import cheapest_chunks, impute, log_prob, position_losses, sample
from nadek.inference.chunk_sizes import chunk_slices
from support.models import rows, seeded
from zoo import build, decoders_of, orderings_of


def chunked(model, x, ordering, sizes):
    """Log-probabilities of chunks whose variables are independent, by whole passes."""
    missing, total = torch.ones_like(x, dtype=torch.bool), 0
    for positions in chunk_slices(sizes, 0, x.shape[1]):
        costs = model.variables.costs(model(x, missing)[-1], x)
        total = total - costs[:, ordering[positions]].sum(1)
        missing[:, ordering[positions]] = False
    return total.detach()


@pytest.mark.parametrize("name", ["nade-2 3hl", "mixed", "confident", "memory", "images"])
def test_all_decoders_follow_sizes(name, generator):
    model = build(name, 6)
    x, ordering = rows(model), orderings_of(model, 1, generator)[0]
    expected = chunked(model, x, ordering, [1, 3, 2])
    assert expected.exp().sum().item() == pytest.approx(1, abs=1e-12)
    for decoder in decoders_of(name):
        log_p = log_prob(model, x, ordering=ordering, chunk=[1, 3, 2], decoder=decoder)
        torch.testing.assert_close(log_p, expected, rtol=0, atol=1e-11)
    equal = [log_prob(model, x, ordering=ordering, chunk=chunk) for chunk in (4, [4, 2])]
    assert torch.equal(*equal)


@pytest.mark.parametrize("name", ["nade-2 3hl", "mixed", "fixed-order nade"])
def test_losses_add_up_to_likelihoods(name, generator):
    model = build(name, 5)
    x, ordering = rows(model)[:12], orderings_of(model, 1, generator)
    losses = position_losses(model, x, ordering)
    for sizes in ([1] * 5, [2, 2, 1], [5]):
        slices = list(chunk_slices(sizes, 0, 5))
        total = sum(losses[one.start, one].sum() for one in slices)
        expected = -log_prob(model, x, ordering=ordering[0], chunk=sizes).mean()
        torch.testing.assert_close(total, expected, rtol=0, atol=1e-11)
    assert losses.tril(-1).abs().sum() == 0
    done = []
    two = orderings_of(model, 2, generator)
    halves = position_losses(model, x, two, progress=lambda *report: done.append(report))
    expected = -torch.cat([log_prob(model, x[i :: len(two)], ordering=o) for i, o in enumerate(two)]).mean()
    torch.testing.assert_close(halves.diagonal().sum(), expected, rtol=0, atol=1e-11)
    assert done[-1] == (5, 5)


def test_losses_need_rows():
    with pytest.raises(ValueError, match="x: expected rows to measure losses on, found none"):
        position_losses(build("nade-2 3hl", 4), torch.zeros(0, 4), 2)


def test_sizes_have_least_loss(generator):
    """Against all ways to cut seven variables."""
    measured = torch.rand(7, 7, dtype=torch.float64, generator=generator).triu()
    losses = measured.maximum(measured.diagonal()).triu()  # less is chance
    for passes in range(1, 8):
        cuts = itertools.combinations(range(1, 7), passes - 1)
        ways = [[b - a for a, b in itertools.pairwise((0, *cut, 7))] for cut in cuts]
        prices = [sum(losses[one.start, one].sum().item() for one in chunk_slices(way, 0, 7)) for way in ways]
        assert cheapest_chunks(measured, passes) == ways[prices.index(min(prices))]


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        ([2, 2], "chunk: expected sizes that add up to 5 variables, found a sum of 4"),
        ([5, 0], r"chunk\[1\]: expected at least 1 variable at once, found 0"),
        (0, "chunk: expected at least 1 variable at once, found 0"),
    ],
)
def test_bad_sizes_are_refused(chunk, message):
    model = build("nade-1 1hl", 5)
    with pytest.raises(ValueError, match=message):
        log_prob(model, rows(model), ordering=range(5), chunk=chunk)
    with pytest.raises(ValueError, match=message):
        sample(model, 2, chunk=chunk)


def test_other_bad_chunks_are_refused():
    model = build("nade-1 1hl", 3)
    holes = torch.tensor([[1.0, torch.nan, torch.nan]], dtype=torch.float64)
    with pytest.raises(ValueError, match="chunk: expected one size for rows with observed cells"):
        impute(model, holes, chunk=[1, 2])
    with pytest.raises(ValueError, match="chunk: expected 1 for rows with missing or given cells"):
        log_prob(model, holes, orderings=1, chunk=[1, 2])
    with pytest.raises(ValueError, match="expected complete rows"):
        position_losses(model, holes, 2, generator=seeded())
    with pytest.raises(ValueError, match="passes: expected at most 3"):
        cheapest_chunks(torch.zeros(3, 3), 4)
    with pytest.raises(ValueError, match="losses: expected a square table"):
        inspect.unwrap(cheapest_chunks)(torch.zeros(3, 2), 1)  # behind the shape hook
