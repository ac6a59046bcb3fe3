"""Columns of a table by their names, labels, places or a mask."""

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool

from nadek.tabular.columns.parsing import counted

Which: TypeAlias = str | int | Sequence[str | int] | np.ndarray[Any, Any]
"""Columns of a table."""


def places_of(expected: Sequence[str], columns: Sequence[str], *, where: str) -> list[int]:
    """Return the places of a model's columns in a table that has the same ones in any order."""
    place = {name: j for j, name in enumerate(columns)}
    lacking = [name for name in expected if name not in place]
    model = set(expected)
    unexpected = [name for name in columns if name not in model]
    parts = (("lacks", lacking), ("has the unexpected", unexpected))
    if complaint := " and ".join(f"{verb} {_counted(names)}" for verb, names in parts if names):
        if not unexpected:
            complaint += ": an empty one will do"
        elif not lacking:
            complaint += ": take out what the model does not know"
        elif len(lacking) == len(unexpected) == len(expected):
            complaint += ": is its first row no header (--no-header)?"
        raise ValueError(f"{where}: expected the {len(expected)} columns of the model; the table {complaint}")
    return [place[name] for name in expected]


def as_known(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return names with the spaces of known ones around them: CSV is read without these."""
    spaced = {name.strip(): name for name in names}
    exact = set(names)
    return [name if name in exact else spaced.get(name, name) for name in columns]


def labels_of(columns: Sequence[str] | None, dim: int) -> tuple[str, ...]:
    """Return labels for messages and options: names of columns, or numbers from 1 without names.

    A column with an empty name keeps it if another column is called by that number.
    """
    names = ("",) * dim if columns is None else columns
    used = set(names)
    return tuple(name or ("" if str(j) in used else str(j)) for j, name in enumerate(names, start=1))


def chosen_columns(what: str, which: Any, labels: Sequence[str], *, named: bool) -> Bool[np.ndarray, " D"]:  # noqa: ANN401 - checked
    """Columns told by a name or index, some of them, or a boolean for each.

    Integers are positions, from 0, also in a frame whose column names are integers: as in scikit-learn.
    """
    items = np.atleast_1d(which)
    if items.ndim > 1:
        raise ValueError(f"{what}: expected a list of column names or indices, or a boolean mask, found {which!r}")
    if items.dtype.kind == "b":
        if len(items) != len(labels):
            raise ValueError(f"{what}: expected a mask of {len(labels)} booleans, found {len(items)}")
        return items.copy()
    chosen = np.zeros(len(labels), dtype=np.bool_)
    chosen[[column_index(what, item, labels, named=named) for item in items.tolist()]] = True
    return chosen


def column_index(what: str, item: object, labels: Sequence[str], *, named: bool) -> int:
    """The index of a column told by its name or index; see `chosen_columns`."""
    if isinstance(item, str):
        if not named:
            raise ValueError(f"{what}: found the column name {item!r}, but the table has no column names; use indices")
        if item not in labels:
            raise ValueError(f"{what}: found {item!r}, expected one of the columns {', '.join(map(repr, labels))}")
        return list(labels).index(item)
    if isinstance(item, bool) or not isinstance(item, int):
        raise ValueError(f"{what}: expected column names or indices, found {item!r}")
    if not 0 <= item < len(labels):
        message = f"found {item} (integers are positions, from 0)"
        raise ValueError(f"{what}: expected indices from 0 to {len(labels) - 1}, {message}")
    return item


def first_columns(lines: Iterable[object], most: int = 6) -> str:
    """Join lines about columns, cut at many."""
    texts = list(map(str, lines))
    more = f"; and {counted(len(texts) - most, 'more column')}" if len(texts) > most else ""
    return "; ".join(texts[:most]) + more


def check_names(columns: Sequence[str], dim: int, *, where: str) -> tuple[str, ...]:
    """Check that there is one different name for each of `dim` columns.

    If several names are empty, as behind the last commas of a spreadsheet, these columns are named by their numbers.
    """
    names = tuple(columns)
    names = labels_of(names, len(names)) if names.count("") > 1 else names
    if len(names) != dim:
        raise ValueError(f"{where}: expected {dim} column names, found {len(names)}")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{where}: expected every column name once, found more of {quoted(twice)}")
    return names


def quoted(names: Iterable[str], most: int = 8) -> str:
    """Return the first names in quotes, for messages."""
    shown = [f'"{name}"' for name in names]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def nearest(name: str, names: Sequence[str]) -> str:
    """Return a hint for a name that is not among the known ones."""
    alike = [one for one in names if one.lower() == name.lower()]
    close = alike or difflib.get_close_matches(name, names, n=1)
    return f'did you mean "{close[0]}"?' if close else f"known are {quoted(names)}"


def _counted(names: list[str]) -> str:
    return f"{'column' if len(names) == 1 else f'{len(names)} columns'} {quoted(names)}"
