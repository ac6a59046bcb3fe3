"""Imputers of HyperImpute that learn while imputing: GAIN, SoftImpute."""

import numpy as np
from hyperimpute.plugins.imputers import Imputers
from numpy.typing import NDArray

from peers.coding import Coding

Array = NDArray[np.float64]


class Transductive:
    """Plugin of HyperImpute with its defaults.

    Training rows and rows to complete go in together.

    Args:
        plugin: "gain" or "softimpute".
    """

    def __init__(self, plugin: str) -> None:
        self.plugin = plugin

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Keep the training rows."""
        self.coding = Coding(levels)
        self.train = self.coding.encode(train)

    def probabilities(self, x: Array) -> Array:
        """Learn from both, and fill in."""
        both = np.concatenate([self.train, self.coding.encode(x)])
        filled = np.asarray(Imputers().get(self.plugin, random_state=0).fit_transform(both), dtype=np.float64)
        return self.coding.decode(filled[len(self.train) :])
