"""The examples of docs/estimators.md as a user would run them, and what they print.

    python benchmarks/examples.py [--record]

All the page's Python runs in one session, in a folder that is thrown away. What a block prints is kept under the name
that the page shows it by, with the code that printed it, so that a page and its output do not grow apart.
"""

import argparse
import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from common import RESULTS, write

PAGE = Path(__file__).parents[1] / "docs" / "estimators.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n<!--=examples\.printed\.(?P<name>[\w-]+) lines-->)?", re.DOTALL)


def blocks(page: str) -> list[tuple[str, str | None]]:
    """Each block of Python on a page, and the name that what it prints is shown by; None where nothing is shown."""
    return [(found["code"], found["name"]) for found in BLOCK.finditer(page)]


def main() -> None:
    """Run, print, leave a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help=f"keep it in {RESULTS.name}/examples.json")
    options = parser.parse_args()
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
        write("examples", {"page": os.fspath(PAGE.relative_to(PAGE.parents[1])), "printed": printed, "code": code})


if __name__ == "__main__":
    main()
