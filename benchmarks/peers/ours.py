"""nadek with its defaults: what the others are compared with."""

import numpy as np
from numpy.typing import NDArray

from nadek import NADEk

Array = NDArray[np.float64]


class Ours:
    """`NADEk().fit(train)`, which holds out rows of its own; every hidden cell in one pass of the network."""

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:  # noqa: ARG002 - the common face
        """Fit on the training rows alone."""
        self.levels = levels
        several = [column for column, count in enumerate(levels) if count > 2]
        self.model = NADEk(categorical_features=several or None, random_state=0).fit(train)
        self.seen = [np.unique(column[~np.isnan(column)]) for column in train.T]

    def probabilities(self, x: Array) -> Array:
        """A level that no training row has is refused by the estimator: observed ones are withheld from it."""
        known = x.copy()
        for column, seen in enumerate(self.seen):
            known[~np.isin(x[:, column], seen), column] = np.nan
        out = np.zeros((*x.shape, max(self.levels)))
        for column, p in self.model.predict_missing_proba(known).items():
            out[:, column, self.model.levels_[column].astype(np.int64)] = p
        return out
