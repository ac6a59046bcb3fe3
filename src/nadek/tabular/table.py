"""`Table`: the columns of a file, an array or a data frame."""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nadek.tabular.arrow_columns import (
    AnyColumn,
    check_exact,
    choose,
    first_rounded,
    is_date,
    is_number,
    is_text,
    rows_of_column,
    to_dates,
    to_floats,
    to_numbers,
    to_objects,
)
from nadek.tabular.columns.parsing import LARGEST_EXACT, is_missing, to_float, widened
from nadek.tabular.names import labels_of
from nadek.tabular.text_cells import Reading, number, numbers_among, point, read_words, says_one_of, with_points


class OtherTypeError(ValueError):
    """A column holds lists, times of day or the like."""


class Columns:
    """Columns that are made when they are asked for; a type check of a sequence would make some."""

    def __init__(self, n_columns: int, make: Callable[[int], AnyColumn]) -> None:
        self._places, self._make = range(n_columns), make

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: int) -> AnyColumn:
        return self._make(self._places[place])


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of D columns, from wherever they came.

    Attributes:
        cells: D columns [N]: Arrow's from a file; NumPy's from an array or a data frame, whose objects Arrow cannot
            hold as they are.
        columns: names of the columns; None without any.
        where: the table, for messages; "" for an array or a data frame.
        is_text_file: whether the cells are the words of a text file.
        decimal_commas: whether words may be numbers with decimal commas.
        has_stated_decimal: whether somebody said so, or that they may not.
        index: row labels that pandas keeps in a Parquet file, in columns that have no name and are no data.
        native: the array, or the narwhals frame, that the cells were read from; None for a file.
        labels: names of the columns in messages and options: by default see `nadek.tabular.names.labels_of`.
        first_row: the place of its first row in the file, from 0, if it is a part of one.
    """

    cells: tuple[AnyColumn, ...] | Columns
    columns: tuple[str, ...] | None
    where: str = ""
    is_text_file: bool = False
    decimal_commas: bool = False
    has_stated_decimal: bool = False
    index: pa.Table | None = None
    native: Any = None
    labels: tuple[str, ...] = ()
    first_row: int = 0

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, "labels", labels_of(self.columns, len(self.cells)))

    def __len__(self) -> int:
        return len(self.cells[0])

    def column(self, j: int, *, reading: Reading = "guess", levels: Sequence[str] = ()) -> NDArray[Any]:
        """Return the values of one column, by its place from 0.

        That of an array or data frame is as it came; others are int64, float64 (NaN where missing), bool, dates, or
        objects [N] (None where missing). The ``reading`` says how to take the words of a text file, and integers and
        decimals that floats would change, which are text unless numbers are asked for. Known ``levels`` mean themselves
        even if they would mean missing, and if some are numbers, all numbers are text. Lists and the like are an
        `OtherTypeError`.
        """
        cells, label = self.cells[j], self.labels[j]
        if isinstance(cells, np.ndarray):
            return cells
        if self.is_text_file:
            words = with_points(cells, reading) if self.decimal_commas else cells
            return read_words(words, reading, name=label, levels=levels, first_row=self.first_row)
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        if _is_text_here(cells, reading, levels):
            return to_objects(cells.cast(pa.string()))
        if reading == "numbers" and is_number(cells.type):
            check_exact(cells, label, self.first_row)
        return _values(cells, label)

    def is_missing(self, j: int) -> NDArray[np.bool_]:
        """Return where a column's cells are missing, [N]."""
        return is_missing(self.column(j))

    def without(self, words: Sequence[str], j: int | None = None) -> "Table":
        """Return the same table with missing cells in place of those that hold one of some words.

        Among numbers it is the number that counts, as it does in a text file: 99 means 99.0, too.
        """
        if not words:
            return self

        def emptied(place: int) -> AnyColumn:
            cells = self.cells[place]
            return empty_cells(cells, self._holds(cells, words)) if j in (None, place) else cells

        columns, places = Columns(len(self.cells), emptied), range(len(self.cells))
        return replace(self, cells=columns if isinstance(self.cells, Columns) else tuple(map(emptied, places)))

    def rows(self, chosen: NDArray[np.bool_]) -> "Table":
        """Return the table with the chosen rows only."""

        def of_rows(place: int) -> AnyColumn:
            cells = self.cells[place]
            return cells[chosen] if isinstance(cells, np.ndarray) else rows_of_column(cells, pa.array(chosen))

        return replace(self, cells=Columns(len(self.cells), of_rows))

    def count(self, j: int, word: str) -> int:
        """Return the number of cells of a column that hold a word, see `without`."""
        return int(self._holds(self.cells[j], [word]).sum())

    def _holds(self, cells: AnyColumn, words: Sequence[str]) -> NDArray[np.bool_]:
        """Return which cells of a column hold one of some words; spaces around them do not count."""
        meant = set(numbers_among(words))
        has_commas = self.decimal_commas and with_points(cells, "numbers") is not cells

        def is_held(cell: Any) -> bool:  # noqa: ANN401 - a Python object
            if isinstance(cell, str):
                word = point(cell) if has_commas else cell
                return cell.strip() in words or (self.is_text_file and says_one_of(word, meant))
            return isinstance(cell, numbers.Real | Decimal) and not isinstance(cell, bool) and to_float(cell) in meant

        if isinstance(cells, np.ndarray):
            if cells.dtype.kind in "iuf":
                return np.isin(widened(cells) if cells.dtype.kind == "f" else cells, list(meant))
            return np.array(list(map(is_held, cells.tolist())), dtype=np.bool_)
        if is_number(cells.type):
            return np.isin(to_floats(cells), list(meant))
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        if not is_text(cells.type):
            return np.zeros(len(cells), dtype=np.bool_)
        cells = cells.cast(pa.string())
        texts = [text for text in pc.unique(cells).to_pylist() if is_held(text)]
        return pc.is_in(cells, value_set=pa.array(texts, pa.string())).to_numpy()


def empty_cells(cells: AnyColumn, where: NDArray[np.bool_]) -> AnyColumn:
    """Return a column (or array) with some cells missing: NaN or null, or None if floats would change the others."""
    if not where.any():
        return cells
    if not isinstance(cells, np.ndarray):
        return choose(pa.array(where), pa.scalar(None, cells.type), cells)
    dtype = cells.dtype if cells.dtype.kind == "f" else np.dtype(object)
    others = cells[~where]
    if cells.dtype.kind in "iu" and (not others.size or max(-int(others.min()), int(others.max())) <= LARGEST_EXACT):
        dtype = np.dtype(np.float64)
    out = cells.astype(dtype)
    out[where] = np.nan if dtype.kind == "f" else None
    return out


def _is_text_here(cells: pa.ChunkedArray, reading: Reading, levels: Sequence[str]) -> bool:
    """Return True if integers or decimals are taken as text, which keeps all of their digits."""
    if reading == "numbers" or not (pa.types.is_integer(cells.type) or pa.types.is_decimal(cells.type)):
        return False
    if levels:
        return any(number(level) is not None for level in levels)
    return first_rounded(cells, least=LARGEST_EXACT if reading == "guess" else 0) is not None


def _values(cells: pa.ChunkedArray, label: str) -> NDArray[Any]:
    kind = cells.type
    if pa.types.is_boolean(kind):
        return to_objects(cells) if cells.null_count else cells.to_numpy()
    if is_text(kind):
        return to_objects(cells)
    if is_date(kind):
        return to_dates(cells)
    if not is_number(kind):
        raise OtherTypeError(f'column "{label}": expected text, numbers, dates or booleans, found {kind}')
    return to_numbers(cells)
