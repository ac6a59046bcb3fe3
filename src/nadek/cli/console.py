"""Results on standard output, messages on standard error."""

import json
import os
import re
import sys
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nadek.utils.atomic import finite, replacing

messages = Console(stderr=True)
results = Console()


def standard_output() -> Any:  # noqa: ANN401 - tests replace it
    """Return standard output; unknown characters become escapes."""
    if sys.stdout is None:
        raise OSError("standard output is closed: nothing can be written there")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return sys.stdout


def show_json(content: dict[str, Any], output: Path | None = None) -> None:
    """Write or print a JSON object; NaN becomes null."""
    text = json.dumps(finite(content), indent=2, allow_nan=False) + "\n"
    if output is None:
        standard_output().write(text)
        return
    with replacing(output) as stream:
        stream.write(text.encode())


def show_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table, columns of numbers aligned right."""
    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="bold")
    for index, column in enumerate(columns):
        is_number = all(re.match(r"[-+–\d]|$", row[index]) for row in rows)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(_harmless, row))
    standard_output()
    results.print(table)


def show_line(text: str) -> None:
    """Print a line without breaking it."""
    standard_output()
    results.print(_harmless(text), highlight=False, soft_wrap=True, markup=False)


def as_json_lines() -> bool:
    """Return True if NADEK_LOG asks for JSON."""
    return os.environ.get("NADEK_LOG") == "json"


def say(
    text: str,
    *,
    quiet: bool = False,
    level: Literal["info", "warning", "error"] = "info",
    event: str = "message",
    **more: Any,  # noqa: ANN401 - anything that JSON holds
) -> None:
    """Print a message on standard error; more goes only into a line of JSON."""
    if quiet:
        return
    if not as_json_lines():
        messages.print(_harmless(text), highlight=False, soft_wrap=True, markup=False)
        return
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = {"time": time, "level": level, "event": event, "message": text, **more}
    messages.out(json.dumps(finite(line), allow_nan=False), highlight=False)


def _harmless(text: str) -> str:
    """Escape what a terminal obeys, which names of columns may hold."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], text)
