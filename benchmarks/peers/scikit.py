"""Imputers of scikit-learn: frequencies, nearest neighbours, chained regressions."""

import os
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - what the next line imports is behind it
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import BayesianRidge

from peers.coding import Coding

Array = NDArray[np.float64]


class Imputed:
    """Imputer of numbers, whose imputed values are read as probabilities."""

    imputer: SimpleImputer | KNNImputer | IterativeImputer

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit on the training rows alone."""
        self.coding = Coding(levels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a cap on rounds is part of the method
            self.imputer.fit(self.coding.encode(train))

    def probabilities(self, x: Array) -> Array:
        """Return the imputed values, normalised to probabilities."""
        return self.coding.decode(self.imputer.transform(self.coding.encode(x)))


class Frequencies(Imputed):
    """Mean of every column."""

    def __init__(self) -> None:
        self.imputer = SimpleImputer(strategy="mean", keep_empty_features=True)


class Neighbours(Imputed):
    """Mean of the nearest training rows that have the cell."""

    def __init__(self, neighbours: int = 15, weights: str = "uniform") -> None:
        self.imputer = KNNImputer(n_neighbors=neighbours, weights=weights, keep_empty_features=True)


class ChainedRidge(Imputed):
    """Chained Bayesian ridge regressions, the default of scikit-learn."""

    def __init__(self, rounds: int = 10) -> None:
        self.imputer = IterativeImputer(BayesianRidge(), max_iter=rounds, keep_empty_features=True, random_state=0)


class ChainedTrees(Imputed):
    """Chained ensembles of trees, "extra" as in MissForest or "boosted"."""

    def __init__(self, kind: str, trees: int, rounds: int) -> None:
        if kind == "extra":
            trees_of = ExtraTreesRegressor(trees, min_samples_leaf=5, max_features="sqrt", n_jobs=os.cpu_count())
        else:
            trees_of = HistGradientBoostingRegressor(max_iter=trees, early_stopping=False)
        trees_of.set_params(random_state=0)
        self.imputer = IterativeImputer(trees_of, max_iter=rounds, keep_empty_features=True, random_state=0)
