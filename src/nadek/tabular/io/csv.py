"""Tables as CSV text."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from nadek.tabular.io.arrow_table import RawTable
from nadek.tabular.io.names import Table, check_names
from nadek.tabular.io.text_numbers import FALSE, MISSING, TRUE, is_binary, is_text, matrix, number

SEPARATORS = (";", "\t")
"""What stands between cells where it is no comma: spreadsheets write semicolons where numbers have decimal commas."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK = 2**20
"""Bytes that Arrow takes at once."""
_OPEN_QUOTE = "a quote in the first row is never closed"
_SEPARATOR_LINE = re.compile(rb"sep=([!-~\t])[\r\n]+", re.IGNORECASE)
"""A first line by which a spreadsheet names the separator; it belongs to no row."""
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def parse_csv(data: bytes, *, where: str, binary: bool) -> Table:
    """Read comma separated text in UTF-8, or text with one of `SEPARATORS` where commas do not cut two rows alike.

    A first line such as ``sep=;`` names the separator.

    The first row is the header unless all its cells could be values, or all are numbers of which some repeat: names
    such as 0, 1, 2, which pandas gives, are names.

    Args:
        data: The text.
        where: What messages call it.
        binary: Refuse everything but 0, 1 and missing.

    Raises:
        ValueError: Says what is wrong, and in which row and column (rows count from 1, the first below the header).
    """
    data, first, body, separator = _opened(data, where)
    names, rows = _split_names(data, first, body, where, header=_is_header(first, binary=binary))
    columns = _arrow_columns(rows, len(first), where, separator)
    return Table(matrix(columns, names, where=where, binary=binary, text=True), names)


def parse_words(data: bytes, *, where: str, missing: Sequence[str] = ()) -> RawTable:
    """Read text as `parse_csv` does whose cells may be anything; between semicolons numbers may have decimal commas.

    The first row is the header if one of its cells is a word. A first row of numbers is one where it names the columns
    0, 1, 2 and so on, as pandas does (after an empty name for its index), or at least three of them 1, 2, 3 and so on,
    or stands above a table of 0 and 1 (see `parse_csv`).

    Args:
        data: The text.
        where: What messages call it.
        missing: Words that stand for nothing where it is asked whether a table is one of 0 and 1.

    Raises:
        ValueError: Says what is wrong, and in which row.
    """
    data, first, body, separator = _opened(data, where)

    def table(rows: bytes, names: tuple[str, ...] | None) -> RawTable:
        cells = _arrow_columns(rows, len(first), where, separator, words=True)
        return RawTable(tuple(cells), names, are_words=True, where=where, decimal_commas=separator == ";")

    def stands_above_0_and_1() -> bool:
        try:
            table(body, None).without(missing).zeros_and_ones()
        except ValueError:
            return False
        return True

    header = _is_header(first, binary=False)
    if not header and _is_header(first, binary=True):
        header = _are_given_names(first) or stands_above_0_and_1()
    names, rows = _split_names(data, first, body, where, header=header)
    return table(rows, names)


def format_csv(values: Sequence[pa.Array], columns: Sequence[str] | None) -> bytes:
    """Write comma separated text: a header when there are names, empty cells for null, quotes where they are needed.

    Args:
        values: D columns of N numbers, booleans or texts; floats get all digits that tell them apart.
        columns: D names or None.
    """
    stream = io.BytesIO()
    values = [_plain(column) for column in values]
    if columns is not None:
        # Arrow quotes every name of a header.
        stream.write(_line(columns).encode())
    if any(pa.types.is_string(column.type) for column in values) or (len(values) == 1 and values[0].null_count):
        stream.write(_joined(values))
    else:
        table = pa.table(list(values), names=[str(j) for j in range(len(values))])
        pa_csv.write_csv(table, stream, pa_csv.WriteOptions(include_header=False))
    return stream.getvalue()


def _plain(column: pa.Array) -> pa.Array:
    """A column without a dictionary, and of text of the one type that is put in quotes."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if is_text(column.type) else column


def _joined(values: Sequence[pa.Array]) -> bytes:
    """The lines of columns of which some are text: Arrow would quote every text."""
    # A missing cell that is alone in its row has to differ from a blank line, which readers skip.
    null = '""' if len(values) == 1 else ""
    cells = [pc.fill_null(_quoted(column), null) for column in values]
    lines = pc.binary_join_element_wise(*cells, pa.scalar(","))
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _quoted(column: pa.Array) -> pa.Array:
    """A column as text, in quotes where CSV needs them; each distinct text is looked at once."""
    if not pa.types.is_string(column.type):
        return column.cast(pa.string())
    encoded = column.dictionary_encode()
    known = [_line([word]).removesuffix("\n") for word in encoded.dictionary.to_pylist()]
    return pa.array(known, pa.string()).take(encoded.indices)


def _line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _opened(data: bytes, where: str) -> tuple[bytes, list[str], bytes, str]:
    """The text without what stands before it, the cells of its first row, the text below that, and the separator."""
    data = data.removeprefix(_BYTE_ORDER_MARK).lstrip(b"\r\n")
    if told := _SEPARATOR_LINE.match(data):
        data, separator = data[told.end() :], told[1].decode()
        return data, *_split_first(data, where, separator), separator
    uneven = None
    for separator in (",", *SEPARATORS):
        first, body = _split_first(data, where, separator)
        if len(first) > 1 and _goes_on(first, body, separator):
            return data, first, body, separator
        if len(first) > 1 and uneven is None:
            uneven = data, first, body, separator
    return uneven or (data, *_split_first(data, where, ","), ",")


def _goes_on(first: list[str], body: bytes, separator: str) -> bool:
    """Whether the second row has as many cells as the first; also where there is none, or none that can be read."""
    try:
        return len(_split_first(body.lstrip(b"\r\n"), "", separator)[0]) == len(first)
    except ValueError:
        return True


def _split_names(
    data: bytes, first: list[str], body: bytes, where: str, *, header: bool
) -> tuple[tuple[str, ...] | None, bytes]:
    """The names, if the first row is a header, and the text of the rows."""
    names = check_names([cell.strip() for cell in first], len(first), where=where) if header else None
    rows = body if header else data
    if not rows.strip():
        raise ValueError(f"{where}: expected rows, found only a header")
    if len(first) == 1 and re.search(rb"\n\r?\n|\r\r", rows.strip()):
        raise ValueError(f'{where}: found a blank line in a file of one column; write "" for a missing cell')
    return names, rows


def _split_first(data: bytes, where: str, separator: str) -> tuple[list[str], bytes]:
    """The cells of the first row, which may have line breaks in quotes, and the text below it."""
    if not data.strip():
        raise ValueError(f"{where}: expected a table, found an empty file")
    try:
        data.decode("utf-8")  # all of it here, so that no column turns out to be bytes
        reader = csv.reader(_first_lines(data), delimiter=separator)
        first = next(reader)
    except (ValueError, csv.Error) as error:
        reason = _OPEN_QUOTE if isinstance(error, csv.Error) and _has_open_quote(data) else error
        raise ValueError(f"{where}: expected CSV text in UTF-8, found something else ({reason})") from error
    last = next(islice(_LINE.finditer(data), reader.line_num - 1, None))
    return first, data[last.end() :]


def _first_lines(data: bytes) -> Iterator[str]:
    """Lines for a reader of one row, which asks for another only while a quote is open."""
    for line in _LINE.finditer(data):
        if b"\0" in line[0]:
            raise ValueError("zero bytes")
        yield line[0].decode("utf-8")
    raise ValueError(_OPEN_QUOTE)


def _is_header(first: list[str], *, binary: bool) -> bool:
    numbers = [number(cell) for cell in first]
    if any(value is None for value in numbers):
        return True
    values = np.array(numbers, dtype=np.float64)
    return binary and not bool(is_binary(values).all()) and len(set(first)) == len(first)


def _are_given_names(first: list[str]) -> bool:
    """Whether the cells of the first row count the columns, from 0 as pandas does, or from 1."""
    cells = [cell.strip() for cell in first]
    from_0 = [str(j) for j in range(len(cells))]
    from_1 = [str(j + 1) for j in range(len(cells))]
    return cells in (from_0, ["", *from_0[:-1]]) or (cells == from_1 and len(cells) >= 3)  # fewer are often values


def _arrow_columns(rows: bytes, dim: int, where: str, separator: str, *, words: bool = False) -> list[pa.ChunkedArray]:
    names = [str(j) for j in range(dim)]
    # After an open quote Arrow would take the rest as one cell, or lose it.
    if _has_open_quote(rows) and (told := _wrong_row(rows, dim, separator)):
        raise ValueError(f"{where}: {told}")
    options = pa_csv.ConvertOptions(
        null_values=list(MISSING),
        true_values=["1", *TRUE],
        false_values=["0", *FALSE],
        column_types=dict.fromkeys(names, pa.string()) if words else None,
    )
    parsing = pa_csv.ParseOptions(delimiter=separator, newlines_in_values=words)
    try:
        try:
            table = pa_csv.read_csv(pa.BufferReader(rows), _in_blocks(names, _BLOCK), parsing, options)
        except pa.ArrowInvalid:  # a row may be longer than a block
            if len(rows) < _BLOCK:
                raise
            table = pa_csv.read_csv(pa.BufferReader(rows), _in_blocks(names, len(rows) + 1), parsing, options)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{where}: {_wrong_row(rows, dim, separator) or ' '.join(str(error).split())}") from error
    return list(table.columns)


def _in_blocks(names: list[str], size: int) -> pa_csv.ReadOptions:
    return pa_csv.ReadOptions(column_names=names, block_size=min(size, 2**31 - 1))


def _wrong_row(rows: bytes, dim: int, separator: str) -> str | None:
    """The message about the first row that has a quote that is never closed, or not `dim` cells, if it can be told."""
    ended: list[bool] = []

    def lines() -> Iterator[str]:
        yield from io.StringIO(rows.decode("utf-8", "replace"), newline="")
        ended.append(True)

    row = 0
    try:
        for cells in filter(None, csv.reader(lines(), delimiter=separator)):
            row += 1
            if ended:  # the reader asked for another line in the middle of a row
                return f"row {row}: found a quote that is never closed"
            if len(cells) != dim:
                return f"row {row}: expected {dim} cells, found {len(cells)}"
    except csv.Error:  # a cell is longer than the reader permits
        if _has_open_quote(rows):
            return f"row {row + 1}: found a quote that is never closed"
    return None


def _has_open_quote(text: bytes) -> bool:
    """Whether a quote is never closed, as far as their number tells."""
    return text.count(b'"') % 2 == 1
