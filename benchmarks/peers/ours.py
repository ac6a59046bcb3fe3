"""nadek with its defaults, which the others are compared with, and what it does with several times the time."""

import numpy as np
from numpy.typing import NDArray

from nadek import NADEkImputer
from nadek.training.defaults import SMALL_TABLE, defaults

Array = NDArray[np.float64]


class Ours:
    """`NADEkImputer().fit(train, X_val=valid)`; every hidden cell in one pass of the network.

    Args:
        larger: spend three or four times the time: where rows are many on a wider network and three times as many
            passes over them, where they are few on the mean of four networks, which differ in what they learnt by
            heart.
    """

    def __init__(self, *, larger: bool = False) -> None:
        self.larger = larger

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit on the training rows; the validation rows say which epoch's weights are kept."""
        self.levels = levels
        several = [column for column, count in enumerate(levels) if count > 2]
        self.seen = [np.unique(column[~np.isnan(column)]) for column in train.T]
        sizes, seeds = {}, range(1)
        if self.larger and len(train) >= SMALL_TABLE:
            usual = defaults(len(train), levels, purpose="imputation")[1]
            sizes = {"width": 512, "max_iter": 3 * usual.epochs}
        elif self.larger:
            seeds = range(4)
        self.models = [
            NADEkImputer(categorical_features=several or None, random_state=seed, **sizes).fit(
                train, X_val=self._known(valid)
            )
            for seed in seeds
        ]

    def probabilities(self, x: Array) -> Array:
        """Those of the levels that training rows have; all others get none."""
        out = np.zeros((*x.shape, max(self.levels)))
        for model in self.models:
            for column, p in model.predict_missing_proba(self._known(x)).items():
                out[:, column, model.levels_[column].astype(np.int64)] += p / len(self.models)
        return out

    def _known(self, x: Array) -> Array:
        """A level that no training row has is refused by the estimator: it is withheld from it."""
        known = x.copy()
        for column, seen in enumerate(self.seen):
            known[~np.isin(x[:, column], seen), column] = np.nan
        return known
