"""Tables as they come: columns of text, numbers and booleans, not yet codes of anything."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nadek.tabular.columns import LARGEST_EXACT
from nadek.tabular.io.names import called, check_names, check_shape
from nadek.tabular.io.parquet import AnyColumn, Index, native, to_column
from nadek.tabular.io.text_format import filled_words
from nadek.tabular.io.text_numbers import first_rounded, floats, is_number, is_text, matrix, number, numbers_among
from nadek.tabular.io.text_types import Reading, check_held, read_words, to_numbers, to_objects, with_points

_PADDED = re.compile("[+-]?0[0-9xX]")


class OtherTypeError(ValueError):
    """A column holds dates, lists or the like."""


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of any kind, each read when it is asked for.

    Attributes:
        cells: D columns of N cells.
        columns: their names; None when the file has none.
        are_words: whether the cells are the words of a text file.
        where: what messages call the table.
        decimal_commas: whether words that are read as numbers may have them.
        index: what pandas calls the rows; None where it says nothing of them.
    """

    cells: tuple[pa.ChunkedArray, ...]
    columns: tuple[str, ...] | None
    are_words: bool
    where: str
    decimal_commas: bool = False
    index: Index | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What messages and options call the columns, see `nadek.tabular.io.called`."""
        return called(self.columns, len(self.cells))

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.cells[0])

    def column(self, place: int, *, reading: Reading = "guess", levels: Sequence[str] = ()) -> NDArray[Any]:
        """The values of one column.

        Args:
            place: its place, from 0.
            reading: how the words of a text file are taken. All else is what it is, but for numbers that floats would
                round, see `nadek.tabular.io.text_numbers.first_rounded`: where they need not be numbers, they are text.
            levels: texts that the column is known to hold: they mean themselves even where they would stand for
                nothing, and where some are numbers, all numbers are text.

        Returns:
            int64, float64 (NaN where missing), bool, or objects [N] (None where missing).

        Raises:
            OtherTypeError: on dates, lists and the like.
            ValueError: on what shall be a number and would be rounded.
        """
        cells, name = self.cells[place], self.names[place]
        if self.are_words:
            words = with_points(cells, reading) if self.decimal_commas else cells
            return read_words(words, reading, name=name, levels=levels)
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        if _is_text_here(cells, reading, levels):
            return to_objects(cells.cast(pa.string()))
        if reading == "numbers" and is_number(cells.type):
            check_held(cells, name)
        return _typed(cells, name)

    def zeros_and_ones(self, places: Sequence[int] | None = None) -> NDArray[np.float32]:
        """The values of columns that hold nothing but 0 and 1, in whatever way these are written.

        Args:
            places: of D columns; all when None.

        Returns:
            float32 [N, D], NaN where missing.

        Raises:
            ValueError: on another value; names the first such cell, row by row.
        """
        cells = [with_points(column, "numbers") for column in self.cells] if self.decimal_commas else self.cells
        return matrix(cells, self.columns, where=self.where, binary=True, text=self.are_words, places=places)

    def filled(self, place: int, values: NDArray[Any], holes: NDArray[np.bool_], *, as_text: bool = False) -> AnyColumn:
        """A whole column: that of a file with types keeps its own where it can, and observed cells all their digits.

        Args:
            place: its place, from 0.
            values: of all of its cells [N].
            holes: where they are new [N].
            as_text: whether it is to be text, in which the words of a text file stay what they are; numbers get points.
        """
        cells = self.cells[place]
        if self.are_words and not as_text:
            return values
        if self.are_words:
            is_text = any(isinstance(value, str) for value in values.tolist())
            pointed = with_points(cells, "numbers") if self.decimal_commas and not is_text else cells
            return filled_words(pointed, values, holes)
        try:
            return _either(pa.array(holes), to_column(values).cast(cells.type), cells)
        except pa.ArrowException:
            return values

    def without(self, words: Sequence[str], place: int | None = None) -> "RawTable":
        """The same table with nothing in the cells that hold one of some words, as it stands there.

        Where cells are numbers it is the number that counts, as it does in a text file: 99 means 99.0, too.

        Args:
            words: to look for.
            place: the only column to look at, from 0; all when None.
        """
        if not words:
            return self
        emptied = [
            _emptied(cells, self._holding(cells, words)) if place in (None, at) else cells
            for at, cells in enumerate(self.cells)
        ]
        return replace(self, cells=tuple(emptied))

    def holds(self, word: str) -> bool:
        """Whether a cell holds a word, see `without`."""
        return any(self.times(place, word) for place in range(len(self.cells)))

    def times(self, place: int, word: str) -> int:
        """How many cells of a column hold a word, see `without`."""
        return int(pc.sum(self._holding(self.cells[place], [word])).as_py() or 0)

    def _holding(self, cells: pa.ChunkedArray, words: Sequence[str]) -> pa.ChunkedArray:
        held = _holding(cells, words)
        if not self.are_words or not (numbers := set(numbers_among(words))):
            return held
        pointed = with_points(cells, "numbers") if self.decimal_commas else cells
        texts = [text for text in pc.unique(pointed).drop_null().to_pylist() if _says_one_of(text, numbers)]
        return pc.or_(held, pc.is_in(pointed, value_set=pa.array(texts, pa.string())))


def from_matrix(values: NDArray[Any], columns: Sequence[str] | None, *, where: str) -> RawTable:
    """A table of the columns of an array [N, D].

    Raises:
        ValueError: on another shape, on values that are neither text nor numbers nor booleans, and on names that occur
            twice.
    """
    if values.dtype.kind not in "buifUT":
        raise ValueError(f"{where}: expected text, numbers or booleans, found an array of {values.dtype}")
    check_shape(values, where=where)
    names = None if columns is None else check_names(columns, values.shape[1], where=where)
    plain = values.astype(object) if values.dtype.kind in "UT" else native(values)
    cells = tuple(pa.chunked_array([pa.array(np.ascontiguousarray(column))]) for column in plain.T)
    return RawTable(cells, names, are_words=False, where=where)


def _says_one_of(text: str, numbers: set[float]) -> bool:
    """Whether a text says one of some numbers; 007 and 0x7 are words, not numbers."""
    return not _PADDED.match(text.strip()) and not numbers.isdisjoint(numbers_among([text.strip()]))


def _emptied(cells: pa.ChunkedArray, held: pa.ChunkedArray) -> pa.ChunkedArray:
    return _either(held, pa.scalar(None, cells.type), cells) if pc.any(held).as_py() else cells


def _either(held: pa.Array | pa.ChunkedArray, new: pa.Array | pa.Scalar, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """New cells where they are held, and the others as they are; Arrow 16 cannot choose among floats of 2 bytes."""
    if pa.types.is_float16(cells.type):
        return pc.if_else(held, new.cast(pa.float32()), cells.cast(pa.float32())).cast(cells.type)
    return pc.if_else(held, new, cells)


def _holding(cells: pa.ChunkedArray, words: Sequence[str]) -> pa.ChunkedArray:
    """Which cells hold one of some words; spaces around them do not count."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _holding(cells.cast(kind.value_type), words)
    if is_text(kind):
        return pc.is_in(pc.utf8_trim_whitespace(cells.cast(pa.string())), value_set=pa.array(words, pa.string()))
    if is_number(kind):
        numbers = pa.array(numbers_among(words), pa.float64())
        held = pc.is_in(pa.chunked_array([floats(cells)]), value_set=numbers)
        return pc.and_(held, cells.is_valid())
    return pa.chunked_array([pa.array(np.zeros(len(cells), dtype=np.bool_))])


def _is_text_here(cells: pa.ChunkedArray, reading: Reading, levels: Sequence[str]) -> bool:
    """Whether whole numbers or decimals are taken as text, which keeps all of their digits."""
    if reading == "numbers" or not (pa.types.is_integer(cells.type) or pa.types.is_decimal(cells.type)):
        return False
    if levels:
        return any(number(level) is not None for level in levels)
    return first_rounded(cells, least=LARGEST_EXACT if reading == "guess" else 0) is not None


def _typed(cells: pa.ChunkedArray, name: str) -> NDArray[Any]:
    kind = cells.type
    if pa.types.is_boolean(kind):
        return to_objects(cells) if cells.null_count else cells.to_numpy()
    if is_text(kind):
        return to_objects(cells)
    if pa.types.is_null(kind):
        return np.full(len(cells), np.nan)
    if not is_number(kind):
        raise OtherTypeError(f'column "{name}": expected text, numbers or booleans, found {kind}')
    return to_numbers(cells)
