"""Compare imputed numbers with the hidden ones, for several imputers.

    python benchmarks/amounts.py [--sets wine breast-cancer diabetes] [--seeds 3] [--record]

Six rows in ten are for training, the others for the test. Three cells in ten are hidden from both at random, the same
ones for every method. The root mean square and the mean of the distances are in standard deviations of the column (of
its training values). Every method has its defaults; those of distances get standardised columns. All sets come with
scikit-learn. Seconds are those of the processor.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import record_parser, show, write
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - what follows needs it
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from nadek import NADEkImputer

Array = NDArray[np.float64]
HIDDEN = 0.3
SETS: dict[str, Callable[[], Array]] = {
    "wine": lambda: load_wine().data,
    "breast-cancer": lambda: load_breast_cancer().data,
    "diabetes": lambda: np.column_stack([load_diabetes(scaled=False).data, load_diabetes().target]),
}


def methods(width: int) -> dict[str, Callable[[], Any]]:
    """Return the imputers for a table of numbers."""
    trees = ExtraTreesRegressor(n_estimators=50, random_state=0)
    return {
        "nadek (NADEkImputer)": lambda: NADEkImputer(random_state=0, numeric_features=list(range(width))),
        "IterativeImputer, BayesianRidge": lambda: IterativeImputer(random_state=0),
        "IterativeImputer, ExtraTrees": lambda: IterativeImputer(trees, random_state=0),
        "KNNImputer": lambda: KNNImputer(),
        "SimpleImputer": lambda: SimpleImputer(),
    }


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "amounts")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3, help="splits, each with its own missing cells")
    options = parser.parse_args()
    results = {}
    for name in options.sets:
        each = [measure(SETS[name](), seed) for seed in range(options.seeds)]
        lines = [{"method": method, **_mean([metrics[method] for metrics in each])} for method in each[0]]
        results[name] = {"shape": SETS[name]().shape, "methods": sorted(lines, key=lambda line: line["rmse"])}
        columns = ["method", "rmse", "mae", "seconds"]
        show(name, columns, [[line[key] for key in columns] for line in results[name]["methods"]])
    if options.record:
        write("amounts", {"seeds": options.seeds, "hidden": HIDDEN, "sets": results})


def _mean(each: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([metrics[key] for metrics in each])) for key in each[0]}


def measure(x: Array, seed: int) -> dict[str, dict[str, float]]:
    """Return distances and seconds of every method."""
    rng = np.random.default_rng(seed)
    train, test = np.split(rng.permutation(len(x)), [round(0.6 * len(x))])
    hidden = rng.random(x.shape) < HIDDEN
    observed = np.where(hidden, np.nan, x)
    mean, spread = np.nanmean(observed[train], 0), np.nanstd(observed[train], 0)
    metrics = {}
    for name, make in methods(x.shape[1]).items():
        scaled = "nadek" not in name
        inputs = (observed - mean) / spread if scaled else observed
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # IterativeImputer warns that ten rounds are few
            filled = make().fit(inputs[train]).transform(inputs[test])
        seconds = time.process_time() - started
        error = (filled - (x[test] - mean) / spread) if scaled else (filled - x[test]) / spread
        error = error[hidden[test]]
        rmse, mae = float(np.sqrt((error**2).mean())), float(np.abs(error).mean())
        metrics[name] = {"rmse": rmse, "mae": mae, "seconds": seconds}
    return metrics


if __name__ == "__main__":
    main()
