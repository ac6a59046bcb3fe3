"""Time samples and imputation of NADE-5 with one hidden layer.

    python benchmarks/sampling.py [--rows 1000] [--model mnist-nade5-2hl] [--record]

The network has D = 784 variables and 500 units; ratios are within one run. Samples along one ordering are compared with
the straightforward sampler, rows with a pattern of missing cells of their own with rows that share one. Several
variables are drawn at once, and the cost of that in nats is measured. It needs a trained model and its test rows, as
one with random weights has no dependence to lose.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from common import memory_peak, record_parser, seconds, show, write
from likelihood import twin
from straightforward import sample as straightforward_sample

from nadek.checkpoints import load_saved
from nadek.datasets import load
from nadek.inference.likelihood import log_prob
from nadek.inference.sampling import impute, sample
from nadek.models import IterativeNADE, nade_k

D, H, K = 784, 500, 5
CHUNKS = (1, 2, 4, 8, 16, 49)
MISSING = (0.5, 0.1)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of one run, which takes long enough."""
    return seconds(work, repeats=1, warm_up=0)


def samples(model: IterativeNADE, n_rows: int, generator: torch.Generator) -> list[dict[str, Any]]:
    """Time samples along one ordering, beside the straightforward sampler."""
    ordering = torch.randperm(D, generator=generator)
    with torch.random.fork_rng(devices=[]):
        slow = timed(lambda: straightforward_sample(twin(model), n_rows, ordering))
    took = timed(lambda: sample(model, n_rows, orderings=ordering[None], generator=generator))
    return [{"samples": n_rows, "seconds": took, "straightforward_seconds": slow, "ratio": took / slow}]


def imputations(model: IterativeNADE, n_rows: int, generator: torch.Generator) -> list[dict[str, Any]]:
    """Time imputation with one missing pattern, and with many."""
    x = (torch.rand(n_rows, D, generator=generator) < 0.13).float()
    table = []
    for part in MISSING:
        missing = torch.rand(n_rows, D, generator=generator) < part
        one, own = (x.masked_fill(where, torch.nan) for where in (missing[:1], missing))
        times = [timed(lambda rows=rows: impute(model, rows, generator=generator)) for rows in (one, own)]
        table.append(
            {
                "missing": part,
                "one_pattern_seconds": times[0],
                "own_patterns_seconds": times[1],
                "ratio": times[1] / times[0],
            }
        )
    return table


def chunked(
    model: IterativeNADE, x: torch.Tensor | None, n_rows: int, generator: torch.Generator
) -> list[dict[str, Any]]:
    """Time joint steps over several variables, with their cost."""
    ordering = torch.randperm(model.n_variables, generator=generator)
    table: list[dict[str, Any]] = []
    for chunk in CHUNKS:
        work = {"orderings": ordering[None], "chunk": chunk, "generator": generator}
        row: dict[str, Any] = {
            "chunk": chunk,
            "seconds": timed(lambda work=work: sample(model, n_rows, **work)),
        }
        if x is not None:
            row["log_likelihood"] = float(log_prob(model, x, ordering=ordering, chunk=chunk).mean())
            row["cost_in_nats"] = table[0]["log_likelihood"] - row["log_likelihood"] if table else 0.0
        table.append(row)
    return table


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "sampling")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--model", type=Path, help="folder or name of a trained model, for the cost of chunks")
    parser.add_argument("--data", default="mnist", help="its data set (found by NADEK_DATA)")
    options = parser.parse_args()
    generator = torch.Generator().manual_seed(0)
    model = nade_k(D, hidden=(H,), steps=K, mean=torch.full((D,), 0.13), generator=generator).eval()
    trained, x = model, None
    if options.model is not None:
        trained = load_saved(options.model).model  # or the name of a pretrained one
        test = torch.as_tensor(load(options.data).test)  # published parts may be sorted
        x = test[torch.randperm(len(test), generator=generator)[: options.rows]].float()
    titles = {
        "samples": f"samples of NADE-{K} 1HL {H}, D = {D}",
        "imputation": f"imputation of {options.rows} rows",
        "chunks": f"{options.rows} samples, several variables at once",
    }
    tables = {
        "samples": samples(model, options.rows, generator),
        "imputation": imputations(model, options.rows, generator),
        "chunks": chunked(trained, x, options.rows, generator),
    }
    for name, table in tables.items():
        show(titles[name], list(table[0]), [list(row.values()) for row in table])
    if options.record:
        setup = {"rows": options.rows, "model": None if options.model is None else options.model.name}
        write("sampling", {**setup, "tables": tables, "memory_peak_mib": memory_peak()})


if __name__ == "__main__":
    main()
