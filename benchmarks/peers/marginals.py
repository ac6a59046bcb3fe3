"""Conditionals of single cells, from a density of incomplete rows."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from peers.coding import normalised

Array = NDArray[np.float64]


def conditionals(log_prob: Callable[[Array], Array], x: Array, levels: tuple[int, ...]) -> Array:
    """Return `p(x_i = v | observed)` of every missing cell.

    It is the density with v in the cell, over the sum of all v.

    Args:
        log_prob: log-probabilities [N] of rows with NaN, which are summed over.
        x: rows [N, D].
        levels: number of levels of each column.

    Returns:
        [N, D, L], 0 in observed cells.
    """
    out = np.zeros((*x.shape, max(levels)))
    for column, count in enumerate(levels):
        rows = np.isnan(x[:, column]).nonzero()[0]
        if len(rows) == 0:
            continue
        trial = np.repeat(x[None, rows], count, axis=0)
        trial[:, :, column] = np.arange(count)[:, None]
        log_p = log_prob(trial.reshape(-1, x.shape[1])).reshape(count, len(rows))
        out[rows, column, :count] = normalised(log_p.T)
    return out
