"""Impute and score a table by an engine that hands out batches, beside the command line on the same table.

    python benchmarks/engines.py {spark,ray} [--rows 500000] [--columns 20] [--record]

Both run on one core. A first run on a thousand rows starts them, and its seconds are taken off. Rows are sorted by
their ids, and must be those of the command line: filled cells equal, scores to 1e-6 of their value. Then a worker kills
itself in the middle of the imputation, which must lose and double nothing. With --record the result is written to
benchmarks/results/engines.json, beside that of the other engine.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import RESULTS, record_parser, show, write
from streaming import make_model, make_table

from nadek.batches import BatchImputer, BatchScorer

Function = Callable[[Any], Any]
ROWS = 50_000
"""Rows of a batch."""
FEW = 1000
ORDERINGS = 1
SCORES = ("log_likelihood", "mean_over_orderings", "spread_over_orderings")


def by_spark(function: Function, table: Path, output: Path, types: str | None) -> None:
    """Apply a function to the batches of a table; ``types`` are those of the result if they are others."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS),
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[1,4]")  # one core, and four tries
    for name, value in settings.items():
        builder = builder.config(name, value)
    frame = builder.getOrCreate().read.parquet(str(table))
    frame.mapInArrow(lambda batches: map(function, batches), types or frame.schema).write.parquet(str(output))


def by_ray(function: Function, table: Path, output: Path, _: str | None) -> None:
    """Apply a function to the batches of a table."""
    import ray

    ray.init(num_cpus=1, ignore_reinit_error=True, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    batches = ray.data.read_parquet(str(table))
    batches.map_batches(function, batch_format="pyarrow", batch_size=ROWS).write_parquet(str(output))


ENGINES = {"spark": by_spark, "ray": by_ray}


def killed_once(function: Function, row: int, marker: Path) -> Function:
    """Return a function that kills its process, once, at the batch of a row."""

    def call(batch: Any) -> Any:  # noqa: ANN401 - pyarrow's
        if row in batch["id"].to_pylist() and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return function(batch)

    return call


def streamed(verb: tuple[str, ...], model: Path, table: Path, output: Path) -> float:
    """Return the seconds of a verb of the command line."""
    name, *options = verb
    command = [sys.executable, "-m", "nadek", name, model, table, "-o", output, "--force", "-q", *options]
    started = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True)
    return time.perf_counter() - started


def measure(engine: str, n_rows: int, n_columns: int, folder: Path) -> dict[str, Any]:
    """Return rows a second of both ways and the seconds of their start, by verb."""
    model, table, few = folder / "model", folder / "table.parquet", folder / "few.parquet"
    make_model(model, n_columns)
    make_table(table, n_rows, n_columns)
    make_table(few, FEW, n_columns)
    imputer, scorer = BatchImputer(str(model), "id"), BatchScorer(str(model), "id", orderings=ORDERINGS)
    verbs: dict[str, tuple[tuple[str, ...], Function, str | None]] = {
        "impute": (("impute",), imputer, None),
        "score": (
            ("score", "--orderings", str(ORDERINGS)),
            scorer,
            ", ".join(["id long", *(f"{name} double" for name in SCORES)]),
        ),
    }
    record: dict[str, Any] = {}
    for name, (verb, function, types) in verbs.items():
        expected, output = folder / f"{name}.parquet", folder / name

        def by_engine(rows: Path, output: Path, function: Function = function, types: str | None = types) -> float:
            started = time.perf_counter()
            ENGINES[engine](function, rows, output, types)
            return time.perf_counter() - started

        starts = streamed(verb, model, few, folder / "few-out.parquet"), by_engine(few, folder / f"few-{name}")
        warm = by_engine(few, folder / f"warm-{name}")
        seconds = streamed(verb, model, table, expected) - starts[0], by_engine(table, output) - warm
        rates = [n_rows / max(1e-9, some) for some in seconds]
        record[name] = {"streamed": rates[0], "by_engine": rates[1], "ratio": rates[1] / rates[0], "start": starts[1]}
        check(name, expected, output)
    marker = folder / "killed"
    ENGINES[engine](killed_once(imputer, n_rows // 2, marker), table, folder / "again", None)
    assert marker.exists()
    check("impute", folder / "impute.parquet", folder / "again")
    return record


def check(verb: str, expected: Path, output: Path) -> None:
    """Refuse rows that are not those of the command line."""
    one = pq.read_table(expected)
    other = pa.concat_tables(map(pq.read_table, output.glob("*.parquet"))).sort_by("id")
    if verb == "impute":
        assert other.select(one.column_names).equals(one)
        return
    assert other["id"].to_pylist() == list(range(len(one)))
    for name in SCORES:
        np.testing.assert_allclose(other[name].to_numpy(), one[name].to_numpy(), rtol=1e-6, atol=1e-6)


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "engines")
    parser.add_argument("engine", choices=list(ENGINES))
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = measure(options.engine, options.rows, options.columns, Path(folder))
    lines = [{"engine": options.engine, "verb": verb, **figures} for verb, figures in record.items()]
    show(f"{options.rows:,} rows", list(lines[0]), [list(line.values()) for line in lines])
    if options.record:
        path = RESULTS / "engines.json"
        before = json.loads(path.read_text(encoding="utf-8"))["lines"] if path.exists() else []
        others = [line for line in before if line["engine"] != options.engine]
        write("engines", {"rows": options.rows, "columns": options.columns, "lines": [*others, *lines]})


if __name__ == "__main__":
    main()
