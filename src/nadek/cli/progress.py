"""Progress on standard error: bars, lines in a log, or objects of JSON."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nadek.cli.console import as_json_lines, messages, say
from nadek.training import Epoch

LOG_EVERY = 30.0
"""Seconds between two lines of progress in a log."""

JSON_EVERY = 5.0
"""Seconds between two objects about rows; each epoch has its own."""


@contextmanager
def rows_progress(label: str, *, quiet: bool) -> Iterator[Callable[..., None]]:
    """Show a bar for rows done.

    Beside it is the latest text, or else the number of rows a second.
    """
    with _shown(label, quiet=quiet, json_every=JSON_EVERY) as show:
        last, start = "", time.monotonic()

        def update(done: int, total: int | None = None, text: str | None = None) -> None:
            nonlocal last
            last = last if text is None else text
            rate = done / max(1e-9, time.monotonic() - start)
            shown = last or f"{rate:,.0f} rows a second"
            of_all = "" if total is None else f" of {total:,}"
            fields = {"event": "progress", "done": done, "total": total, "rows_per_second": round(rate, 1)}
            show(done, total, shown, f"{done:,}{of_all}, {shown}", fields)

        yield update


@contextmanager
def epochs_progress(*, quiet: bool, label: str = "training") -> Iterator[Callable[[Epoch], None]]:
    """Show a bar for a training with its costs."""
    with _shown(label, quiet=quiet, json_every=0.0) as show:

        def update(epoch: Epoch) -> None:
            best = "" if epoch.best is None else f" best {epoch.best:.2f}"
            validation = "" if epoch.validation is None else f" validation {epoch.validation[-1]:.2f}{best}"
            text = f"{epoch.phase} cost {epoch.train[-1]:.2f}{validation}"
            left = (epoch.epochs - epoch.epoch) * epoch.seconds / epoch.epoch
            line = f"epoch {epoch.epoch} of {epoch.epochs}, {text}, {epoch.seconds:.0f} s, at most {left:.0f} more"
            show(epoch.epoch, epoch.epochs, text, line, {"event": "epoch", **vars(epoch)})

        yield update


@contextmanager
def _shown(
    label: str, *, quiet: bool, json_every: float
) -> Iterator[Callable[[int, int | None, str, str, dict[str, Any]], None]]:
    """Show a bar; lines where there is no terminal; or objects, one of them at the end."""
    in_json = as_json_lines()
    in_log, every = in_json or not messages.is_terminal, json_every if in_json else LOG_EVERY
    words = TextColumn("{task.fields[text]}")
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), words, TimeRemainingColumn())
    with Progress(*columns, console=messages, disable=quiet or in_log, transient=True) as progress:
        task = progress.add_task(label, total=None, text="")
        last = time.monotonic()

        def show(done: int, total: int | None, text: str, line: str, fields: dict[str, Any]) -> None:
            nonlocal last
            progress.update(task, completed=done, total=total, text=text)
            if in_log and (time.monotonic() - last >= every or (in_json and done == total)):
                say(f"{label}: {line}", quiet=quiet, stage=label, **fields)
                last = time.monotonic()

        yield show
