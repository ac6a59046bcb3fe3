"""Draws that follow from the seed, the row and the variable, however a table is cut (float64)."""

import inspect
import math

import pytest
import torch
from scipy import stats

from nadek.inference.likelihood import log_prob
from nadek.inference.row_random import ids_of, row_keys, splitmix64, uniforms
from nadek.inference.sampling import impute, level_probabilities, sample
from nadek.models.variables import variables_of
from support.models import every_model, frequencies, p_value, rows, seeded
from zoo import build

NAN = torch.nan


def grid(n_rows, n_variables, seed=0):
    keys = row_keys(seed, torch.arange(n_rows))
    return uniforms(keys[:, None], 0, torch.arange(n_variables))


# Numbers


def test_generator_has_known_outputs():
    """Those of the reference implementation, of the seed 1234567."""
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    outputs = splitmix64(torch.tensor([1234567]), torch.arange(5))
    assert [output % 2**64 for output in outputs.tolist()] == known


def test_numbers_are_even_and_independent():
    u = grid(1000, 100)
    assert u.dtype == torch.float64
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u.flatten().numpy(), "uniform").pvalue > 1e-3
    others = {
        "row": (u[:-1], u[1:]),
        "variable": (u[:, :-1], u[:, 1:]),
        "seed": (u, grid(1000, 100, seed=1)),
        "use": (u, uniforms(row_keys(0, torch.arange(1000))[:, None], 1, torch.arange(100))),
        "far row": (u, uniforms(row_keys(0, torch.arange(1000) * 2**40)[:, None], 0, torch.arange(1, 101))),
    }
    for name, (one, other) in others.items():
        cells = torch.histogramdd(torch.stack([one.flatten(), other.flatten()], 1), 10, [0, 1, 0, 1]).hist
        assert stats.chisquare(cells.flatten().numpy()).pvalue > 1e-3, name


def test_each_number_follows_from_its_place():
    u = grid(50, 7)
    order = torch.randperm(50, generator=seeded())
    keys = row_keys(0, order)
    for j in (3, 6):
        assert torch.equal(uniforms(keys, 0, torch.full((50,), j)), u[order, j])
    assert len(u.unique()) == u.numel()


# Codes from numbers


@pytest.mark.parametrize("levels", [(2, 2), (3, 5)])
def test_codes_invert_the_distribution(levels, generator):
    """A level is taken by the part of [0, 1) that is its probability, levels in their order."""
    variables = variables_of(levels)
    logits = torch.randn(1, variables.n_columns, generator=generator, dtype=torch.float64).expand(10_001, -1)
    u = torch.linspace(0, 1 - 2**-53, 10_001, dtype=torch.float64).unsqueeze(1)
    for j in (0, 1):
        variable = torch.full((10_001,), j)
        codes = variables.sample(variables.scores(logits, variable), variable, u)
        assert (codes.diff() >= 0).all()
        p = variables.level_probabilities(logits[:1])[0, j, : levels[j]]
        shares = codes.long().bincount(minlength=levels[j]) / len(codes)
        torch.testing.assert_close(shares.double(), p, rtol=0, atol=1e-4)


def test_impossible_levels_are_never_drawn():
    variables = variables_of((4, 3))
    logits = torch.tensor([[-math.inf, 0.0, -math.inf, -math.inf, 0.0, 0.0, -math.inf]]).double().expand(3, -1)
    u = torch.tensor([[0.0], [0.5], [1 - 2**-53]], dtype=torch.float64)
    for j, expected in ((0, [1, 1, 1]), (1, [0, 1, 1])):
        variable = torch.full((3,), j)
        assert variables.sample(variables.scores(logits, variable), variable, u).tolist() == expected


# Rows of a table


def holed(model, n_rows, generator):
    """Rows of which some share a pattern of missing cells, some have one of their own."""
    x = rows(model)[torch.randint(len(rows(model)), (n_rows,), generator=generator)]
    x[torch.rand(x.shape, generator=generator) < 0.4] = NAN
    x[: n_rows // 3, 1:3] = NAN
    return x


def assert_uncut(model, x, *, n_pieces=7, **options):
    """Filled in whole, in pieces, from behind, and one row by itself."""

    def filled(places, **others):
        return impute(model, x[places], generator=seeded(), **options, **others)

    ids = torch.arange(len(x))
    whole = filled(ids)
    assert torch.equal(torch.cat([filled(part, rows=part) for part in ids.tensor_split(n_pieces)]), whole)
    assert torch.equal(filled(ids.flip(0), rows=ids.flip(0)).flip(0), whole)
    assert torch.equal(filled(ids[20:21], rows=ids[20:21]), whole[20:21])
    assert not torch.equal(filled(ids, rows=ids + 1), whole)


@every_model
def test_imputation_does_not_depend_on_cutting(name, generator):
    model = build(name, 4)
    x = holed(model, 35, generator)
    if model.config.ordering is not None:
        x = rows(model).repeat(3, 1)[:35]
        x[::2, list(model.config.ordering[1:])] = NAN
        x[1::3, model.config.ordering[-1]] = NAN
    assert_uncut(model, x)


@pytest.mark.parametrize("options", [{"share": False}, {"chunk": 2}, {"chunk": 3, "share": False}])
def test_options_do_not_depend_on_cutting(options, generator):
    model = build("mixed", 6, noise=1.0)
    assert_uncut(model, holed(model, 40, generator), n_pieces=40, **options)


def test_draws_do_not_depend_on_memory(generator, bound_memory):
    model = build("mixed", 4)
    x = holed(model, 20, generator)
    whole = impute(model, x, generator=seeded())
    bound_memory(1)
    assert torch.equal(impute(model, x, generator=seeded()), whole)


@pytest.mark.parametrize("name", ["nade-5 1hl", "mixed", "images", "fixed-order nade"])
@pytest.mark.parametrize("orderings", [None, 1, 3])
def test_samples_begin_alike(name, orderings):
    model = build(name, 5)
    many, few = (sample(model, n, orderings=orderings, generator=seeded()) for n in (60, 13))
    assert torch.equal(few, many[:13])


@pytest.mark.parametrize("name", ["nade-5 1hl", "categorical", "mixed, residual"])
@pytest.mark.parametrize("hashed", [False, True])
def test_rows_alike_are_drawn_independently(name, hashed, generator):
    """Pairs of draws of equal rows: a table of products of the exact conditionals."""
    model = build(name, 3, noise=0.5)
    x = torch.tensor([[NAN, 1 % model.levels[1], 0.0]], dtype=torch.float64)
    table = x.expand(20_000, -1)
    drawn = impute(model, table, rows=ids_of(table) if hashed else None, generator=generator)[:, 0].long()
    p = level_probabilities(model, x)[0, 0, : model.levels[0]]
    for one, other in ((drawn[::2], drawn[1::2]), (drawn[:10_000], drawn[10_000:])):
        pairs = (one * model.levels[0] + other).bincount(minlength=model.levels[0] ** 2)
        assert p_value(pairs.numpy(), torch.outer(p, p).flatten()) > 1e-3


@pytest.mark.parametrize("name", ["nade-5 1hl", "mixed"])
def test_ids_of_codes_draw_the_joint(name, generator):
    """All rows go along one ordering, which begins with the observed cell."""
    model = build(name, 3, noise=0.5)
    x = torch.full((20_000, 3), NAN, dtype=torch.float64)
    x[:, 2] = 0
    fits = rows(model)[:, 2] == 0
    observed = frequencies(model, impute(model, x, rows=ids_of(x), generator=generator))[fits.numpy()]
    joints = [log_prob(model, rows(model), ordering=torch.tensor(o))[fits].exp() for o in ([2, 0, 1], [2, 1, 0])]
    assert max(p_value(observed, p) for p in joints) > 1e-3


def test_ids_follow_from_codes(generator):
    x = torch.rand(500, 6, generator=generator, dtype=torch.float64).round(decimals=2)
    x[torch.rand(x.shape, generator=generator) < 0.3] = NAN
    ids = ids_of(x)
    assert len(ids.unique()) == 500
    assert torch.equal(ids_of(x.flip(0)).flip(0), ids)
    assert torch.equal(torch.cat([ids_of(part) for part in x.split(7)]), ids)
    assert not set(ids_of(x.roll(1, 1)).tolist()) & set(ids.tolist())  # the same codes in other columns
    again = ids_of(torch.cat([x, x[:1], x]))
    assert torch.equal(again[:500], ids)
    assert again[500] == ids[0] + 1
    assert again[501] == ids[0] + 2
    assert torch.equal(again[502:], ids[1:] + 1)
    assert ids_of(x[:0]).shape == (0,)


def test_ids_are_hashed_in_parts(generator, monkeypatch):
    x = torch.rand(50, 6, generator=generator).masked_fill(torch.arange(6) == 2, NAN)
    ids = ids_of(x)
    monkeypatch.setattr("nadek.inference.row_random.CELLS", 7)
    assert torch.equal(ids_of(x), ids)


@pytest.mark.parametrize("ids", [torch.arange(3), torch.arange(4).int(), torch.arange(4.0), torch.arange(4)[:, None]])
def test_wrong_ids_are_named(ids):
    model = build("mixed", 4)
    with pytest.raises(ValueError, match=r"rows: expected one id \(torch.int64\) for each of 4 rows, found a tensor"):
        inspect.unwrap(impute)(model, rows(model)[:4], rows=ids)
