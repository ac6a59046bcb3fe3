"""Peer nadek, with its defaults or larger."""

import numpy as np
from numpy.typing import NDArray

from nadek import NADEkImputer
from nadek.training.defaults import SMALL_TABLE, defaults

Array = NDArray[np.float64]


class Ours:
    """Imputer `NADEkImputer().fit(train, X_val=valid)`.

    Every hidden cell takes one pass of the network.

    Args:
        larger: spend three or four times the time. Many rows get a wider network and three times as many epochs, few
            rows the mean of four networks, which overfit differently.
    """

    def __init__(self, *, larger: bool = False) -> None:
        self.larger = larger

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit the training rows; validation rows choose the epoch."""
        self.levels = levels
        several = [column for column, count in enumerate(levels) if count > 2]
        self.seen = [np.unique(column[~np.isnan(column)]) for column in train.T]
        sizes, seeds = {}, range(1)
        if self.larger and len(train) >= SMALL_TABLE:
            usual = defaults(len(train), levels, purpose="imputation")[1]
            sizes = {"training": {"width": 512}, "max_iter": 3 * usual.epochs}
        elif self.larger:
            seeds = range(4)
        self.models = [
            NADEkImputer(categorical_features=several or None, random_state=seed, **sizes).fit(
                train, X_val=self._without_unseen(valid)
            )
            for seed in seeds
        ]

    def probabilities(self, x: Array) -> Array:
        """Return the probabilities; levels without a training row get 0."""
        out = np.zeros((*x.shape, max(self.levels)))
        for model in self.models:
            for column, p in model.predict_missing_proba(self._without_unseen(x)).items():
                out[:, column, model.levels_[column].astype(np.int64)] += p / len(self.models)
        return out

    def _without_unseen(self, x: Array) -> Array:
        """Return the rows with unseen levels as missing.

        The estimator refuses a level that no training row has.
        """
        seen_only = x.copy()
        for column, seen in enumerate(self.seen):
            seen_only[~np.isin(x[:, column], seen), column] = np.nan
        return seen_only
