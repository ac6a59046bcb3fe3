"""Numbers within their bins: values drawn for codes, and densities, which bin probabilities leave out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.encoding import as_places, decode
from nadek.tabular.columns.parsing import read_cells, widened
from nadek.tabular.columns.types import Column, Numeric, n_levels

NARROWEST = 1e-6
"""Least width of a bin, as a part of the typical width."""

MOST = 2.0
"""Most that the mean distance in an outermost bin counts, in units of what its median implies."""

HUGE = 1e300
"""Largest number whose differences are safe in floats; larger ones are divided by four."""

DOUBLE: np.dtype[Any] = np.dtype(np.float64)

HALVINGS = 100
"""Of the interval in which a lean is looked for: to the last digit, wherever it begins."""


def draw(
    column: Column, codes: NDArray[Any], *, rng: np.random.Generator, dtype: np.dtype[Any] = DOUBLE
) -> NDArray[Any]:
    """Return values as `decode` does, but numbers drawn from their bins, [N].

    The density in a bin rises or falls exponentially, at the rate that gives the mean of its training values: so draws
    have on average the mean that `decode` gives. Numbers have the decimals of the column and, rounded to floats of
    ``dtype``, are still in their bins. One random number a row is taken for a numeric column.
    """
    if not isinstance(column, Numeric):
        return decode(column, codes)
    missing, places = as_places(codes, n_levels(column))
    left, width = _left_and_width(column)
    share = _leaning(rng.random(len(places)), _leans(column)[places])
    left, width = left[places], width[places]
    inwards = np.floor(share * np.round(width / column.step)) * column.step if column.step else share * width
    drawn = _below(column, column.rounded(left + inwards), places, dtype)
    if missing.any():
        return np.where(missing, np.nan, drawn)
    return drawn.astype(np.int64) if column.integer else drawn


def _left_and_width(column: Numeric) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where bins begin and how wide they are; 0 where one held a single value only."""
    left = np.array((column.low, *column.edges))
    right = np.array((*column.ends, column.high + column.step))
    return left, np.where(np.array(column.means) == left, 0.0, right - left)


@lru_cache(maxsize=1024)
def _leans(column: Numeric) -> NDArray[np.float64]:
    """For each bin the rate t at which a density of ``exp(t s)``, s from 0 to 1 across the bin, has the bin's mean.

    Found by halving an interval: the mean grows with t, and is nearer to an end than 1 / |t|.
    """
    left, width = _left_and_width(column)
    within = np.divide(np.array(column.means) - left, width, out=np.full(len(left), 0.5), where=width > 0)
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


def _leaning(share: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers of density ``exp(t s)`` in [0, 1), from even ones."""
    down = -np.maximum(np.abs(t), 1e-9)
    with np.errstate(divide="ignore"):
        fallen = np.log1p(np.where(t > 0, 1 - share, share) * np.expm1(down)) / down
    inside: NDArray[np.float64] = np.clip(np.where(t > 0, 1 - fallen, fallen), 0, np.nextafter(1, 0))
    return inside


def _below(
    column: Numeric, drawn: NDArray[np.float64], places: NDArray[np.intp], dtype: np.dtype[Any]
) -> NDArray[np.float64]:
    """Drawn numbers as a type of floats holds them, none of them rounded up to where the next bin begins."""
    if dtype.kind != "f" or max(-column.low, column.high + column.step) > float(np.finfo(dtype).max):
        dtype = DOUBLE
    highest = np.nextafter(np.array(column.ends, dtype=dtype), dtype.type(-np.inf))
    inside: NDArray[np.float64] = np.minimum(widened(drawn.astype(dtype)), np.append(widened(highest), np.inf)[places])
    return inside


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

    The measure is one of the three above; ``values`` are D arrays [N].
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
