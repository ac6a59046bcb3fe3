"""HyperImpute: chained models, each chosen by itself; and what else its package holds."""

import numpy as np
from hyperimpute.plugins.imputers import Imputers
from numpy.typing import NDArray

from peers.boosted import frame
from peers.coding import Coding

Array = NDArray[np.float64]


class Automatic:
    """A plugin of HyperImpute. They learn while they fill in: training rows and the rows to complete go in together.

    Args:
        plugin: "hyperimpute", "miwae", "gain", ...
        options: of the plugin.
    """

    def __init__(self, plugin: str, **options: object) -> None:
        self.plugin, self.options = plugin, options

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Keep the training rows."""
        self.coding = Coding(levels)
        self.train = self.coding.encode(train)

    def probabilities(self, x: Array) -> Array:
        """Learn from both and fill in."""
        both = np.concatenate([self.train, self.coding.encode(x)])
        imputer = Imputers().get(self.plugin, random_state=0, **self.options)
        filled = np.asarray(imputer.fit_transform(frame(both)), dtype=np.float64)
        return self.coding.decode(filled[len(self.train) :])
