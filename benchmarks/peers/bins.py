"""Numbers as ordered categories: quantile bins and the density within."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Bins:
    """Quantile bins of every column.

    A number in an inner bin lies anywhere in it with equal density; in the two outermost bins the density falls
    exponentially from the inner edge, with the mean distance of the training rows there. Without this a number far
    outside would be no less usual than any other of its bin.

    Args:
        x: training rows, [N, D].
        count: at most so many bins a column.
    """

    def __init__(self, x: Array, count: int) -> None:
        inner = np.quantile(x, np.arange(1, count) / count, axis=0)
        self.edges = [np.unique(column) for column in inner.T]
        self.levels = tuple(len(edges) + 1 for edges in self.edges)
        low, high = x.min(0), x.max(0)
        codes = self.codes(x).astype(int)
        self.scales = []
        for column, edges in enumerate(self.edges):
            widths = np.diff(np.concatenate([[low[column]], edges, [high[column]]]))
            widths[0] = np.mean(edges[0] - x[codes[:, column] == 0, column]) if (codes[:, column] == 0).any() else 0
            widths[-1] = np.mean(x[codes[:, column] == len(edges), column] - edges[-1])
            self.scales.append(np.maximum(widths, 1e-6 * max(high[column] - low[column], 1e-300)))

    def codes(self, x: Array) -> Array:
        """Return the bin of every number, [N, D]."""
        columns = [np.searchsorted(edges, column, side="right") for edges, column in zip(self.edges, x.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.float64)

    def log_density(self, x: Array) -> Array:
        """Return the log-density of numbers given their bins, summed, [N]."""
        total = np.zeros(len(x))
        for column, (edges, scales) in enumerate(zip(self.edges, self.scales, strict=True)):
            value = x[:, column]
            bin_ = np.searchsorted(edges, value, side="right")
            total -= np.log(scales[bin_])
            total -= np.where(bin_ == 0, (edges[0] - value) / scales[0], 0.0)
            total -= np.where(bin_ == len(edges), (value - edges[-1]) / scales[-1], 0.0)
        return total
