"""Densities of numbers given their codes, within the range of training and beyond."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.bins import (
    LARGEST,
    UNSAFE,
    farthest_means,
    joined_levels,
    left_and_width,
    log_lean,
    log_within,
    n_values,
    part_below,
    trust,
    typical_width,
)
from nadek.tabular.columns.parsing import is_new, numbers_of, read_cells
from nadek.tabular.columns.types import Column, Numeric

NARROWEST = 1e-6
"""Least distance that `log_fall` counts in, as a part of the typical width of bins."""

TAIL = 5.0
"""Of a density where nothing was seen: there it falls as that of Student's t with so many degrees of freedom."""

ROUNDING = 1e-6
"""Of a number, which does not make it another one."""

NEAR = 0.1
"""Most of a rounding, in the distances that `log_fall` counts in: large numbers may lie close."""

Measure: TypeAlias = Callable[[Numeric, NDArray[np.float64]], NDArray[np.float64]]
"""What is computed for numbers of a column, [M]."""


@UNSAFE
def log_density(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers given their bins, [M].

    They are in nats, per unit of the column. Whole numbers, and those of few decimals, have a probability each, spread
    over their step; that of atoms is added to it, within the range of training. Where there is no step, a number with a
    bin to itself has a probability. What no bin holds falls off as `log_fall` says. It takes its part from what has its
    code, too: the number with a bin to itself, or those of the outermost bin. So it integrates to 1.
    """
    (place, nearest), (left, width) = _nearest(column, numbers), left_and_width(column)
    part, last, outermost = part_below(column, nearest), len(left) - 1, np.zeros(len(place))
    neighbours, beyond = joined_levels(column)[[1, 0], [0, last]], _log_beyond(column)
    for end, outer, neighbour, more in zip((0, last), (part < 0.5, part > 0.5), neighbours, beyond, strict=True):
        has_code = (place == end) & (outer | ~neighbour)
        outermost += np.where(has_code, np.logaddexp(0, more + neighbour * math.log(2)), 0)
    length, fall = _lengths_beside(column)[place], log_fall(column, numbers)
    within = np.where(fall == 0, log_within(column, place, nearest), log_lean(column, place, nearest - left[place]))
    held = np.where(length > 0, -math.log1p(1 / n_values(column)), 0) - math.log(column.step or 1)
    unseen = -np.log(np.where(length > 0, length, _scales(column)[place]))
    return np.where(width[place] > 0, within - outermost, np.where(fall == 0, held, unseen)) + fall


@UNSAFE
def log_relative_density(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `log_density` per typical width of a bin in place of a unit, [M].

    So numbers that have bins to themselves are compared with others, as if they were spread over a bin, and so are
    those that recur.
    """
    column = replace(column, atoms=())
    is_mass = column.is_single[column.bin_of(numbers)] & (log_fall(column, numbers) == 0)
    widths = np.where(is_mass, column.step or 1, typical_width(column))
    return log_density(column, numbers) + np.log(widths)


@UNSAFE
def log_fall(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers that no bin holds, relative to the nearest one that it holds, [M]; 0 for others.

    A part ``(1 + d / TAIL)**-TAIL`` lies farther than d distances beyond the range of training, or beside a number that
    has a bin to itself. A distance is the mean one of the values in the outermost bin, or the typical width of a bin.
    Both are as rare, besides, as what none of ``n_values`` values was.
    """
    place, away = _away(column, numbers)
    drops = (_log_beyond(column) - _log_lengthened(column))[(away > 0).astype(np.intp)]
    rare = np.where(column.is_single[place], -math.log1p(n_values(column)), drops)
    d, step = np.abs(away), column.step / _scales(column)[place]
    nearer = np.minimum(step, d)  # a number in steps has all that lies between it and the one before
    part = np.expm1(TAIL * np.log1p(nearer / (TAIL + d - nearer))) / step if column.step else TAIL / (TAIL + d)
    return np.where(away == 0, 0, rare + _log_farther(d) + np.log(part))


def _log_farther(d: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log of the part of what falls off that is farther away than so many distances."""
    return -TAIL * np.log1p(d / TAIL)


def _away(column: Numeric, numbers: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return bins of numbers, and how far above what they hold these are, in distances of the fall."""
    place, nearest = _nearest(column, numbers)
    away, scale = column.snapped(numbers) - nearest, _scales(column)[place]
    return place, np.where(np.abs(away) > np.minimum(ROUNDING * np.abs(nearest), NEAR * scale), away, 0) / scale


@UNSAFE
def log_outwards(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-probabilities that the outer half of an outermost bin gives to what lies farther outwards, [M].

    They are 0 within, and `log_fall` beside numbers that have bins to themselves.
    """
    place, nearest = _nearest(column, numbers)
    part, several = part_below(column, nearest), ~column.is_single[place]
    outwards = np.where(several, _log_farther(np.abs(_away(column, numbers)[1])), log_fall(column, numbers))
    for end, farther, beyond in zip((0, len(column.means) - 1), (part, 1 - part), _log_beyond(column), strict=True):
        half = np.logaddexp(np.log(farther), beyond) - np.logaddexp(math.log(0.5), beyond)
        outwards += np.where((place == end) & several, np.minimum(half, 0), 0)
    return outwards


@UNSAFE
def log_own(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-probabilities of numbers given the density of their codes, [M]; -inf where they have no step."""
    return log_density(column, numbers) + np.log(column.step)


def _nearest(column: Numeric, numbers: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return bins of numbers, and the nearest numbers that they hold."""
    place, (left, width) = column.bin_of(numbers), left_and_width(column)
    right = np.minimum(left + width, column.high)
    return place, np.clip(column.snapped(numbers), left[place], right[place])


def within_bins(
    measure: Measure,
    columns: Sequence[Column],
    values: Sequence[NDArray[Any]],
    codes: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Return a measure of all numbers of a table, [N, D]; 0 for other cells and missing ones.

    The measure is one of those above; ``values`` are D arrays [N]. With their ``codes``, [N, D], a value that is no
    level counts, too: as rare as what none of ``n_values`` values was.
    """
    within = np.zeros((len(values[0]), len(columns)))
    for j, (column, cells) in enumerate(zip(columns, values, strict=True)):
        if isinstance(column, Numeric):
            observed = read_cells(cells, name="")
            within[observed.rows, j] = measure(column, numbers_of(observed, name="", unit=column.unit))
        elif codes is not None and column.n_values is not None:
            within[is_new(cells, codes[:, j]), j] = -math.log1p(column.n_values)
    return within


@lru_cache(maxsize=1024)
def _scales(column: Numeric) -> NDArray[np.float64]:
    """Return the distances that `log_fall` counts in, beside what bins hold, [L]."""
    typical, inner = typical_width(column), np.array(column.edges or (column.high + column.step, column.low))
    scales = np.full(len(column.means), typical)
    means = np.array((inner[0] - column.step - column.means[0], column.means[-1] - inner[-1]))
    even = np.minimum(typical, left_and_width(column)[1][[0, -1]] / 2)
    ends = even + trust(column) * (np.minimum(means, farthest_means(column)) - even)
    if 0 in column.gaps:  # its inner edge is far
        ends[0] = even[0]
    scales[[0, -1]] = np.where(column.is_single[[0, -1]], typical, ends)
    return scales.clip(max(column.step, NARROWEST * typical), LARGEST)


@lru_cache(maxsize=1024)
def _lengths_beside(column: Numeric) -> NDArray[np.float64]:
    """Return integrals of the fall beside left edges, to the ends of their bins, [L]."""
    left, step, scales = np.array(column.lefts), column.step, _scales(column)
    ends = np.array((-np.inf, *column.ends, np.inf))
    room = np.stack([left - ends[:-1], ends[1:] - left])
    if step:  # of the numbers between, without both ends
        room = step * np.maximum(np.round(room / step) - [[0], [1]], 0)
    return scales * -np.expm1(_log_farther(room / scales)).sum(0)


@lru_cache(maxsize=1024)
def _log_beyond(column: Numeric) -> NDArray[np.float64]:
    """Return log-probabilities of numbers beyond both ends, [2], relative to those in the outermost bins.

    The most is one of the values of a bin: of n values of any density, the next one is beyond an end with 1 / (n + 1).
    """
    return np.minimum(_log_lengthened(column), math.log(len(column.means) / n_values(column)))


def _log_lengthened(column: Numeric) -> NDArray[np.float64]:
    """Return `_log_beyond` of a density without drops, [2]."""
    left, scales = left_and_width(column)[0], _scales(column)[[0, -1]]
    ends = log_lean(column, np.array([0, len(left) - 1]), np.array([0.0, column.high - left[-1]]))
    return ends + np.log(scales)
