"""Imputers of scikit-learn: frequencies, nearest neighbours, chained regressions."""

import os
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - what the next line imports is behind it
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import BayesianRidge

from peers.coding import Coding

Array = NDArray[np.float64]


class Imputed:
    """Imputer of numbers, whose imputed values are read as probabilities."""

    def __init__(self, imputer: SimpleImputer | KNNImputer | IterativeImputer) -> None:
        self.imputer = imputer

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit on the training rows alone."""
        self.coding = Coding(levels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a cap on rounds is part of the method
            self.imputer.fit(self.coding.encode(train))

    def probabilities(self, x: Array) -> Array:
        """Return the imputed values, normalised to probabilities."""
        return self.coding.decode(self.imputer.transform(self.coding.encode(x)))


def frequencies() -> Imputed:
    """Return the mean of every column."""
    return Imputed(SimpleImputer(strategy="mean", keep_empty_features=True))


def neighbours(number: int) -> Imputed:
    """Return the mean of the nearest training rows that have the cell, weighted by distance."""
    return Imputed(KNNImputer(n_neighbors=number, weights="distance", keep_empty_features=True))


def chained_ridge() -> Imputed:
    """Return chained Bayesian ridge regressions, the default of scikit-learn."""
    return Imputed(IterativeImputer(BayesianRidge(), max_iter=10, keep_empty_features=True, random_state=0))


def chained_trees(trees: int, rounds: int) -> Imputed:
    """Return chained ensembles of trees, as in MissForest."""
    options = {"min_samples_leaf": 5, "max_features": "sqrt", "n_jobs": os.cpu_count(), "random_state": 0}
    regressor = ExtraTreesRegressor(trees, **options)
    return Imputed(IterativeImputer(regressor, max_iter=rounds, keep_empty_features=True, random_state=0))
