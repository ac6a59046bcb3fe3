"""Densities of numbers within their bins, which bin probabilities leave out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.parsing import read_cells
from nadek.tabular.columns.types import Column, Numeric

NARROWEST = 1e-6
"""Least width of a bin, as a part of the typical width."""

MOST = 2.0
"""Most that the mean distance in an outermost bin counts, in units of what its median implies."""

HUGE = 1e300
"""Largest number whose differences are safe in floats; larger ones are divided by four."""


def log_density_within(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers within their bins.

    They are relative to the densest place of the column.

    In an inner bin a number may lie anywhere with equal density. In the two outermost ones the density falls
    exponentially from the inner edge outwards, at the mean distance of the training values there: so a number far
    outside is less likely than others of its bin. Where a few of the training values were far outside (the mean is
    more than `MOST` times what it would be by the median), they do not make their neighbours unlikely. A value that
    had a bin to itself is as dense as if this were as narrow as the narrowest of all, so that the commonest numbers
    are the densest. Around it the density falls to both sides, at this width, and from where that of a bin of
    typical width (the median) would be higher at the typical one: what lies between it and the next bin was never
    seen.

    Args:
        column: the column.
        numbers: [M].

    Returns:
        [M], at most 0: that for a value that had a bin to itself, and for a number in the narrowest bin. A column that
        held one value only has no widths; its size stands in for them, or 1 for 0. -inf for a number so many widths
        outside that floats cannot tell how many.

    Example:
        >>> column = Numeric(edges=(1.0, 3.0), means=(0.5, 2.0, 3.5), low=0.0, high=4.0, integer=False)
        >>> log_density_within(column, np.array([0.9, 1.2, 3.2, 12.0])).round(2).tolist()
        [-0.2, -1.39, -0.4, -18.0]
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
    """Return log-densities of numbers relative to the mean of their bin.

    So a number far outside is told from the usual ones of its bin, and bins are not weighed by their widths.

    Args:
        column: the column.
        numbers: [M].

    Returns:
        [M], at most 0: that for numbers as dense as the mean or denser, as all of an inner bin of several values.

    Example:
        >>> column = Numeric(edges=(1.0, 3.0), means=(0.5, 2.0, 3.5), low=0.0, high=4.0, integer=False)
        >>> log_fall_within(column, np.array([0.9, 1.2, 3.2, 12.0])).tolist()
        [0.0, 0.0, 0.0, -17.0]
    """
    place = column.bin_of(numbers)
    density = log_density_within(column, numbers)
    with np.errstate(invalid="ignore"):  # where neither has a density
        fall = np.minimum(density - log_density_within(column, np.array(column.means)[place]), 0)
    return np.where(np.isneginf(density), density, fall)


def within_bins(
    measure: Callable[[Numeric, NDArray[np.float64]], NDArray[np.float64]],
    columns: Sequence[Column],
    values: Sequence[NDArray[Any]],
    names: Sequence[str],
) -> NDArray[np.float64]:
    """Return a measure of all numbers of a table.

    The result is [N, D], with 0 for other cells and missing ones.

    Args:
        measure: `log_density_within` or `log_fall_within`.
        columns: the types of the D columns.
        values: their values, D arrays [N].
        names: their names, for messages.
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
