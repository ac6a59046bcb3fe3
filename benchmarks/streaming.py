"""Measure memory and speed of verbs on tables of more and more rows, which they read batch by batch.

    python benchmarks/streaming.py [--fit] [--rows 100000 1000000] [--columns 100] [--record]

A small model of 0 and 1 is trained on a thousand rows. Each verb runs in a process of its own: its largest resident
memory, and rows a second of its whole running time, with those of the same verb on ten rows taken off for the start.
With --fit a network of 16 units is trained for an epoch instead, on all rows of a Parquet and of a CSV file: its
largest resident memory, which counts pages of temporary files, too, and the processor seconds of the process. With
--record the result is written to benchmarks/results/streaming.json, or streaming_fit.json.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from common import record_parser, show, write

VERBS: dict[str, tuple[str, ...]] = {
    "impute --probabilities": ("impute", "--probabilities"),
    "impute": ("impute",),
    "score --orderings 1": ("score", "--orderings", "1"),
}
PROFILED = "import resource, sys; from nadek.cli.app import main; sys.argv = ['nadek', *sys.argv[1:]]\n" + (
    "try:\n    main()\nfinally:\n    used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "    sys.stderr.write(f'\\n{used.ru_maxrss} {used.ru_utime + used.ru_stime}')"
)
"""Python of a verb, which ends with its largest memory in KiB and its processor seconds."""
FIT = ("--epochs", "1", "--hidden", "16", "--steps", "1", "--batch-size", "1000", "--force", "-q")
BATCH = 100_000


def make_table(path: Path, n_rows: int, n_columns: int) -> None:
    """Write rows of groups of equal columns with noise, a fifth of them missing."""
    rng = np.random.default_rng(0)
    names = [f"q{j}" for j in range(n_columns)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.int8()) for name in names])) as writer:
        for start in range(0, n_rows, BATCH):
            size = (min(BATCH, n_rows - start), n_columns)
            cause = rng.random((size[0], 5)) < 0.5
            cells = cause[:, np.arange(n_columns) % 5] ^ (rng.random(size) < 0.1)
            missing = rng.random(size) < 0.2
            columns = [pa.array(cells[:, j].astype(np.int8), mask=missing[:, j]) for j in range(n_columns)]
            writer.write_table(pa.table(columns, names=names))


def run(verb: str, model: Path, table: Path, output: Path) -> tuple[float, float]:
    """Return seconds and the largest memory of a verb, in MiB."""
    name, *options = VERBS[verb]
    started = time.perf_counter()
    memory, _ = profiled([name, model, table, "-o", output, "--force", "-q", *options])
    return time.perf_counter() - started, memory


def profiled(arguments: list[Any]) -> tuple[float, float]:
    """Return the largest memory of a command, in MiB, and its processor seconds."""
    command = [sys.executable, "-c", PROFILED, *map(str, arguments)]
    done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
    memory, seconds = done.stderr.split()[-2:]
    return int(memory) / 1024, float(seconds)


def measure(n_rows: list[int], n_columns: int, folder: Path) -> list[dict[str, Any]]:
    """Return a line for each verb and number of rows."""
    model, few = folder / "model", folder / "few.parquet"
    make_table(folder / "train.parquet", 1000, n_columns)
    make_table(few, 10, n_columns)
    fit = ["fit", folder / "train.parquet", "-o", model, "--epochs", "20", "--set", "model.core.width=32", "-q"]
    subprocess.run([sys.executable, "-m", "nadek", *map(str, fit)], check=True)
    lines = []
    for n in n_rows:
        table = folder / f"{n}.parquet"
        make_table(table, n, n_columns)
        for verb in VERBS:
            start, _ = run(verb, model, few, folder / "few-out.parquet")
            seconds, memory = run(verb, model, table, folder / "out.parquet")
            assert pq.ParquetFile(folder / "out.parquet").metadata.num_rows == n
            lines.append({"verb": verb, "rows": n, "memory": memory, "rows_per_second": n / (seconds - start)})
            show("", list(lines[-1]), [list(lines[-1].values())])
        table.unlink()
    return lines


def measure_fit(n_rows: list[int], n_columns: int, folder: Path) -> list[dict[str, Any]]:
    """Return a line for each form of file and number of rows."""
    lines = []
    for n in n_rows:
        parquet, text = folder / f"{n}.parquet", folder / f"{n}.csv"
        make_table(parquet, n, n_columns)
        with pq.ParquetFile(parquet) as file, pa_csv.CSVWriter(text, file.schema_arrow) as writer:
            for batch in file.iter_batches():
                writer.write_batch(batch)
        for table in (parquet, text):
            memory, seconds = profiled(["fit", table, "-o", folder / "model", *FIT])
            lines.append({"form": table.suffix[1:], "rows": n, "memory": memory, "seconds": seconds})
            show("", list(lines[-1]), [list(lines[-1].values())])
            table.unlink()
    return lines


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "streaming")
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--fit", action="store_true", help="measure the training")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = (measure_fit if options.fit else measure)(options.rows, options.columns, Path(folder))
    if options.record:
        write("streaming_fit" if options.fit else "streaming", {"columns": options.columns, "lines": lines})


if __name__ == "__main__":
    main()
