"""Peer nadek, with its defaults."""

import numpy as np
from numpy.typing import NDArray

from nadek import NADEkImputer

Array = NDArray[np.float64]


class Ours:
    """Imputer `NADEkImputer().fit(train, X_val=valid)`.

    Every hidden cell takes one pass of the network. Levels without a training row count as missing.
    """

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit the training rows; validation rows choose the epoch."""
        self.levels = levels
        several = [column for column, count in enumerate(levels) if count > 2]
        self.model = NADEkImputer(categorical_features=several or None, random_state=0).fit(train, X_val=valid)

    def probabilities(self, x: Array) -> Array:
        """Return the probabilities; levels without a training row get 0."""
        out = np.zeros((*x.shape, max(self.levels)))
        for column, p in self.model.predict_missing_proba(x).items():
            out[:, column, self.model.levels_[column].astype(np.int64)] = p
        return out
