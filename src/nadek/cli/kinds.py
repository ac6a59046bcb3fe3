"""The kinds of a model's columns, told compactly."""

import csv
import io
from collections import Counter
from collections.abc import Sequence

from nadek.tabular.columns import Binary, Column, describe, is_plain
from nadek.tabular.declare import names_of
from nadek.tabular.io import quoted
from nadek.tabular.schema import Schema
from nadek.tabular.taken import Taken

MOST_LINES = 40
"""So many columns are told one by one."""

MOST_NAMES = 20
"""So many are named in one line."""


def kind_rows(schema: Schema) -> list[tuple[str, str]]:
    """What is told of a schema: counts of kinds, the columns that are not plain 0 and 1, and those that were dropped.

    Binary columns of the same two values share a line. Words that stand for nothing are told, too. Nothing is told of
    tables of 0 and 1 without more.
    """
    told = []
    if schema.kinds is not None:
        counts = Counter(kind.kind for kind in schema.kinds)
        told.append(("columns", ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))))
        groups = _alike(names_of(schema, len(schema.kinds)), schema.kinds)
        for names, line in groups[:MOST_LINES]:
            told.append((f"column{'s' if len(names) > 1 else ''} {quoted(names, MOST_NAMES)}", line))
        if more := sum(len(names) for names, _ in groups[MOST_LINES:]):
            told.append(("", f"and {more} more columns"))
    if schema.dropped:
        named = quoted([name for name in schema.dropped if name])
        nameless = "a column without a name" if "" in schema.dropped else ""
        told.append(("dropped", ", ".join(filter(None, (nameless, named)))))
    if schema.missing or schema.missing_in:
        own = [f'"{word}" in "{column}"' for column, word in schema.missing_in or ()]
        everywhere = [quoted(schema.missing)] if schema.missing else []
        told.append(("missing, too", ", ".join([*everywhere, *own])))
    return told


def taken_rows(taken: Sequence[Taken]) -> list[tuple[str, str]]:
    """What is told of words that are taken for missing: in how many cells of which columns."""
    rows = []
    for word, cells, told in taken:
        counts = [f'{n} of "{name}"' for name, n in cells.items()]
        more = f" and {len(counts) - MOST_NAMES} more columns" if len(counts) > MOST_NAMES else ""
        hint = "" if told else f" (--keep {word} makes it an answer)"
        rows.append(("taken for missing", f'"{word}" in cells: {", ".join(counts[:MOST_NAMES])}{more}{hint}'))
    return rows


def list_names(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names as the options take them, the first of many: commas between them, quotes around those that have some.

    Example:
        >>> list_names(["age", "b,c"])
        'age,"b,c"'
        >>> list_names(["a", "b", "c"], most=2)
        'a,b,...'
    """
    line, more = io.StringIO(), ["..."] if len(names) > most else []
    csv.writer(line, lineterminator="").writerow([*names[:most], *more])
    return line.getvalue()


def _alike(names: Sequence[str], kinds: Sequence[Column]) -> list[tuple[list[str], str]]:
    """Columns that are not plain 0 and 1, each with its line, or all binary ones of the same two values with theirs."""
    groups: dict[tuple[str, int | None], list[str]] = {}
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if not is_plain(kind):
            groups.setdefault((describe(kind), None if isinstance(kind, Binary) else place), []).append(name)
    return [(some, line) for (line, _), some in groups.items()]
