"""Numbers within their bins: their codes, the way back, and densities, which bin probabilities leave out.

The density in a bin rises or falls exponentially, as ``exp(t s)`` for s from 0 to 1 across the bin, at the rate t that
gives the mean of its training values. A number of bin b below which lies a part q of this density has the code
``b + q - 1/2``, where bins of several values are neighbours. In the half of a bin that has no such neighbour all
numbers have the code b.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.parsing import numbers_of, read_cells, widened
from nadek.tabular.columns.types import Column, Numeric

NARROWEST = 1e-6
"""Least width of a bin, as a part of the typical width."""

TAIL = 5.0
"""Of a density where nothing was seen: there it falls as that of Student's t with so many degrees of freedom."""

MOST = 3.0
"""Most that the mean distance in an outermost bin counts, in units of what its median implies."""

ROUNDING = 1e-6
"""Of a number, which does not make it another one."""

NEAR = 0.1
"""Most of a rounding, in the distances that `log_fall` counts in: large numbers may lie close."""

MARGIN = 1e-4
"""Least distance of codes from the ends of their bins, so that single precision does not round to the next bin."""

DOUBLE: np.dtype[Any] = np.dtype(np.float64)

LARGEST = float(np.finfo(np.float64).max)

PRIOR = 4
"""Values that count beside those of a bin: evenly within it, at most at the typical width of bins from its edge."""

POINTS = 8
"""Of each part, in `means_of_parts`."""

HALVINGS = 100
"""Of the interval in which a lean is looked for: to the last digit, wherever it begins."""

UNSAFE = np.errstate(all="ignore")
"""Of floats that are huge, and of densities that are 0."""

Measure: TypeAlias = Callable[[Numeric, NDArray[np.float64]], NDArray[np.float64]]
"""What is computed for numbers of a column, [M]."""


def codes_of(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return codes of numbers, [M]; the middle of a step counts."""
    place, part = column.bin_of(numbers), _part_below(column, numbers)
    return place + joined_distance(column, place, np.clip(part, MARGIN, 1 - MARGIN) - 0.5)


def draw(
    column: Numeric, codes: NDArray[np.float64], *, uniforms: NDArray[np.float64], dtype: np.dtype[Any] = DOUBLE
) -> NDArray[np.float64]:
    """Return numbers of codes, [M].

    Where half a bin has one code they are drawn, with numbers in [0, 1). They have the decimals of the column and,
    rounded to floats of ``dtype``, are still in their bins.
    """
    places = np.round(codes).astype(np.intp)
    below, above = ~joined_levels(column)[:, places]
    half = np.select([below & above, below, above], [uniforms, uniforms / 2, 0.5 + uniforms / 2], 0.5)
    return numbers_at(column, places, np.where(codes == places, half, 0.5 + codes - places), dtype)


def numbers_at(
    column: Numeric, places: NDArray[np.intp], part: NDArray[np.float64], dtype: np.dtype[Any] = DOUBLE
) -> NDArray[np.float64]:
    """Return the numbers of bins below which a part of the bin's density lies, [M]."""
    left, width = _left_and_width(column)
    share, left, width = leaning(part, _leans(column)[places]), left[places], width[places]
    inwards = np.floor(share * np.round(width / column.step)) * column.step if column.step else share * width
    return _within(column, column.rounded(left + inwards), places, dtype)


@lru_cache(maxsize=1024)
def means_of_parts(column: Numeric, n_parts: int) -> NDArray[np.float64]:
    """Return the mean numbers of equal parts of each bin, [L n_parts].

    The mean of a bin is that of its training values.
    """
    part = (np.arange(POINTS * n_parts) + 0.5) / (POINTS * n_parts)
    place, means = np.repeat(np.arange(len(column.means)), len(part)), np.array(column.means)
    share = leaning(np.tile(part, len(means)), _leans(column)[place])
    away = (share * _left_and_width(column)[1][place]).reshape(len(means), n_parts, POINTS).mean(2)
    return (means[:, None] + away - away.mean(1, keepdims=True)).ravel()


def _is_single(column: Numeric) -> NDArray[np.bool_]:
    """Return True for bins of a single value, [L]."""
    return np.equal(column.means, (column.low, *column.edges))


def joined_levels(column: Numeric) -> NDArray[np.bool_]:
    """Return True where a bin of several values has one below, and above, without a gap between, [2, L]."""
    several = ~_is_single(column)
    both = several[1:] & several[:-1]
    both[list(column.gaps)] = False
    return np.stack([np.append(False, both), np.append(both, False)])


def joined_distance(column: Numeric, place: NDArray[np.intp], away: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from middles of bins, 0 where there is no neighbour that way."""
    below, above = joined_levels(column)[:, place]
    return np.where(np.where(away < 0, below, above), away, 0.0)


@UNSAFE
def _left_and_width(column: Numeric) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where bins begin and how wide they are; 0 where one held a single value only."""
    left, right = np.array((column.low, *column.ends)), np.array((*column.ends, column.high + column.step))
    single, alone = _is_single(column), np.array((column.low, *column.edges))
    left[single] = right[single] = alone[single]
    return left, np.minimum(right - left, LARGEST)


@lru_cache(maxsize=1024)
def _leans(column: Numeric) -> NDArray[np.float64]:
    """For each bin the rate t at which a density of ``exp(t s)``, s from 0 to 1 across the bin, has the bin's mean.

    `PRIOR` values in the middle count, too, as few values say little of their density; below a gap they are a typical
    width away. Found by halving an interval: the mean grows with t, and is nearer to an end than 1 / |t|.
    """
    left, width = _left_and_width(column)
    within = np.divide(np.array(column.means) - left, width, out=np.full(len(left), 0.5), where=width > 0)
    n = np.maximum(np.round(width / column.step), 1) if column.step else np.full(len(left), np.inf)
    even = (1 - 1 / n) / 2
    gaps, typical = list(column.gaps), typical_width(column)
    even[gaps] = np.minimum(even[gaps], within[gaps] + typical / width[gaps])
    within = even + _trust(column) * (within - even)
    below, above = np.divide(_most(column), width[[0, -1]], out=np.ones(2), where=width[[0, -1]] > 0)
    within[0], within[-1] = max(within[0], 1 - below), min(within[-1], above)
    nearest = np.clip(np.minimum(within, 1 - 1 / n - within), 1e-12, None)
    low, high = -1 / nearest, 1 / nearest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_low = _mean(middle, n) < within
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return np.where(n > 1, (low + high) / 2, 0.0)


def _mean(t: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of what ``exp(t s)`` draws, when it is rounded down to the next of n equal parts (not at all where n is inf)."""
    t = np.where(np.abs(t) < 1e-9, 1e-9, t)
    with np.errstate(over="ignore", invalid="ignore"):
        part = np.where(np.isinf(n), 1 / t, -1 / (n * np.expm1(-t / n)))
        return -1 / np.expm1(-t) - part


@UNSAFE
def _part_below(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return parts of bins' densities below numbers, [M], the inverse of `leaning`; the middle of a step counts."""
    place, (left, width) = column.bin_of(numbers), _left_and_width(column)
    away = column.snapped(numbers) - left[place] + column.step / 2
    share = np.divide(away, width[place], out=np.full(len(place), 0.5), where=width[place] > 0)
    share, t = np.clip(share, 0, 1), _leans(column)[place]
    down = -np.maximum(np.abs(t), 1e-9)
    part = np.expm1(down * np.where(t > 0, 1 - share, share)) / np.expm1(down)
    return np.where(t > 0, 1 - part, part)


def leaning(share: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers of density ``exp(t s)`` in [0, 1), from even ones."""
    down = -np.maximum(np.abs(t), 1e-9)
    with np.errstate(divide="ignore"):
        fallen = np.log1p(np.where(t > 0, 1 - share, share) * np.expm1(down)) / down
    return np.clip(np.where(t > 0, 1 - fallen, fallen), 0, np.nextafter(1, 0))


def _within(
    column: Numeric, drawn: NDArray[np.float64], places: NDArray[np.intp], dtype: np.dtype[Any]
) -> NDArray[np.float64]:
    """Drawn numbers as a type of floats holds them, none of them rounded up to where the next bin begins."""
    if dtype.kind != "f" or max(-column.low, column.high + column.step) > float(np.finfo(dtype).max):
        dtype = DOUBLE
    highest = np.nextafter(np.array(column.ends, dtype=dtype), dtype.type(-np.inf))
    return np.minimum(widened(drawn.astype(dtype)), np.append(widened(highest), np.inf)[places])


@UNSAFE
def log_density(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers given their bins, [M].

    They are in nats, per unit of the column. Whole numbers, and those of few decimals, have a probability each, spread
    over their step. Where there is no step, a number with a bin to itself has a probability. What no bin holds falls
    off as `log_fall` says. It takes its part from what has its code, too: the number with a bin to itself, or those of
    the outermost bin. So the density integrates to 1.
    """
    (place, nearest), (left, width) = _nearest(column, numbers), _left_and_width(column)
    part, last, outermost = _part_below(column, nearest), len(left) - 1, np.zeros(len(place))
    neighbours, beyond = joined_levels(column)[[1, 0], [0, last]], _log_beyond(column)
    for end, outer, neighbour, more in zip((0, last), (part < 0.5, part > 0.5), neighbours, beyond, strict=True):
        has_code = (place == end) & (outer | ~neighbour)
        outermost += np.where(has_code, np.logaddexp(0, more + neighbour * math.log(2)), 0)
    inside = _log_lean(column, place, nearest - left[place]) - outermost
    length, fall = _lengths_beside(column)[place], log_fall(column, numbers)
    held = np.where(length > 0, -math.log1p(1 / _n_values(column)), 0) - math.log(column.step or 1)
    unseen = -np.log(np.where(length > 0, length, _scales(column)[place]))
    return np.where(width[place] > 0, inside, np.where(fall == 0, held, unseen)) + fall


@UNSAFE
def log_relative_density(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `log_density` per typical width of a bin in place of a unit, [M].

    So numbers that have bins to themselves are compared with others, as if they were spread over a bin.
    """
    is_mass = _is_single(column)[column.bin_of(numbers)] & (log_fall(column, numbers) == 0)
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
    rare = np.where(_is_single(column)[place], -math.log1p(_n_values(column)), drops)
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
    part, several = _part_below(column, nearest), ~_is_single(column)[place]
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
    place, (left, width) = column.bin_of(numbers), _left_and_width(column)
    right = np.minimum(left + width, column.high)
    return place, np.clip(column.snapped(numbers), left[place], right[place])


def _log_lean(column: Numeric, place: NDArray[np.intp], inwards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities at distances from left edges; -inf for a single value."""
    width = _left_and_width(column)[1][place]
    t, share, step = _leans(column)[place], np.minimum(inwards / width, 1), column.step / width
    down = -np.maximum(np.abs(t), 1e-9)
    along = np.where(t > 0, 1 - share - step, share)
    part = np.expm1(down * step) / step if column.step else down
    return np.where(width > 0, down * along + np.log(part / np.expm1(down)) - np.log(width), -np.inf)


def within_bins(measure: Measure, columns: Sequence[Column], values: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Return a measure of all numbers of a table, [N, D]; 0 for other cells and missing ones.

    The measure is one of those above; ``values`` are D arrays [N], which have codes.
    """
    within = np.zeros((len(values[0]), len(columns)))
    for j, (column, cells) in enumerate(zip(columns, values, strict=True)):
        if isinstance(column, Numeric):
            observed = read_cells(cells, name="")
            within[observed.rows, j] = measure(column, numbers_of(observed, name="", unit=column.unit))
    return within


@lru_cache(maxsize=1024)
def _scales(column: Numeric) -> NDArray[np.float64]:
    """Return the distances that `log_fall` counts in, beside what bins hold, [L]."""
    typical, inner = typical_width(column), np.array(column.edges or (column.high + column.step, column.low))
    scales = np.full(len(column.means), typical)
    means = np.array((inner[0] - column.step - column.means[0], column.means[-1] - inner[-1]))
    even = np.minimum(typical, _left_and_width(column)[1][[0, -1]] / 2)
    ends = even + _trust(column) * (np.minimum(means, _most(column)) - even)
    if 0 in column.gaps:  # its inner edge is far
        ends[0] = even[0]
    scales[[0, -1]] = np.where(_is_single(column)[[0, -1]], typical, ends)
    return scales.clip(max(column.step, NARROWEST * typical), LARGEST)


@UNSAFE
def typical_width(column: Numeric) -> float:
    """Return the median width of bins; of their size where there is no width."""
    typical = min(float(np.median(np.diff((column.low, *column.edges, column.high)))), LARGEST)
    return typical or (column.high - column.low) / len(column.means) or abs(column.low) or 1.0


def _most(column: Numeric) -> NDArray[np.float64]:
    """Return the largest mean distances that count in the outermost bins, [2]: values far outside hide no others."""
    return np.maximum(MOST / math.log(2) * np.array(column.tails or (np.inf, np.inf)), typical_width(column))


@lru_cache(maxsize=1024)
def _lengths_beside(column: Numeric) -> NDArray[np.float64]:
    """Return integrals of the fall beside left edges, to the ends of their bins, [L]."""
    left, step, scales = np.array((column.low, *column.edges)), column.step, _scales(column)
    ends = np.array((-np.inf, *column.ends, np.inf))
    room = np.stack([left - ends[:-1], ends[1:] - left])
    if step:  # of the numbers between, without both ends
        room = step * np.maximum(np.round(room / step) - [[0], [1]], 0)
    return scales * -np.expm1(_log_farther(room / scales)).sum(0)


def _n_values(column: Numeric) -> int:
    """Return the number of training values, at least one a bin where nobody counted."""
    return column.n_values or len(column.means)


def _trust(column: Numeric) -> float:
    """Return the weight of the values of a bin beside `PRIOR` others."""
    return 1.0 if column.n_values is None else column.n_values / (column.n_values + PRIOR * len(column.means))


def _log_beyond(column: Numeric) -> NDArray[np.float64]:
    """Return log-probabilities of numbers beyond both ends, [2], relative to those in the outermost bins.

    The most is one of the values of a bin: of n values of any density, the next one is beyond an end with 1 / (n + 1).
    """
    return np.minimum(_log_lengthened(column), math.log(len(column.means) / _n_values(column)))


def _log_lengthened(column: Numeric) -> NDArray[np.float64]:
    """Return `_log_beyond` of a density without drops, [2]."""
    left, scales = _left_and_width(column)[0], _scales(column)[[0, -1]]
    ends = _log_lean(column, np.array([0, len(left) - 1]), np.array([0.0, column.high - left[-1]]))
    return ends + np.log(scales)
