"""Tables as CSV text."""

import codecs
import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from nadek.tabular.arrow_columns import AnyColumn, is_text, to_arrow
from nadek.tabular.columns import Binary, Column, Numeric
from nadek.tabular.csv_rows import ANEW, NO_TEXT, Opener, Rows
from nadek.tabular.cut_rows import cut, rows_of
from nadek.tabular.names import as_known, check_names, labels_of, quoted
from nadek.tabular.schema import Schema
from nadek.tabular.table import Table
from nadek.tabular.text_cells import MISSING, as_date, number, point

SEPARATORS = (",", ";", "\t", "|")
"""Delimiters to try; spreadsheets write semicolons if numbers have decimal commas."""

BLOCK = 2**22
"""Bytes that are parsed at a time where a table is read in batches: the first ones decide the form, no row has more."""

FIRST_LINES = 20
"""Lines that tell the delimiter."""

_ROWS = 10_000
"""Rows that are written at once."""
_OPEN_QUOTE = "a quote in the first row is never closed"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_SEPARATOR_LINE = re.compile(r"sep=([!-~\t])[\r\n]+", re.IGNORECASE)
"""A first line by which a spreadsheet names the delimiter; it belongs to no row."""
_QUOTED = re.compile(r'[",;|\t\r\n]|^\s|\s$|^\ufeff|^sep=', re.IGNORECASE)
"""What makes quotes needed: delimiters, quotes, line ends, spaces at the ends, and what may begin a file."""


@dataclass(frozen=True, kw_only=True)
class CsvFormat:
    """The form of CSV text; None follows a rule.

    Attributes:
        header: whether the first row holds names. By rule it does if it has the names that a model knows, or if its
            cells count the columns (from 0 as pandas does, or from 1). For a model without names it does not if one of
            its cells is a value of its column. Otherwise it does if one of its cells is no number and no date, or if
            numbers stand above a table of 0 and 1.
        delimiter: what separates cells. By rule the first line names it (``sep=;``), or it is the one of comma,
            semicolon, tab and bar that cuts the first rows into the same number of cells; two such are an error, unless
            one of these rows has a quote. So are spaces that cut a new table where none of these does.
        decimal: what stands before the decimals of a number. By rule a point, and between semicolons a comma in columns
            without points.
    """

    header: bool | None = None
    delimiter: str | None = None
    decimal: Literal[".", ","] | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or not self.delimiter.isascii()):
            raise ValueError(f"delimiter: expected one character (a tab is $'\\t'), found {self.delimiter!r}")


def read_csv(
    opener: Opener,
    *,
    where: str,
    form: CsvFormat | None = None,
    model: Schema | None = None,
    cells: int | None = None,
    count: Callable[[int], None] = lambda n_columns: None,
) -> Iterator[Table]:
    """Read CSV text in UTF-8 in batches of cells.

    There is one batch if ``cells`` is None. ``count`` may refuse a number of columns. `CsvFormat` has the rules. Those
    that look at all rows look at the first `BLOCK` bytes of a large file.
    """
    form, block = form or CsvFormat(), 2**31 - 1 if cells is None else BLOCK
    with opener() as file:
        head = file.read(-1 if cells is None else block)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        text = decoder.decode(head, final=cells is None or len(head) < block).lstrip("\r\n")
    except UnicodeDecodeError as error:
        encoding = "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin1"
        remedy = "; gzip -d unpacks it" if head[:2] == b"\x1f\x8b" else ANEW.format(encoding)
        raise ValueError(f"{where}: {NO_TEXT}: {error}{remedy}") from None
    n_decoded = len(head) - len(decoder.getstate()[0])
    text, delimiter = _split_delimiter(text, where, form.delimiter, is_known=model is not None)
    first, body = _split_first(text, where, delimiter)
    count(len(first))

    def rows_from(rest: str) -> Rows:
        return Rows(opener, n_decoded - len(rest.encode()), len(first), where, delimiter, min(len(head) + 1, block))

    def below() -> pa.Table:
        with closing(cut(rows_from(body).parts(), rows_of(len(first), cells))) as tables:
            return next(tables)[1]

    header = form.header if form.header is not None else _is_header(first, body, below, model)
    expected = () if model is None else (*(model.columns or ()), *(model.dropped or ()))
    spelt = as_known([cell.strip() for cell in first], expected)
    if header and len(spelt) > 2 and len(titles := list(filter(None, spelt))) == 1:
        raise ValueError(f"{where}: expected names, found {titles[0]!r} alone: take out lines above the header")
    names = check_names(spelt, len(first), where=where) if header else None
    rows = body if header else text
    if not rows.strip():
        raise ValueError(f"{where}: expected rows, found only a header")
    is_stated = form.decimal is not None
    commas = form.decimal == "," if is_stated else delimiter == ";"
    for first_row, part in cut(rows_from(rows).parts(), rows_of(len(first), cells)):
        columns = tuple(part.columns)
        yield Table(
            columns,
            names,
            where=where,
            is_text_file=True,
            decimal_commas=commas,
            has_stated_decimal=is_stated,
            first_row=first_row,
        )


def format_csv(values: Sequence[AnyColumn], columns: Sequence[str] | None, *, goes_on: bool) -> bytes:
    """Write columns as CSV text: a header if there are names, empty cells for null, quotes where needed.

    Without names it has one nevertheless, numbers from 1, if its first row would be taken for one. If it goes on, it
    follows other rows and has none.
    """
    cells = [_to_text(to_arrow(column)) for column in values]
    # a missing cell that is alone in its row has to differ from a blank line, which readers skip
    null = '""' if len(values) == 1 else ""
    if goes_on:
        columns = None
    elif columns is None and _counts_columns([column[0].as_py() or "" for column in cells]):
        columns = labels_of(None, len(cells))
    text = [] if columns is None else [",".join(_quoted(name) or null for name in columns) + "\n"]
    for start in range(0, len(values[0]), _ROWS):
        some = [pc.fill_null(column.slice(start, _ROWS), null) for column in cells]
        text += [f"{line}\n" for line in pc.binary_join_element_wise(*some, pa.scalar(",")).to_pylist()]
    return "".join(text).encode()


def check_header(table: Table) -> None:
    """Refuse names that may be the first row of data, which would be lost.

    These are words that stand in the rows of their columns, too, alone or beside numbers that stand above numbers.
    """
    if not table.is_text_file or table.columns is None:
        return
    words = [name for name in table.columns if _number(name, table) is None]
    if words and all(_may_be_value(name, j, table) for j, name in enumerate(table.columns)):
        raise ValueError(
            f"{table.where}: expected names in the first row, found {quoted(words)}, which stand in the rows below, "
            "too: if they are data, write a row of names above them or say --no-header; if they are names, say --header"
        )


def _may_be_value(name: str, j: int, table: Table) -> bool:
    """Return True if a name is what the cells of its column are; an empty one can be anything."""
    value, cells = _number(name, table), table.cells[j]
    if value is None:
        return bool(pc.any(pc.equal(pc.utf8_trim_whitespace(cells), name)).as_py())
    words = pc.unique(pc.drop_null(cells)).to_pylist()
    return math.isnan(value) or all(_number(word, table) is not None for word in words)


def _number(word: str, table: Table) -> float | None:
    return number(point(word) if table.decimal_commas else word)


def _split_delimiter(text: str, where: str, delimiter: str | None, *, is_known: bool) -> tuple[str, str]:
    """Return the text below a line that names the delimiter, and the delimiter.

    Spaces are asked about where no other delimiter cuts a table for a new model.
    """
    if named := _SEPARATOR_LINE.match(text):
        return text[named.end() :], delimiter or named[1]
    if delimiter is not None:
        return text, delimiter
    lines = [line[0] for line in islice(_LINE.finditer(text), FIRST_LINES)]
    lengths = {separator: _lengths(lines, separator) for separator in SEPARATORS}
    cutting = [separator for separator, row in lengths.items() if row and row[0] > 1]
    even = [separator for separator in cutting if len(set(lengths[separator])) == 1]
    if len(even) > 1 and lines[1].strip() and '"' not in "".join(lines):
        names = " and ".join(map(repr, even))
        raise ValueError(f"{where}: the first rows have as many cells each by {names}: --delimiter says which")
    blanks = [] if cutting or is_known else _lengths(lines, " ")
    if len(blanks) > 1 and blanks[0] > 1 and len(set(blanks)) == 1:
        options = "--delimiter ' ' if spaces separate them, --delimiter , if each row is one cell"
        raise ValueError(f"{where}: the first rows have {blanks[0]} words each: say {options}")
    return text, (even or cutting or [","])[0]


def _lengths(lines: Sequence[str], separator: str) -> list[int]:
    """Return the numbers of cells of rows, as far as they can be read."""
    lengths = list[int]()
    with suppress(csv.Error):
        lengths += (len(row) for row in csv.reader(lines, delimiter=separator) if row)
    return lengths[:-1] if len(lines) == FIRST_LINES else lengths  # the last row may go on


def _split_first(text: str, where: str, separator: str) -> tuple[list[str], str]:
    """Return the cells of the first row, which may have line breaks in quotes, and the text below it."""
    if not text.strip():
        raise ValueError(f"{where}: expected a table, found an empty file")
    end = 0

    def lines() -> Iterator[str]:  # the reader of one row asks for another only while a quote is open
        nonlocal end
        for line in _LINE.finditer(text):
            if "\0" in line[0]:
                raise ValueError("zero bytes" + ANEW.format("utf-16"))
            end = line.end()
            yield line[0]
        raise ValueError(_OPEN_QUOTE)

    try:
        first = next(csv.reader(lines(), delimiter=separator))
    except (ValueError, csv.Error) as error:
        reason = _OPEN_QUOTE if isinstance(error, csv.Error) and text.count('"') % 2 else error
        raise ValueError(f"{where}: {NO_TEXT}: {reason}") from error
    return first, text[end:]


def _is_header(first: list[str], body: str, below: Callable[[], pa.Table], model: Schema | None) -> bool:
    """Apply the rule of `CsvFormat.header`."""
    cells = [cell.strip() for cell in first]
    numbers = [number(cell) for cell in cells]
    names = model.columns if model is not None else None
    if _counts_columns(cells) or (names and set(names) <= set(as_known(cells, names))):
        return True
    if model is not None and names is None and (values := _are_values(cells, model)):
        return not any(values)
    if any(value is None and as_date(cell) is None for cell, value in zip(cells, numbers, strict=True)):
        return True
    if _are_0_or_1(cells) or len(set(cells)) < len(cells) or not body.strip():
        return False
    return all(_are_0_or_1(pc.unique(column).to_pylist()) for column in below().columns)


def _counts_columns(cells: Sequence[str]) -> bool:
    """Return True if cells count the columns, from 0 or 1; a few small numbers are often values."""
    from_0 = [str(j) for j in range(len(cells))]
    counts = (from_0, ["", *from_0[:-1]], [str(j + 1) for j in range(len(cells))])
    return len(cells) > 2 and list(cells) in counts and not _are_0_or_1(cells)


def _are_values(cells: Sequence[str], model: Schema) -> list[bool]:
    """Return for each cell that is not missing whether its column of a model without names can hold it."""
    dropped, columns = model.dropped or (), model.kinds or (Binary(),) * len(cells)
    if len(cells) > len(columns):
        cells = [cell for j, cell in enumerate(cells) if str(j + 1) not in dropped]
    return [_holds(column, cell) for column, cell in zip(columns, cells, strict=False) if cell not in MISSING]


def _holds(column: Column, cell: str) -> bool:
    """Return True if a word is a value of a column."""
    value = number(cell)
    if isinstance(column, Numeric):
        return value is not None if column.unit is None else as_date(cell) is not None
    return any(cell == level.strip() if isinstance(level, str) else value == level for level in column.levels)


def _are_0_or_1(words: Sequence[str]) -> bool:
    """Return True if words are 0, 1 or missing."""
    return all(value is not None and (value in (0, 1) or math.isnan(value)) for value in map(number, words))


def _to_text(column: pa.Array) -> pa.Array:
    """Return a column as text, in quotes where CSV needs them; each distinct text is looked at once."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        with suppress(pa.ArrowInvalid):  # finer than what is read again
            column = column.cast(pa.timestamp("us", column.type.tz))
    if not is_text(column.type):
        return column.cast(pa.string())
    encoded = column.cast(pa.string()).dictionary_encode()
    words = [_quoted(word) for word in encoded.dictionary.to_pylist()]
    return pa.array(words, pa.string()).take(encoded.indices)


def _quoted(word: str) -> str:
    """Return a word in quotes if readers would take it for something else without."""
    return '"{}"'.format(word.replace('"', '""')) if _QUOTED.search(word) else word
