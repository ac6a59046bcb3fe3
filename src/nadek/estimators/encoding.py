"""From a table to codes, which the network sees: what each column is, learnt once, and the codes of its cells."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from nadek.columns import Categorical, Column, Level, Numeric, UndecidedColumnError, encode, infer, n_levels, read_cells
from nadek.estimators.containers import Table, is_missing
from nadek.estimators.options import WhichOrNone, chosen_columns


def learn_columns(
    table: Table, *, categorical_features: WhichOrNone, n_bins: int, keep_empty: bool
) -> tuple[Column | None, ...]:
    """What each column of a training table is.

    Args:
        table: the training table.
        categorical_features: columns of categories whatever their type: names, indices or a mask; None goes by type.
        n_bins: how many bins a numeric column has at most.
        keep_empty: whether columns without any value are permitted (they are None in the result).

    Raises:
        ValueError: on columns that no variable can be made of, and ``categorical_features`` that are none.
    """
    declared = np.array(table.categorical) | declared_columns(table, categorical_features)
    return tuple(
        _learn_column(table, j, categorical=bool(declared[j]), n_bins=n_bins, keep_empty=keep_empty)
        for j in range(len(table.columns))
    )


def declared_columns(table: Table, which: WhichOrNone) -> Bool[np.ndarray, " D"]:
    """Whether ``categorical_features`` says of a column that it is one of categories.

    Raises:
        ValueError: on names, indices or a mask that do not fit the table.
    """
    if which is None:
        return np.zeros(len(table.columns), dtype=np.bool_)
    return chosen_columns("categorical_features", which, table.labels, named=table.named)


def columns_by(table: Table, categorical_features: WhichOrNone, n_bins: int) -> dict[str, Any]:
    """The options that say what the columns of a table are, in plain words; see `learn_columns`."""
    declared = declared_columns(table, categorical_features)
    names = [label for label, one in zip(table.labels, declared, strict=True) if one]
    return {"n_bins": int(n_bins), "categorical_features": names}


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


def _learn_column(table: Table, j: int, *, categorical: bool, n_bins: int, keep_empty: bool) -> Column | None:
    values, label = table.columns[j], table.labels[j]
    if keep_empty and is_missing(table, j).all():
        return None
    listed = table.categories[j]
    if listed is not None:
        read_cells(values, name=label)  # a wrong cell is told by its row, not by its place in the list
        _check_listed(listed, label)
    try:
        column = infer(
            values if listed is None else listed,
            name=label,
            kind="categorical" if categorical else "auto",
            n_bins=n_bins,
            integers="numeric",
        )
    except UndecidedColumnError as error:
        told = label if table.named else j
        raise ValueError(f"{error} (categorical_features=[{told!r}, ...] says so)") from None
    one_number = isinstance(column, Categorical) and len(column.levels) == 1 and not isinstance(column.levels[0], str)
    if one_number and not categorical:  # a constant; others like it may come later
        return infer(values, name=label, kind="numeric", n_bins=n_bins)
    return column


def _check_listed(categories: NDArray[Any], label: str) -> None:
    """Refuse a type that lists categories of several sorts, whichever of them occur."""
    try:
        read_cells(categories, name=label)
    except ValueError as error:
        told = re.sub(r"^row (\d+), column", r"category \1 of the type of column", str(error))
        raise type(error)(told) from None
