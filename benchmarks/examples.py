"""Run the examples of docs/how-to/survey.md and record what they print.

    python benchmarks/examples.py [--record]

All Python of the page runs in one session, in a temporary folder. The record holds what a block prints, under the name
that the page uses for it, and the code that printed it. So a test can tell when page and output differ.
"""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from common import record_parser, write

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "survey.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n<!--=examples\.printed\.(?P<name>[\w-]+) lines-->)?", re.DOTALL)


def blocks(page: str) -> list[tuple[str, str | None]]:
    """Return the Python blocks of a page, with output names.

    The name is None where the page shows no output.
    """
    return [(match["code"], match["name"]) for match in BLOCK.finditer(page)]


def main() -> None:
    """Run, print and write a record."""
    options = record_parser(__doc__, "examples").parse_args()
    names: dict[str, Any] = {}
    code: dict[str, str] = {}
    printed: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block, name in blocks(PAGE.read_text(encoding="utf-8")):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, PAGE.name, "exec"), names)
            print(out.getvalue(), end="", flush=True)
            if name is not None:
                code[name], printed[name] = block, out.getvalue().splitlines()
    if options.record:
        write("examples", {"page": os.fspath(PAGE.relative_to(PAGE.parents[2])), "printed": printed, "code": code})


if __name__ == "__main__":
    main()
