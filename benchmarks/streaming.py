"""Measure memory and speed of verbs on tables of more and more rows, which they read batch by batch.

    python benchmarks/streaming.py [--fit] [--rows 100000 1000000] [--columns 100] [--record]

A small model of 0 and 1 is trained on a thousand rows. Each verb runs in a process of its own: its largest resident
memory, and the rows for each second of the processor, with those of the same verb on ten rows taken off for the start.
Beside it is that rate where 500,000 rows are held in memory as a whole. The order of rows is checked. Verbs that draw
or score get a million rows at most.

With --fit a network of 16 units is trained for an epoch instead, on all rows of a Parquet and of a CSV file: its
largest resident memory, which counts pages of temporary files, too, and the processor seconds of the process. With
--record the result is written to benchmarks/results/streaming.json, or streaming_fit.json.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from common import record_parser, show, write

from nadek.tabular.cut_rows import CELLS

VERBS: dict[str, tuple[str, ...]] = {
    "impute --probabilities": ("impute", "--probabilities"),
    "impute": ("impute",),
    "score --orderings 1": ("score", "--orderings", "1"),
}
PROFILED = f"""
import sys, time
sys.path.append({str(Path(__file__).parent)!r})
from common import memory_peak
from nadek.cli.app import main
from nadek.tabular import cut_rows
cut_rows.CELLS, *sys.argv[1:] = int(sys.argv[1]), *sys.argv[2:]
try:
    main()
finally:
    sys.stderr.write(f"\\n{{memory_peak()}} {{time.process_time()}}")
"""
"""Python of a verb by batches of so many cells, which ends with its largest memory in MiB and its processor seconds."""
FIT = ("--drop", "id", "--epochs", "1", "--hidden", "16", "--steps", "1", "--batch-size", "1000", "--force", "-q")
BATCH = 100_000
"""Rows of a table that are made or checked at once."""
IN_MEMORY = 500_000
"""Rows of the table in memory; with fewer, chance in the start would count."""
MOST_DRAWN = 1_000_000
"""Rows that are drawn or scored, at most."""


def make_table(path: Path, n_rows: int, n_columns: int) -> None:
    """Write rows of groups of equal columns with noise, a fifth of them missing, and a column of their numbers."""
    rng = np.random.default_rng(0)
    names = [f"q{j}" for j in range(n_columns)]
    schema = pa.schema([("id", pa.int64()), *((name, pa.int8()) for name in names)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, BATCH):
            size = (min(BATCH, n_rows - start), n_columns)
            cause = rng.random((size[0], 5)) < 0.5
            cells = cause[:, np.arange(n_columns) % 5] ^ (rng.random(size) < 0.1)
            missing = rng.random(size) < 0.2
            columns = [pa.array(cells[:, j].astype(np.int8), mask=missing[:, j]) for j in range(n_columns)]
            ids = pa.array(np.arange(start, start + size[0]))
            writer.write_table(pa.table([ids, *columns], schema=schema))


def make_model(model: Path, n_columns: int) -> None:
    """Train a small model on a thousand rows."""
    table = model.with_name("train.parquet")
    make_table(table, 1000, n_columns)
    fit = ["fit", table, "-o", model, "--drop", "id", "--epochs", "20", "-q", "--set", "model.core.width=32"]
    subprocess.run([sys.executable, "-m", "nadek", *map(str, fit)], check=True)


def run(verb: str, model: Path, table: Path, output: Path, *, cells: int = CELLS) -> tuple[float, float]:
    """Return the largest memory of a verb, in MiB, and its processor seconds."""
    name, *options = VERBS[verb]
    return profiled([name, model, table, "-o", output, "--force", "-q", *options], cells=cells)


def check_order(output: Path, table: Path) -> None:
    """Refuse rows that are not those of the table, in its order, with its observed cells."""
    written, read = (pq.ParquetFile(path) for path in (output, table))
    assert written.metadata.num_rows == read.metadata.num_rows
    first = 0
    for new, old in zip(*(file.iter_batches(batch_size=BATCH) for file in (written, read)), strict=True):
        rows = np.arange(first, first + len(old))
        first += len(old)
        if "row" in new.schema.names:  # of scores, from 1
            assert (new["row"].to_numpy() == rows + 1).all()
            continue
        assert (new["id"].to_numpy() == rows).all()
        for name in old.schema.names:
            before, after = (part[name].to_numpy(zero_copy_only=False) for part in (old, new))
            assert not np.isnan(after).any()
            assert (np.isnan(before) | (before == after)).all()


def profiled(arguments: list[Any], *, cells: int = CELLS) -> tuple[float, float]:
    """Return the largest memory of a command, in MiB, and its processor seconds."""
    command = [sys.executable, "-c", PROFILED, *map(str, [cells, *arguments])]
    done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
    memory, seconds = done.stderr.split()[-2:]
    return float(memory), float(seconds)


def measure(n_rows: list[int], n_columns: int, folder: Path) -> list[dict[str, Any]]:
    """Return a line for each verb and number of rows."""
    model, few, many = folder / "model", folder / "few.parquet", folder / "many.parquet"
    make_model(model, n_columns)
    make_table(few, 10, n_columns)
    make_table(many, IN_MEMORY, n_columns)
    output, lines = folder / "out.parquet", []
    starts = {verb: min(run(verb, model, few, output)[1] for _ in range(3)) for verb in VERBS}
    in_memory = {verb: IN_MEMORY / (run(verb, model, many, output, cells=2**60)[1] - starts[verb]) for verb in VERBS}
    for n in n_rows:
        table = folder / f"{n}.parquet"
        make_table(table, n, n_columns)
        for verb in VERBS:
            if n > MOST_DRAWN and verb != "impute --probabilities":
                continue
            memory, seconds = run(verb, model, table, output)
            check_order(output, table)
            rate = n / (seconds - starts[verb])
            line = {"verb": verb, "rows": n, "memory": memory, "rows_per_second": rate, "in_memory": in_memory[verb]}
            lines.append(line | {"ratio": rate / in_memory[verb]})
            show("", list(lines[-1]), [list(lines[-1].values())])
            sys.stdout.flush()
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
    if not options.record:
        return
    content = {"columns": options.columns, "lines": lines}
    if options.fit:
        write("streaming_fit", content)
    else:
        rates = {line["verb"]: line["rows_per_second"] for line in lines}
        billion = [{"verb": verb, "core_hours": 1e9 / rate / 3600} for verb, rate in rates.items()]
        write("streaming", content | {"billion": billion})


if __name__ == "__main__":
    main()
