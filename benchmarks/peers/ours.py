"""nadek with its defaults: what the others are compared with."""

import numpy as np
from numpy.typing import NDArray

from nadek import NADEk, NADEkImputer

Array = NDArray[np.float64]


class Ours:
    """`NADEkImputer().fit(train)`, which holds out rows of its own; every hidden cell in one pass of the network."""

    estimator: type[NADEk] | type[NADEkImputer] = NADEkImputer

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit on the training rows alone."""
        self.levels = levels
        several = [column for column, count in enumerate(levels) if count > 2]
        self.model = self.estimator(categorical_features=several or None, random_state=0).fit(train)
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


class Thorough(Ours):
    """`NADEk` in its place: the defaults for densities, which train several times longer."""

    estimator = NADEk
