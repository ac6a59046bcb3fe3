"""Markdown tables, and their places in a page."""

import re
from collections.abc import Sequence

NOTHING = "–"
NOT_RUN = "*Not run yet.*"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """Return a table; its first ``words`` columns stand to the left, numbers to the right."""
    rule = ["---" if place < words else "---:" for place in range(len(columns))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [columns, rule, *rows])


def insert(text: str, name: str, block: str, *, append: bool = True) -> str:
    """Return the page with a block between ``<!-- generated: NAME -->`` and ``<!-- /generated -->``."""
    block = f"<!-- generated: {name} -->\n\n{block}\n\n<!-- /generated -->"
    place = re.compile(rf"<!-- generated: {re.escape(name)} -->.*?<!-- /generated -->", re.DOTALL)
    if place.search(text):
        return place.sub(lambda _: block, text)
    return f"{text.rstrip()}\n\n## {name}\n\n{block}\n" if append else text


def number(value: float | None, digits: int = 2) -> str:
    """Return a number as text; a dash for None."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def over(orderings: int | None, rows: int | None, *, in_turn: bool = False) -> str:
    """Return the sizes of a mean as text; without orderings it is an estimate."""
    if rows is None:
        return NOTHING
    if orderings is None:
        return f"estimate, {rows:,} rows"
    turns = " in turn" if in_turn else ""
    return f"{orderings} orderings{turns}, {rows:,} rows" if orderings > 1 else f"1 ordering, {rows:,} rows"
