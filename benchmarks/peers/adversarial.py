"""GAIN, the adversarial network that fills in, as HyperImpute has it."""

import numpy as np
from hyperimpute.plugins.imputers import Imputers
from numpy.typing import NDArray

from peers.coding import Coding

Array = NDArray[np.float64]


class Gain:
    """GAIN with its defaults. It learns while it fills in: training rows and those to complete go in together."""

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Keep the training rows."""
        self.coding = Coding(levels)
        self.train = self.coding.encode(train)

    def probabilities(self, x: Array) -> Array:
        """Learn from both and fill in."""
        both = np.concatenate([self.train, self.coding.encode(x)])
        filled = np.asarray(Imputers().get("gain", random_state=0).fit_transform(both), dtype=np.float64)
        return self.coding.decode(filled[len(self.train) :])
