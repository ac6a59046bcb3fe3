"""Chained gradient boosting: miceforest and MissForest, both on LightGBM."""

from unittest import mock

import miceforest
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from miceforest.imputed_data import ImputedData
from missforest import MissForest
from numpy.typing import NDArray

from peers.coding import Coding, indicators

Array = NDArray[np.float64]


class Counted(ImputedData):
    """New data of miceforest that count their iterations.

    In miceforest 6.0.5 they do not. Every iteration then starts from the random cells of the first, and
    `complete_data` returns these.
    """

    def __setitem__(self, place: tuple[str, int, int], values: pd.Series) -> None:
        super().__setitem__(place, values)
        variable, iteration, dataset = place
        self.iteration_tab[variable, dataset] = iteration


class Varying:
    """Columns that vary in the training rows, and their levels.

    Neither library accepts others.

    Args:
        train: codes [N, D].
    """

    def __init__(self, train: Array) -> None:
        seen = [np.unique(column[~np.isnan(column)]) for column in train.T]
        self.columns = [column for column, levels in enumerate(seen) if len(levels) > 1]
        self.seen = [seen[column] for column in self.columns]
        self.constant = np.array([levels[0] for levels in seen])

    def take(self, x: Array) -> Array:
        """Return those columns, with unseen levels as missing."""
        parts = [np.where(np.isin(x[:, c], s), x[:, c], np.nan) for c, s in zip(self.columns, self.seen, strict=True)]
        return np.stack(parts, axis=1)

    def back(self, values: Array) -> Array:
        """Return all columns again."""
        x = np.repeat(self.constant[None], len(values), axis=0)
        x[:, self.columns] = values
        return x


def frame(values: Array) -> pd.DataFrame:
    """Return a frame with column names, which both libraries need."""
    return pd.DataFrame(values, columns=[f"c{i}" for i in range(values.shape[1])])


def fill_first(values: Array, rng: np.random.Generator) -> Array:
    """Return the values with a missing cell in every column.

    Both libraries learn only columns with missing cells.
    """
    values = values.copy()
    for column in (~np.isnan(values).any(0)).nonzero()[0]:
        values[rng.integers(len(values)), column] = np.nan
    return values


class ChainedBoosting:
    """Chained boosting of miceforest.

    Args:
        kind: "means" for its models' predictions of 0 and 1, "draws" for the mean of its random imputations of
            categories.
        rounds: over the columns.
        draws: how many imputations make a probability.
    """

    def __init__(self, kind: str, rounds: int, draws: int = 20) -> None:
        self.kind, self.rounds, self.draws = kind, rounds, draws

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Learn a chain from training rows with missing cells."""
        self.coding, self.levels = Coding(levels), levels
        self.varying = Varying(train)
        data = self._frame(fill_first(self._values(train), np.random.default_rng(0)))
        candidates = {"mean_match_candidates": 0} if self.kind == "means" else {"mean_match_strategy": "fast"}
        self.kernel = miceforest.ImputationKernel(data, random_state=0, **candidates)
        self.kernel.mice(self.rounds)

    def probabilities(self, x: Array) -> Array:
        """Send new rows through the chain, once or several times."""
        data = self._frame(self._values(x))
        if self.kind == "means":
            return self.coding.decode(self._filled(data, 0))
        filled = (self.varying.back(self._filled(data, seed)) for seed in range(self.draws))
        return sum(indicators(x, self.levels) for x in filled).reshape(*x.shape, -1) / self.draws

    def _filled(self, data: pd.DataFrame, seed: int) -> Array:
        with mock.patch("miceforest.imputation_kernel.ImputedData", Counted):
            filled = self.kernel.impute_new_data(data, random_state=seed)
        return filled.complete_data().to_numpy(np.float64)

    def _values(self, x: Array) -> Array:
        return self.coding.encode(x) if self.kind == "means" else self.varying.take(x)

    def _frame(self, values: Array) -> pd.DataFrame:
        data = frame(values)
        if self.kind == "draws":
            for name, seen in zip(data, self.varying.seen, strict=True):
                data[name] = pd.Categorical(data[name], seen)
        return data


class Forest:
    """MissForest on LightGBM.

    Args:
        kind: "means" for chained regressions of columns of 0 and 1, "labels" for classifiers of categories, which give
            no probabilities, only the likeliest level.
        rounds: over the columns at most.
        trees: of each model. Its own default, 100 trees with linear models in their leaves, takes hours.
    """

    def __init__(self, kind: str, rounds: int = 3, trees: int = 50) -> None:
        self.kind, self.rounds, self.trees = kind, rounds, trees

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Learn a chain from training rows with missing cells."""
        self.coding, self.levels = Coding(levels), levels
        self.varying = Varying(train)
        data = frame(fill_first(self._values(train), np.random.default_rng(0)))
        model = {"n_estimators": self.trees, "n_jobs": 0, "verbosity": -1}
        self.forest = MissForest(
            LGBMClassifier(**model),
            LGBMRegressor(**model),
            categorical=list(data) if self.kind == "labels" else None,
            max_iter=self.rounds,
            initial_guess="mean",
            verbose=0,
        )
        self.forest.fit(data)

    def probabilities(self, x: Array) -> Array:
        """Send new rows through the chain."""
        data = frame(self._values(x))
        filled = self.forest.transform(data)[list(data)].to_numpy(np.float64)
        if self.kind == "means":
            return self.coding.decode(filled)
        return indicators(self.varying.back(filled), self.levels).reshape(*x.shape, -1).astype(np.float64)

    def _values(self, x: Array) -> Array:
        return self.coding.encode(x) if self.kind == "means" else self.varying.take(x)
