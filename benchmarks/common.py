"""Clocks, peaks, tables and records of the benchmarks.

Ratios are taken within one run.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch

from nadek.kernels.linear import affine
from nadek.runs.provenance import provenance

RESULTS = Path(__file__).parent / "results"


def record_parser(about: str | None, record: str) -> argparse.ArgumentParser:
    """Return the options of a benchmark: ``--record`` writes the record of this name."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--record", action="store_true", help=f"write benchmarks/results/{record}.json")
    return options


def seconds(work: Callable[[], object], *, repeats: int = 3, warm_up: int = 1) -> float:
    """Return the least wall-clock seconds of several runs.

    A shared machine has better and worse minutes.
    """
    for _ in range(warm_up):
        work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def peak(dtype: torch.dtype, *, shape: tuple[int, int, int] = (1000, 784, 500), n_calls: int = 20) -> float:
    """Return the peak flops a second of matrix products.

    The shape is that of decoding.

    It is the best of many runs of ``n_calls`` products, by either of two libraries.
    """
    a, b = torch.randn(shape[0], shape[1]).to(dtype), torch.randn(shape[1], shape[2]).to(dtype)
    out = torch.empty(shape[0], shape[2], dtype=dtype)

    def row(product: Callable[[], object]) -> None:
        for _ in range(n_calls):
            product()

    with torch.no_grad():
        ways = (lambda: torch.mm(a, b, out=out), lambda: affine(a, b.t()))
        best = min(seconds(partial(row, way), repeats=20) for way in ways)
    return 2.0 * shape[0] * shape[1] * shape[2] * n_calls / best


def memory_peak() -> float:
    """Return the peak memory of this process in MiB.

    Linux gives it for this process alone; `getrusage` begins with the peak of the parent process.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        return float(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, right-aligned but for the first column."""
    lines = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(columns), *lines]) for i in range(len(columns))]
    print(f"\n{title}")
    for line in [list(columns), *lines]:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *others]))


def write(name: str, content: dict[str, Any]) -> None:
    """Write a dated record."""
    RESULTS.mkdir(exist_ok=True)
    record = {"date": datetime.now(UTC).isoformat(timespec="seconds"), **content, **provenance()}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\nbenchmarks/results/{name}.json")
