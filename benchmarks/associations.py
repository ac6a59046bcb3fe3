"""What filled-in tables keep of an association.

    python benchmarks/associations.py [--rows 500 3000] [--tables 24] [--record]

In each table ``y`` is a sum of two numbers, x and z, 0.7 times a yes or no, g, and noise of variance 1. Either three in
ten cells of g are missing at random, or half of the cells of y are missing, the more often the larger x is. Twenty
draws complete the table; in each completed table y is regressed on the others, and the estimates are pooled by Rubin's
rules. Shown are means over some tables, how often the 95 % interval holds the truth, and the seconds of the processor
of a fit with its draws, on one thread: in the first case of the coefficient of g, in the second of the mean of y and of
the coefficient of x. "whole" is the table before cells were hidden, "complete rows" leaves out the rows with a missing
cell, and "regressions" is IterativeImputer of scikit-learn, drawing from its posterior. "refitted", for a missing y,
is one draw of each of five networks, fitted to the rows with random weights (the Bayesian bootstrap, Rubin 1981).
"""

import os
import time
from collections.abc import Callable
from itertools import product
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from common import record_parser, show, write
from numpy.typing import NDArray
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - what follows needs it
from sklearn.impute import IterativeImputer

from nadek import NADEkImputer
from nadek.estimators import pool

Array = NDArray[np.float64]
EFFECT, HIDDEN, DRAWS, FITS = 0.7, 0.3, 20, 5
TRUE = {"g": EFFECT, "x": 1.0, "mean": 0.4 * EFFECT}
"""Coefficients, and the mean of y."""
CASES = {"g": ["g"], "y": ["mean", "x"]}
"""What is missing, and what is estimated."""


def table(n_rows: int, seed: int, case: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table, and the same with missing cells."""
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n_rows), rng.random(n_rows) < 0.4
    z = 0.6 * x + rng.normal(0, 0.8, n_rows)
    y = x + 0.5 * z + EFFECT * g + rng.normal(size=n_rows)
    whole = pd.DataFrame({"x": x, "z": z, "g": g.astype(float), "y": y})
    if case == "g":
        return whole, whole.assign(g=whole["g"].mask(rng.random(n_rows) < HIDDEN))
    return whole, whole.assign(y=whole["y"].mask(rng.random(n_rows) < 1 / (1 + np.exp(-1.5 * x))))


def estimates(frame: pd.DataFrame, names: list[str]) -> tuple[Array, Array]:
    """Return coefficients of a regression of y, or its mean, and their variances."""
    x, y = np.column_stack([np.ones(len(frame)), frame[["x", "z", "g"]]]), frame["y"].to_numpy()
    coefficients = np.linalg.solve(x.T @ x, x.T @ y)
    noise = ((y - x @ coefficients) ** 2).sum() / (len(y) - x.shape[1])
    variances = np.append(noise * np.diag(np.linalg.inv(x.T @ x)), y.var(ddof=1) / len(y))
    chosen = [["constant", "x", "z", "g", "mean"].index(name) for name in names]
    return np.append(coefficients, y.mean())[chosen], variances[chosen]


def nadek(frame: pd.DataFrame, seed: int) -> list[pd.DataFrame]:
    """Complete a table by nadek."""
    return NADEkImputer(n_imputations=DRAWS, random_state=seed).fit(frame).transform_multiple(frame)


def refitted(frame: pd.DataFrame, seed: int) -> list[pd.DataFrame]:
    """Complete a table by networks that were fitted with other weights of the rows."""
    weights = np.random.default_rng(seed).exponential(size=(FITS, len(frame)))
    imputers = [NADEkImputer(strategy="sample", random_state=FITS * seed + fit) for fit in range(FITS)]
    return [one.fit(frame, sample_weight=w).transform(frame) for one, w in zip(imputers, weights, strict=True)]


def regressions(frame: pd.DataFrame, seed: int) -> list[pd.DataFrame]:
    """Complete a table by chained regressions."""
    drawn = IterativeImputer(sample_posterior=True, random_state=seed).set_output(transform="pandas")
    return [drawn.set_params(random_state=seed + draw).fit_transform(frame) for draw in range(DRAWS)]


# `pool` wants two tables or more
WAYS: dict[str, Callable[[pd.DataFrame, int], list[pd.DataFrame]]] = {
    "complete rows": lambda frame, seed: 2 * [frame.dropna()],
    "regressions": regressions,
    "nadek": nadek,
    "refitted": refitted,
}


def measure(n_rows: int, n_tables: int, case: str) -> list[dict[str, Any]]:
    """Return mean estimates, coverages and seconds."""
    true = np.array([TRUE[name] for name in CASES[case]])
    ways = [way for way in WAYS if case == "y" or way != "refitted"]
    rows: dict[str, list[list[float]]] = {"whole": [], **{way: [] for way in ways}}
    for seed in range(n_tables):
        whole, frame = table(n_rows, seed, case)
        for way in rows:
            started = time.process_time()
            completed = 2 * [whole] if way == "whole" else WAYS[way](frame, seed)
            each = zip(*(estimates(one, CASES[case]) for one in completed), strict=True)
            pooled = pool(*each, complete_df=len(completed[0]) - 4)
            low, high = pooled.interval()
            rows[way].append([*pooled.estimate, *((low < true) & (true < high)), time.process_time() - started])
    names = [*CASES[case], *(f"coverage_{name}" for name in CASES[case]), "seconds"]
    return [{"way": way, **dict(zip(names, np.mean(some, 0).tolist(), strict=True))} for way, some in rows.items()]


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "associations")
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 3000])
    parser.add_argument("--tables", type=int, default=24)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = dict[str, list[dict[str, Any]]]()
    for n_rows, case in product(options.rows, CASES):
        name = f"{case}_{n_rows}"
        results[name] = ways = measure(n_rows, options.tables, case)
        show(name, list(ways[0]), [list(way.values()) for way in ways])
    if options.record:
        write("associations", {"true": TRUE, "tables": options.tables, "rows": results})


if __name__ == "__main__":
    main()
