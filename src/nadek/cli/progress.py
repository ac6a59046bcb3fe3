"""Progress on standard error: bars on a terminal, lines now and then in a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from nadek.cli.console import messages, say
from nadek.kernels.cpu import has_fast_bfloat16
from nadek.training import Epoch, TrainingConfig

LOG_EVERY = 30.0
"""Seconds between two lines of progress in a log."""


def warn_if_slow(training: TrainingConfig, device: torch.device | str, *, quiet: bool = False) -> None:
    """Warn where the processor has no bfloat16 products of its own."""
    if training.precision == "bfloat16" and not has_fast_bfloat16(device):
        say(
            "this processor has no bfloat16 products of its own, and the training works in them: it takes several times"
            " longer here than with training.precision=float32",
            quiet=quiet,
        )


@contextmanager
def rows_progress(label: str, *, quiet: bool) -> Iterator[Callable[..., None]]:
    """Show a bar for rows done; a text stays until the next one."""
    words = TextColumn("{task.fields[text]}")
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), words, TimeRemainingColumn())
    with _bar(*columns, quiet=quiet) as progress:
        task = progress.add_task(label, total=None, text="")
        log = _log(quiet=quiet)
        last = ""

        def update(done: int, total: int, text: str | None = None) -> None:
            nonlocal last
            last = last if text is None else text
            progress.update(task, completed=done, total=total, text=last)
            log(f"{label}: {done:,} of {total:,}" + (last and f", {last}"))

        yield update


@contextmanager
def epochs_progress(*, quiet: bool, label: str = "training") -> Iterator[Callable[[Epoch], None]]:
    """Show a bar for a training: epoch, cost, validation, time left."""
    words = TextColumn("{task.fields[text]}")
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), words, TimeRemainingColumn())
    with _bar(*columns, quiet=quiet) as progress:
        task = progress.add_task(label, total=None, text="")
        log = _log(quiet=quiet)

        def update(epoch: Epoch) -> None:
            best = "" if epoch.best is None else f" best {epoch.best:.2f}"
            validation = "" if epoch.validation is None else f" validation {epoch.validation[-1]:.2f}{best}"
            text = f"{epoch.phase} cost {epoch.train[-1]:.2f}{validation}"
            progress.update(task, completed=epoch.epoch, total=epoch.epochs, text=text)
            log(f"{label}: epoch {epoch.epoch} of {epoch.epochs}, {text}")

        yield update


def _log(*, quiet: bool) -> Callable[[str], None]:
    """Return a function that replaces the bar where messages go to a file."""
    last = time.monotonic()

    def log(text: str) -> None:
        nonlocal last
        if not quiet and not messages.is_terminal and time.monotonic() - last >= LOG_EVERY:
            say(text)
            last = time.monotonic()

    return log


def _bar(*columns: ProgressColumn, quiet: bool) -> Progress:
    """Make a bar that vanishes at its end; invisible without a terminal."""
    return Progress(*columns, console=messages, disable=quiet or not messages.is_terminal, transient=True)
