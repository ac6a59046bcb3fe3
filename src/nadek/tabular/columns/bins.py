"""Numbers within their bins: their codes, and the way back.

The density in a bin rises or falls exponentially, as ``exp(t s)`` for s from 0 to 1 across the bin, at the rate t that
gives the mean of its training values. Numbers that recur have a part of the bin each besides, as *atoms*, see
`nadek.tabular.columns.recurring`; that density, here called smooth, has the rest.

A number of bin b below which lies a part q of both has the code ``b + q - 1/2``, where bins of several values are
neighbours. In the half of a bin that has no such neighbour all numbers have the code b.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.parsing import widened
from nadek.tabular.columns.types import Numeric

MOST = 3.0
"""Most that the mean distance in an outermost bin counts, in units of what its median implies."""

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


def codes_of(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return codes of numbers, [M]; the middle of a step counts."""
    place, part = column.bin_of(numbers), part_below(column, numbers)
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
    left, width = left_and_width(column)
    share, left, width = _share_at(column, places, part), left[places], width[places]
    inwards = np.floor(share * np.round(width / column.step)) * column.step if column.step else share * width
    return _within(column, column.rounded(left + inwards), places, dtype)


@lru_cache(maxsize=1024)
def means_of_parts(column: Numeric, n_parts: int) -> NDArray[np.float64]:
    """Return the mean numbers of equal parts of each bin, [L n_parts].

    The mean of a bin is that of its training values: all parts move towards the same end of it, and none beyond.
    """
    part = (np.arange(POINTS * n_parts) + 0.5) / (POINTS * n_parts)
    (left, width), place = left_and_width(column), np.repeat(np.arange(len(column.means)), len(part))
    share = _share_at(column, place, np.tile(part, len(left)))
    if column.step:
        n = np.maximum(np.round(width / column.step), 1)[place]
        share = np.floor(share * n) / n
    share = share.reshape(len(left), n_parts, POINTS).mean(2)
    own = np.divide(np.array(column.means) - left, width, out=np.zeros(len(left)), where=width > 0)[:, None]
    middle = share.mean(1, keepdims=True)
    down = np.divide(own, middle, out=np.ones_like(own), where=middle > 0)
    up = np.divide(1 - own, 1 - middle, out=np.ones_like(own), where=middle < 1)
    moved = np.where(own < middle, share * down, 1 - (1 - share) * up)
    return np.clip(left[:, None] + moved * width[:, None], column.low, column.high).ravel()


@lru_cache(maxsize=1024)
def joined_levels(column: Numeric) -> NDArray[np.bool_]:
    """Return True where a bin of several values has one below, and above, without a gap between, [2, L]."""
    several = ~column.is_single
    both = several[1:] & several[:-1]
    both[list(column.gaps)] = False
    return np.stack([np.append(False, both), np.append(both, False)])


def joined_distance(column: Numeric, place: NDArray[np.intp], away: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from middles of bins, 0 where there is no neighbour that way."""
    below, above = joined_levels(column)[:, place]
    return np.where(np.where(away < 0, below, above), away, 0.0)


@lru_cache(maxsize=1024)
@UNSAFE
def left_and_width(column: Numeric) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where bins begin and how wide they are; 0 where one held a single value only."""
    left, right = np.array((column.low, *column.ends)), np.array((*column.ends, column.high + column.step))
    single = column.is_single
    left[single] = right[single] = np.array(column.lefts)[single]
    return left, np.minimum(right - left, LARGEST)


@lru_cache(maxsize=1024)
def leans(column: Numeric) -> NDArray[np.float64]:
    """For each bin the rate t at which a density of ``exp(t s)``, s from 0 to 1 across the bin, has the bin's mean.

    `PRIOR` values in the middle count, too, as few values say little of their density; below a gap they are a typical
    width away. Found by halving an interval: the mean grows with t, and is nearer to an end than 1 / |t|.
    """
    left, width = left_and_width(column)
    within = np.divide(np.array(column.means) - left, width, out=np.full(len(left), 0.5), where=width > 0)
    n = np.maximum(np.round(width / column.step), 1) if column.step else np.full(len(left), np.inf)
    even = (1 - 1 / n) / 2
    gaps, typical = list(column.gaps), typical_width(column)
    even[gaps] = np.minimum(even[gaps], within[gaps] + typical / width[gaps])
    within = even + trust(column) * (within - even)
    below, above = np.divide(farthest_means(column), width[[0, -1]], out=np.ones(2), where=width[[0, -1]] > 0)
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


class _Atoms(NamedTuple):
    """Numbers that recur, A of them."""

    numbers: NDArray[np.float64]
    parts: NDArray[np.float64]
    """Parts of their bins that they have."""
    middles: NDArray[np.float64]
    """Parts of their bins below them, and half of their own."""
    rest: NDArray[np.float64]
    """Left of each bin for the smooth density, [L]."""
    smooth: NDArray[np.float64]
    """How much lies below the ends of bins and both sides of atoms, [L + 1 + 2 A], were all smooth; a bin is 1."""
    both: NDArray[np.float64]
    """How much does lie there. In between it grows evenly with ``smooth``."""

    def at(
        self, numbers: NDArray[np.float64], values: NDArray[np.float64], others: NDArray[np.float64] | float
    ) -> NDArray[np.float64]:
        """Return values of the atoms that numbers are, [M], and others where they are none."""
        place = np.searchsorted(self.numbers, numbers)
        return np.where(np.append(self.numbers, np.nan)[place] == numbers, np.append(values, 0)[place], others)


@lru_cache(maxsize=1024)
def _atoms(column: Numeric) -> _Atoms:
    numbers, parts = np.array(column.atoms, dtype=DOUBLE).reshape(-1, 2).T
    place, ends = column.bin_of(numbers), np.arange(len(column.means) + 1.0)
    rest = 1 - np.bincount(place, parts, minlength=len(column.means)).astype(DOUBLE)
    beside = place + _smooth_part_below(column, numbers)
    smooth, jump = np.concatenate((ends, beside, beside)), np.concatenate((0 * ends, 0 * parts, parts))
    order = np.argsort(smooth, kind="stable")
    smooth, jump = smooth[order], jump[order]
    both = np.cumsum(np.diff(smooth, prepend=0) * rest[np.ceil(smooth).astype(np.intp) - 1] + jump)
    above = np.interp(beside, smooth, both)  # where it jumps
    return _Atoms(numbers, parts, above - parts / 2 - place, rest, smooth, both)


def part_below(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return parts of bins below numbers, [M]; the middle of a step counts, and of an atom."""
    place, atoms = column.bin_of(numbers), _atoms(column)
    both = np.interp(place + _smooth_part_below(column, numbers), atoms.smooth, atoms.both)
    return atoms.at(column.snapped(numbers), atoms.middles, np.clip(both - place, 0, 1))


def _share_at(column: Numeric, place: NDArray[np.intp], part: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far across their bins numbers lie below which is a part of the bin, [M], in [0, 1)."""
    atoms = _atoms(column)
    return leaning(np.clip(np.interp(place + part, atoms.both, atoms.smooth) - place, 0, 1), leans(column)[place])


@UNSAFE
def _smooth_part_below(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return parts of the smooth density below numbers, [M], the inverse of `leaning`."""
    place, (left, width) = column.bin_of(numbers), left_and_width(column)
    away = column.snapped(numbers) - left[place] + column.step / 2
    share = np.divide(away, width[place], out=np.full(len(place), 0.5), where=width[place] > 0)
    share, t = np.clip(share, 0, 1), leans(column)[place]
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
def log_within(column: Numeric, place: NDArray[np.intp], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities of numbers given their bins, [M]; -inf for a single value."""
    atoms = _atoms(column)
    own = atoms.at(numbers, atoms.parts, 0.0)
    smooth = log_lean(column, place, numbers - left_and_width(column)[0][place])
    return np.logaddexp(np.log(atoms.rest[place]) + smooth, np.log(own) - math.log(column.step or 1))


def log_lean(column: Numeric, place: NDArray[np.intp], inwards: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log-densities at distances from left edges, without atoms; -inf for a single value."""
    width = left_and_width(column)[1][place]
    t, share, step = leans(column)[place], np.minimum(inwards / width, 1), column.step / width
    down = -np.maximum(np.abs(t), 1e-9)
    along = np.where(t > 0, 1 - share - step, share)
    part = np.expm1(down * step) / step if column.step else down
    return np.where(width > 0, down * along + np.log(part / np.expm1(down)) - np.log(width), -np.inf)


@UNSAFE
def typical_width(column: Numeric) -> float:
    """Return the median width of bins; of their size where there is no width."""
    typical = min(float(np.median(np.diff((*column.lefts, column.high)))), LARGEST)
    return typical or (column.high - column.low) / len(column.means) or abs(column.low) or 1.0


def farthest_means(column: Numeric) -> NDArray[np.float64]:
    """Return the largest mean distances that count in the outermost bins, [2]: values far outside hide no others."""
    return np.maximum(MOST / math.log(2) * np.array(column.tails or (np.inf, np.inf)), typical_width(column))


def n_values(column: Numeric) -> int:
    """Return the number of training values, at least one a bin where nobody counted."""
    return column.n_values or len(column.means)


def trust(column: Numeric) -> float:
    """Return the weight of the values of a bin beside `PRIOR` others."""
    return 1.0 if column.n_values is None else column.n_values / (column.n_values + PRIOR * len(column.means))
