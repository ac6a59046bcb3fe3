"""Numbers within their bins: their codes, the way back, and densities, which bin probabilities leave out.

The density in a bin rises or falls exponentially, as ``exp(t s)`` for s from 0 to 1 across the bin, at the rate t that
gives the mean of its training values. A number of bin b below which lies a part q of this density has the code
``b + q - 1/2``, where bins of several values are neighbours. In the half of a bin that has no such neighbour all
numbers have the code b.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.parsing import read_cells, widened
from nadek.tabular.columns.types import Column, Numeric

NARROWEST = 1e-6
"""Least width of a bin, as a part of the typical width."""

MOST = 2.0
"""Most that the mean distance in an outermost bin counts, in units of what its median implies."""

HUGE = 1e300
"""Largest number whose differences are safe in floats; larger ones are divided by four."""

MARGIN = 1e-4
"""Least distance of codes from the ends of their bins, so that single precision does not round to the next bin."""

DOUBLE: np.dtype[Any] = np.dtype(np.float64)

PARTS = 32
"""Of each bin, in `knots_of`."""

HALVINGS = 100
"""Of the interval in which a lean is looked for: to the last digit, wherever it begins."""


def codes_of(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return codes of numbers, [M]; the middle of a step counts."""
    place, (left, width) = column.bin_of(numbers), _left_and_width(column)
    with np.errstate(invalid="ignore", over="ignore"):
        away = column.snapped(numbers) - left[place] + column.step / 2
        share = np.divide(away, width[place], out=np.full(len(place), 0.5), where=width[place] > 0)
    below = _part_below(np.clip(share, 0, 1), _leans(column)[place])
    return place + _joined(column, place, np.clip(below, MARGIN, 1 - MARGIN) - 0.5)


def draw(
    column: Numeric, codes: NDArray[np.float64], *, rng: np.random.Generator, dtype: np.dtype[Any] = DOUBLE
) -> NDArray[np.float64]:
    """Return numbers of codes, [M].

    Where half a bin has one code they are drawn. They have the decimals of the column and, rounded to floats of
    ``dtype``, are still in their bins. One random number is taken for each.
    """
    places, even = np.round(codes).astype(np.intp), rng.random(len(codes))
    below, above = ~_is_joined(column)[:, places]
    half = np.select([below & above, below, above], [even, even / 2, 0.5 + even / 2], 0.5)
    part = np.where(codes == places, half, 0.5 + codes - places)
    left, width = _left_and_width(column)
    share, left, width = _leaning(part, _leans(column)[places]), left[places], width[places]
    inwards = np.floor(share * np.round(width / column.step)) * column.step if column.step else share * width
    return _within(column, column.rounded(left + inwards), places, dtype)


@lru_cache(maxsize=1024)
def knots_of(column: Numeric) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bins of knots, [L, L], and their means, [L].

    See `nadek.models.variables`. Bins count by the midpoints of many parts.
    """
    n, left, width = len(column.means), *_left_and_width(column)
    part = np.tile((np.arange(PARTS) + 0.5) / PARTS, n)
    place = np.repeat(np.arange(n), PARTS)
    code = place + _joined(column, place, part - 0.5)
    weights = np.clip(1 - np.abs(code[:, None] - np.arange(n)), 0, None) / PARTS
    numbers = left[place] + _leaning(part, _leans(column)[place]) * width[place]
    bins = weights.reshape(n, PARTS, n).sum(1).T
    middles = numbers.reshape(n, PARTS).mean(1)[place]  # parts of a whole number count as it does
    return bins, weights.T @ (numbers - middles + np.array(column.means)[place])


def _is_joined(column: Numeric) -> NDArray[np.bool_]:
    """Return True where a bin of several values has one below, and above, [2, L]."""
    several = np.ones(len(column.means), dtype=np.bool_)
    several[list(column.single)] = False
    both = several[1:] & several[:-1]
    return np.stack([np.append(False, both), np.append(both, False)])


def _joined(column: Numeric, place: NDArray[np.intp], away: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from middles of bins, 0 towards others."""
    below, above = _is_joined(column)[:, place]
    return np.where(np.where(away < 0, below, above), away, 0.0)


def _left_and_width(column: Numeric) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where bins begin and how wide they are; 0 where one held a single value only."""
    left, right = np.array((column.low, *column.ends)), np.array((*column.ends, column.high + column.step))
    single, alone = list(column.single), np.array((column.low, *column.edges))
    left[single] = right[single] = alone[single]
    return left, right - left


@lru_cache(maxsize=1024)
def _leans(column: Numeric) -> NDArray[np.float64]:
    """For each bin the rate t at which a density of ``exp(t s)``, s from 0 to 1 across the bin, has the bin's mean.

    Found by halving an interval: the mean grows with t, and is nearer to an end than 1 / |t|.
    """
    left, width = _left_and_width(column)
    within = np.divide(np.array(column.means) - left, width, out=np.full(len(left), 0.5), where=width > 0)
    if column.tails is not None:  # a few values far outside do not count more than `MOST`
        first, last = (MOST * tail / math.log(2) for tail in column.tails)
        within[0] = max(within[0], 1 - first / width[0]) if width[0] else within[0]
        within[-1] = min(within[-1], last / width[-1]) if width[-1] else within[-1]
    n = np.maximum(np.round(width / column.step), 1) if column.step else np.full(len(left), np.inf)
    nearest = np.clip(np.minimum(within, 1 - 1 / n - within), 1e-12, None)
    low, high = -1 / nearest, 1 / nearest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_low = _mean(middle, n) < within
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    leans: NDArray[np.float64] = np.where(n > 1, (low + high) / 2, 0.0)
    return leans


def _mean(t: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of what ``exp(t s)`` draws, when it is rounded down to the next of n equal parts (not at all where n is inf)."""
    t = np.where(np.abs(t) < 1e-9, 1e-9, t)
    with np.errstate(over="ignore", invalid="ignore"):
        part = np.where(np.isinf(n), 1 / t, -1 / (n * np.expm1(-t / n)))
        return -1 / np.expm1(-t) - part


def _part_below(share: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of the density ``exp(t s)`` below s, the inverse of `_leaning`."""
    down = -np.maximum(np.abs(t), 1e-9)
    part: NDArray[np.float64] = np.expm1(down * np.where(t > 0, 1 - share, share)) / np.expm1(down)
    return np.where(t > 0, 1 - part, part)


def _leaning(share: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers of density ``exp(t s)`` in [0, 1), from even ones."""
    down = -np.maximum(np.abs(t), 1e-9)
    with np.errstate(divide="ignore"):
        fallen = np.log1p(np.where(t > 0, 1 - share, share) * np.expm1(down)) / down
    inside: NDArray[np.float64] = np.clip(np.where(t > 0, 1 - fallen, fallen), 0, np.nextafter(1, 0))
    return inside


def _within(
    column: Numeric, drawn: NDArray[np.float64], places: NDArray[np.intp], dtype: np.dtype[Any]
) -> NDArray[np.float64]:
    """Drawn numbers as a type of floats holds them, none of them rounded up to where the next bin begins."""
    if dtype.kind != "f" or max(-column.low, column.high + column.step) > float(np.finfo(dtype).max):
        dtype = DOUBLE
    highest = np.nextafter(np.array(column.ends, dtype=dtype), dtype.type(-np.inf))
    inside: NDArray[np.float64] = np.minimum(widened(drawn.astype(dtype)), np.append(widened(highest), np.inf)[places])
    return inside


def log_density(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers given their bins, [M].

    They are in nats, per unit of the column. Whole numbers, and those of few decimals, have a probability each, spread
    over their step. A number with a bin to itself has the probability of the bin: 0. Beyond those of training the
    density falls as `log_fall_outside` says, and within the outermost bins it is lower by what lies outside, so that it
    integrates to 1.
    """
    inside = np.clip(column.snapped(numbers), column.low, column.high)
    place, (left, width), bins = column.bin_of(inside), _left_and_width(column), _Bins.of(column)
    with np.errstate(over="ignore"):
        fall, densities = log_fall_outside(column, numbers), _log_lean(column, place, inside - left[place])
        ends = _log_lean(column, np.array([0, len(left) - 1]), np.array([0.0, column.high - left[-1]]))
        scale = bins.scale[[0, -1]] / bins.unit
        beyond = column.step / np.expm1(column.step / scale) if column.step else scale
        less = np.log1p(np.exp(ends) * beyond)
    outermost = np.where(place == 0, less[0], 0) + np.where(place == len(left) - 1, less[1], 0)
    return np.where(width[place] > 0, densities - outermost, 0) + fall


def _log_lean(column: Numeric, place: NDArray[np.intp], inwards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities at distances from left edges; -inf for a single value."""
    width = _left_and_width(column)[1][place]
    with np.errstate(divide="ignore", invalid="ignore"):
        t, share, step = _leans(column)[place], inwards / width, column.step / width
        down = -np.maximum(np.abs(t), 1e-9)
        along = np.where(t > 0, 1 - share - step, share)
        part = np.expm1(down * step) / step if column.step else down
        return np.where(width > 0, down * along + np.log(part / np.expm1(down)) - np.log(width), -np.inf)


def log_density_within(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers within their bins, relative to the densest place of the column, [M].

    In an inner bin every number is equally dense. In the two outermost ones the density falls exponentially from the
    inner edge outwards, at the mean distance of the training values there; this mean counts at most `MOST` times what
    the median implies, so that a few values far outside do not make their neighbours unlikely. A value that had a bin
    to itself is as dense as if this were as narrow as the narrowest of all; around it the density falls at this width,
    and from where that is higher at the typical one. A column of one value has no widths: its size stands in for them,
    or 1. -inf is for a number so many widths outside that floats cannot tell how many.
    """
    bins = _Bins.of(column)
    place, numbers = column.bin_of(numbers), bins.unit * column.snapped(numbers)
    last = len(bins.left) - 1
    outwards = np.select([place == 0, place == last], [bins.inner - numbers, numbers - bins.left[-1]], 0.0)
    away = np.abs(numbers - bins.left[place])
    with np.errstate(over="ignore"):
        within = np.minimum(np.log(bins.narrowest / bins.scale)[place] - outwards / bins.scale[place], 0)
        around = np.maximum(-away / bins.narrowest, np.log(bins.narrowest / bins.typical) - away / bins.typical)
    density: NDArray[np.float64] = np.where(bins.single[place], around, within)
    return density


def log_fall_within(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers relative to the mean of their bin, [M], at most 0.

    So a number far outside is told from the usual ones of its bin, and bins are not weighed by their widths.
    """
    place = column.bin_of(numbers)
    density = log_density_within(column, numbers)
    with np.errstate(invalid="ignore"):  # where neither has a density
        fall = np.minimum(density - log_density_within(column, np.array(column.means)[place]), 0)
    return np.where(np.isneginf(density), density, fall)


def log_fall_outside(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers beyond those of training, relative to the nearest of these, [M]; 0 for others.

    The density falls as it does in the outermost bin, see `log_density_within`.
    """
    bins, numbers = _Bins.of(column), column.snapped(numbers)
    below, above = bins.unit * column.low - bins.unit * numbers, bins.unit * numbers - bins.unit * column.high
    with np.errstate(over="ignore"):
        fall: NDArray[np.float64] = np.minimum(-below / bins.scale[0], 0) + np.minimum(-above / bins.scale[-1], 0)
    return fall


def within_bins(
    measure: Callable[[Numeric, NDArray[np.float64]], NDArray[np.float64]],
    columns: Sequence[Column],
    values: Sequence[NDArray[Any]],
    names: Sequence[str],
) -> NDArray[np.float64]:
    """Return a measure of all numbers of a table, [N, D]; 0 for other cells and missing ones.

    The measure is one of those above; ``values`` are D arrays [N].
    """
    within = np.zeros((len(values[0]), len(columns)))
    for j, (column, cells, name) in enumerate(zip(columns, values, names, strict=True)):
        if isinstance(column, Numeric):
            numbers = read_cells(cells, name=name)
            within[numbers.rows, j] = measure(column, numbers.values.astype(np.float64))
    return within


@dataclass(frozen=True)
class _Bins:
    """Bins of a column and scales of their densities, times ``unit``."""

    unit: float
    left: NDArray[np.float64]
    inner: float
    """Where the first bin has its largest number, or ends."""
    single: NDArray[np.bool_]
    """Where one value had a bin to itself."""
    typical: float
    """The width of a bin, where there is no other."""
    scale: NDArray[np.float64]
    """The widths of inner bins; in the outermost ones the distance in which the density falls to 1/e."""
    narrowest: float

    @classmethod
    def of(cls, column: Numeric) -> "_Bins":
        """Return the bins of a column; mean distances replace unknown tails."""
        unit = 0.25 if max(-column.low, column.high) > HUGE else 1.0
        left, means = unit * np.array((column.low, *column.edges)), unit * np.array(column.means)
        low, high, step = unit * column.low, unit * column.high, unit * column.step
        right = np.append(left[1:], high)
        typical = float(np.median(right - left)) or (high - low) / len(means) or abs(low) or 1.0
        inner = right[0] - step if column.edges else high
        single, scale = means == left, right - left
        first, last = (unit * tail for tail in column.tails or (0.0, 0.0))
        scale[-1] = typical if single[-1] else _fall(means[-1] - left[-1], last)
        if not single[0]:
            scale[0] = _fall(inner - means[0], first - step)
        scale = np.maximum(scale, max(step, NARROWEST * typical))
        return cls(unit, left, inner, single, typical, scale, min(typical, float(scale.min())))


def _fall(mean: float, median: float) -> float:
    """Return the distance in which an outermost density falls to 1/e."""
    return min(mean, MOST * median / math.log(2)) if median > 0 else mean
