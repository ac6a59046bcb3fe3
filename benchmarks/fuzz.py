"""Give damaged model folders, unfinished trainings and tables to the library, in a process that is watched.

    python benchmarks/fuzz.py [--cases 10000] [--record]

So many tables are read and so many folders: three models for each unfinished training. The cases, their damage and the
limits are those of `tests/support`. Each must work or end in our error, touch nothing outside of its folder, and keep
the limits of processor time and memory. A case that does not is printed, and can be run again by its kind and seed.
"""

import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from common import record_parser, show, write

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.shapes import SHAPES
from support.watched import MIB, SECONDS, Watched

BREACHES = ("traceback", "touched", "seconds", "memory")


def measure(folder: Path, kind: str, seeds: Iterable[int]) -> dict[str, Any]:
    """Run cases of a kind and count."""
    watched = Watched(folder)
    row = {"kind": kind, "cases": 0, "errors": 0, **dict.fromkeys(BREACHES, 0), "worst_seconds": 0.0, "worst_mib": 0.0}
    begun = time.time()
    for seed in seeds:
        outcome = watched.run(kind, seed)
        row["cases"] += 1
        row["errors"] += bool(outcome.answer)
        row["worst_seconds"] = max(row["worst_seconds"], round(outcome.seconds, 3))
        row["worst_mib"] = max(row["worst_mib"], round(outcome.mib, 1))
        for name in outcome.breaches:
            row[name] += 1
            print(f"\n{name}: {outcome}", flush=True)
        if row["cases"] % 500 == 0:
            print(f"{kind}: {row['cases']} cases, {time.time() - begun:.0f} s", flush=True)
    watched.close()
    return row


def main() -> None:
    """Run, print and write a record."""
    parser = record_parser(__doc__, "fuzz")
    parser.add_argument("--cases", type=int, default=10_000, help="tables, and models with unfinished trainings")
    options = parser.parse_args()
    begun, n_states = time.time(), options.cases // 4
    counts = {"table": options.cases, "model": options.cases - n_states, "state": n_states, "shape": 2 * len(SHAPES)}
    with tempfile.TemporaryDirectory() as folder:
        for kind in counts:
            Path(folder, kind).mkdir()
        with ThreadPoolExecutor(len(counts)) as pool:  # of threads that wait for processes
            table = list(pool.map(lambda kind: measure(Path(folder, kind), kind, range(counts[kind])), counts))
    counted = ("cases", "errors", *BREACHES)
    total = {key: sum(row[key] for row in table) for key in counted}
    total |= {key: max(row[key] for row in table) for key in ("worst_seconds", "worst_mib")}
    show("damaged files", list(table[0]), [list(row.values()) for row in [*table, {"kind": "all", **total}]])
    if options.record:
        limits = {"seconds": SECONDS, "mib": MIB}
        write("fuzz", {"seconds": round(time.time() - begun), "limits": limits, "total": total, "table": table})


if __name__ == "__main__":
    main()
