"""Chained gradient boosting: miceforest and MissForest, both on LightGBM."""

from unittest import mock

import miceforest
import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from miceforest.imputed_data import ImputedData
from missforest import MissForest
from numpy.typing import NDArray

from peers.coding import Coding, indicators

Array = NDArray[np.float64]


class Counted(ImputedData):
    """New data of miceforest that count their iterations.

    Those of miceforest 6.0.5 do not, so that every iteration starts from the random cells of the first, and
    `complete_data` gives these back.
    """

    def __setitem__(self, place: tuple[str, int, int], values: pd.Series) -> None:
        super().__setitem__(place, values)
        variable, iteration, dataset = place
        self.iteration_tab[variable, dataset] = iteration


def frame(values: Array) -> pd.DataFrame:
    """Columns with names, as both libraries want them."""
    return pd.DataFrame(values, columns=[f"c{i}" for i in range(values.shape[1])])


def fill_first(values: Array, rng: np.random.Generator) -> Array:
    """One hole in every column that has none: both libraries learn only the columns with holes."""
    values = values.copy()
    for column in (~np.isnan(values).any(0)).nonzero()[0]:
        values[rng.integers(len(values)), column] = np.nan
    return values


class ChainedBoosting:
    """miceforest. "means": its models' own predictions of 0 and 1; "draws": the mean of its random imputations.

    Args:
        kind: "means" or "draws".
        rounds: over the columns.
        draws: how many imputations make a probability.
    """

    def __init__(self, kind: str, rounds: int, draws: int = 20) -> None:
        self.kind, self.rounds, self.draws = kind, rounds, draws

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Learn a chain from training rows with holes."""
        self.coding, self.levels = Coding(levels), levels
        data = self._frame(fill_first(self._values(train), np.random.default_rng(0)))
        candidates = {"mean_match_candidates": 0} if self.kind == "means" else {"mean_match_strategy": "fast"}
        self.kernel = miceforest.ImputationKernel(data, random_state=0, **candidates)
        self.kernel.mice(self.rounds)

    def probabilities(self, x: Array) -> Array:
        """Send new rows through the chain, once or several times."""
        data = self._frame(self._values(x))
        if self.kind == "means":
            return self.coding.decode(self._filled(data, 0))
        filled = (self._filled(data, seed) for seed in range(self.draws))
        return sum(indicators(x, self.levels) for x in filled).reshape(*x.shape, -1) / self.draws

    def _filled(self, data: pd.DataFrame, seed: int) -> Array:
        with mock.patch("miceforest.imputation_kernel.ImputedData", Counted):
            filled = self.kernel.impute_new_data(data, random_state=seed)
        return filled.complete_data().to_numpy(np.float64)

    def _values(self, x: Array) -> Array:
        return self.coding.encode(x) if self.kind == "means" else x

    def _frame(self, values: Array) -> pd.DataFrame:
        data = frame(values)
        if self.kind == "draws":
            for name, count in zip(data, self.levels, strict=True):
                data[name] = pd.Categorical.from_codes(data[name].fillna(-1).astype(int), range(count))
        return data


class Forest:
    """MissForest: chained LightGBM regressions of columns of 0 and 1.

    Args:
        rounds: over the columns at most.
        trees: of each regression. Its own default, 100 trees with linear models in their leaves, takes hours.
    """

    def __init__(self, rounds: int = 3, trees: int = 50) -> None:
        regression = LGBMRegressor(n_estimators=trees, n_jobs=1, verbosity=-1)
        self.forest = MissForest(rgr=regression, max_iter=rounds, initial_guess="mean", verbose=0)

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Learn a chain from training rows with holes."""
        self.coding = Coding(levels)
        self.forest.fit(frame(fill_first(self.coding.encode(train), np.random.default_rng(0))))

    def probabilities(self, x: Array) -> Array:
        """Send new rows through the chain."""
        filled = self.forest.transform(frame(self.coding.encode(x)))
        names = [f"c{i}" for i in range(self.coding.width)]
        return self.coding.decode(filled[names].to_numpy(np.float64))
