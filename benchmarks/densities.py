"""Compare log-densities of unseen rows of numbers: nadek, a Gaussian mixture and a kernel density estimate.

    python benchmarks/densities.py FOLDER [--names iris wine] [--seeds 10] [--record]

FOLDER is that of benchmarks/mixed.py. The numeric columns of each table are taken, and the rows where all of them are
known; four fifths are for training. nadek has defaults, but mixes 32 orderings; the peers, too, but for the components
of the mixture and the bandwidth of the kernels, which a tenth of the training rows chooses. In small tables nadek is
also asked without an order of its knots, and without a first guess, to see what these bring
(`nadek.models.ordinal_kernel`, `nadek.models.first_guess`). Numbers in steps have a density too, spread evenly over the
step: the peers learn and are asked with noise of this size added. Log-densities are means over test rows, in nats, of
standardised columns. With --record every result is written to benchmarks/results/densities.json at once, and an
interrupted run goes on where it was.
"""

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from common import RESULTS, record_parser, show, write
from mixed import read
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KernelDensity

from nadek import NADEk
from nadek.tabular.columns import Numeric
from nadek.tabular.columns.types import MOST_LEVELS

Array = NDArray[np.float64]
TEST, VALIDATION = 0.2, 0.1
FEW_ROWS = 1000
"""In tables of fewer rows nadek is also asked without each of `PARTS`."""
PARTS: dict[str, tuple[str, Any]] = {
    "unordered": ("nadek.models.ordinal_kernel.MIN_LEVELS", 1 + MOST_LEVELS),
    "unguessed": ("nadek.training.defaults.MOST_FACTORS", 0),
}
"""What takes a part of the defaults away."""
COMPONENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
COVARIANCES = ("full", "diag")
BANDWIDTHS = np.geomspace(0.02, 1.5, 20)


def nadek(train: pd.DataFrame, test: pd.DataFrame) -> tuple[Array, list[float]]:
    """Return log-densities of test rows, and the step of each column."""
    model = NADEk(random_state=0, n_orderings=32, numeric_features=list(train)).fit(train)
    return model.score_samples(test), [column.step for column in model.columns_ if isinstance(column, Numeric)]


def mixture(train: Array, test: Array) -> Array:
    """Return log-densities by the Gaussian mixture that is best on a tenth of the rows."""
    part, others = train_test_split(train, test_size=VALIDATION, random_state=0)
    sizes = [n for n in COMPONENTS if n < len(part) / 2]
    settings = [{"n_components": n, "covariance_type": kind, "random_state": 0} for kind in COVARIANCES for n in sizes]
    best = max(settings, key=lambda setting: GaussianMixture(**setting).fit(part).score(others))
    return GaussianMixture(**best).fit(train).score_samples(test)


def kernels(train: Array, test: Array) -> Array:
    """Return log-densities by Gaussian kernels of the bandwidth that is best on a tenth of the rows."""
    part, others = train_test_split(train, test_size=VALIDATION, random_state=0)
    best = max(BANDWIDTHS, key=lambda bandwidth: KernelDensity(bandwidth=bandwidth).fit(part).score(others))
    return KernelDensity(bandwidth=best).fit(train).score_samples(test)


def measure(frame: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """Return mean log-densities of all methods on the same rows."""
    train, test = train_test_split(frame, test_size=TEST, random_state=seed)
    spread = train.std().to_numpy()
    started = time.process_time()
    ours, steps = nadek(train, test)
    results = [result("nadek", ours + np.log(spread).sum(), started)]
    for name, part in PARTS.items() if len(frame) < FEW_ROWS else ():
        with patch(*part):
            started = time.process_time()
            results.append(result(name, nadek(train, test)[0] + np.log(spread).sum(), started))
    rng = np.random.default_rng(seed)
    noisy = [part.to_numpy() + (rng.random(part.shape) - 0.5) * steps for part in (train, test)]
    scaled = [(part - train.mean().to_numpy()) / spread for part in noisy]
    for method, name in ((mixture, "mixture"), (kernels, "kernels")):
        started = time.process_time()
        results.append(result(name, method(*scaled), started))
    return results


def result(method: str, log_densities: Array, started: float) -> dict[str, Any]:
    """Return the mean with its standard error, and the seconds since ``started``."""
    error = log_densities.std(ddof=1) / np.sqrt(len(log_densities))
    seconds = time.process_time() - started
    return {"method": method, "mean": float(log_densities.mean()), "error": float(error), "seconds": seconds}


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a row a table, and on how many tables nadek is above both others."""
    frame = pd.DataFrame(results)
    means = frame.groupby(["name", "method"], sort=False)["mean"].mean().unstack()
    seconds = frame[frame["method"] == "nadek"].groupby("name")["seconds"].mean()
    rows = [{"table": name, **row.to_dict(), "seconds": seconds[name]} for name, row in means.iterrows()]
    best = means.drop(columns=list(PARTS), errors="ignore").idxmax(axis=1) == "nadek"
    few = [row for row in rows if pd.notna(row.get("unordered"))]
    return {"rows": rows, "few_rows": few, "tables": len(means), "best": int(best.sum())}


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "densities")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", nargs="+", help="tables; all by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[10])
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # mixtures warn of few rows
    path = RESULTS / "densities.json"
    results = json.loads(path.read_text())["results"] if options.record and path.exists() else []
    names = options.names or list(json.loads((options.folder / "kinds.json").read_text()))
    for name, seed in ((name, seed) for name in names for seed in options.seeds):
        if any((r["name"], r["seed"]) == (name, seed) for r in results):
            continue
        frame, categorical = read(options.folder, name)
        numbers = frame.drop(columns=categorical).dropna()
        lines = [{"name": name, "seed": seed, **line} for line in measure(numbers, seed)]
        results += lines
        print(json.dumps(lines), flush=True)
        if options.record:
            write("densities", {**summary(results), "results": results})
    whole = summary(results)
    show("log-density", list(whole["rows"][0]), [list(row.values()) for row in whole["rows"]])


if __name__ == "__main__":
    main()
