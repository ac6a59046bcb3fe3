"""Lines about the columns of a table, for people."""

import csv
import io
import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from nadek.tabular.columns import Binary, Column, Numeric, describe, is_plain
from nadek.tabular.columns.infer import UndecidedColumnError
from nadek.tabular.learn_schema import Learnt, learn_each, warn_of_doubts
from nadek.tabular.names import quoted
from nadek.tabular.schema import Schema
from nadek.tabular.table import OtherTypeError, Table
from nadek.tabular.user_options import Choices, WordCount, without_words

MOST_LINES = 40
"""Columns with a line of their own, at most."""

MOST_NAMES = 20
"""Names in one line, at most."""


def schema_lines(schema: Schema) -> list[tuple[str, str]]:
    """Return labels and texts about columns beside 0 and 1."""
    lines = []
    if schema.kinds is not None and not all(map(is_plain, schema.kinds)):
        counts = Counter(kind.kind for kind in schema.kinds)
        lines.append(("columns", ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))))
        groups = _alike(schema.labels(len(schema.kinds)), schema.kinds)
        for names, line in groups[:MOST_LINES]:
            lines.append((f"column{'s' if len(names) > 1 else ''} {quoted(names, MOST_NAMES)}", line))
        if more := sum(len(names) for names, _ in groups[MOST_LINES:]):
            lines.append(("", f"and {more} more columns"))
    if schema.dropped:
        named = quoted([name for name in schema.dropped if name])
        nameless = "a column without a name" if "" in schema.dropped else ""
        lines.append(("dropped", ", ".join(filter(None, (nameless, named)))))
    if schema.missing or schema.missing_in:
        own = [f'"{word}" in "{column}"' for column, word in schema.missing_in or ()]
        everywhere = [quoted(schema.missing)] if schema.missing else []
        lines.append(("missing, too", ", ".join([*everywhere, *own])))
    return lines


def missing_word_lines(words: Sequence[WordCount]) -> list[tuple[str, str]]:
    """Return lines about words taken for missing."""
    lines = []
    for word, cells, declared in words:
        counts = [f'{n} of "{name}"' for name, n in cells.items()]
        more = f" and {len(counts) - MOST_NAMES} more columns" if len(counts) > MOST_NAMES else ""
        hint = "" if declared else f" (--keep {word} makes it an answer)"
        lines.append(("taken for missing", f'"{word}" in cells: {", ".join(counts[:MOST_NAMES])}{more}{hint}'))
    return lines


def list_names(names: Sequence[str]) -> str:
    """Join names as options on a command line take them, cut at many."""
    line, more = io.StringIO(), ["..."] if len(names) > MOST_NAMES else []
    csv.writer(line, lineterminator="").writerow([*names[:MOST_NAMES], *more])
    return shlex.quote(line.getvalue())


class Reason(NamedTuple):
    """Why a training column is of a type."""

    name: str
    type: str
    missing: int | None
    """Number of missing cells; None if unknown."""
    reason: str
    example: str = ""
    """Part of the reason that shows some cells."""


def column_reasons(table: Table, choices: Choices) -> list[Reason]:
    """Return the reasons of all columns."""
    parsed = choices.parse(table.labels)
    learnt, table, reasons = dict(learn_each(table, parsed)), without_words(table, parsed.missing), []
    for j, label in enumerate(table.labels):
        one = learnt.get(label)
        kind, missing, reason = _reason(one, parsed.declared.get(label))
        if isinstance(one, Exception):
            with suppress(OtherTypeError):
                missing = int(table.is_missing(j).sum())
        example = one.example if isinstance(one, UndecidedColumnError) else ""
        reasons.append(Reason(label, kind, missing, reason.removeprefix(f'column "{label}" '), example))
    types = {j: one[0] for j, label in enumerate(table.labels) if isinstance(one := learnt.get(label), tuple)}
    warn_of_doubts(table, types)
    return reasons


def _reason(learnt: Learnt | Exception | None, option: str | None) -> tuple[str, int | None, str]:
    """Return the type of a column, its missing cells and the reason."""
    if learnt is None:
        return "left out", None, "--drop"
    if isinstance(learnt, Exception):
        return "to be said", None, str(learnt)
    column, codes = learnt
    missing = int(np.isnan(codes).sum())
    if missing == len(codes):
        return "empty", missing, "no value in any row"
    return describe(column), missing, f"--{option}" if option else _values_in(column)


def _values_in(column: Column) -> str:
    """Return what a column's values have in common."""
    if isinstance(column, Numeric) and column.unit:
        return "dates"
    if isinstance(column, Numeric):
        return "--whole-numbers" if column.integer else "numbers, not all of them whole"
    if len(column.levels) == 1:
        return "one value"
    if isinstance(column.levels[0], str):
        return f"{len(column.levels)} different texts"
    if isinstance(column, Binary):
        return "true and false" if isinstance(column.levels[0], bool) else "0 and 1"
    return "--whole-numbers"


def _alike(names: Sequence[str], kinds: Sequence[Column]) -> list[tuple[list[str], str]]:
    """Return columns beside 0 and 1 by their description."""
    groups: dict[tuple[str, int | None], list[str]] = {}
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if not is_plain(kind):
            groups.setdefault((describe(kind), None if isinstance(kind, Binary) else place), []).append(name)
    return [(some, line) for (line, _), some in groups.items()]
