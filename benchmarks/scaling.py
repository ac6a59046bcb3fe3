"""Measure the growth of time and memory with size.

    python benchmarks/scaling.py [--short] [--record]

Exact scoring is timed for D, H, k, rows and orderings, each changed alone. The fitted exponent is the slope of log
seconds over log size. The peak memory of 10,000 rows and 128 orderings is measured in a process of its own. It scores
few positions of the last ordering only: every ordering needs the same buffers, and the table [orderings, rows] of
results is there whole. The peak memory of training with k = 20 is measured with and without recomputation.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from common import memory_peak, record_parser, seconds, show, write

from nadek.inference.check_inputs import complete_rows
from nadek.inference.decoders.chunking import NEAR_BYTES, bytes_per_row, chunks
from nadek.inference.decoders.incremental import IncrementalDecoder
from nadek.inference.decoding import decode
from nadek.inference.likelihood import log_prob
from nadek.inference.order_agnostic import step_costs
from nadek.models import nade_k

BASE = {"D": 784, "H": 500, "k": 5, "rows": 1000, "orderings": 1}
"""Sizes of the paper's NADE-5, with enough rows."""
SIZES: dict[str, tuple[int, ...]] = {
    "D": (196, 392, 784, 1568, 3136),
    "H": (128, 256, 512, 1024),
    "k": (2, 4, 8, 16),
    "rows": (500, 1000, 2000, 4000),
    "orderings": (1, 2, 4),
}
SHORT: dict[str, tuple[int, ...]] = {"D": (196, 392, 784), "H": (128, 512), "k": (2, 8), "rows": (500, 1000)}
EXPECTED = {"D": "2.0 ± 0.15", "k": "1 (k - 1 steps multiply)", "rows": "1", "orderings": "1"}


def scoring(D: int, H: int, k: int, rows: int, orderings: int) -> Callable[[], object]:
    """Return the work of one size, on distinct rows."""
    generator = torch.Generator().manual_seed(0)
    model = nade_k(D, hidden=(H,), steps=k, mean=torch.full((D,), 0.5), generator=generator).eval()
    x = torch.randint(0, 2, (rows, D), generator=generator).to(torch.uint8)
    along = torch.stack([torch.randperm(D, generator=generator) for _ in range(orderings)])
    return lambda: [log_prob(model, x, ordering=ordering, decoder="incremental") for ordering in along]


def measure_growth(sizes: dict[str, tuple[int, ...]]) -> list[dict[str, Any]]:
    """Return seconds and a fitted exponent for each quantity."""
    table = []
    scoring(**{**BASE, "D": 98})()  # libraries warm up
    for name, values in sizes.items():
        times = [seconds(scoring(**{**BASE, name: value}), repeats=2, warm_up=0) for value in values]
        at = [value - 1 for value in values] if name == "k" else list(values)
        slope = float(np.polyfit(np.log(at), np.log(times), 1)[0])
        table.append({"what": name, "sizes": values, "seconds": times, "exponent": slope})
    return table


def evaluating(n_rows: int, n_orderings: int, n_positions: int) -> dict[str, float]:
    """Return the MiB of scoring, beside data and model."""
    D = 784
    generator = torch.Generator().manual_seed(0)
    model = nade_k(D, hidden=(500, 500), steps=5, generator=generator).eval()
    x = torch.randint(0, 2, (n_rows, D), generator=generator).to(torch.uint8)
    log_prob(model, x[:16, :], orderings=1, generator=generator)  # libraries warm up
    before = memory_peak()
    table = torch.zeros(n_orderings, n_rows, dtype=torch.float64)
    with torch.no_grad():
        for rows in chunks(n_rows, bytes_per_row(model), NEAR_BYTES):
            ordering, given = torch.randperm(D, generator=generator), complete_rows(model, x)[rows]
            path = IncrementalDecoder(model, ordering, len(given))
            table[-1, rows] = decode(path, given, ordering.expand(given.shape), stop=n_positions).log_probs.sum(1)
    return {"peak_mib": memory_peak() - before, "chunk_rows": float(NEAR_BYTES // bytes_per_row(model))}


def learning(recompute: bool) -> dict[str, float]:  # noqa: FBT001
    """Return MiB and seconds of a long fine-tuning step."""
    D, k, batch = 784, 20, 1000
    generator = torch.Generator().manual_seed(0)
    model = nade_k(D, hidden=(500, 500), steps=k, generator=generator)
    x = torch.randint(0, 2, (batch, D), generator=generator)
    missing = torch.rand(batch, D, generator=generator) < 0.5
    step_costs(model, x[:2], missing[:2]).mean().backward()
    before = memory_peak()

    def step() -> None:
        step_costs(model, x, missing, first=-1, recompute=recompute).mean().backward()

    took = seconds(step, repeats=1, warm_up=0)
    return {"peak_mib": memory_peak() - before, "seconds": took}


def in_fresh_process(what: str) -> dict[str, float]:
    """Measure memory in a fresh process: peaks never fall."""
    done = subprocess.run([sys.executable, __file__, "--only", what], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


ALONE: dict[str, Callable[[], dict[str, float]]] = {
    "evaluating": lambda: evaluating(10_000, 128, 20),
    "keeping": lambda: learning(recompute=False),
    "recomputing": lambda: learning(recompute=True),
}


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "scaling")
    parser.add_argument("--short", action="store_true", help="fewer and smaller sizes")
    parser.add_argument("--only", choices=ALONE, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is not None:
        print(json.dumps(ALONE[options.only]()))
        return
    table = measure_growth(SHORT if options.short else SIZES)
    rows = [[t["what"], str(t["sizes"]), " ".join(f"{s:.3g}" for s in t["seconds"]), t["exponent"]] for t in table]
    with_expected = [[*row, EXPECTED.get(str(row[0]), "")] for row in rows]
    show(f"exact scoring, around {BASE}", ["what", "sizes", "seconds", "exponent", "expected"], with_expected)
    memory = {what: in_fresh_process(what) for what in ALONE}
    show(
        "memory on top of data and model, MiB (10,000 rows x 128 orderings; fine-tuning with k = 20, batch 1,000)",
        ["what", "MiB", "seconds"],
        [[what, used["peak_mib"], used.get("seconds", "")] for what, used in memory.items()],
    )
    if options.record:
        write("scaling", {"base": BASE, "table": table, "memory": memory})


if __name__ == "__main__":
    main()
