"""Quantiles of a missing number, from the probabilities of its knots.

The density of a code runs straight from knot to knot, and is constant in a half of a bin that has no neighbour (see
`nadek.tabular.columns.bins`). So it is straight in each half of each bin, and its integral is a parabola there, which
is solved for the part of the bin that lies below the quantile.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from nadek.tabular.columns.bins import is_joined, numbers_at
from nadek.tabular.columns.types import Numeric


def quantile_of_number(
    column: Numeric, probabilities: Float[np.ndarray, "N L"], part: float
) -> Float[np.ndarray, " N"]:
    """Return the numbers below which a part of the probability lies.

    They have the decimals of the column. As in draws, nothing lies beyond the range of training.
    """
    begin, end = _heights(column, probabilities)
    masses = (begin + end) / 4  # halves are a half wide
    up_to = masses.cumsum(1)
    half = np.minimum((up_to < part * up_to[:, -1:]).sum(1), masses.shape[1] - 1)
    rows = np.arange(len(half))
    begin, end, mass = begin[rows, half], end[rows, half], masses[rows, half]
    rest = np.clip(part * up_to[:, -1] - (up_to[rows, half] - mass), 0, mass)
    root = begin + np.sqrt(np.maximum(begin**2 + 4 * (end - begin) * rest, 0))
    away = np.divide(2 * rest, root, out=np.zeros_like(rest), where=root > 0)
    return numbers_at(column, half // 2, half % 2 / 2 + np.minimum(away, 0.5))


def _heights(column: Numeric, probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return densities where the halves of bins begin and end, both [N, 2 L]."""
    below, above = is_joined(column)
    lower = (probabilities + np.roll(probabilities, 1, axis=1)) / 2
    upper = (probabilities + np.roll(probabilities, -1, axis=1)) / 2
    begin = np.stack([np.where(below, lower, probabilities), probabilities], -1)
    end = np.stack([probabilities, np.where(above, upper, probabilities)], -1)
    return begin.reshape(len(begin), -1), end.reshape(len(end), -1)
