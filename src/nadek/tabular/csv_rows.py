"""Rows of CSV text, block by block, and what is wrong with them."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.csv as pa_csv

from nadek.utils.configs import naming

Opener = Callable[[], io.BufferedIOBase]
"""Opens plain bytes at their beginning; they are read more than once."""

NO_TEXT = "expected CSV text in UTF-8, found something else"
_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")


@dataclass(frozen=True)
class Rows:
    """Rows of `dim` cells, from a start on.

    Arrow parses a block of bytes at a time.
    """

    opener: Opener
    start: int
    dim: int
    where: str
    delimiter: str
    block: int

    def parts(self) -> Iterator[pa.RecordBatch]:
        """Yield the cells as text, also missing ones."""
        names = [str(j) for j in range(self.dim)]
        as_text = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        parsing = pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        reading = pa_csv.ReadOptions(column_names=names, block_size=self.block)
        with self._opened() as stream:
            watched = _Watched(stream, self.where, one_column=self.dim == 1)
            try:
                with pa_csv.open_csv(watched, reading, parsing, as_text) as reader:
                    yield from reader
            except pa.ArrowInvalid as error:
                too_long = f"expected rows of at most {self.block:,} bytes, found a longer one"
                other = too_long if "straddl" in str(error) else " ".join(str(error).split())
                reason = self._wrong_row() or other
                raise ValueError(f"{self.where}: {reason}") from error
        # after an open quote Arrow takes the rest as one cell, or loses it
        if watched.has_open_quote and (complaint := self._wrong_row()):
            raise ValueError(f"{self.where}: {complaint}")

    def _opened(self) -> io.BufferedIOBase:
        stream = self.opener()
        stream.seek(self.start)
        return stream

    def _wrong_row(self) -> str | None:
        with self._opened() as stream:
            watched = _Watched(stream, self.where)
            while watched.read(self.block):
                pass
        with self._opened() as stream:
            lines = io.TextIOWrapper(stream, "utf-8", newline="")  # type: ignore[type-var]
            return _wrong_row(lines, self.dim, self.delimiter, has_open_quote=watched.has_open_quote)


class _Watched:
    """A stream of text that looks for damage.

    It refuses what is no UTF-8, and blank lines in one column, and sees if a quote stays open.
    """

    def __init__(self, stream: io.BufferedIOBase, where: str, *, one_column: bool = False) -> None:
        self.closed, self.has_open_quote, self._held = False, False, b""
        self._stream, self._where, self._one_column, self._end = stream, where, one_column, b""
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def read(self, n_bytes: int) -> bytes:
        """Read some bytes, not ending between CR and LF.

        Else Arrow would lose the LF of a quoted cell.
        """
        more = self._stream.read(n_bytes - len(self._held))
        data, self._held = self._held + more, b""
        if more and len(data) > 1 and data.endswith(b"\r"):
            data, self._held = data[:-1], b"\r"
        with naming(f"{self._where}: {NO_TEXT}"):
            self._decoder.decode(data, final=not data)
        self.has_open_quote ^= data.count(b'"') % 2 == 1
        if self._one_column:
            lines = (self._end + data).lstrip()
            if _BLANK_LINE.search(text := lines.rstrip()):
                message = 'found a blank line in a file of one column; write "" for a missing cell'
                raise ValueError(f"{self._where}: {message}")
            self._end = lines[max(0, len(text) - 1) :]
        return data

    def close(self) -> None:
        """Leave the stream to whoever opened it."""
        self.closed = True


def _wrong_row(lines: Iterable[str], dim: int, separator: str, *, has_open_quote: bool) -> str | None:
    """Return a message about the first row with an open quote, or without `dim` cells, if there is one."""
    row, end = 0, "\0end"  # a row of its own, unless the text ends in quotes
    try:
        for cells in filter(None, csv.reader(chain(lines, ("\n", end)), delimiter=separator)):
            row += 1
            if cells[-1].endswith(f"\n{end}"):
                return f"row {row}: found a quote that is never closed"
            if len(cells) != dim and cells != [end]:
                return f"row {row}: expected {dim} cells, found {len(cells)}"
    except csv.Error:  # a cell is longer than the reader permits
        if has_open_quote:
            return f"row {row + 1}: found a quote that is never closed"
    return None
