"""Time exact log-likelihoods against their floor and the straightforward way.

    python benchmarks/likelihood.py [--rows 1000] [--record]

Rows are scored under one ordering. The floor is the time of the flops of decoding at the peak of the dtype. The peak is
the best that this run measured, before and after every model.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from common import memory_peak, peak, record_parser, seconds, show, write
from straightforward import StraightforwardNADEk
from straightforward import log_prob as straightforward_log_prob

from nadek.inference.likelihood import log_prob
from nadek.models import IterativeNADE, nade_k

D, H = 784, 500
DTYPES = (torch.float32, torch.bfloat16)
MODELS = {"1HL k=1": ((H,), 1), "1HL k=5": ((H,), 5), "2HL k=5": ((H, H), 5)}


def twin(model: IterativeNADE) -> StraightforwardNADEk:
    """Return the straightforward network with the same weights."""
    other = StraightforwardNADEk(D, tuple(model.config.core.hidden), model.steps, model.fill)
    first, *rest = other.encoder
    first.weight.data, first.bias.data = model.W.data, model.c.data
    for mine, theirs in zip(model.core.layers, rest, strict=True):
        theirs.weight.data, theirs.bias.data = mine.weight.data, mine.bias.data
    other.decoder.weight.data, other.decoder.bias.data = model.V.data, model.b.data
    return other


def flops(n_rows: int, n_layers: int, steps: int) -> tuple[float, float]:
    """Return the flops of decoding and of the straightforward way."""
    inner = 2.0 * (n_layers - 1) * H * H * steps
    decoding = sum((steps - 1) * 4.0 * (D - d) * H + inner + 4.0 * H for d in range(D))
    return n_rows * decoding, n_rows * D * (steps * 4.0 * D * H + inner)


def measure(name: str, n_rows: int) -> Iterator[dict[str, object]]:
    """Yield the measurements of one model in both dtypes."""
    hidden, steps = MODELS[name]
    generator = torch.Generator().manual_seed(0)
    model = nade_k(D, hidden=hidden, steps=steps, mean=torch.full((D,), 0.13), generator=generator).eval()
    x = (torch.rand(n_rows, D, generator=generator) < 0.13).float()
    ordering = torch.randperm(D, generator=generator)
    ways = {
        dtype: partial(log_prob, model, x, ordering=ordering, decoder="incremental", dtype=dtype)
        for dtype in (None, torch.bfloat16)
    }
    plain = partial(straightforward_log_prob, twin(model), x, ordering)
    exact = plain()
    slow, took = math.inf, dict.fromkeys(ways, math.inf)
    for again in (True, True, False):  # in turns, so that no way has the good minutes to itself
        slow = min(slow, seconds(plain, repeats=1, warm_up=0)) if again else slow
        took = {dtype: min(took[dtype], seconds(way, repeats=1, warm_up=0)) for dtype, way in ways.items()}
    for dtype, way in ways.items():
        log_p = way()
        needed, whole = flops(n_rows, len(hidden), steps)
        yield {
            "model": name,
            "dtype": "float32" if dtype is None else "bfloat16",
            "seconds": took[dtype],
            "straightforward_seconds": slow,
            "ratio_to_straightforward": took[dtype] / slow,
            "ratio_of_flops": needed / whole,
            "flops": needed,
            "largest_difference": float((log_p - exact).abs().max()),
            "difference_of_means": float((log_p - exact).mean().abs()),
        }


def beside_floor(row: dict[str, Any], peaks: dict[str, float]) -> dict[str, Any]:
    """Add the time of the products at peak speed."""
    floor = row["flops"] / peaks[row["dtype"]]
    return row | {"floor_seconds": floor, "ratio_to_floor": row["seconds"] / floor}


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "likelihood")
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    peaks, rows = dict.fromkeys((str(dtype).removeprefix("torch.") for dtype in DTYPES), 0.0), []
    for name in [None, *MODELS]:  # the peak before and after every model: a shared machine has better and worse minutes
        rows += measure(name, options.rows) if name else []
        for dtype, best in zip(DTYPES, peaks, strict=True):
            peaks[best] = max(peaks[best], peak(dtype))
    print("peak, GFLOP/s:", {dtype: round(value / 1e9) for dtype, value in peaks.items()})
    rows = [beside_floor(row, peaks) for row in rows]
    show(f"exact log p of {options.rows} rows, D = {D}, H = {H}", list(rows[0]), [list(row.values()) for row in rows])
    if options.record:
        content = {"rows": options.rows, "peak_flops": peaks, "table": rows, "memory_peak_mib": memory_peak()}
        write("likelihood", content)


if __name__ == "__main__":
    main()
