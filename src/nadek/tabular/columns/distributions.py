"""Distributions of a missing number: bins, mean and quantiles, from the probabilities of its knots.

The logarithm of the density of a code runs straight from knot to knot but for its bend, and is constant in a half of a
bin that has no neighbour. Knots that are joined have as much probability together as they are given
(see `nadek.models.knot_densities`). Each bin is cut into parts, whose probabilities are integrals of that
density. A mean takes it as even within a part.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from nadek.tabular.columns.bins import joined_distance, joined_levels, leaning, means_of_parts, numbers_at
from nadek.tabular.columns.types import Numeric

PARTS = 8
"""Of each bin: the pieces between knots in which the logarithm of a bent density runs straight."""

LEAST = 1e-300
"""Least probability of a knot, as 0 has no logarithm."""


def bins_of_number(column: Numeric, probabilities: Float[np.ndarray, "N L"]) -> Float[np.ndarray, "N L"]:
    """Return probabilities of bins, which end halfway between knots."""
    parts, _ = _parts(column, probabilities)
    return parts.reshape(*probabilities.shape, PARTS).sum(2)


def mean_of_number(column: Numeric, probabilities: Float[np.ndarray, "N L"]) -> Float[np.ndarray, " N"]:
    """Return means, not rounded."""
    return _parts(column, probabilities)[0] @ means_of_parts(column, PARTS)


def quantiles_of_number(
    column: Numeric, probabilities: Float[np.ndarray, "N L"], quantiles: Sequence[float]
) -> Float[np.ndarray, "N Q"]:
    """Return numbers below which parts of the probability lie.

    They have the decimals of the column. As in draws, nothing lies beyond the range of training.
    """
    masses, rise = _parts(column, probabilities)
    up_to, rows, answers = masses.cumsum(1), np.arange(len(masses)), list[NDArray[np.float64]]()
    for quantile in quantiles:
        aim = quantile * up_to[:, -1]
        place = np.minimum((up_to < aim[:, None]).sum(1), masses.shape[1] - 1)
        mass, rest = masses[rows, place], aim - (up_to[rows, place] - masses[rows, place])
        share = np.divide(rest, mass, out=np.zeros_like(rest), where=mass > 0).clip(0, 1)
        within = leaning(share, rise[rows, place])
        answers.append(numbers_at(column, place // PARTS, (place % PARTS + within) / PARTS))
    return np.stack(answers, 1)


def _parts(column: Numeric, probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probabilities of all parts of bins, and how much the logarithm rises in each, both [N, L PARTS]."""
    logs, last = np.log(np.maximum(probabilities, LEAST)), len(column.means) - 1
    place = np.repeat(np.arange(last + 1), PARTS)

    def log_density(away: NDArray[np.float64]) -> NDArray[np.float64]:
        code = place + joined_distance(column, place, away)
        lower = np.floor(code).astype(np.intp)
        share = code - lower
        straight = logs[:, lower] * (1 - share) + logs[:, np.minimum(lower + 1, last)] * share
        entropy = sum(-part * np.log(np.where(part > 0, part, 1)) for part in (share, 1 - share))
        return straight + (column.bend or 0.0) * entropy

    away = np.tile(np.arange(PARTS) / PARTS - 0.5, last + 1)
    begin = log_density(away)
    rise = log_density(away + 1 / PARTS) - begin
    mean_rise = np.divide(np.expm1(rise), rise, out=np.ones_like(rise), where=rise != 0)
    masses = np.exp(begin) * mean_rise
    starts = np.flatnonzero(~joined_levels(column)[0])  # of stretches, which keep the probability of their knots
    factors = np.add.reduceat(probabilities, starts, axis=1) / np.add.reduceat(masses, starts * PARTS, axis=1)
    return masses * np.repeat(factors, np.diff(starts, append=last + 1) * PARTS, axis=1), rise
