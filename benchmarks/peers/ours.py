"""nadek with its defaults: what the others are compared with."""

import numpy as np
from numpy.typing import NDArray

from nadek import NADEkImputer

Array = NDArray[np.float64]


class Ours:
    """`NADEkImputer().fit(train, X_val=valid)`; every hidden cell in one pass of the network."""

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit on the training rows; the validation rows say which epoch's weights are kept."""
        self.levels = levels
        several = [column for column, count in enumerate(levels) if count > 2]
        self.seen = [np.unique(column[~np.isnan(column)]) for column in train.T]
        self.model = NADEkImputer(categorical_features=several or None, random_state=0)
        self.model.fit(train, X_val=self._known(valid))

    def probabilities(self, x: Array) -> Array:
        """Those of the levels that training rows have; all others get none."""
        out = np.zeros((*x.shape, max(self.levels)))
        for column, p in self.model.predict_missing_proba(self._known(x)).items():
            out[:, column, self.model.levels_[column].astype(np.int64)] = p
        return out

    def _known(self, x: Array) -> Array:
        """A level that no training row has is refused by the estimator: it is withheld from it."""
        known = x.copy()
        for column, seen in enumerate(self.seen):
            known[~np.isin(x[:, column], seen), column] = np.nan
        return known
