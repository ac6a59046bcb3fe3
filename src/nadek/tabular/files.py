"""Tables in files: CSV, Parquet, NumPy and `.amat`."""

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nadek.datasets.amat import open_plain, parse_bits, read_plain
from nadek.tabular.arrow_columns import is_text, native
from nadek.tabular.csv import CsvFormat, read_csv
from nadek.tabular.csv_rows import Opener
from nadek.tabular.cut_rows import CELLS, cut, rows_of
from nadek.tabular.names import check_names
from nadek.tabular.schema import Schema
from nadek.tabular.stored_columns import ROWS, stored, stored_columns
from nadek.tabular.table import Table
from nadek.utils.atomic import check_columns, check_regular, check_unpacked, damage_in
from nadek.utils.scratch import IN_MEMORY

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".npz", ".npy", ".amat", ".amat.gz")
MATRICES = (".npz", ".npy", ".amat")
"""Forms of files that know no columns with types of their own."""

_NO_NAME = re.compile(r"__index_level_\d+__")
"""What pandas calls the levels of an index that have no name."""
_SHORT = 32
"""Bytes of a cell of a Parquet file that count as one."""


Target = str | os.PathLike[str] | io.TextIOBase
"""A file, or a stream of text for CSV."""


def read_text(opener: Opener, *, cells: int | None, **options: Any) -> Iterator[Table]:  # noqa: ANN401
    """Read a table of CSV text in batches of ``cells``, or as a whole; the options are those of `read_csv`."""
    if cells is not None:
        return read_csv(opener, cells=cells, **options)
    with opener() as file:
        text = file.read(IN_MEMORY + 1)
    if len(text) > IN_MEMORY:
        return iter([stored(read_csv(opener, cells=CELLS, **options))])
    return read_csv(partial(io.BytesIO, text), **options)


def read_batches(
    path: str | os.PathLike[str],
    *,
    form: CsvFormat | None = None,
    model: Schema | None = None,
    cells: int | None = None,
) -> Iterator[Table]:
    """Read a table, in batches, from a file that ends in one of `SUFFIXES`.

    CSV and Parquet come in batches of so many ``cells``, or in one if that is None; all others come in one. Missing are
    an empty cell, NaN, nan, NA, null or None in CSV, null or NaN in Parquet, and NaN in npy and npz. An npz holds one
    array, or one called "values" (with its names in "columns"). Cells are only looked at when a column is read. Those
    of a Parquet file, or of more than `IN_MEMORY` bytes of CSV text, are only then in memory.
    """
    file, kind = Path(path), form_of(path)
    check_regular(file)
    with damage_in(file, f"a whole {kind.removeprefix('.')} file"):
        if kind == ".csv":
            opener, count = partial(open_plain, file), partial(check_columns, file)
            yield from read_text(opener, cells=cells, where=str(file), form=form, model=model, count=count)
        elif kind == ".parquet":
            yield from _read_parquet(file, cells)
        else:
            yield _read_matrix(file, kind)


def _read_matrix(file: Path, kind: str) -> Table:
    names = None
    if kind == ".amat":
        values = parse_bits(read_plain(file), name=str(file))
    elif kind == ".npz":
        values, names = _load_npz(file)
    else:
        values = _read_npy(file.read_bytes())
    check_columns(file, math.prod(values.shape[1:]))
    return matrix_table(values, names, where=str(file))


def matrix_table(values: NDArray[Any], columns: Sequence[str] | None, *, where: str) -> Table:
    """Return the table of an array [N, D]."""
    if values.dtype.kind not in "buifUT":
        raise ValueError(f"{where}: expected text, numbers or booleans, found an array of {values.dtype}")
    if values.ndim != 2:
        raise ValueError(f"{where}: expected a 2-D array [rows, columns], found shape {values.shape}")
    if 0 in values.shape:
        raise ValueError(f"{where}: expected rows and columns, found shape {values.shape}")
    names = None if columns is None else check_names(columns, values.shape[1], where=where)
    cells = tuple(pa.chunked_array([pa.array(np.ascontiguousarray(column))]) for column in native(values).T)
    return Table(cells, names, where=where)


def form_of(target: Target) -> str:
    """Return the form of a file, which is its suffix without ".gz"; that of a stream is ".csv"."""
    if not isinstance(target, str | os.PathLike):
        return ".csv"
    file = Path(target)
    suffix = next((suffix for suffix in SUFFIXES if file.name.lower().endswith(suffix)), None)
    if suffix is None:
        hint = "; a table of text may be called .csv, whatever separates its cells"
        if file.suffix.lower().startswith(".xls"):
            hint = ": a spreadsheet program saves it as CSV (in UTF-8)"
        raise ValueError(f"{file}: expected a file that ends in {', '.join(SUFFIXES)}, found {file.suffix!r}{hint}")
    return suffix.removesuffix(".gz")


def _load_npz(file: Path) -> tuple[NDArray[Any], list[str] | None]:
    with zipfile.ZipFile(file) as archive:
        sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
        key = "values" if "values" in sizes else next(iter(sizes)) if len(sizes) == 1 else None
        if key is None:
            listing = ", ".join(sorted(sizes)) or "none"
            hint = ": save .toarray() of a sparse matrix" if {"format", "indices"} & sizes.keys() else ""
            raise ValueError(f'{file}: expected one array, or one called "values"; found {listing}{hint}')
        check_unpacked(file, sum(sizes.values()))
        values = _read_npy(archive.read(f"{key}.npy"))
        if key != "values" or "columns" not in sizes:
            return values, None
        names = _read_npy(archive.read("columns.npy"))
    if names.dtype.kind != "U":
        raise ValueError(f'{file}: expected "columns" to hold text, found {names.dtype}')
    return values, names.ravel().tolist()


def _read_npy(content: bytes) -> NDArray[Any]:
    """Return the array of an npy file, if its header tells of as many bytes as there are."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if dtype.hasobject or not dtype.itemsize:
        raise ValueError(f"expected numbers, found an array of {dtype}")
    n_bytes = len(content) - stream.tell()
    if math.prod(shape) * dtype.itemsize != n_bytes:
        raise ValueError(f"found {n_bytes:,} bytes for an array {shape} of {dtype}")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _read_parquet(file: Path, cells: int | None) -> Iterator[Table]:
    parquet = pq.ParquetFile(file, pre_buffer=False)  # else what was read stays in memory
    n_rows = parquet.metadata.num_rows
    check_columns(file, parquet.metadata.num_columns)
    check_unpacked(file, n_rows * parquet.metadata.num_columns)
    empty, index = _split_index(parquet.schema_arrow.empty_table())
    if 0 in (n_rows, empty.num_columns):
        raise ValueError(f"{file}: expected rows and columns, found shape {(n_rows, empty.num_columns)}")
    names = check_names(empty.column_names, empty.num_columns, where=str(file))
    if cells is None and names == tuple(empty.column_names):  # else some have no name
        if index is not None:
            index = parquet.read(index.column_names).replace_schema_metadata(index.schema.metadata)
        yield Table(stored_columns(parquet, names, partial(_bounded, file)), names, where=str(file), index=index)
        return
    with parquet:
        most = rows_of(parquet.metadata.num_columns, cells)
        parts = _bounded(file, parquet.iter_batches(batch_size=min(most or n_rows, ROWS)))
        for first_row, part in cut(parts, most):
            table, index = _split_index(part)
            yield Table(tuple(table.columns), names, where=str(file), index=index, first_row=first_row)


def _bounded(file: Path, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Refuse damage, and long words of more bytes than `check_unpacked` permits: in the file a word may stand once."""
    n_bytes = 0
    with damage_in(file, "a whole parquet file"):
        for part in parts:
            size = part.nbytes - _SHORT * part.num_rows * part.num_columns
            for cells in part.columns:
                if pa.types.is_dictionary(cells.type) and is_text(cells.type.value_type):
                    size += pc.sum(pc.binary_length(cells.dictionary).take(cells.indices)).as_py() or 0
            n_bytes += max(0, size)
            check_unpacked(file, n_bytes)
            yield part


def _split_index(table: pa.Table) -> tuple[pa.Table, pa.Table | None]:
    """Take out the row labels of a pandas table; an index that has a name may be data, and stays in it."""
    metadata = table.schema.pandas_metadata or {}
    levels = metadata.get("index_columns", [])  # names, or what makes a range
    if not levels:
        return table, None
    unnamed = [name for name in table.column_names if _NO_NAME.fullmatch(name) and name in levels]
    described = [column for column in metadata["columns"] if column.get("field_name") in levels]
    own = json.dumps(metadata | {"columns": described, "column_indexes": []})
    return table.drop_columns(unnamed), table.select(unnamed).replace_schema_metadata({"pandas": own})
