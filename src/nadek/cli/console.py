"""What people see: results on standard output, messages and progress on standard error."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from nadek.kernels.cpu import has_fast_bfloat16
from nadek.runs.records import finite
from nadek.tabular.io import TextStream
from nadek.training import Epoch, TrainingConfig
from nadek.utils.files import replacing

LOG_EVERY = 30.0
"""Seconds between two lines of progress in a log."""

messages = Console(stderr=True)
results = Console()


def standard_output() -> TextStream:
    """Where results go; what its encoding lacks is written as an escape.

    Raises:
        OSError: if it was closed before the command began.
    """
    if sys.stdout is None:
        raise OSError("standard output is closed: nothing can be written there")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return sys.stdout


def show_json(content: dict[str, Any], output: Path | None = None) -> None:
    """Write a JSON object to a file, or print it; what is not a number (as the deviation of one row) becomes null."""
    text = json.dumps(finite(content), indent=2, allow_nan=False) + "\n"
    if output is None:
        standard_output().write(text)
        return
    with replacing(output) as stream:
        stream.write(text.encode())


def show_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table; numbers stand to the right of the first column."""
    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    standard_output()
    results.print(table)


def show_line(text: str) -> None:
    """Print a line as it is, however long: a path that is broken in two is none."""
    standard_output()
    results.print(text, highlight=False, soft_wrap=True, markup=False)


def say(text: str, *, quiet: bool = False) -> None:
    """A message on standard error."""
    if not quiet:
        messages.print(text, highlight=False, soft_wrap=True, markup=False)


def tell_if_slow(training: TrainingConfig, device: torch.device | str, *, quiet: bool = False) -> None:
    """Say so where a training works in bfloat16 and the processor does not: the same takes several times longer."""
    if training.precision == "bfloat16" and not has_fast_bfloat16(device):
        say(
            "this processor has no bfloat16 products of its own, and the training works in them: it takes several times"
            " longer here than with training.precision=float32",
            quiet=quiet,
        )


@contextmanager
def rows_progress(label: str, *, quiet: bool) -> Iterator[Callable[..., None]]:
    """A bar for work that is told in rows done of rows in all, and perhaps in words, which stay until the next."""
    told = TextColumn("{task.fields[told]}")
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), told, TimeRemainingColumn())
    with _bar(*columns, quiet=quiet) as progress:
        task = progress.add_task(label, total=None, told="")
        log = _log(quiet=quiet)
        last = ""

        def update(done: int, total: int, told: str | None = None) -> None:
            nonlocal last
            last = last if told is None else told
            progress.update(task, completed=done, total=total, told=last)
            log(f"{label}: {done:,} of {total:,}" + (last and f", {last}"))

        yield update


@contextmanager
def epochs_progress(*, quiet: bool, label: str = "training") -> Iterator[Callable[[Epoch], None]]:
    """A bar for a training: epoch, cost, validation, time left."""
    told = TextColumn("{task.fields[told]}")
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), told, TimeRemainingColumn())
    with _bar(*columns, quiet=quiet) as progress:
        task = progress.add_task(label, total=None, told="")
        log = _log(quiet=quiet)

        def update(epoch: Epoch) -> None:
            best = "" if epoch.best is None else f" best {epoch.best:.2f}"
            validation = "" if epoch.validation is None else f" validation {epoch.validation[-1]:.2f}{best}"
            told = f"{epoch.phase} cost {epoch.train[-1]:.2f}{validation}"
            progress.update(task, completed=epoch.epoch, total=epoch.epochs, told=told)
            log(f"{label}: epoch {epoch.epoch} of {epoch.epochs}, {told}")

        yield update


def _log(*, quiet: bool) -> Callable[[str], None]:
    """What takes the place of a bar where messages go to a file: a line now and then."""
    last = time.monotonic()

    def log(text: str) -> None:
        nonlocal last
        if not quiet and not messages.is_terminal and time.monotonic() - last >= LOG_EVERY:
            say(text)
            last = time.monotonic()

    return log


def _bar(*columns: ProgressColumn, quiet: bool) -> Progress:
    """A bar that goes away when it is done; none where nobody watches, as it would leave bits of itself in a log."""
    return Progress(*columns, console=messages, disable=quiet or not messages.is_terminal, transient=True)
