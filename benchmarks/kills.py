"""Kill verbs at random moments, and look at what they leave.

    python benchmarks/kills.py [--kills 50] [--record]

Each kill is a SIGKILL of a process of its own, at a random moment after it began to write. Every second one then waits
until a file is being written, which in a training is seldom. A process that ended before its kill does not count. About
half of the processes write over an older file or model. Nothing half-written may lie under the final name, and the same
command must end with the bytes of a run that nobody disturbed. Batches are small, so that files grow in many pieces.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from common import record_parser, show, write

from nadek.checkpoints import METRICS, UNFINISHED, load_state

CELLS = 2**10
"""Cells of a batch."""
N_ROWS = 6_000
NADEK = f"from nadek.tabular import cut_rows; cut_rows.CELLS = {CELLS}; from nadek.cli import main; main()"
TEMPORARY = ".nadek-*.tmp"
FIT = ("--hidden", 16, "--steps", 2, "--epochs", 30, "--save-every", 0, "--device", "cpu")
TYPES = ("--numeric", "size", "--categorical", "grade")
FORMS = (".csv", ".csv.gz", ".parquet", ".npz")


@dataclass
class Counts:
    """Outcomes of the kills of one verb and form."""

    verb: str
    form: str
    kills: int = 0
    """Kills that hit a running process."""
    unfinished: int = 0
    """Kills before the result was in its place."""
    partial: int = 0
    """Half-written files under a final name."""
    identical: int = 0
    """Reruns with the bytes of an undisturbed run."""
    temporary: int = 0
    """Files left behind, called ``.nadek-*.tmp``."""
    unknown: int = 0
    """Files left behind with any other name."""


@dataclass(frozen=True)
class Work:
    """A command without its output, and where that goes."""

    verb: str
    form: str
    arguments: tuple[object, ...]

    @property
    def name(self) -> str:
        """Name of the output, below the folder of a run."""
        return f"result{self.form}"

    def start(self, folder: Path, *more: object) -> "subprocess.Popen[bytes]":
        """Start the command; its temporary files go to a folder beside the output."""
        (folder / "tmp").mkdir(exist_ok=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(folder / "tmp")}
        arguments = (self.verb, *self.arguments, "-o", folder / self.name, "-q", *more)
        return subprocess.Popen([sys.executable, "-c", NADEK, *map(str, arguments)], env=environment)

    def contents(self, folder: Path) -> dict[str, bytes]:
        """Return the files of the result by name, but for what cannot be the same twice: records with times."""
        result = folder / self.name
        paths = sorted(result.iterdir()) if result.is_dir() else [result] if result.exists() else []
        kept = [path for path in paths if path.name not in (METRICS, UNFINISHED) and not path.match(TEMPORARY)]
        return {path.name: path.read_bytes() for path in kept}


def others(folder: Path, pattern: str) -> list[Path]:
    """Return the files below a folder with such names."""
    return [path for path in folder.rglob(pattern) if path.is_file()]


def wait_for_output(process: "subprocess.Popen[bytes]", folder: Path, *names: str) -> None:
    """Wait until a file of such a name is there, or the process ended."""
    while process.poll() is None and not any(others(folder, name) for name in names):
        time.sleep(0.0005)


def undisturbed(work: Work, folder: Path) -> float:
    """Run to the end; return the seconds from the first to the last output."""
    process = work.start(folder)
    wait_for_output(process, folder, TEMPORARY, UNFINISHED)
    begun = time.time()
    if process.wait() != 0:
        raise RuntimeError(f"{work.verb} failed: exit code {process.returncode}")
    result = folder / work.name
    return max(path.stat().st_mtime for path in ([result] if result.is_file() else result.iterdir())) - begun


def count_partial(work: Work, folder: Path, old: dict[str, bytes], new: dict[str, bytes]) -> int:
    """Return the number of files that are neither the old nor the new one."""
    visible = work.contents(folder)
    n_partial = sum(content not in (old.get(name), new.get(name)) for name, content in visible.items())
    result = folder / work.name
    checks: tuple[Callable[[], object], ...] = (
        lambda: load_state(result),
        lambda: (result / METRICS).exists() and json.loads((result / METRICS).read_text()),
    )
    for check in checks if work.verb == "fit" else ():
        try:
            check()
        except ValueError:
            n_partial += 1
    return n_partial


def kill(work: Work, folder: Path, delay: float, new: dict[str, bytes], old: Path | None, counts: Counts) -> bool:
    """Kill one process, look, and give the same command again; False if the process ended before."""
    folder.mkdir()
    if old is not None:
        (shutil.copytree if old.is_dir() else shutil.copy)(old, folder / work.name)
    before = work.contents(folder)
    options = (*(("--force",) if old else ()), *(("--resume",) if work.verb == "fit" else ()))
    process = work.start(folder, *options)
    wait_for_output(process, folder, TEMPORARY, UNFINISHED)
    time.sleep(delay)
    if counts.kills % 2:  # a training writes for a small part of its time
        wait_for_output(process, folder, TEMPORARY)
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        return False
    counts.kills += 1
    counts.unfinished += work.contents(folder) != new
    counts.partial += count_partial(work, folder, before, new)
    n_temporary = len(others(folder, TEMPORARY))
    counts.temporary += n_temporary
    n_final = len(others(folder / work.name, "[!.]*")) if work.verb == "fit" else (folder / work.name).exists()
    counts.unknown += len(others(folder, "*")) - n_temporary - n_final
    again = work.start(folder, *(options or (("--force",) if (folder / work.name).exists() else ())))
    counts.identical += again.wait() == 0 and work.contents(folder) == new
    return True


def works(folder: Path) -> Iterator[Work]:
    """Write the tables and yield the commands; the model is that of the first."""
    chance = np.random.default_rng(0)
    bits = chance.integers(0, 2, (N_ROWS, 8))
    size = np.round(chance.normal(size=N_ROWS) + bits[:, 0], 3)
    table = np.column_stack([bits, size, 1 + bits[:, :3].sum(1)]).astype(str)
    names = ",".join([*(f"bit{j}" for j in range(8)), "size", "grade"])
    holes = np.where(chance.random(table.shape) < 0.2, "", table)
    for name, rows in {"few": table[:1000], "whole": table, "holes": holes}.items():
        text = "\n".join([names, *map(",".join, rows.tolist())])
        (folder / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    yield Work("fit", "", (folder / "few.csv", *FIT, *TYPES))
    model = folder / "whole-fit" / "result"
    for form in FORMS:
        yield Work("score", form, (model, folder / "whole.csv"))
        yield Work("impute", form, (model, folder / "holes.csv"))
        yield Work("sample", form, (model, "-n", 2 * N_ROWS))


def measure(folder: Path, n_kills: int, *, seed: int = 0) -> list[Counts]:
    """Kill each verb in turn."""
    chance, results = random.Random(seed), []
    n_tables = n_kills * 3 // 4 // (3 * len(FORMS))
    for work in works(folder):
        whole = folder / f"whole-{work.verb}{work.form}"
        whole.mkdir()
        seconds = undisturbed(work, whole)
        new, old = work.contents(whole), folder / f"old{work.form}"
        if work.verb == "fit":
            undisturbed(Work("fit", "", (*work.arguments, "--seed", 1)), folder)
            (folder / work.name).rename(old)
        else:
            old.write_bytes(b"old")
        counts = Counts(work.verb, work.form)
        while counts.kills < (n_kills - n_tables * 3 * len(FORMS) if work.verb == "fit" else n_tables):
            replaced = old if (counts.kills // 2 + len(results)) % 2 else None
            below = folder / "killed"
            if not kill(work, below, chance.uniform(0, seconds), new, replaced, counts):
                seconds *= 0.9
            shutil.rmtree(below)
        results.append(counts)
        print(counts, f"{seconds:.1f} s", flush=True)
    return results


def main() -> None:
    """Kill, print and write a record."""
    parser = record_parser(__doc__, "kills")
    parser.add_argument("--kills", type=int, default=50, help="number of processes to kill, at least 16")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = [asdict(counts) for counts in measure(Path(folder), options.kills)]
    total = {key: sum(row[key] for row in table) for key in table[0] if key not in ("verb", "form")}
    show(
        "killed processes",
        list(table[0]),
        [list(row.values()) for row in [*table, {"verb": "all", "form": "", **total}]],
    )
    if options.record:
        write("kills", {"rows": N_ROWS, "cells_of_a_batch": CELLS, "total": total, "table": table})


if __name__ == "__main__":
    main()
