"""Numbers that recur: which have a part of their bins for themselves, and that draws and densities hold it."""

from dataclasses import replace

import numpy as np
import pytest

from nadek.tabular.columns import Numeric, infer, log_density
from nadek.tabular.columns.bins import codes_of, log_within, numbers_at, part_below
from nadek.tabular.columns.recurring import LEAST_ROWS
from nadek.utils.configs import decode, encode


def prices(n, rng):
    pay, kind = np.floor(rng.lognormal(3, 0.7, n)), rng.random(n)
    return np.round(pay + np.select([kind < 0.6, kind < 0.8], [0.99, 0.49], rng.integers(0, 100, n) / 100), 2)


def wages(n, rng):
    pay, kind = rng.lognormal(7.8, 0.5, n), rng.random(n)
    unit = np.select([kind < 0.3, kind < 0.6, kind < 0.9], [500, 100, 50], 1)
    return np.maximum(np.round(pay / unit), 1) * unit


@pytest.mark.parametrize("kind", [prices, wages])
def test_draws_recur_as_often_as_training_values(kind):
    rng = np.random.default_rng(0)
    values = kind(3000, rng)
    column = infer(values, name="pay", integers="numeric")
    part = np.tile((np.arange(100) + 0.5) / 100, len(values))
    drawn = numbers_at(column, np.repeat(column.bin_of(values), 100), part)
    different, times = np.unique(values, return_counts=True)
    for number in different[np.argsort(times)[-20:]]:
        assert (drawn == number).mean() == pytest.approx((values == number).mean(), abs=0.004)
    smooth = numbers_at(replace(column, atoms=()), np.repeat(column.bin_of(values), 100), part)
    assert np.isin(drawn, different[times > 4]).mean() > 0.7 > 0.5 > np.isin(smooth, different[times > 4]).mean()


@pytest.mark.parametrize("kind", [prices, wages])
@pytest.mark.parametrize("n", [300, 3000])
def test_atoms_are_a_part_of_their_bins(kind, n):
    values = kind(n, np.random.default_rng(0))
    column = infer(values, name="pay", integers="numeric")
    ends = (column.low, *column.edges, column.high + column.step)
    for place in set(range(len(column.means))) - set(column.single):
        n_steps = round((ends[place + 1] - ends[place]) / column.step)
        inside = column.rounded(ends[place] + np.arange(n_steps) * column.step)
        places = np.full(n_steps, place)
        assert np.exp(log_within(column, places, inside)).sum() * column.step == pytest.approx(1)
        part = part_below(column, inside)
        assert (np.diff(part) > 0).all()
        np.testing.assert_array_equal(numbers_at(column, places, part), inside)


def test_new_numbers_are_likelier_with_atoms():
    rng = np.random.default_rng(0)
    for kind in (prices, wages):
        column, new = infer(kind(1000, rng), name="pay", integers="numeric"), kind(1000, rng)
        assert log_density(column, new).mean() > log_density(replace(column, atoms=()), new).mean() + 1.5


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(50, 15, 2000).round(),
        np.random.default_rng(0).normal(500, 100, 2000).round(),
        np.random.default_rng(0).exponential(200, 2000).round(),
        np.random.default_rng(0).lognormal(3, 0.7, 2000).round(2),
        np.repeat(np.arange(18, 91), 20),
        np.random.default_rng(0).normal(size=500),
        np.repeat(np.random.default_rng(0).normal(size=200), 5),
    ],
    ids=["ages", "counts", "waiting", "cents", "even", "no step", "repeated without a step"],
)
def test_smooth_numbers_have_no_atoms(values):
    assert infer(values, name="x", integers="numeric").atoms == ()


def test_one_row_makes_no_atom():
    values = prices(400, np.random.default_rng(0))
    different, times = np.unique(values, return_counts=True)
    atoms = [number for number, _ in infer(values, name="price").atoms]
    assert atoms
    assert not set(atoms) & set(different[times < LEAST_ROWS].tolist())


@pytest.mark.parametrize("far", [1e4, 1e7, 1e12])
def test_numbers_far_outside_leave_draws_of_atoms(far):
    few = np.random.default_rng(0).choice([10, 20, 50, 100, 150, 200, 500, 999], 400) + np.arange(400) // 30
    values = np.append(few, [far, far, 2 * far, 2 * far])
    column = infer(values, name="gift", integers="numeric")
    numbers = np.array([number for number, _ in column.atoms])
    assert len(numbers) > 20
    np.testing.assert_array_equal(numbers_at(column, column.bin_of(numbers), part_below(column, numbers)), numbers)


def test_codes_of_atoms_keep_the_order_and_survive_rounding():
    values = prices(2000, np.random.default_rng(0))
    column = infer(values, name="price")
    assert (np.diff(codes_of(column, np.unique(values))) >= 0).all()
    np.testing.assert_array_equal(
        codes_of(column, values.astype(np.float32).astype(np.float64)), codes_of(column, values)
    )


def test_atoms_come_back_from_a_file():
    column = infer(prices(400, np.random.default_rng(0)), name="price")
    assert decode(Numeric, encode(column)) == column


@pytest.mark.parametrize(
    "atoms",
    [
        ((2.0, 0.5), (1.0, 0.2)),
        ((1.0, 0.6), (1.5, 0.4)),
        ((1.0, -0.1),),
        ((1.0, 0.0),),
        ((-7.0, 0.5),),
        ((9.0, 0.5),),
        ((float("nan"), 0.5),),
        ((1.0, float("nan")),),
        ((1.0, float("inf")),),
    ],
)
def test_wrong_atoms_are_refused(atoms):
    options = {"edges": (3.0,), "means": (1.5, 4.0), "low": 0.0, "high": 5.0, "integer": False}
    with pytest.raises(ValueError, match="atoms: expected increasing numbers"):
        Numeric(**options, decimals=1, atoms=atoms)
    with pytest.raises(ValueError, match="atoms: expected increasing numbers"):
        Numeric(**options, atoms=((1.0, 0.5),))
