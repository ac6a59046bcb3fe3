"""Milliseconds of answers about one row: ``python benchmarks/latency.py [DATA_DIR]``.

Networks have the default size for 16,000 rows of 16 columns and 13,000 rows of 111 columns. They are trained for one
epoch, as weights do not change the time. With DATA_DIR the rows are those of nltcs and accidents.
"""

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from nadek import NADEk, NADEkImputer
from nadek.datasets import load

SETS = {"nltcs": (16181, 16), "accidents": (12758, 111)}


def milliseconds(work: Callable[[], object], *, repeats: int = 31) -> float:
    """Return the median of several runs, after two others."""
    times = []
    for _ in range(repeats + 2):
        started = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times[2:])


def main() -> None:
    """Print a line for each table."""
    torch.set_num_threads(1)
    for name, shape in SETS.items():
        rows = load(name, sys.argv[1]).train if len(sys.argv) > 1 else np.random.default_rng(0).integers(0, 2, shape)
        density = NADEk(max_iter=1, random_state=0).fit(rows)
        imputer = NADEkImputer(max_iter=1, random_state=0).fit(rows)
        row = rows[:1].astype(float)
        incomplete = row.copy()
        incomplete[0, ::5] = np.nan
        answers = {
            "transform": lambda imputer=imputer, x=incomplete: imputer.transform(x),
            "score_samples": lambda density=density, x=row: density.score_samples(x),
            "suggest_next": lambda density=density, x=incomplete: density.suggest_next(x),
        }
        text = ", ".join(f"{answer} {milliseconds(work):.1f}" for answer, work in answers.items())
        print(f"one row of {rows.shape[1]} columns, ms: {text}")


if __name__ == "__main__":
    main()
