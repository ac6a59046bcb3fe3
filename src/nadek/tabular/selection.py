"""Columns of a table, told by names, indices or a mask."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

if TYPE_CHECKING:
    Which = Sequence[str] | Sequence[int] | Sequence[bool] | np.ndarray[Any, Any]
    WhichOrNone = Which | None
else:  # a constructor stores whatever it is given, also where the tests check types
    Which = WhichOrNone = Any

MatrixLike = Any
"""A table: an array, a list of rows, or a pandas, polars or pyarrow table."""


def chosen_columns(what: str, which: Which, labels: Sequence[str], *, named: bool) -> Bool[np.ndarray, " D"]:
    """Columns told by their names, their indices, or a boolean for each.

    Integers are positions, from 0, also in a frame whose column names are integers: as in scikit-learn.
    """
    chosen = np.zeros(len(labels), dtype=np.bool_)
    items = np.asarray(which)
    if items.ndim != 1:
        raise ValueError(f"{what}: expected a list of column names or indices, or a boolean mask, found {which!r}")
    if items.dtype.kind == "b":
        if len(items) != len(labels):
            raise ValueError(f"{what}: expected a mask of {len(labels)} booleans, found {len(items)}")
        return items.copy()
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
