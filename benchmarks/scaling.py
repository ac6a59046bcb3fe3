"""How the cost of exact scoring grows with D, H, k, rows and orderings; memory of a large evaluation, and of training.

    python benchmarks/scaling.py [--short] [--record]

Each is changed alone, and an exponent fitted: the slope of log seconds over log size. The peak of memory of 10,000 rows
and 128 orderings is taken in a process of its own, which scores few positions of the last ordering only: every ordering
needs the same buffers, and the table [orderings, rows] of results is there whole. That of training with k = 20 is
taken with and without keeping the activations of all steps.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from common import memory_peak, seconds, show, write

from nadek.inference.check_inputs import complete_rows
from nadek.inference.decoders import NEAR_BYTES, IncrementalDecoder, bytes_per_row, chunks
from nadek.inference.decoding import decode
from nadek.inference.likelihood import log_prob
from nadek.inference.order_agnostic import step_costs
from nadek.models import nade_k

BASE = {"D": 784, "H": 500, "k": 5, "rows": 1000, "orderings": 1}
"""The paper's NADE-5; with a hundred rows Python's own work at each position would hide how the rest grows."""
SIZES: dict[str, tuple[int, ...]] = {
    "D": (196, 392, 784, 1568, 3136),
    "H": (128, 256, 512, 1024),
    "k": (2, 4, 8, 16),
    "rows": (500, 1000, 2000, 4000),
    "orderings": (1, 2, 4),
}
SHORT: dict[str, tuple[int, ...]] = {"D": (196, 392, 784), "H": (128, 512), "k": (2, 8), "rows": (500, 1000)}
ASKED = {"D": "2.0 ± 0.15", "k": "1 (k - 1 steps multiply)", "rows": "1", "orderings": "1"}


def scoring(D: int, H: int, k: int, rows: int, orderings: int) -> Callable[[], object]:
    """The work of one size, rows that all differ from the start."""
    generator = torch.Generator().manual_seed(0)
    model = nade_k(D, hidden=(H,), steps=k, mean=torch.full((D,), 0.5), generator=generator).eval()
    x = torch.randint(0, 2, (rows, D), generator=generator).to(torch.uint8)
    along = torch.stack([torch.randperm(D, generator=generator) for _ in range(orderings)])
    return lambda: [log_prob(model, x, ordering=ordering, decoder="incremental") for ordering in along]


def grown(sizes: dict[str, tuple[int, ...]]) -> list[dict[str, Any]]:
    """Seconds and fitted exponent for each of the five."""
    table = []
    scoring(**{**BASE, "D": 98})()  # libraries warm up
    for name, values in sizes.items():
        times = [seconds(scoring(**{**BASE, name: value}), repeats=2, warm_up=0) for value in values]
        at = [value - 1 for value in values] if name == "k" else list(values)
        slope = float(np.polyfit(np.log(at), np.log(times), 1)[0])
        table.append({"what": name, "sizes": values, "seconds": times, "exponent": slope})
    return table


def evaluating(n_rows: int, n_orderings: int, n_positions: int) -> dict[str, float]:
    """MiB on top of the data and the model when so many rows are scored under so many orderings, in this process."""
    D = 784
    generator = torch.Generator().manual_seed(0)
    model = nade_k(D, hidden=(500, 500), steps=5, generator=generator).eval()
    x = torch.randint(0, 2, (n_rows, D), generator=generator).to(torch.uint8)
    log_prob(model, x[:16, :], orderings=1, generator=generator)  # libraries warm up
    before = memory_peak()
    table = torch.zeros(n_orderings, n_rows, dtype=torch.float64)
    with torch.no_grad():
        for rows in chunks(n_rows, bytes_per_row(model), NEAR_BYTES):
            path = IncrementalDecoder(model, torch.randperm(D, generator=generator), rows.stop - rows.start)
            table[-1, rows] = decode(path, complete_rows(model, x)[rows], stop=n_positions).log_probs.sum(1)
    return {"peak_mib": memory_peak() - before, "chunk_rows": float(NEAR_BYTES // bytes_per_row(model))}


def learning(recompute: bool) -> dict[str, float]:  # noqa: FBT001
    """MiB on top of the model, and seconds, of a step of fine-tuning with k = 20."""
    D, k, batch = 784, 20, 1000
    generator = torch.Generator().manual_seed(0)
    model = nade_k(D, hidden=(500, 500), steps=k, generator=generator)
    x = torch.randint(0, 2, (batch, D), generator=generator)
    missing = torch.rand(batch, D, generator=generator) < 0.5
    step_costs(model, x[:2], missing[:2]).mean().backward()
    before = memory_peak()

    def step() -> None:
        step_costs(model, x, missing, last_only=True, recompute=recompute).mean().backward()

    took = seconds(step, repeats=1, warm_up=0)
    return {"peak_mib": memory_peak() - before, "seconds": took}


def apart(what: str) -> dict[str, float]:
    """A measurement of memory in a fresh process: the peak of a process never falls."""
    done = subprocess.run([sys.executable, __file__, "--only", what], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


ALONE: dict[str, Callable[[], dict[str, float]]] = {
    "evaluating": lambda: evaluating(10_000, 128, 20),
    "keeping": lambda: learning(recompute=False),
    "recomputing": lambda: learning(recompute=True),
}


def main() -> None:
    """Measure, print, leave a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="fewer and smaller sizes")
    parser.add_argument("--only", choices=ALONE, help=argparse.SUPPRESS)
    parser.add_argument("--record", action="store_true", help="write benchmarks/results/scaling.json")
    options = parser.parse_args()
    if options.only is not None:
        print(json.dumps(ALONE[options.only]()))
        return
    table = grown(SHORT if options.short else SIZES)
    rows = [[t["what"], str(t["sizes"]), " ".join(f"{s:.3g}" for s in t["seconds"]), t["exponent"]] for t in table]
    asked = [[*row, ASKED.get(str(row[0]), "")] for row in rows]
    show(f"exact scoring, around {BASE}", ["what", "sizes", "seconds", "exponent", "asked"], asked)
    memory = {what: apart(what) for what in ALONE}
    show(
        "memory on top of data and model, MiB (10,000 rows x 128 orderings; fine-tuning with k = 20, batch 1,000)",
        ["what", "MiB", "seconds"],
        [[what, found["peak_mib"], found.get("seconds", "")] for what, found in memory.items()],
    )
    if options.record:
        write("scaling", {"base": BASE, "table": table, "memory": memory})


if __name__ == "__main__":
    main()
