"""Tables as CSV text."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from nadek.tables.arrow import to_columns
from nadek.tables.cells import FALSE, MISSING, TRUE, is_binary, matrix, number
from nadek.tables.table import Table, check_names

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse_csv(data: bytes, *, where: str, binary: bool) -> Table:
    """Read comma separated text in UTF-8.

    The first row is the header unless all its cells could be values, or all are numbers of which some repeat: names
    such as 0, 1, 2, which pandas gives, are names.

    Args:
        data: The text.
        where: What messages call it.
        binary: Refuse everything but 0, 1 and missing.

    Raises:
        ValueError: Says what is wrong, and in which row and column (rows count from 1, the first below the header).
    """
    data = data.removeprefix(_BYTE_ORDER_MARK).lstrip(b"\r\n")
    first, body = _split_first(data, where)
    header = _is_header(first, binary=binary)
    names = check_names([cell.strip() for cell in first], len(first), where=where) if header else None
    rows = body if header else data
    if not rows.strip():
        raise ValueError(f"{where}: expected rows, found only a header")
    if len(first) == 1 and re.search(rb"\n\r?\n", rows.strip()):
        raise ValueError(f'{where}: found a blank line in a file of one column; write "" for a missing cell')
    columns = _arrow_columns(rows, len(first), where)
    return Table(matrix(columns, names, where=where, binary=binary, text=True), names)


def format_csv(values: NDArray[Any], columns: Sequence[str] | None) -> bytes:
    """Write comma separated text: a header when there are names, empty cells for NaN, 0 and 1 as integers.

    Args:
        values: Numbers [N, D]; those that are no integers get all digits that tell them apart.
        columns: D names or None.
    """
    table = pa.table(to_columns(values), names=[str(j) for j in range(values.shape[1])])
    stream = io.BytesIO()
    if columns is not None:
        # Arrow quotes every name of a header.
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(columns)
        stream.write(line.getvalue().encode())
    if table.num_columns == 1 and table[0].null_count:
        # A missing cell that is alone in its row has to differ from a blank line, which readers skip.
        cells = table[0].cast(pa.string()).fill_null('""').to_pylist()
        stream.write("".join(f"{cell}\n" for cell in cells).encode())
    else:
        pa_csv.write_csv(table, stream, pa_csv.WriteOptions(include_header=False))
    return stream.getvalue()


def _split_first(data: bytes, where: str) -> tuple[list[str], bytes]:
    """The cells of the first row, and the text below it."""
    if not data.strip():
        raise ValueError(f"{where}: expected a table, found an empty file")
    end = re.search(rb"\r\n|\r|\n", data)
    line, body = (data, b"") if end is None else (data[: end.start()], data[end.end() :])
    try:
        data.decode("utf-8")  # all of it here, so that no column turns out to be bytes
        if b"\0" in line:
            raise ValueError("zero bytes")
        return next(csv.reader([line.decode("utf-8")])), body
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{where}: expected CSV text in UTF-8, found something else ({error})") from error


def _is_header(first: list[str], *, binary: bool) -> bool:
    numbers = [number(cell) for cell in first]
    if any(value is None for value in numbers):
        return True
    values = np.array(numbers, dtype=np.float64)
    return binary and not bool(is_binary(values).all()) and len(set(first)) == len(first)


def _arrow_columns(rows: bytes, dim: int, where: str) -> list[pa.ChunkedArray]:
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(rows),
            read_options=pa_csv.ReadOptions(column_names=[str(j) for j in range(dim)]),
            convert_options=pa_csv.ConvertOptions(
                null_values=list(MISSING),
                true_values=["1", *TRUE],
                false_values=["0", *FALSE],
            ),
        )
    except pa.ArrowInvalid as error:
        raise ValueError(f"{where}: {_ragged(rows, dim) or ' '.join(str(error).split())}") from error
    return list(table.columns)


def _ragged(rows: bytes, dim: int) -> str | None:
    """The message about the first row that has not `dim` cells."""
    reader = csv.reader(io.StringIO(rows.decode("utf-8", "replace"), newline=""))
    full = (cells for cells in reader if cells)
    wrong = next(((i, cells) for i, cells in enumerate(full, start=1) if len(cells) != dim), None)
    return None if wrong is None else f"row {wrong[0]}: expected {dim} cells, found {len(wrong[1])}"
