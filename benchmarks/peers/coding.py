"""Codes as numbers, for methods without categories, and back."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Coding:
    """Columns of 0 and 1 for codes.

    Two levels are one column, more are one column a level. A column with one level is left out.

    Args:
        levels: number of levels of each of the D columns.

    Attributes:
        width: number of columns after encoding.
    """

    def __init__(self, levels: tuple[int, ...]) -> None:
        self.levels = levels
        widths = [0 if count == 1 else 1 if count == 2 else count for count in levels]
        self.starts = np.concatenate([[0], np.cumsum(widths)])
        self.width = int(self.starts[-1])

    def encode(self, x: Array) -> Array:
        """Return columns [N, width] of codes [N, D].

        A missing cell is missing in all of its columns.
        """
        out = np.empty((len(x), self.width))
        for column, count in enumerate(self.levels):
            start, end = self.starts[column : column + 2]
            if count == 2:
                out[:, start] = x[:, column]
            elif count > 2:
                missing = np.isnan(x[:, column, None])
                out[:, start:end] = np.where(missing, np.nan, x[:, column, None] == np.arange(count))
        return out

    def decode(self, values: Array) -> Array:
        """Return probabilities [N, D, L] of numbers [N, width].

        They are clipped to 0 and 1, and sum to one in every cell.
        """
        out = np.zeros((len(values), len(self.levels), max(self.levels)))
        for column, count in enumerate(self.levels):
            start, end = self.starts[column : column + 2]
            part = np.clip(values[:, start:end], 0.0, 1.0)
            if count == 1:
                out[:, column, 0] = 1.0
            elif count == 2:
                out[:, column, :2] = np.concatenate([1 - part, part], axis=1)
            else:
                total = part.sum(1, keepdims=True)
                out[:, column, :count] = np.where(total > 0, part / np.where(total > 0, total, 1), 1 / count)
        return out


def indicators(x: Array, levels: tuple[int, ...]) -> NDArray[np.float32]:
    """Return indicators of the observed levels, [N, D L].

    A missing cell has 0 everywhere.
    """
    chosen = x[:, :, None] == np.arange(max(levels))
    return chosen.reshape(len(x), -1).astype(np.float32)


def normalised(log_weights: Array) -> Array:
    """Return normalised probabilities of log-weights, over the last axis."""
    weights = np.exp(log_weights - log_weights.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)
