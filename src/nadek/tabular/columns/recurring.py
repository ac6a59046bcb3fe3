"""Numbers that recur: prices that end in .99, and what people round.

Of the n values of a bin, c are one number, to which the smooth density of the bin gives a part s. The number has
``(c + a s) / (n + a)`` of the bin, as a Dirichlet process (Ferguson 1973) with the concentration a says. What it has
for itself, c / (n + a), is an *atom*. Atoms are kept where values are likelier with them, each given the others only.
What one row alone has is no atom.
"""

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.bins import log_within
from nadek.tabular.columns.types import Numeric

CONCENTRATIONS = 2.0 ** np.arange(-1, 12)
"""Those that are tried."""

LEAST = 1e-12
"""Least part of its bin that the smooth density gives to an atom: codes have no more digits."""

LEAST_ROWS = 2
"""Of an atom."""

LEAST_GAIN = 0.05
"""In nats a value, by which atoms make values likelier."""


def atoms_of(column: Numeric, numbers: NDArray[np.float64], times: NDArray[np.intp]) -> tuple[tuple[float, float], ...]:
    """Return `Numeric.atoms` of a column without any; none where numbers have no step.

    Numbers [M] are different ones, each with its times.
    """
    if not column.step:
        return ()
    several = ~column.is_single[column.bin_of(numbers)]
    numbers, n_values, times = numbers[several], times.sum(), times[several]
    place = column.bin_of(numbers)
    n, smooth = np.bincount(place, times)[place], np.exp(log_within(column, place, numbers)) * column.step
    may_recur, smooth = smooth >= LEAST, np.maximum(smooth, LEAST)

    def kept(times: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.where(may_recur & (times >= LEAST_ROWS), times, 0)

    own = kept(times - 1)
    others = np.bincount(place, kept(times))[place] - kept(times)

    def gain(concentration: float) -> float:
        all_but_one = n - 1 + concentration
        part = (own + (all_but_one - others - own) * smooth) / all_but_one
        return float(times @ np.log(part / smooth)) / n_values

    best = max(CONCENTRATIONS.tolist(), key=gain)
    if gain(best) < LEAST_GAIN:
        return ()
    recurs = kept(times) > 0
    return tuple(zip(numbers[recurs].tolist(), (times / (n + best))[recurs].tolist(), strict=True))
