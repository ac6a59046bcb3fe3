"""Rows of CSV text, block by block, and what is wrong with them."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.csv as pa_csv

Opener = Callable[[], io.BufferedIOBase]
"""Opens plain bytes at their beginning; they are read more than once."""

NO_TEXT = "expected CSV text in UTF-8, found something else"
ANEW = "; if it is {0}, iconv -f {0} -t utf-8 makes UTF-8 of it, or a spreadsheet program saves it so"
_BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")
_CELL = rb'(?:"(?:[^"]++|"")*+"[^DELIMITER\r\n]*+|[^DELIMITER"\r\n][^DELIMITER\r\n]*+|)'
"""A quote opens a cell only where it comes first."""
_ROWS = re.compile(rb"(?:(?:%bDELIMITER)*+%b(?:\r\n|\n|\r(?!\Z)))*+" % (_CELL, _CELL))


@dataclass(frozen=True)
class Rows:
    """Rows of `dim` cells, from a start on.

    So many bytes are parsed at a time, in whole rows. Arrow could stream the file by itself, but its threads wait for
    Python's when they are left early, and it loses an LF that comes first in a block.
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
        has_open_quote = False
        for piece in self._pieces():
            has_open_quote ^= piece.count(b'"') % 2 == 1
            reading = pa_csv.ReadOptions(column_names=names, block_size=min(len(piece) + 1, 2**31 - 1))
            try:
                table = pa_csv.read_csv(pa.BufferReader(piece), reading, parsing, as_text)
            except pa.ArrowInvalid as error:
                reason = self._wrong_row() or " ".join(str(error).split())
                raise ValueError(f"{self.where}: {reason}") from error
            yield from table.to_batches()
        # after an open quote Arrow takes the rest as one cell, or loses it
        if has_open_quote and (complaint := self._wrong_row()):
            raise ValueError(f"{self.where}: {complaint}")

    def _pieces(self) -> Iterator[bytes]:
        """Yield bytes that end with a row."""
        delimiter = re.escape(self.delimiter.encode())
        rows = re.compile(_ROWS.pattern.replace(b"DELIMITER", delimiter))
        decoder = codecs.getincrementaldecoder("utf-8")()
        rest, end, is_last, n_read = b"", b"", False, 0
        with self._opened() as stream:
            while not is_last:
                data = stream.read(self.block - len(rest))
                is_last = len(data) < self.block - len(rest)
                start = self.start + n_read - len(decoder.getstate()[0])
                try:
                    decoder.decode(data, final=is_last)
                except UnicodeDecodeError as error:
                    wrong = f"byte {error.object[error.start]:#04x} in position {start + error.start}: {error.reason}"
                    reason = f"'utf-8' codec can't decode {wrong}{ANEW.format('latin1')}"
                    raise ValueError(f"{self.where}: {NO_TEXT}: {reason}") from None
                n_read += len(data)
                if self.dim == 1:
                    end = self._without_blank_lines(end + data)
                text = rest + data
                n_whole = len(text) if is_last else _whole_rows(text, rows)
                if not n_whole and not is_last:
                    too_long = f"expected rows of at most {self.block:,} bytes, found a longer one"
                    raise ValueError(f"{self.where}: {self._wrong_row() or too_long}")
                piece, rest = text[:n_whole], text[n_whole:]
                if piece.strip(b"\r\n"):
                    yield piece

    def _without_blank_lines(self, data: bytes) -> bytes:
        """Refuse blank lines before others; return the end of the last one that is not blank."""
        text = data.rstrip()
        if text[:1] in (b"\r", b"\n") or _BLANK_LINE.search(text):
            message = 'found a blank line in a file of one column; write "" for a missing cell'
            raise ValueError(f"{self.where}: {message}")
        return data[max(0, len(text) - 1) :]

    def _opened(self) -> io.BufferedIOBase:
        stream = self.opener()
        stream.seek(self.start)
        return stream

    def _wrong_row(self) -> str | None:
        """Return a message about the first row with an open quote, or without `dim` cells, if there is one."""
        with self._opened() as stream:
            n_quotes = sum(data.count(b'"') for data in iter(lambda: stream.read(self.block), b""))
        row, end = 0, "\0end"  # a row of its own, unless the text ends in quotes
        with self._opened() as stream:
            lines = io.TextIOWrapper(stream, "utf-8", newline="")  # type: ignore[type-var]
            try:
                for cells in filter(None, csv.reader(chain(lines, ("\n", end)), delimiter=self.delimiter)):
                    row += 1
                    if cells[-1].endswith(f"\n{end}"):
                        return f"row {row}: found a quote that is never closed"
                    if len(cells) != self.dim and cells != [end]:
                        has_space = any(cell.lstrip(" ").startswith('"') for cell in cells)
                        hint = ": take out the space before a quote, which opens no cell there" if has_space else ""
                        return f"row {row}: expected {self.dim} cells, found {len(cells)}{hint}"
            except csv.Error:  # a cell is longer than the reader permits
                if n_quotes % 2 == 1:
                    return f"row {row + 1}: found a quote that is never closed"
        return None


def _whole_rows(text: bytes, rows: re.Pattern[bytes]) -> int:
    """Return the number of bytes of the whole rows at the beginning."""
    if b'"' not in text and b"\n" in text:
        return text.rindex(b"\n") + 1
    whole = rows.match(text)
    return whole.end() if whole is not None else 0
