"""Missing numbers: how near to them what is filled in comes, by nadek and by others, on real tables of numbers.

    python benchmarks/amounts.py [--sets wine breast-cancer diabetes] [--seeds 3] [--record]

Six rows in ten are learnt from, the others are the test; three cells in ten are hidden from both, at random, the same
ones for everybody. Root of the mean square and mean of the distance between what was hidden in the test rows and what
is filled in, in standard deviations of the column (of its training values). Everybody has their defaults; what goes by
distances gets standardised columns. All sets come with scikit-learn.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import show, write
from number_data import NUMBERS
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - what follows needs it
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from nadek import NADEkImputer

Array = NDArray[np.float64]
HIDDEN = 0.3
SETS = ("wine", "breast-cancer", "diabetes")


def methods(width: int) -> dict[str, Callable[[], Any]]:
    """Everybody, for tables of so many columns, all of which are numbers."""
    trees = ExtraTreesRegressor(n_estimators=50, random_state=0)
    return {
        "nadek (NADEkImputer)": lambda: NADEkImputer(random_state=0, numeric_features=list(range(width))),
        "IterativeImputer, BayesianRidge": lambda: IterativeImputer(random_state=0),
        "IterativeImputer, ExtraTrees": lambda: IterativeImputer(trees, random_state=0),
        "KNNImputer": lambda: KNNImputer(),
        "SimpleImputer": lambda: SimpleImputer(),
    }


def main() -> None:
    """Measure, print, leave a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--seeds", type=int, default=3, help="splits, each with holes of its own")
    parser.add_argument("--record", action="store_true", help="write benchmarks/results/amounts.json")
    options = parser.parse_args()
    results = {}
    for name in options.sets:
        each = [measure(NUMBERS[name](), seed) for seed in range(options.seeds)]
        lines = [{"method": method, **_mean([found[method] for found in each])} for method in each[0]]
        results[name] = {"shape": NUMBERS[name]().shape, "methods": sorted(lines, key=lambda line: line["rmse"])}
        columns = ["method", "rmse", "mae", "seconds"]
        show(name, columns, [[line[key] for key in columns] for line in results[name]["methods"]])
    if options.record:
        write("amounts", {"seeds": options.seeds, "hidden": HIDDEN, "sets": results})


def _mean(each: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([found[key] for found in each])) for key in each[0]}


def measure(x: Array, seed: int) -> dict[str, dict[str, float]]:
    """Distances and seconds to fit and fill, by every method."""
    rng = np.random.default_rng(seed)
    train, test = np.split(rng.permutation(len(x)), [round(0.6 * len(x))])
    holes = rng.random(x.shape) < HIDDEN
    shown = np.where(holes, np.nan, x)
    mean, spread = np.nanmean(shown[train], 0), np.nanstd(shown[train], 0)
    found = {}
    for name, make in methods(x.shape[1]).items():
        scaled = "nadek" not in name
        given = (shown - mean) / spread if scaled else shown
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # IterativeImputer tells that ten rounds are few
            filled = make().fit(given[train]).transform(given[test])
        seconds = time.perf_counter() - started
        away = (filled - (x[test] - mean) / spread) if scaled else (filled - x[test]) / spread
        away = away[holes[test]]
        found[name] = {"rmse": float(np.sqrt((away**2).mean())), "mae": float(np.abs(away).mean()), "seconds": seconds}
    return found


if __name__ == "__main__":
    main()
