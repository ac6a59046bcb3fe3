"""Progress on standard error: bars, or lines in a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nadek.cli.console import messages, say
from nadek.kernels.cpu import has_fast_bfloat16
from nadek.training import Epoch, TrainingConfig

LOG_EVERY = 30.0
"""Seconds between two lines of progress in a log."""


def warn_if_slow(training: TrainingConfig, device: torch.device | str, *, quiet: bool = False) -> None:
    """Warn where the processor has no bfloat16 products."""
    if training.precision == "bfloat16" and not has_fast_bfloat16(device):
        slow = "this processor has no bfloat16 products of its own, and the training works in them"
        say(f"{slow}: it takes several times longer here than with training.precision=float32", quiet=quiet)


@contextmanager
def rows_progress(label: str, *, quiet: bool) -> Iterator[Callable[..., None]]:
    """Show a bar for rows done.

    Beside it is the latest text, or else the number of rows a second.
    """
    with _shown(label, quiet=quiet) as show:
        last, start = "", time.monotonic()

        def update(done: int, total: int | None = None, text: str | None = None) -> None:
            nonlocal last
            last = last if text is None else text
            rate = f"{done / max(1e-9, time.monotonic() - start):,.0f} rows a second"
            of_all = "" if total is None else f" of {total:,}"
            show(done, total, last or rate, f"{done:,}{of_all}, {last or rate}")

        yield update


def of_batch(progress: Callable[..., None], first: int, n_rows: int, n_in_all: int) -> Callable[[int, int], None]:
    """Return the progress of a batch as part of all."""
    return lambda done, total: progress(first + n_rows * done // total, n_in_all)


@contextmanager
def epochs_progress(*, quiet: bool, label: str = "training") -> Iterator[Callable[[Epoch], None]]:
    """Show a bar for a training with its costs."""
    with _shown(label, quiet=quiet) as show:

        def update(epoch: Epoch) -> None:
            best = "" if epoch.best is None else f" best {epoch.best:.2f}"
            validation = "" if epoch.validation is None else f" validation {epoch.validation[-1]:.2f}{best}"
            text = f"{epoch.phase} cost {epoch.train[-1]:.2f}{validation}"
            show(epoch.epoch, epoch.epochs, text, f"epoch {epoch.epoch} of {epoch.epochs}, {text}")

        yield update


@contextmanager
def _shown(label: str, *, quiet: bool) -> Iterator[Callable[[int, int | None, str, str], None]]:
    """Show a bar, or lines where there is no terminal."""
    in_log = not messages.is_terminal
    words = TextColumn("{task.fields[text]}")
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), words, TimeRemainingColumn())
    with Progress(*columns, console=messages, disable=quiet or in_log, transient=True) as progress:
        task = progress.add_task(label, total=None, text="")
        last = time.monotonic()

        def show(done: int, total: int | None, text: str, line: str) -> None:
            nonlocal last
            progress.update(task, completed=done, total=total, text=text)
            if in_log and time.monotonic() - last >= LOG_EVERY:
                say(f"{label}: {line}", quiet=quiet)
                last = time.monotonic()

        yield show
