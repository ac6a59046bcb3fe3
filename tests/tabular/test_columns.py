"""nadek.tabular.columns: what a column is told to be, what is asked, and codes and values there and back."""

import re
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from nadek import NADEk
from nadek.models.variables import variables_of
from nadek.tabular import columns
from nadek.tabular.columns import (
    Binary,
    Categorical,
    Numeric,
    decode,
    expected,
    infer,
    knots,
    level_names,
    log_density,
    log_outwards,
    log_relative_density,
    n_levels,
    quantiles_of_number,
)
from nadek.tabular.columns.densities import TAIL
from nadek.tabular.columns.infer import UndecidedColumnError
from nadek.tabular.columns.text_hints import separator_of_answers
from support.models import seeded

NAN = float("nan")


def objects(*values):
    return np.array(values, dtype=object)


def numeric(edges, means, low, high, **options):
    """A column of numbers with fractions."""
    return Numeric(edges=edges, means=means, low=low, high=high, **{"integer": False} | options)


def same(column, other):
    """Equality that tells 0 from False."""
    return column == other and repr(column) == repr(other)


def draw(column, codes, *, rng, **options):
    """Numbers drawn from the bins of codes, as a model draws them."""
    if knots([column]):
        codes = codes + rng.random(len(codes)) - 0.5
    return decode(column, codes, uniforms=rng.random(len(codes)), **options)


def encode(column, values, *, name):
    """Places of levels and bins."""
    return np.round(columns.encode(column, values, name=name))


def refused(call, *arguments, **options):
    with pytest.raises(ValueError, match=r".") as error:
        call(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


# What columns are told to be

TOLD = {
    "booleans": (np.array([True, False]), Binary(levels=(False, True))),
    "only true": (np.array([True, True]), Binary(levels=(False, True))),
    "booleans with holes": (objects(True, None, np.False_), Binary(levels=(False, True))),
    "0 and 1": (np.array([0, 1, 1]), Binary()),
    "0.0 and 1.0 with holes": (np.array([0.0, NAN, 1.0]), Binary()),
    "bytes": (np.array([0, 1], dtype=np.uint8), Binary()),
    "only 1": (np.array([1, 1]), Binary()),
    "0 and 1 as objects": (objects(0, 1.0, None, NAN), Binary()),
    "two words": (np.array(["yes", "no", "yes"]), Binary(levels=("no", "yes"))),
    "two words once each": (np.array(["yes", "no"]), Binary(levels=("no", "yes"))),
    "words": (np.array(["b", "a", "c", "a"]), Categorical(levels=("a", "b", "c"))),
    "words with holes": (objects("b", None, "a", NAN, "c", "a"), Categorical(levels=("a", "b", "c"))),
    "pandas' missing": (objects("b", pd.NA, "a", pd.NaT, "c", "a"), Categorical(levels=("a", "b", "c"))),
    "NumPy's strings": (np.array(["b", "a", "c", "a"], dtype="T"), Categorical(levels=("a", "b", "c"))),
    "one word": (np.array(["a", "a"]), Categorical(levels=("a",))),
    "one whole number": (np.array([7, 7]), Categorical(levels=(7,))),
    "one other number": (np.array([0.5, NAN]), Categorical(levels=(0.5,))),
    "decimals": (
        objects(Decimal("0.5"), Decimal("NaN"), Decimal(2)),
        Numeric(edges=(2.0,), means=(0.5, 2.0), low=0.5, high=2.0, integer=False, decimals=1, n_values=2),
    ),
    "fractions": (
        np.array([0.5, NAN, 2.0, 0.5], dtype=np.float32),
        Numeric(edges=(2.0,), means=(0.5, 2.0), low=0.5, high=2.0, integer=False, decimals=1, n_values=3),
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_column_type_follows_from_values(case):
    values, column = TOLD[case]
    assert same(infer(values, name="x"), column)


def test_more_than_32_texts_are_asked():
    words = np.array([f"w{i:02d}" for i in range(33)] * 2)
    assert n_levels(infer(words[words != "w32"], name="x")) == 32
    with pytest.raises(UndecidedColumnError) as error:
        infer(words, name="city")
    assert str(error.value) == (
        "column \"city\" has 33 different texts in 66 rows ('w00', 'w01', 'w02' (and 30 more)):"
        " say that it is categorical, or leave it out"
    )
    assert n_levels(infer(words, name="city", kind="categorical")) == 33
    with pytest.raises(UndecidedColumnError, match=r'"id" has 3 different texts in 3 rows'):
        infer(objects("a", "b", None, "c"), name="id")


def test_ticked_box_is_asked_about():
    ticked = objects("X", None, "X")
    with pytest.raises(UndecidedColumnError, match=r"^column \"box\" holds 'X' or nothing: write a word where"):
        infer(ticked, name="box")
    assert infer(ticked, name="box", kind="categorical").levels == ("X",)
    assert infer(ticked, name="box", integers="numeric").levels == ("X",)  # where nobody can be asked
    assert infer(objects("X", "X"), name="box").levels == ("X",)  # a constant


def test_ticked_box_of_a_frame_is_told():
    table = pd.DataFrame({"box": ["X", None] * 10, "day": [1.0, 2.5] * 10})
    with pytest.warns(
        UserWarning, match="column \"box\" holds 'X' or nothing: write a word where nothing is an answer"
    ):
        NADEk(max_iter=1).fit(table)


def test_whole_numbers_are_asked_about():
    for values in (np.array([1, 3, 2]), np.array([1.0, 3.0, NAN, 2.0]), objects(1, 3, None, 2)):
        with pytest.raises(UndecidedColumnError) as error:
            infer(values, name="stage")
        assert str(error.value) == (
            'column "stage" has whole numbers from 1 to 3, 3 different ones (3 in row 2):'
            " say whether they are categories or numbers"
        )
        assert infer(values, name="stage", integers="numeric").integer
        assert same(infer(values, name="stage", kind="categorical"), Categorical(levels=(1, 2, 3)))
    with pytest.raises(UndecidedColumnError):
        infer(np.array([1, 2, 1]), name="sex")
    with pytest.raises(UndecidedColumnError, match=r"leave the column out if it only numbers the rows$"):
        infer(np.arange(1, 101), name="patient")


DECLARED = {
    "0 and 1 as categories": (np.array([0, 1]), "categorical", Categorical(levels=(0, 1))),
    "fractions as categories": (np.array([0.5, 1.0]), "categorical", Categorical(levels=(0.5, 1))),
    "0 and 1 as numbers": (
        np.array([0, 1]),
        "numeric",
        Numeric(edges=(1.0,), means=(0.0, 1.0), low=0.0, high=1.0, integer=True, n_values=2),
    ),
    "one number": (
        np.array([5.5]),
        "numeric",
        Numeric(edges=(), means=(5.5,), low=5.5, high=5.5, integer=False, decimals=1, n_values=1),
    ),
}


@pytest.mark.parametrize("case", DECLARED)
def test_declared_type_overrides_values(case):
    values, kind, column = DECLARED[case]
    assert same(infer(values, name="x", kind=kind), column)


@pytest.mark.parametrize(
    ("values", "kind", "told"),
    [
        (objects(None, pd.NA), "auto", 'column "x" has no value in any row: leave it out, or find some values'),
        (np.array([]), "auto", 'column "x" has no value in any row: leave it out, or find some values'),
        (np.array([1.5, np.inf]), "auto", 'row 2, column "x": expected a finite number or missing, found inf'),
        (objects(None, 1, -np.inf), "auto", 'row 3, column "x": expected a finite number or missing, found -inf'),
        (objects("a", None, 3), "auto", 'row 3, column "x": expected text or missing, found 3'),
        (objects(None, 3, "a"), "categorical", "row 3, column \"x\": expected numbers or missing, found 'a'"),
        (objects(1, True), "auto", 'row 2, column "x": expected numbers or missing, found True'),
        (objects("forty", 35, 2, "x"), "numeric", "row 1, column \"x\": expected numbers or missing, found 'forty'"),
        (objects("forty", 35, None, 2), "auto", "row 1, column \"x\": expected numbers or missing, found 'forty'"),
        (objects(2.5, "1,5", "1,7"), "auto", "row 2, column \"x\": expected numbers or missing, found '1,5'"),
        (objects(True, "x", "y"), "auto", 'row 1, column "x": expected text or missing, found True'),
        (np.array([1j]), "auto", 'column "x": expected text, numbers, dates or booleans, found complex128'),
        (np.zeros((2, 2)), "auto", 'column "x": expected one dimension, found an array of shape (2, 2)'),
        (objects(None, "a"), "numeric", "row 2, column \"x\": expected a number or missing, found 'a'"),
        (np.arange(4097), "categorical", 'column "x": expected at most 4096 categories, found 4097'),
    ],
)
def test_impossible_values_are_named(values, kind, told):
    assert refused(infer, values, name="x", kind=kind) == told


def test_the_number_of_bins_is_checked():
    for n_bins in (0, 4097):
        assert refused(infer, np.array([0.5]), name="x", n_bins=n_bins).startswith("n_bins: expected 1 to 4096")


# Bins


def test_bins_are_even_in_number_and_width():
    values = np.random.default_rng(0).normal(size=1600)
    column = infer(values, name="x")
    assert infer(np.append(values[::-1], [NAN, NAN]), name="x").edges == column.edges
    counts, widths = np.bincount(encode(column, values, name="x").astype(int)), np.diff(column.edges)
    assert len(counts) == n_levels(column) == 16
    usual = np.diff(np.quantile(values, [0.01, 0.99]))
    assert (counts[1:-1] / 1600 + widths / usual > 0.11).all()  # 2 / 16 but for the gaps between values
    assert (counts[1:-1] / 1600 + widths / usual < 0.14).all()
    means = [values[encode(column, values, name="x") == code].mean() for code in range(16)]
    np.testing.assert_allclose(column.means, means, rtol=1e-12)


@pytest.mark.parametrize("n_bins", [1, 2, 5, 16])
def test_frequent_number_gets_own_bin(n_bins):
    rng = np.random.default_rng(1)
    values = np.concatenate((np.zeros(700), rng.random(300), -rng.random(200)))
    column = infer(values, name="x", n_bins=n_bins)
    assert n_levels(column) <= n_bins
    codes = encode(column, values, name="x")
    assert set(codes) == set(range(n_levels(column)))  # no empty bin
    smallest = infer(np.abs(values[:1000]), name="x", n_bins=n_bins)  # the frequent one is the first
    if n_bins > 2:
        (zero,) = encode(column, np.array([0.0]), name="x")
        assert (values[codes == zero] == 0).all()
        assert smallest.means[0] == 0.0


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([0.5, 1.0, 2.0], 1),
        ([19.99, 5.0, 0.1], 2),
        ([-0.000001, 3.0], 6),
        ([0.1 + 0.2, 1.0], 1),  # 0.30000000000000004
        (0.1 * np.arange(40, 90), 1),
        (2.54 * np.arange(-50, 100), 2),
        (np.array([17.3, 4.1, 0.2]) + 1000 - 1000, None),  # off by more: as far as 1000 is exact
        ([1 / 3, 2 / 3, 1.0], None),
        ([1e-7, 1.0], None),
        ([1.5, 2.0**52], None),  # so large that any digits would be what the float can hold
        ([1.0, 2.0], None),  # whole numbers
        ([5e-324, 1e300], None),
        (np.array([19.99, 5.0, 0.1], dtype=np.float32), 2),  # 19.9899997711
        (np.array([1 / 3, 5.0], dtype=np.float32), None),
        (np.array([2.0**22 + 0.5, 1.0], dtype=np.float32), None),
    ],
)
def test_decimals_of_numbers_are_counted(values, decimals):
    column = infer(np.array(values), name="x", kind="numeric")
    assert column.decimals == decimals
    assert column.integer == (list(values) == [1.0, 2.0])


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
@pytest.mark.parametrize(
    "narrow",
    [
        lambda values: values.astype(np.float32),
        lambda values: values.astype(np.float16),
        lambda values: objects(*values.astype(np.float32)),
        lambda values: objects(np.float32(values[0]), np.float16(values[1]), *values[2:]),
    ],
    ids=["float32", "float16", "objects", "objects of both"],
)
def test_precision_does_not_change_numbers(narrow, kind):
    values = np.arange(11) / 10
    column = infer(values, name="x", kind=kind)
    assert same(infer(narrow(values), name="x", kind=kind), column)
    np.testing.assert_array_equal(encode(column, narrow(values), name="x"), np.arange(11))


def test_single_precision_keeps_bins():
    """As when a frame with columns of single precision and others becomes one array."""
    values = np.random.default_rng(0).choice([0.1, 0.2, 0.7, 0.9, -1.3], 200)
    widened = values.astype(np.float32).astype(np.float64)
    column = infer(values, name="x")
    assert same(infer(widened, name="x"), column)
    codes = encode(column, values, name="x")
    np.testing.assert_array_equal(encode(column, widened, name="x"), codes)
    np.testing.assert_allclose(log_density(column, widened), np.log(10), atol=1 / 200)  # which is left to unseen ones
    assert set(draw(column, codes, rng=np.random.default_rng(0))) == set(values)
    between = np.array([0.19999, 0.2 - 1e-7, 0.2 + 1e-7, 1e308, -1e308])
    assert encode(column, between, name="x").tolist() == [1, 1, 2, 4, 0]


@pytest.mark.parametrize("seed", range(30))
def test_rounding_keeps_bins(seed):
    """Single precision and six digits of text, for values that are further apart than these tell."""
    rng = np.random.default_rng(seed)
    different = rng.choice([-1, 1], 40) * (1 + np.cumsum(rng.uniform(1e-3, 1, 40))) * 10.0 ** rng.integers(-6, 7) / 3
    values = rng.choice(different, 300)
    column = infer(values, name="x", n_bins=int(rng.integers(2, 17)))
    codes = encode(column, values, name="x")
    six_digits = np.array([float(f"{value:.6g}") for value in values])
    for rounded in (values.astype(np.float32), six_digits, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)):
        np.testing.assert_array_equal(encode(column, rounded, name="x"), codes)
    drawn = draw(column, codes, rng=rng)
    np.testing.assert_array_equal(encode(column, drawn, name="x"), codes)


@pytest.mark.parametrize("kind", ["auto", "numeric", "categorical"])
def test_huge_floats_stay_floats(kind):
    values = np.array([2.5e20, 7e18, -4e18, 2.0**53])
    column = infer(values, name="mass", kind=kind, integers="numeric")
    codes = encode(column, values, name="mass")
    for back in (decode(column, codes), draw(column, codes, rng=np.random.default_rng(0))):
        assert back.dtype == np.float64
        assert back.tolist() == values.tolist()
    coarse = infer(values, name="mass", kind="numeric", n_bins=1)
    drawn = draw(coarse, np.zeros(50), rng=np.random.default_rng(0))
    assert drawn.min() >= -4e18
    assert drawn.max() > 1e19
    assert "whole numbers from -4000" in refused(infer, values, name="mass")  # they may still be codes: asked about


@pytest.mark.parametrize("extreme", [2**60 + 1, 2**63 - 1, -(2**63)])
def test_large_integers_stay_integers(extreme):
    values = np.array([3, 4, 5, 8, extreme])
    for n_bins in (2, 16):
        column = infer(values, name="x", kind="numeric", n_bins=n_bins)
        codes = np.repeat(encode(column, values, name="x"), 20)
        for back in (decode(column, codes), draw(column, codes, rng=np.random.default_rng(0))):
            assert back.dtype == np.int64
            assert back.min() >= values.min()
            assert back.max() <= values.max()


# How densely numbers lie


def test_gap_beside_frequent_number_is_unlikely():
    column = Numeric(edges=(5000.0, 5050.0), means=(0.0, 5025.0, 5075.0), low=0.0, high=5100.0, integer=False)
    for measure in (log_density, log_outwards, log_relative_density):
        density = measure(column, np.array([0.0, 1e-9, 100.0, 2500.0, 4999.0]))
        assert 0 >= density[0] >= -np.log1p(1 / 3)
        assert (np.diff(density) < 0).all()


@pytest.mark.parametrize("n_values", [None, 50, 2800])
def test_number_beside_scale_is_as_rare_as_unseen(n_values):
    """A 9 where training had 1 to 6 only."""
    column = numeric((2.0, 3.0, 6.0), (1.0, 2.0, 3.0, 6.0), 1.0, 6.0, integer=True, n_values=n_values)
    n = n_values or 4
    x, steps = np.array([1.0, 6, 2, 3, 9, -1, 2.5]), np.array([3, 2, 0.5])
    far, near = (1 + steps / TAIL) ** -TAIL, (1 + np.maximum(steps - 1, 0) / TAIL) ** -TAIL
    outwards = np.append(np.zeros(4), np.log(near - far) - np.log1p(n))
    np.testing.assert_allclose(log_outwards(column, x), outwards, atol=1e-8)
    beside = [*[-np.log1p(1 / n)] * 2, 0, -np.log1p(1 / n), 0, 0, 0]  # nothing lies between 2 and 3
    np.testing.assert_allclose(log_density(column, x), outwards + beside, atol=1e-8)


@pytest.mark.parametrize(
    "values", [np.random.default_rng(0).normal(size=800), np.random.default_rng(0).exponential(9, 500)]
)
def test_outwards_is_the_density_farther_out(values):
    column = infer(values, name="x")
    away = np.geomspace(1e-7, 1e4, 1_000_001) * values.std()
    for x, code in ((column.edges[0] - away, 0), (column.edges[-1] + away, n_levels(column) - 1)):
        half = columns.encode(column, x, name="x") == code
        mass = np.exp(log_density(column, x)) * half * away
        outwards = np.log((mass[::-1].cumsum()[::-1] - mass / 2) / mass.sum())
        near = half & (outwards > -12)
        np.testing.assert_allclose(log_outwards(column, x)[near], outwards[near], atol=0.01)
        assert (log_outwards(column, x)[~half] == 0).all()


def test_less_lies_below_a_skewed_range_than_in_its_first_bin():
    column = infer(skew(400) ** 2, name="x")
    below = np.append(0, np.geomspace(1e-9, 100, 20_001))
    density = np.exp(log_density(column, column.low - below))
    assert np.trapezoid(density, below) < 0.3  # of the 0.5 that have the code of the end


def test_relative_densities_have_no_unit():
    metres = np.append(np.zeros(300), skew(500))
    small, large = (infer(metres * unit, name="x") for unit in (1, 1024))
    a, b = log_relative_density(small, metres), log_relative_density(large, 1024 * metres)
    np.testing.assert_allclose(a, b, atol=1e-9)
    np.testing.assert_allclose(a[:300], -np.log1p(1 / 800))
    np.testing.assert_allclose((log_density(small, metres) - log_density(large, 1024 * metres))[300:], np.log(1024))


def test_densities_of_steps_are_per_unit():
    """Also that of a frequent number, and of what was never seen."""
    euros = np.append(9 * skew(500), [4.5] * 90).round(2)
    a, b = (infer(values, name="x", integers="numeric") for values in (euros, (100 * euros).round()))
    assert a.single == b.single != ()
    x = np.append(euros, [-3, 4.51, 4.9, 999])
    np.testing.assert_allclose(log_density(a, x), log_density(b, (100 * x).round()) + np.log(100), atol=1e-6)


@pytest.mark.parametrize("n_bins", [16, 64])
def test_rare_numbers_share_their_bins(n_bins):
    """An unseen number beside one that has a bin to itself is taken for as good as impossible."""
    sparse = skew(200) ** 3
    assert infer(sparse, name="x", n_bins=n_bins).single == ()
    between = infer(np.append(sparse, [0.0] * 99 + [sparse.max()] * 99), name="x", n_bins=n_bins)
    assert between.single == (0, n_levels(between) - 1)


def test_few_values_say_little_of_their_bin():
    """The median of the last bin is its edge, and its mean nearly so: that made the largest one impossible."""
    values = np.append(np.arange(0.1, 2.8, 0.05).round(2), [2.81, 2.81, 2.96])
    assert log_density(infer(values, name="x"), values).min() > -6


@pytest.mark.parametrize("typo", [1e3, 1e6, -1e6])
def test_outlier_leaves_neighbours_likely(typo):
    values = np.random.default_rng(0).standard_normal(1000)
    clean, with_typo = (infer(some, name="x") for some in (values, np.append(values[1:], typo)))
    found, plain = (log_density(column, np.linspace(-2.5, 2.5, 200)) for column in (with_typo, clean))
    assert np.abs((found - found.mean()) - (plain - plain.mean())).max() < 1  # one number more or less moves an edge
    fall, unseen = (log_density(column, np.array([typo]))[0] for column in (with_typo, clean))
    assert fall == pytest.approx(unseen, abs=1)  # one rule for what is far out
    assert fall < found.min() - 25


def test_training_outlier_falls_far_below():
    values = np.append(np.random.default_rng(0).integers(18, 91, 1000), 1e6)
    fall = log_outwards(infer(values, name="age", kind="numeric"), values)
    assert fall[-1] < -50
    assert (fall[:-1] > -5).all()


def test_a_heavy_tail_has_no_hopeless_numbers():
    """The density of a Cauchy distribution, and of one of a normal one with an error, is nowhere absurdly low."""
    rng = np.random.default_rng(0)
    for values in (rng.standard_cauchy(4000), np.append(rng.normal(size=4000), [1e6, -1e6])):
        assert log_density(infer(values, name="x"), values).min() > -100


def test_typing_errors_among_few_numbers_fall_far_below():
    column = infer(np.append(np.repeat(np.arange(1.0, 9), 50), [45, 47, -60]), name="size", kind="numeric")
    assert (column.single, column.low, column.high) == (tuple(range(8)), 1, 8)  # nothing is drawn from 9 to 47
    falls = log_outwards(column, np.array([8.0, 9, 20, 44, 45, 47, 90]))
    assert (np.diff(falls) < 0).all()
    assert falls[4] < -10 > log_outwards(column, np.array([-60.0]))[0]
    for values in ([*[1.0, 2, 8] * 50, 20], [20.0, 20, 21, 21, 35, 50, 60], [*[0.0] * 150, 0.5, 1, 1, 9, 9]):
        assert len(infer(np.array(values), name="size", kind="numeric").single) == len(set(values))


@pytest.mark.parametrize("n_values", [2, 5, 16])
@pytest.mark.parametrize("typo", [1e3, -1e3, 987654.5])
def test_nothing_is_drawn_between_others_and_a_typing_error(n_values, typo):
    values = np.append(np.repeat(np.arange(n_values) / 2, 2000 // n_values), typo)
    column = infer(values, name="x", kind="numeric")
    drawn = draw(column, column.bin_of(values), rng=np.random.default_rng(0))
    assert (drawn.min(), drawn.max()) == (0, (n_values - 1) / 2)
    fall = log_outwards(column, np.array([0.0, (n_values - 1) / 2, typo]))
    assert (fall[:2] == 0).all() or fall[:2].min() > -5
    assert fall[2] < -20


def test_typing_errors_move_no_expectation():
    values = np.exp(np.random.default_rng(0).normal(7.5, 0.8, 2400)).round()
    with_errors = np.append(values, [2_500_000, -90_000])
    column = infer(with_errors, name="income", kind="numeric")
    expected_mean = np.array(column.means)[column.bin_of(with_errors)].mean()
    assert abs(expected_mean / values.mean() - 1) < 0.03 < with_errors.mean() / values.mean() - 1


@pytest.mark.parametrize(
    ("texts", "hint"),
    [
        (["1,5", "2"], "numbers if commas are decimal (--decimal , or"),
        (["0,5", "-1,25", "7"], "numbers if commas are decimal (--decimal , or"),
        (["18.5", "20"], "which look like numbers (pandas.to_numeric"),
        ([".5", "-1.25", "7"], "which look like numbers (pandas.to_numeric"),
        (["2024-03-01", "2024-03-02"], "which look like dates (in files 2023-05-31 is one"),
        (["1.3.2024", "12.11.2024", "2.3.2024 08:15"], "which look like dates (in files"),
    ],
)
def test_texts_that_look_like_something_else_are_asked_about(texts, hint):
    assert f", {hint}" in refused(infer, np.array(3 * texts, object), name="x")
    assert infer(np.array(2 * [*texts, "a"], object), name="x").kind == "categorical"
    assert infer(np.array(2 * texts, object), name="x", kind="categorical").levels == tuple(sorted(texts))


@pytest.mark.parametrize("odd", ["007", "1e400", "12345678901234567.5"])
def test_what_keeps_texts_from_being_numbers_comes_first(odd):
    assert f"({odd!r}, '0.5', " in refused(infer, np.array(["0.5", "0.7", odd, "9.5"], object), name="x")


@pytest.mark.parametrize(
    ("texts", "hint"),
    [
        ([f"{k} kg" for k in range(40)], ", numbers once signs and units are left out: say"),
        ([f"${13.5 * k:,.2f}" for k in range(90, 130)], ", numbers once signs and units are left out: say"),
        ([*map(str, range(40)), "n.b.", "<0,5"], ", numbers but for '<0,5', 'n.b.' (correct or empty such cells): say"),
        ([f"-CHF {k}'200" for k in range(40)], ", numbers once signs and units are left out: say"),
        (
            [f"{13.5 * k:,.2f}" for k in range(90, 130)] + [f"($1,{k}.50)" for k in range(100, 140)],
            ", numbers once signs and units are left out (in brackets may mean below 0): say",
        ),
        ([f"{k}b" for k in range(40)] + ["b"], ": say"),
        ([f"{k // 2:02}:{k % 2}0" for k in range(40)], ", which look like times of day (write hours as numbers"),
        (
            [f"{a}; {b}" for a in "abcdefg" for b in "uvwxyz"],
            ", which look like several answers at once (str.get_dummies(';') of pandas parts them): say",
        ),
        ([*map(str, range(40))], ": say"),
        ([f"n{k}" for k in range(40)], ": say"),
    ],
)
def test_numbers_among_many_texts_are_named(texts, hint):
    assert re.search(r"\(and \d+ more\)\)" + re.escape(hint), refused(infer, np.array(texts, object), name="x"))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["bus", "car", "bus;car"], ";"),
        (["bus, car", "bus", "train", "car, train"], ","),
        (["a|b", "a|c", "b|d", "c", "b|c|d", "a|b|my own answer"], "|"),
        (["bus", "car", "bus and car"], None),
        (["Bern, Switzerland", "Chur, Switzerland", "Lyon, France", "Nice, France", "Paris, France"], None),
        (["yes", "no", "yes, but"], None),
        ([";", "", "; ", "a"], None),
        (["0,5", "5,0", "5,5", "0,0", "1,5", "1,0", "5,1"], None),
        ([], None),
    ],
)
def test_separator_of_answers(texts, expected):
    assert separator_of_answers(texts) == expected


def test_digits_of_other_scripts_do_not_look_like_numbers():
    texts = np.array(["\u0661.\u0665", "\u0662.\u0665"] * 3, object)
    assert infer(texts, name="x").kind == "binary"


@pytest.mark.parametrize("texts", [["1", "2", "3"], ["01", "02"], ["3-4", "5-6"], ["1.2.3", "1.2.4"], ["-", "."]])
def test_texts_of_digits_are_categories(texts):
    assert infer(np.array(3 * texts, object), name="x").levels == tuple(sorted(texts))


ENDS = [[-1.7e308, 0, 1, 1.7e308], [-1.7e308, -1.6e308, 0, 1, 1.6e308, 1.7e308], [1e308, 1.5e308, 1.6e308, 1.7e308]]


@pytest.mark.parametrize("n_bins", [3, 16])
@pytest.mark.parametrize("values", ENDS)
def test_densities_of_huge_floats_are_finite(values, n_bins):
    column = infer(np.repeat(np.array(values, dtype=np.float64), 10), name="x", integers="numeric", n_bins=n_bins)
    assert np.isfinite(log_outwards(column, np.array(values))).all()
    assert not np.isnan(log_relative_density(column, np.array(values))).any()


@pytest.mark.parametrize("value", [5.5, 0.0, -3.0])
def test_density_falls_with_distance(value):
    column = Numeric(edges=(), means=(value,), low=value, high=value, integer=False)
    density = log_density(column, value + np.array([0.0, 0.1, -10.0, 1e9]))
    assert density[0] == -np.log(2)
    assert (np.diff(density) < 0).all()


@pytest.mark.parametrize("offset", [0.0, 1e6, -3e9])
def test_density_falls_wherever_the_range_lies(offset):
    column = infer(offset + np.random.default_rng(0).random(300), name="x")
    inside, above, below = log_density(column, offset + np.array([0.5, 1.9, -0.9]))
    assert max(above, below) < inside - 10


def skew(size):
    return np.random.default_rng(1).lognormal(size=size)


@pytest.mark.parametrize("seed", range(100))
def test_nothing_is_drawn_between_others_and_equal_errors(seed):
    rng = np.random.default_rng(seed)
    n, n_errors = rng.integers(60, 3000), rng.integers(1, 60)
    rest = (rng.integers(18, 91, n), rng.normal(50, 15, n), skew(n).round(2), rng.exponential(10, n))[seed % 4]
    error = np.round(10 ** rng.uniform(1.5, 4) * np.ptp(rest) * rng.choice([-1, 1]))
    column = infer(np.append(rest, np.full(n_errors, error)), name="x", kind="numeric")
    is_own_level = column.is_single[column.bin_of(np.array([error]))[0]]
    assert is_own_level or rest.min() <= column.low < column.high <= rest.max()


def test_a_frequent_number_beside_two_errors():
    values = np.concatenate([[-2e6, -1e6], np.zeros(900), np.random.default_rng(0).exponential(size=100)])
    assert infer(values, name="x").low == -1e6  # a bin of errors alone keeps one


@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("n_far", [6, 40])
def test_no_number_is_drawn_in_a_gap(n_far, decimals):
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(1000, 200, 960), rng.normal(1e5, 3000, n_far))
    assert not infer(np.append(values[:960], np.full(n_far // 3, 1e5)), name="x").gaps  # a code, or errors
    column = infer(values if decimals is None else values.round(decimals), name="x")
    (gap,) = column.gaps
    assert column.edges[gap] > 9e4
    assert gap > 2
    assert n_levels(column) <= 16
    drawn = draw(column, rng.integers(0, n_levels(column), 20_000), rng=rng)
    assert not ((drawn > 3000) & (drawn < 8e4)).any()


@pytest.mark.parametrize("share", [0.03, 0.1])
@pytest.mark.parametrize("most", [np.inf, 95_000])
def test_a_number_that_stands_out_has_its_own_bin(share, most):
    """No pay, or the cap of a survey, or no change; other frequent numbers have none."""
    rng = np.random.default_rng(0)
    pay = np.round(np.exp(rng.normal(10.5, 0.4, 1000))).clip(max=most)
    rare = rng.random(1000) < share
    for values, special in (
        (np.where(rare, 0 if most == np.inf else most, pay), 0 if most == np.inf else most),
        (np.where(rare, 0, pay - 40_000), 0),
    ):
        column = infer(values, name="pay", kind="numeric")
        assert special in [(column.low, *column.edges)[place] for place in column.single]
    assert not infer(np.where(rare, 30_000, pay), name="pay", kind="numeric").single
    assert not infer(np.repeat(np.arange(60), 20), name="age", kind="numeric").single


@pytest.mark.parametrize("slope", [-2, 0, 2])
@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=800),
        np.random.default_rng(0).random(size=300),
        *(skew(800), np.append(np.zeros(300), skew(500)), skew(800).round(2)),
        *(np.append(skew(600), [2.0] * 99), np.append(9 * skew(500), [4.5] * 90 + [65.25] * 90).round(2)),
        *((10 * skew(900)).round(), 3 + 25 * (10 * skew(900)).round(), 0.01 + (5 * skew(900)).round(1)),
        np.append(np.zeros(500), 3 + skew(40)),
        *(np.append(500 + skew(60), skew(500)), np.append(500 + skew(60), skew(500)).round(2)),
        np.floor(9 * skew(900)) + np.random.default_rng(2).choice([0.25, 0.49, 0.75, 0.99], 900),
        *(np.repeat(few, 9) for few in ([9.99, 19.99, 49.99], [1000, 2000, 5000], [0.5, 1.5, 2.5], 300 * skew(10))),
    ],
    ids=[
        *("normal", "even", "skewed", "many zeros", "cents", "many twos", "many cents"),
        *("whole", "steps of 25", "tenths and a cent", "a gap"),
        *("two sides", "cents on two sides", "endings"),
        *("prices", "whole prices", "halves", "irregular"),
    ],
)
def test_densities_integrate_to_one(values, slope):
    """Those of any knots, times the densities within bins, over bins and both tails; single numbers are masses."""
    column = infer(values, name="x", integers="numeric")
    n, span, ends = n_levels(column), column.high - column.low, (column.low, *column.ends, column.high + column.step)
    scores = slope * torch.arange(n) + torch.randn(n, generator=seeded(2), dtype=torch.float64)
    variables = variables_of((n,), columns.knots([column]))

    def of_codes(codes):
        zeros = torch.zeros(len(codes), dtype=torch.long)
        return variables.log_prob(scores.expand(len(codes), n), torch.from_numpy(codes), zeros).exp().numpy()

    def density(x):
        return of_codes(columns.encode(column, x, name="x")) * np.exp(log_density(column, x))

    total = 0.0 if column.step else density(np.array((column.low, *column.edges))[list(column.single)]).sum()
    for a, b in [(ends[0] - span, ends[0]), *pairwise(ends), (ends[-1], ends[-1] + 9 * span)]:
        x = np.linspace(a, b, 20_001)[:-1] + (b - a) / 40_000
        if column.step:
            places = np.arange(round((a - column.low) / column.step), round((b - column.low) / column.step))
            x = column.rounded(column.low + places * column.step)
        total += (density(x) * (column.step or (b - a) / 20_000)).sum()
    assert total == pytest.approx(1, abs=0.006)  # a step across a knot counts with its middle


@pytest.mark.parametrize("n_bins", [3, 16])
@pytest.mark.parametrize(
    "values",
    [
        np.concatenate([np.zeros(20_000), np.ones(2000), np.arange(2, 18)]),
        np.concatenate([np.zeros(20_000), np.full(2000, 0.5), -np.arange(1, 17) / 4]),
        np.random.default_rng(0).random(200) * 1e-310,
        np.random.default_rng(0).normal(size=200) * 1e307,
    ],
    ids=["nearly all of the rest equal", "cents", "tiny", "huge"],
)
def test_bins_of_extreme_numbers(values, n_bins):
    column = infer(values, name="n", kind="numeric", n_bins=n_bins)
    assert 1 < n_levels(column) <= n_bins
    assert np.bincount(column.bin_of(values)).min() > 0


# Codes there and back


EVERY = [
    (np.array([0, 1, 1]), "auto"),
    (np.array([True, False]), "auto"),
    (np.array(["b", "a", "c", "a"]), "auto"),
    (np.array([1, 2, 9]), "categorical"),
    (np.array([0.5, 2.0, 3.25]), "categorical"),
    (np.array([0.5, 2.0, 3.25]), "numeric"),
    (np.array([3, 8, 2, 3]), "numeric"),
    (np.array([2**60, 2**60 + 1]), "categorical"),
]


@pytest.mark.parametrize(("values", "kind"), EVERY)
def test_values_come_back(values, kind):
    column = infer(values, name="x", kind=kind)
    codes = encode(column, values, name="x")
    assert codes.dtype == np.float64
    assert codes.max() < n_levels(column)
    back = decode(column, codes)
    assert back.tolist() == values.tolist()
    assert [type(value) for value in back.tolist()] == [type(value) for value in values.tolist()]
    assert draw(column, codes, rng=np.random.default_rng(0)).tolist() == values.tolist()


def test_equal_numbers_share_a_level():
    for values in (np.array([0, 1]), np.array([0.0, 1.0]), np.array([False, True]), objects(0, 1.0)):
        assert encode(Binary(), values, name="x").tolist() == [0, 1]
        assert encode(Binary(levels=(False, True)), values, name="x").tolist() == [0, 1]
    assert encode(Categorical(levels=(0.5, 2)), np.array([2.0, 0.5]), name="x").tolist() == [1, 0]
    column = infer(np.array([0.1, 0.2, 0.1 + 0.2, 1.0]), name="x")
    assert encode(column, np.array([0.2, 0.3, 1.0]), name="x").tolist() == [1, 2, 3]
    assert infer(np.repeat([0.1, 0.7, 1e9 + 0.3], 7), name="x").means == (0.1, 0.7, 1e9 + 0.3)


NUMERIC = numeric((1.0, 4.0), (0.5, 2.0, 4.0), 0.0, 4.0)


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        (Binary(), np.array([0, 1, 2]), 'row 3, column "x": expected 0, 1 or missing, found 2'),
        (Binary(), np.array([0, NAN, 0.5]), 'row 3, column "x": expected 0, 1 or missing, found 0.5'),
        (Binary(), objects("1", None), "row 1, column \"x\": expected 0, 1 or missing, found '1'"),
        (
            Categorical(levels=tuple("abcdefgh")),
            objects("a", None, "z"),
            "row 3, column \"x\": expected 'a', 'b', 'c', 'd', 'e', 'f' (and 2 more) or missing, found 'z'",
        ),
        (Categorical(levels=(1, 2)), objects("y", 1, "z"), 'row 1, column "x": expected 1, 2 or missing, found'),
        (Binary(levels=("no", "yes")), objects(1, "no"), "row 1, column \"x\": expected 'no', 'yes' or missing, fo"),
        (Binary(levels=(False, True)), objects(1, True), 'row 1, column "x": expected False, True or missing, found'),
        (NUMERIC, objects(None, "a"), "row 2, column \"x\": expected a number or missing, found 'a'"),
        (NUMERIC, objects("forty", 35, "x"), "row 1, column \"x\": expected numbers or missing, found 'forty'"),
        (NUMERIC, np.array([NAN, np.inf]), 'row 2, column "x": expected a finite number or missing, found inf'),
    ],
)
def test_new_value_is_named_by_cell(column, values, told):
    assert refused(encode, column, values, name="x").startswith(told)


@pytest.mark.parametrize(("column", "code"), [(Binary(), 0.5), (Categorical(levels=("a", "b")), -1.0), (NUMERIC, 3.0)])
def test_unknown_codes_are_refused(column, code):
    for call in (decode, lambda *a: draw(*a, rng=np.random.default_rng(0))):
        assert "expected codes 0 to" in refused(call, column, np.array([0.0, NAN, code]))
    outside = np.array([-9.0, 0.0, 0.999, 1.0, 3.9, 4.0, 100.0])  # they have codes all the same
    assert encode(NUMERIC, outside, name="x").tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_no_rows_have_no_codes():
    for column in (Binary(), Categorical(levels=("a", "b")), NUMERIC):
        assert encode(column, np.array([]), name="x").shape == (0,)
        assert decode(column, np.array([])).shape == (0,)


# Draws and expectations


def test_decoded_means_of_integers_are_integers():
    column = Numeric(edges=(4.0,), means=(1.75, 5.25), low=0.0, high=9.0, integer=True)
    assert decode(column, np.array([0, 1])).tolist() == [2, 5]
    assert expected(column, np.array([[0.5, 0.5]])).tolist() == [(1.75 + 5.25) / 2]


def test_draws_are_uniform_for_central_mean():
    column = Numeric(edges=(10.0,), means=(5.0, 15.0), low=0.0, high=20.0, integer=False)
    drawn = draw(column, np.repeat([0.0, 1.0], 20_000), rng=np.random.default_rng(0))
    for part, low in ((drawn[:20_000], 0), (drawn[20_000:], 10)):
        assert part.min() >= low
        assert part.max() <= low + 10
        counts = np.histogram(part, bins=10, range=(low, low + 10))[0]
        assert (((counts - 2000) ** 2) / 2000).sum() < 27.9  # chi-square, 9 degrees of freedom, 1 in 1,000


@pytest.mark.parametrize("rate", [-7.0, 2.5])
def test_draws_lean_towards_bin_mean(rate):
    mean = 1 / (1 - np.exp(-rate)) - 1 / rate  # of exp(rate s), s from 0 to 1
    column = Numeric(edges=(10.0,), means=(10 * mean, 15.0), low=0.0, high=20.0, integer=False)
    drawn = draw(column, np.zeros(20_000), rng=np.random.default_rng(0)) / 10
    expected_counts = 20_000 * np.diff(np.expm1(rate * np.linspace(0, 1, 11)) / np.expm1(rate))
    counts = np.histogram(drawn, bins=10, range=(0, 1))[0]
    assert (((counts - expected_counts) ** 2) / expected_counts).sum() < 27.9  # as above


NORMAL = np.random.default_rng(0).standard_normal((2, 2000))
INCOME = np.exp(1.5 * NORMAL[0])
SKEWED = {
    "continuous": INCOME,
    "mirrored": -INCOME,
    "whole": np.floor(INCOME),
    "cents": np.round(INCOME, 2),
    "one far outside": np.append(NORMAL[1], 1e6),
    "at an edge": np.append(np.full(1999, 5.0) + 1e-9 * np.arange(1999), 7.0),
}


@pytest.mark.parametrize("kind", SKEWED)
def test_draws_have_bin_means(kind):
    column = replace(infer(SKEWED[kind], name="x", kind="numeric"), n_values=None)  # whose means are exact
    codes = np.repeat(np.arange(float(n_levels(column))), 20_000)
    drawn = draw(column, codes, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(encode(column, drawn, name="x"), codes)
    by_bin = drawn.reshape(-1, 20_000)
    error = by_bin.std(1) / np.sqrt(20_000)
    near = np.abs(by_bin.mean(1) - column.means) <= 4.5 * error + 1e-9 * np.abs(column.means)
    assert near[:-1].all()
    if kind in ("one far outside", "at an edge"):  # which does not drag its neighbours along
        assert np.quantile(by_bin[-1], 0.9) < 2 * np.sort(SKEWED[kind])[-2]
    else:
        assert near[-1]


def test_integers_are_drawn_from_whole_bin():
    column = Numeric(edges=(3.0, 4.0), means=(1.0, 3.0, 5.5), low=0.0, high=6.0, integer=True)
    drawn = draw(column, np.repeat([0.0, 1.0, 2.0], 300), rng=np.random.default_rng(0))
    assert drawn.dtype == np.int64
    assert set(drawn[:300]) == {0, 1, 2}
    assert set(drawn[300:600]) == {3}
    assert set(drawn[600:]) == {4, 5, 6}


def test_prices_are_drawn_in_cents():
    prices = np.random.default_rng(0).integers(1, 2000, size=4000) / 100
    column = infer(prices, name="price")
    assert n_levels(column) == 16
    drawn = draw(column, encode(column, np.repeat(prices, 10), name="price"), rng=np.random.default_rng(1))
    assert all(value == float(f"{value:.2f}") for value in drawn)  # 19.99, not 19.990000000000002
    assert (encode(column, drawn, name="price") == encode(column, np.repeat(prices, 10), name="price")).all()
    assert set(drawn) == set(np.arange(1, 2000) / 100)  # all of them, the dearest too
    counts = np.bincount(np.rint(drawn * 100).astype(int))[1:]
    assert counts.std() / counts.mean() < 0.3  # evenly: 20 of each expected
    assert all(value == float(f"{value:.2f}") for value in decode(column, np.arange(16.0)))


@pytest.mark.parametrize("first", [0, -37, 10**9 + 1])
@pytest.mark.parametrize(("grid", "decimals"), [(5, 0), (500, 0), (7, 0), (25, 2), (2, 6)])
@pytest.mark.parametrize("n_different", [30, 80, 3000])
def test_numbers_on_a_grid_are_drawn_on_it(first, grid, decimals, n_different):
    """Also where a bin holds many of them, and by quantiles; one number beside it ends it."""
    first = first % 1000 if decimals == 6 else first  # as floats have 15 digits
    place = np.random.default_rng(0).integers(n_different, size=4000) ** 2 // n_different
    units = first + grid * np.append(place, [0, 1, n_different])
    column = infer(np.round(units / 10**decimals, decimals), name="x", kind="numeric")
    assert column.grid == grid
    p = np.random.default_rng(1).dirichlet(np.ones(n_levels(column)), size=50)
    codes = np.repeat(np.arange(float(n_levels(column))), 200)
    drawn = draw(column, codes, rng=np.random.default_rng(1)), quantiles_of_number(column, p, [0.05, 0.5])
    middles = decode(column, np.arange(n_levels(column)))
    for numbers in (*drawn, middles):
        found = np.round(numbers * 10**decimals)
        np.testing.assert_array_equal(np.round(found / 10**decimals, decimals), numbers)  # 19.99, not 19.99000000002
        assert not ((found - first) % grid).any()
        assert found.min() >= units.min()
        assert found.max() <= units.max()
    np.testing.assert_array_equal(encode(column, drawn[0], name="x"), codes)
    beside = np.append(units, units[0] + 1)
    assert infer(np.round(beside / 10**decimals, decimals), name="x", kind="numeric").grid is None


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (1 + 1e-13 * np.random.default_rng(0).normal(size=2000), np.float64),
        ((1e5 + np.random.default_rng(0).normal(size=2000)).astype(np.float32), np.float32),
        (np.random.default_rng(0).normal(30, 1, size=2000).astype(np.float16), np.float16),
        (np.float32([0.5, 0.7, 1e6]), np.float16),  # which does not reach so far
        (np.float32([1, 2, 3, 7]), object),
    ],
    ids=["float64", "float32", "float16", "too far", "objects"],
)
def test_draws_stay_inside_after_rounding(values, dtype):
    column = infer(values, name="x", kind="numeric", n_bins=8)
    codes = np.repeat(np.arange(float(n_levels(column))), 2000)
    drawn = draw(column, codes, rng=np.random.default_rng(0), dtype=np.dtype(dtype))
    np.testing.assert_array_equal(encode(column, drawn, name="x"), codes)
    if drawn.max() < np.finfo(np.float16).max or dtype != np.float16:
        np.testing.assert_array_equal(encode(column, drawn.astype(dtype), name="x"), codes)
        assert len(set(drawn)) >= len(set(codes))


def test_draws_follow_from_generator():
    codes = np.array([0.0, NAN, 1.0])
    a, b, c = (draw(NUMERIC, codes, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c, equal_nan=True)


def test_expectations():
    p = np.array([[0.2, 0.3, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]])
    discrete = numeric((1.0, 4.0), (0.0, 1.0, 4.0), 0.0, 4.0)
    np.testing.assert_allclose(expected(discrete, p[:, :3]), [0.3 + 2.0, 0.0])
    numbers = np.arange(0.0005, 2, 0.001)
    density = 0.7 ** (1 - (code := np.clip(numbers - 0.5, 0, 1))) * 0.3**code
    mean = [density @ numbers / density.sum()]
    np.testing.assert_allclose(expected(numeric((1.0,), (0.5, 1.5), 0.0, 2.0), np.array([[0.7, 0.3]])), mean, atol=1e-3)
    np.testing.assert_allclose(expected(Binary(), p[:, :2]), [0.3, 0.0])
    np.testing.assert_allclose(expected(Binary(levels=(False, True)), p[:, :2]), [0.3, 0.0])
    np.testing.assert_allclose(expected(Binary(levels=(1, 2)), np.array([[0.4, 0.6]])), [1.6])
    for column in (Categorical(levels=(1, 2, 3)), Binary(levels=("a", "b"))):
        assert "have no mean" in refused(expected, column, p)


# Columns themselves


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Binary(levels=(0, False)), "levels: expected each once, found (0, False)"),
        (lambda: Binary(levels=(0, "a")), "levels: expected all text, all numbers or all booleans, found (0, 'a')"),
        (lambda: Categorical(levels=()), "levels: expected 1 to 4096, found 0"),
        (lambda: Categorical(levels=tuple(range(4097))), "levels: expected 1 to 4096, found 4097"),
        (lambda: Categorical(levels=(1, NAN)), "levels: expected finite numbers, found (1, nan)"),
        (
            lambda: numeric((2.0, 1.0), (0.0, 1.0, 2.0), 0.0, 3.0),
            "edges: expected increasing numbers between low and high, found (2.0, 1.0)",
        ),
        (
            lambda: numeric((2.0,), (0.0, 1.0), 0.0, 1.0),
            "edges: expected increasing numbers between low and high, found (2.0,)",
        ),
        (lambda: numeric((2.0,), (1.0,), 0.0, 3.0), "means: expected one for each of at most 4096 bins, found 1"),
        (lambda: numeric((), (1.0,), 0.0, 3.0, decimals=7), "decimals: expected 1 to 6, found 7"),
        (
            lambda: numeric((), (1.0,), 0.0, 3.0, integer=True, decimals=1),
            "decimals: expected none for whole numbers, found 1",
        ),
        (lambda: numeric((), (NAN,), 0.0, 3.0), "expected finite edges and means, found another number"),
    ],
)
def test_impossible_columns_are_refused(make, told):
    assert refused(make) == told


# What bins are called


@pytest.mark.parametrize("digits", [0, 1, 2, 6])
def test_bin_names_give_least_and_greatest(digits):
    numbers = np.arange(-400, 500, 3) / 10**digits if digits else np.arange(-400, 500, 3)
    kind = infer(numbers, name="price", kind="numeric")
    found = [[float(end) for end in name.split("..")] for name in level_names(kind)]
    assert len(found) == n_levels(kind) == 16
    for code, ends in enumerate(found):
        assert encode(kind, np.array(ends), name="price").tolist() == [code, code]
    assert kind.step == 3 * 10.0**-digits
    assert [round(left - kind.step, digits) for left, _ in found[1:]] == [right for _, right in found[:-1]]


def test_bin_names_have_few_digits():
    kind = numeric((14.5, 17.3), (13.0, 15.1, 18.0), 12.5, 19.9, decimals=1)
    assert level_names(kind) == ["12.5..14.4", "14.5..17.2", "17.3..19.9"]
    kind = numeric((1 / 3, 2 / 3), (0.1, 1 / 3, 0.8), 0.0, 1.0)
    assert level_names(kind) == [f"0..<{1 / 3}", f"{1 / 3}", f"{2 / 3}..1"]


def test_large_levels_are_told_apart_from_floats():
    """Also among so many cells that they are compared with each level: 2^53 + 1 is no float."""
    column = Categorical(levels=(1, 2, 2**53 + 1))
    values = np.array([1.0, 2.0**53] * 40)
    assert np.isnan(columns.encode(column, values, name="a", unknown="missing")[1::2]).all()
    for value, level in zip([1, 2**53 + 1], [0, 2], strict=True):
        assert (encode(column, np.array([value] * 80), name="a") == level).all()
