"""From a table to codes, which the network sees: what each column is, learnt once, and the codes of its cells."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from nadek.tabular.columns import (
    Categorical,
    Column,
    Declared,
    Level,
    Numeric,
    Ordinal,
    UndecidedColumnError,
    encode,
    infer,
    n_levels,
    read_cells,
)
from nadek.tabular.frames import Table, is_missing, is_ordered
from nadek.tabular.selection import WhichOrNone, chosen_columns

DECLARING: dict[str, Declared] = {"categorical_features": "categorical", "numeric_features": "numeric"}
"""Options that say of columns what they are, and of what kind."""


def learn_columns(
    table: Table, *, declared: Mapping[str, WhichOrNone], n_bins: int, keep_empty: bool
) -> tuple[Column | None, ...]:
    """What each column of a training table is.

    Args:
        table: the training table.
        declared: under each option of `DECLARING` the columns that it says it of, whatever their type: names, indices
            or a mask; None goes by types and values.
        n_bins: how many bins a numeric column has at most.
        keep_empty: whether columns without any value are permitted (they are None in the result).

    Raises:
        ValueError: on columns that no variable can be made of, and on declarations that fit none, or contradict.
    """
    said = {kind: declared_columns(table, option, declared[option]) for option, kind in DECLARING.items()}
    for label, *both in zip(table.labels, *said.values(), strict=True):
        if all(both):
            raise ValueError(f'column "{label}": expected one kind, found it in {" and in ".join(DECLARING)}')
    kinds: list[Declared] = ["categorical" if by_type else "auto" for by_type in table.categorical]
    for kind, chosen in said.items():
        kinds = [kind if one else before for before, one in zip(kinds, chosen, strict=True)]
    return tuple(
        _learn_column(table, j, kind=kind, n_bins=n_bins, keep_empty=keep_empty) for j, kind in enumerate(kinds)
    )


def declared_columns(table: Table, option: str, which: WhichOrNone) -> Bool[np.ndarray, " D"]:
    """Which columns one of the options of `DECLARING` names.

    Raises:
        ValueError: on names, indices or a mask that do not fit the table.
    """
    if which is None:
        return np.zeros(len(table.columns), dtype=np.bool_)
    return chosen_columns(option, which, table.labels, named=table.named)


def columns_by(table: Table, declared: Mapping[str, WhichOrNone], n_bins: int) -> dict[str, Any]:
    """The options that say what the columns of a table are, in plain words; see `learn_columns`."""
    said: dict[str, Any] = {"n_bins": int(n_bins)}
    for option in DECLARING:
        chosen = declared_columns(table, option, declared[option])
        said[option] = [label for label, one in zip(table.labels, chosen, strict=True) if one]
    return said


def most_bins(columns: Sequence[Column | None]) -> int:
    """How many bins a column of numbers has at most; 0 where there is none."""
    return max((n_levels(column) for column in columns if isinstance(column, Numeric)), default=0)


def codes_of(table: Table, columns: Sequence[Column | None]) -> Float[np.ndarray, "N D"]:
    """The codes of a table's cells, NaN where missing; columns that were empty in training are left out.

    Raises:
        ValueError: on a value that its column did not have in training; names the cell.
    """
    known = [
        encode(column, values, name=label)
        for column, values, label in zip(columns, table.columns, table.labels, strict=True)
        if column is not None
    ]
    return np.column_stack(known) if known else np.empty((len(table), 0))


def level_labels(column: Column) -> tuple[Level, ...]:
    """What each code of a column stands for: the level, or the mean of the bin."""
    return column.means if isinstance(column, Numeric) else column.levels


def _learn_column(table: Table, j: int, *, kind: Declared, n_bins: int, keep_empty: bool) -> Column | None:
    values, label = table.columns[j], table.labels[j]
    if keep_empty and is_missing(table, j).all():
        return None
    listed = table.categories[j]
    if listed is not None and kind != "numeric":
        read_cells(values, name=label)  # a wrong cell is told by its row, not by its place in the list
        _check_listed(listed, label)
    try:
        column = infer(
            values if listed is None or kind == "numeric" else listed,
            name=label,
            kind=kind,
            n_bins=n_bins,
            integers="numeric",
        )
    except UndecidedColumnError as error:
        told = label if table.named else j
        raise ValueError(f"{error} (categorical_features=[{told!r}, ...] says so)") from None
    if listed is not None and isinstance(column, Categorical) and is_ordered(table, j):
        return Ordinal(levels=tuple(sorted(column.levels, key=listed.tolist().index)))
    one_number = isinstance(column, Categorical) and len(column.levels) == 1 and not isinstance(column.levels[0], str)
    if one_number and kind == "auto":  # a constant; others like it may come later
        return infer(values, name=label, kind="numeric", n_bins=n_bins)
    return column


def _check_listed(categories: NDArray[Any], label: str) -> None:
    """Refuse a type that lists categories of several sorts, whichever of them occur."""
    try:
        read_cells(categories, name=label)
    except ValueError as error:
        told = re.sub(r"^row (\d+), column", r"category \1 of the type of column", str(error))
        raise type(error)(told) from None
