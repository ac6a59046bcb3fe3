"""Answers in an order, as a user tells them: ``pain,mood=none,mild,severe``."""

from collections.abc import Sequence

from nadek.tabular.columns import Binary, Column, Ordinal
from nadek.tabular.io import as_known, nearest
from nadek.tabular.listed_names import listed_names
from nadek.tabular.user_options import divided

FORM = "columns and their answers in order, as pain=none,mild,severe"


def orders_said(entries: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The answers of columns, from one end to the other.

    Args:
        entries: each names columns before a sign of equality, and their answers after it, with commas between them.
        names: of the columns of the table.

    Raises:
        ValueError: on an entry of another form, on a column that the table does not have (tells the nearest) or of
            which two orders are said, and on an answer that is said twice.

    Example:
        >>> orders_said(["pain,mood=none,mild,severe"], ["age", "mood", "pain"])
        {'pain': ('none', 'mild', 'severe'), 'mood': ('none', 'mild', 'severe')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        columns, levels = _taken_apart(entry, names)
        for column in columns:
            if column not in names:
                raise ValueError(f'ordinal: there is no column "{column}"; {nearest(column, names)}')
            if column in found:
                raise ValueError(f'ordinal: column "{column}" is said twice')
            found[column] = levels
    return found


def as_ordinal(levels: Sequence[str]) -> Column:
    """The column of such answers; two have no neighbours."""
    return Binary(levels=(levels[0], levels[1])) if len(levels) == 2 else Ordinal(levels=tuple(levels))


def _taken_apart(entry: str, names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Columns and answers; names may hold a sign of equality, too: the first one counts before which all are known."""
    ways = [
        (as_known(listed_names([columns], names), names), listed_names([told], ())) for columns, told in divided(entry)
    ]
    if not ways:
        raise ValueError(f"ordinal: expected {FORM}, found {entry!r}")
    columns, levels = next((way for way in ways if set(way[0]) <= set(names)), ways[0])
    if "" in levels or len(set(levels)) < len(levels):
        raise ValueError(f"ordinal: expected {FORM}, each answer once, found {entry!r}")
    return columns, tuple(levels)
