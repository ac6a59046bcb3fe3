"""Values drawn for codes: levels as they are, and numbers from their bins."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.encoding import as_places, decode
from nadek.tabular.columns.parsing import widened
from nadek.tabular.columns.types import Column, Numeric, n_levels

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
