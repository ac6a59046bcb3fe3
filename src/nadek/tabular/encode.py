"""The one way from a table to codes, which the network sees."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from nadek.tabular.columns import Column, Numeric, Unknown, encode, is_new
from nadek.tabular.columns.parsing import listed, shown
from nadek.tabular.doubtful_numbers import far_codes
from nadek.tabular.names import first_columns, places_of
from nadek.tabular.schema import Schema
from nadek.tabular.table import Table
from nadek.tabular.text_cells import Reading, check_thousands
from nadek.tabular.user_options import Word, without_words
from nadek.utils.configs import naming
from nadek.utils.warn import warn

FEW = 10
"""Least numbers of a column that most may be beyond training."""


def encode_table(
    table: Table,
    columns: Sequence[Column | None],
    places: Sequence[int] | None = None,
    *,
    dtype: DTypeLike = np.float64,
    unknown: Unknown = "error",
    doubts: "Doubts | None" = None,
) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """Return the K columns that have a type as values, arrays [N], and as codes [N, K], NaN where missing.

    Columns without a type (None) are left out. ``places`` says where they stand in the table; as they are by default.
    ``unknown="missing"`` takes values that are no levels of their columns as missing. A warning tells of these and of
    numbers that may mean missing, or ``doubts`` counts them, if there are more parts of the table to come.
    """
    places = range(len(columns)) if places is None else places
    typed = [(j, column) for j, column in zip(places, columns, strict=True) if column is not None]
    values: list[NDArray[Any]] = []
    codes = np.empty((len(table), len(typed)), dtype=dtype)
    counts = Doubts() if doubts is None else doubts
    with naming(table.where):
        for k, (j, column) in enumerate(typed):
            texts, label = texts_of(column), table.labels[j]
            has_spaces = any(text != text.strip() for text in texts)
            # text that looks like numbers stays text
            reading: Reading = "exact" if has_spaces else "text" if texts else "numbers"
            if table.decimal_commas and isinstance(column, Numeric) and column.integer:
                check_thousands(table.cells[j], label, (), is_whole=True)
            values.append(table.column(j, reading=reading, levels=texts))
            own = encode(column, values[k], name=label, unknown=unknown, first_row=table.first_row)
            counts.add(label, column, values[k], own, table.first_row)
            codes[:, k] = own
    if doubts is None:
        counts.warn(table.where)
    return values, codes


class Doubts:
    """Observed cells that are taken as missing, and numbers that may mean missing: how many, by column."""

    def __init__(self) -> None:
        self._unknown: dict[str, tuple[int, str]] = {}
        self._codes: dict[str, tuple[int, str]] = {}
        self._beyond: dict[str, tuple[int, str]] = {}
        self._n_numbers = Counter[str]()
        self._levels: dict[str, str] = {}  # of columns without any known cell

    def add(self, label: str, column: Column, cells: NDArray[Any], codes: NDArray[Any], first_row: int) -> None:
        """Count those of a column, [N]."""
        if not np.isnan(codes).all():
            self._levels[label] = ""
        elif not isinstance(column, Numeric):
            self._levels.setdefault(label, f" (all of them; known are {listed(column.levels)})")
        _count(self._unknown, label, cells, is_new(cells, codes), first_row)
        if isinstance(column, Numeric) and cells.dtype.kind in "iuf":
            numbers = cells.astype(np.float64)
            self._n_numbers[label] += int((~np.isnan(numbers)).sum())
            _count(self._beyond, label, cells, (numbers < column.low) | (numbers > column.high), first_row)
            _count(self._codes, label, cells, far_codes(numbers, column.low, column.high), first_row)

    def warn(self, where: str) -> None:
        """Warn of each sort once."""
        beyond = {label: one for label, one in self._beyond.items() if 2 * one[0] > self._n_numbers[label] >= FEW}
        for counts, message, remedy in (
            (self._unknown, "cells with values that the model does not know are taken as missing", ""),
            (self._codes, "these may mean missing, but are taken as numbers", "; if they do, empty their cells"),
            (beyond, "most numbers lie beyond all of training", "; if their unit is another one, change it"),
        ):
            lines = [
                f'{n} in column "{label}", {example}{self._levels.get(label, "")}'
                for label, (n, example) in counts.items()
                if n
            ]
            if lines:
                warn(f"{message}: {first_columns(lines)}{remedy}", where=where)


def _count(
    counts: dict[str, tuple[int, str]], label: str, cells: NDArray[Any], where: NDArray[np.bool_], first_row: int
) -> None:
    rows, (n, example) = where.nonzero()[0], counts.get(label, (0, ""))
    if len(rows) and not n:
        example = f"such as {shown(cells[rows[0]])} in row {first_row + rows[0] + 1}"
    counts[label] = n + len(rows), example


def encode_by_schema(
    table: Table,
    schema: Schema,
    columns: Sequence[Column],
    *,
    unknown: Unknown = "error",
    doubts: Doubts | None = None,
) -> tuple[list[NDArray[Any]], NDArray[np.float32], list[int]]:
    """Return a model's columns in a table: values, arrays [N], codes [N, D] with NaN for missing, and places.

    The table may have them in any order, and columns that were dropped in training beside them. See `encode_table`.
    """
    places = _places(table, schema, len(columns))
    label_at = dict(zip(places, schema.labels(len(columns)), strict=True))
    labels = tuple(label_at.get(j, label) for j, label in enumerate(table.labels))
    own_words = [Word(text, column) for column, text in schema.missing_in or ()]
    emptied = without_words(replace(table, labels=labels), [*map(Word, schema.missing or ()), *own_words])
    table = replace(emptied, labels=table.labels if schema.columns is None else labels)
    values, codes = encode_table(table, columns, places, dtype=np.float32, unknown=unknown, doubts=doubts)
    return values, codes, places


def texts_of(column: Column) -> list[str]:
    """Return the levels of a column that are text."""
    return [] if isinstance(column, Numeric) else [level for level in column.levels if isinstance(level, str)]


def _places(table: Table, schema: Schema, n_columns: int) -> list[int]:
    dropped = schema.dropped or ()
    everything = range(len(table.cells))
    if table.columns is not None and schema.columns is not None:
        rest = [j for j in everything if table.columns[j] not in dropped]
        return [rest[place] for place in places_of(schema.columns, [table.columns[j] for j in rest], where=table.where)]
    if schema.columns is None and len(everything) == n_columns + len(dropped):
        return [j for j in everything if str(j + 1) not in dropped]
    if len(everything) != n_columns:
        raise ValueError(f"{table.where}: expected {n_columns} columns as in the model, found {len(everything)}")
    return list(everything)
