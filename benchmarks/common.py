"""What the benchmarks share: clocks, the machine's peak, tables and records. Ratios are taken within one run."""

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


def seconds(work: Callable[[], object], *, repeats: int = 3, warm_up: int = 1) -> float:
    """Wall-clock seconds of some work: the least of several times, as a shared machine has better and worse minutes."""
    for _ in range(warm_up):
        work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def peak(dtype: torch.dtype, *, shape: tuple[int, int, int] = (1000, 784, 500), n_calls: int = 20) -> float:
    """Flops a second of the matrix product that the walk is made of.

    The best of many times that so many are made one after the other, by either of two libraries.
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
    """Largest resident memory of this process so far, in MiB.

    Linux's own word for it, where there is one: what `getrusage` tells begins with the peak of the process that started
    this one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        return float(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, right-aligned but for the first column."""
    told = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(columns), *told]) for i in range(len(columns))]
    print(f"\n{title}")
    for line in [list(columns), *told]:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *others]))


def write(name: str, content: dict[str, Any]) -> None:
    """Leave a dated record beside those of other benchmarks."""
    RESULTS.mkdir(exist_ok=True)
    record = {"date": datetime.now(UTC).isoformat(timespec="seconds"), **content, **provenance()}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(f"\nbenchmarks/results/{name}.json")
