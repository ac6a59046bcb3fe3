"""How densely numbers lie within their bins: what the probability of a bin leaves out."""

import numpy as np
from numpy.typing import NDArray

from nadek.columns.kinds import Numeric

NARROWEST = 1e-6
"""Of the typical width of a bin: narrower ones count as if they were so wide."""

HUGE = 1e300
"""Beyond it differences of numbers may be too large for floats; they are taken of quarters, which loses no digit."""


def log_density_within(column: Numeric, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-density of numbers given the bins that they fall into, relative to a width that is the same for a column.

    In an inner bin a number may lie anywhere with equal density. In the two outermost ones the density falls
    exponentially from the inner edge outwards, at the mean distance of the training values there: so a number far
    outside is less likely than others of its bin. A value that had a bin to itself is as dense as if this were as
    narrow as the narrowest of all, so that the commonest numbers are the densest. Around it the density falls to both
    sides, at this width, and from where that of a bin of typical width (the range of the training values by the number
    of bins) would be higher at the typical one: what lies between it and the next bin was never seen.

    Args:
        column: the column.
        numbers: [M].

    Returns:
        [M], 0 for a value that had a bin to itself, and in a column without any such value for a number in an inner
        bin of typical width. A column that held one value only has no widths; its size stands in for them, or 1 for
        0. -inf for a number so many widths outside that floats cannot tell how many.

    Example:
        >>> column = Numeric(edges=(1.0, 2.0), means=(0.5, 1.5, 2.5), low=0.0, high=3.0, integer=False)
        >>> log_density_within(column, np.array([1.2, 1.7, 2.5, 12.0])).round(2).tolist()
        [0.0, 0.0, -0.31, -19.31]
    """
    unit = 0.25 if max(-column.low, column.high) > HUGE else 1.0
    left, means = unit * np.array((column.low, *column.edges)), unit * np.array(column.means)
    low, high, numbers = unit * column.low, unit * column.high, unit * column.snapped(numbers)
    typical = (high - low) / len(means) or abs(low) or 1.0
    right = np.append(left[1:], high)
    single = means == left
    scale = right - left
    scale[0], scale[-1] = right[0] - means[0], typical if single[-1] else means[-1] - left[-1]
    scale = np.maximum(scale, max(unit * column.step, NARROWEST * typical))
    narrowest = min(typical, scale.min())
    zero = narrowest if single.any() else typical
    place = np.searchsorted(left[1:], numbers, side="right")
    outwards = np.select([place == 0, place == len(left) - 1], [right[0] - numbers, numbers - left[-1]], 0.0)
    away = np.abs(numbers - left[place])
    with np.errstate(over="ignore"):
        within = np.log(zero / scale)[place] - outwards / scale[place]
        around = np.maximum(-away / narrowest, np.log(narrowest / typical) - away / typical)
    density: NDArray[np.float64] = np.where(single[place], around, within)
    return density
