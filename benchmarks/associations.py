"""What filled-in tables keep of an association.

    python benchmarks/associations.py [--rows 500 1500] [--tables 12] [--record]

In each table ``y`` is a sum of two numbers, x and z, 0.7 times a yes or no, g, and noise of variance 1. Three in ten
cells of g are missing at random. Twenty draws complete the table; in each completed table y is regressed on the others,
and the estimates are pooled by Rubin's rules. Shown are the mean coefficient of g over some tables, how often the 95 %
interval holds 0.7, and the seconds of the processor of a fit with its draws, on one thread. "whole" is the table before
cells were hidden, "complete rows" leaves out the rows with a missing cell, and "regressions" is IterativeImputer of
scikit-learn, drawing from its posterior.
"""

import os
import time
from collections.abc import Callable
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
EFFECT, HIDDEN, DRAWS = 0.7, 0.3, 20
LONGER: dict[str, Any] = {"max_iter": 200, "training": {"weight_decay": 0.0}}
"""Training of the row "nadek, longer"."""


def table(n_rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table, and the same with missing cells."""
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n_rows), rng.random(n_rows) < 0.4
    z = 0.6 * x + rng.normal(0, 0.8, n_rows)
    y = x + 0.5 * z + EFFECT * g + rng.normal(size=n_rows)
    whole = pd.DataFrame({"x": x, "z": z, "g": g.astype(float), "y": y})
    return whole, whole.assign(g=whole["g"].mask(rng.random(n_rows) < HIDDEN))


def regression(frame: pd.DataFrame) -> tuple[Array, Array]:
    """Return coefficients of a regression of y, and their variances."""
    x, y = np.column_stack([np.ones(len(frame)), frame[["x", "z", "g"]]]), frame["y"].to_numpy()
    coefficients = np.linalg.solve(x.T @ x, x.T @ y)
    noise = ((y - x @ coefficients) ** 2).sum() / (len(y) - x.shape[1])
    return coefficients, noise * np.diag(np.linalg.inv(x.T @ x))


def nadek(frame: pd.DataFrame, seed: int, **options: Any) -> list[pd.DataFrame]:  # noqa: ANN401 - of `NADEkImputer`
    """Complete a table by nadek."""
    return NADEkImputer(n_imputations=DRAWS, random_state=seed, **options).fit(frame).transform_multiple(frame)


def regressions(frame: pd.DataFrame, seed: int) -> list[pd.DataFrame]:
    """Complete a table by chained regressions."""
    drawn = IterativeImputer(sample_posterior=True, random_state=seed).set_output(transform="pandas")
    return [drawn.set_params(random_state=seed + draw).fit_transform(frame) for draw in range(DRAWS)]


# `pool` wants two tables or more
WAYS: dict[str, Callable[[pd.DataFrame, int], list[pd.DataFrame]]] = {
    "complete rows": lambda frame, seed: 2 * [frame.dropna()],
    "regressions": regressions,
    "nadek": nadek,
    "nadek, longer": lambda frame, seed: nadek(frame, seed, **LONGER),
}


def measure(n_rows: int, n_tables: int) -> list[dict[str, Any]]:
    """Return mean estimates, coverages and seconds."""
    rows: dict[str, list[list[float]]] = {"whole": [], **{way: [] for way in WAYS}}
    for seed in range(n_tables):
        whole, frame = table(n_rows, seed)
        for way in rows:
            started = time.process_time()
            completed = 2 * [whole] if way == "whole" else WAYS[way](frame, seed)
            pooled = pool(*zip(*map(regression, completed), strict=True), complete_df=len(completed[0]) - 4)
            low, high = pooled.interval()[:, -1]
            rows[way].append([pooled.estimate[-1], low < EFFECT < high, time.process_time() - started])
    names = "estimate", "coverage", "seconds"
    return [{"way": way, **dict(zip(names, np.mean(some, 0).tolist(), strict=True))} for way, some in rows.items()]


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "associations")
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 1500, 3000])
    parser.add_argument("--tables", type=int, default=12)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = {str(n_rows): measure(n_rows, options.tables) for n_rows in options.rows}
    for n_rows, ways in results.items():
        show(f"{n_rows} rows", list(ways[0]), [list(way.values()) for way in ways])
    if options.record:
        write("associations", {"effect": EFFECT, "tables": options.tables, "rows": results})


if __name__ == "__main__":
    main()
