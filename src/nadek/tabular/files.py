"""Tables in files: CSV, Parquet, NumPy and `.amat`."""

import gzip
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nadek.datasets.amat import parse_bits, read_plain
from nadek.tabular.arrow_columns import AnyColumn, native, to_arrow
from nadek.tabular.csv import CsvFormat, format_csv, parse_csv
from nadek.tabular.names import check_names
from nadek.tabular.schema import Schema
from nadek.tabular.table import Table
from nadek.utils.atomic import check_regular, check_unpacked, damage_in, replacing
from nadek.utils.configs import naming

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".npz", ".npy", ".amat", ".amat.gz")
MATRICES = (".npz", ".npy", ".amat")
"""Forms of files that know no columns with types of their own."""

_NO_NAME = re.compile(r"__index_level_\d+__")
"""What pandas calls the levels of an index that have no name."""


Target = str | os.PathLike[str] | io.TextIOBase
"""A file, or a stream of text for CSV."""


def read_file(path: str | os.PathLike[str], *, form: CsvFormat | None = None, model: Schema | None = None) -> Table:
    """Read a table from a file that ends in one of `SUFFIXES`.

    Missing are an empty cell, NaN, nan, NA, null or None in CSV, null or NaN in Parquet, and NaN in npy and npz. An npz
    holds one array, or one called "values" (with its names in "columns"). Cells are only looked at when a column is
    read.
    """
    file, kind = Path(path), form_of(path)
    check_regular(file)
    with damage_in(file, f"a whole {kind.removeprefix('.')} file"):
        if kind == ".csv":
            return parse_csv(read_plain(file), where=str(file), form=form, model=model)
        if kind == ".parquet":
            return _read_parquet(file)
        names = None
        if kind == ".amat":
            values = parse_bits(read_plain(file), name=str(file))
        elif kind == ".npz":
            values, names = _load_npz(file)
        else:
            values = _read_npy(file.read_bytes())
        return matrix_table(values, names, where=str(file))


def matrix_table(values: NDArray[Any], columns: Sequence[str] | None, *, where: str) -> Table:
    """Return the table of an array [N, D] from a file."""
    if values.dtype.kind not in "buifUT":
        raise ValueError(f"{where}: expected text, numbers or booleans, found an array of {values.dtype}")
    if values.ndim != 2:
        raise ValueError(f"{where}: expected a 2-D array [rows, columns], found shape {values.shape}")
    if 0 in values.shape:
        raise ValueError(f"{where}: expected rows and columns, found shape {values.shape}")
    names = None if columns is None else check_names(columns, values.shape[1], where=where)
    cells = tuple(pa.chunked_array([pa.array(np.ascontiguousarray(column))]) for column in native(values).T)
    return Table(cells, names, where=where)


def write_table(
    target: Target,
    values: Sequence[AnyColumn] | NDArray[Any],
    *,
    columns: Sequence[str] | None = None,
    index: pa.Table | None = None,
) -> None:
    """Write a table to a file, whole or not at all, in the form that its name ends in; or to a stream as CSV.

    ``values`` are D columns [N], or a matrix of numbers [N, D]. None and NaN are written as missing, a matrix of 0 and
    1 as integers, and other floats in CSV with all digits that tell them apart. Without names CSV has no header and
    Parquet calls the columns "x0", "x1" and so on; npy and `.amat` hold no names, and only Parquet holds an index.
    """
    dim = values.shape[1] if isinstance(values, np.ndarray) else len(values)
    names = None if columns is None else check_names(columns, dim, where="columns")
    if not isinstance(target, str | os.PathLike):
        target.write(format_csv(_columns(values), names).decode())
        return
    file, form = Path(target), form_of(target)
    with replacing(file) as stream:
        if form == ".parquet":
            pq.write_table(_parquet_table(_columns(values), names, index), stream)
        elif form in MATRICES:
            _write_matrix(stream, file, values, names)
        else:
            stream.write(_packed(format_csv(_columns(values), names), file))


def form_of(target: Target) -> str:
    """Return the form of a file, which is its suffix without ".gz"; that of a stream is ".csv"."""
    if not isinstance(target, str | os.PathLike):
        return ".csv"
    file = Path(target)
    suffix = next((suffix for suffix in SUFFIXES if file.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise ValueError(f"{file}: expected a file that ends in {', '.join(SUFFIXES)}, found {file.suffix!r}")
    return suffix.removesuffix(".gz")


def _columns(values: Sequence[AnyColumn] | NDArray[Any]) -> Sequence[AnyColumn]:
    """Return columns; those of a matrix with null for NaN, and integers if all numbers are 0 and 1."""
    if not isinstance(values, np.ndarray):
        return values
    values = native(values)
    missing = np.isnan(values)
    if values.dtype.kind == "b" or (values.dtype.kind == "f" and ((values == 0) | (values == 1) | missing).all()):
        values = np.where(missing, 0, values).astype(np.int8)
    return [
        pa.chunked_array([pa.array(np.ascontiguousarray(column), mask=np.ascontiguousarray(where))])
        for column, where in zip(values.T, missing.T, strict=True)
    ]


def _write_matrix(
    stream: BinaryIO, file: Path, values: Sequence[AnyColumn] | NDArray[Any], names: tuple[str, ...] | None
) -> None:
    form = form_of(file)
    if not isinstance(values, np.ndarray):
        values = np.column_stack([np.asarray(column) for column in values])
        with naming(f"{file} holds numbers only; write .csv or .parquet"):
            values = values.astype(np.float64) if values.dtype == object else values
    if form == ".npz":
        named: dict[str, Any] = {} if names is None else {"columns": np.array(names, dtype=np.str_)}
        np.savez_compressed(stream, values=values, **named)
    elif form == ".npy":
        np.save(stream, values)
    else:
        stream.write(_packed(_format_amat(values, where=str(file)), file))


def _packed(text: bytes, file: Path) -> bytes:
    return gzip.compress(text, compresslevel=4, mtime=0) if file.suffix.lower() == ".gz" else text


def _format_amat(values: NDArray[Any], *, where: str) -> bytes:
    """Write rows of 0 and 1 with single spaces."""
    wrong = ~((values == 0) | (values == 1))
    if wrong.any():
        row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
        place = f"{where}: row {row + 1}, column {column + 1}"
        raise ValueError(f"{place}: expected 0 or 1, found {values[row, column]}; .amat holds nothing else")
    text = io.BytesIO()
    np.savetxt(text, values, fmt="%d")
    return text.getvalue()


def _load_npz(file: Path) -> tuple[NDArray[Any], list[str] | None]:
    """Return array and names of an `.npz` file."""
    with zipfile.ZipFile(file) as archive:
        sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
        key = "values" if "values" in sizes else next(iter(sizes)) if len(sizes) == 1 else None
        if key is None:
            message = ", ".join(sorted(sizes)) or "none"
            raise ValueError(f'{file}: expected one array, or one called "values"; found {message}')
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
    values: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return values


def _read_parquet(file: Path) -> Table:
    with pq.ParquetFile(file) as parquet:
        check_unpacked(file, parquet.metadata.num_rows * parquet.metadata.num_columns)
        table, index = _split_index(parquet.read())
    if 0 in table.shape:
        raise ValueError(f"{file}: expected rows and columns, found shape {table.shape}")
    names = check_names(table.column_names, table.num_columns, where=str(file))
    return Table(tuple(table.columns), names, where=str(file), index=index)


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


def _parquet_table(values: Sequence[AnyColumn], columns: Sequence[str] | None, index: pa.Table | None) -> pa.Table:
    names = [f"x{j}" for j in range(len(values))] if columns is None else list(columns)
    cells = list(map(to_arrow, values))
    if index is None:
        return pa.table(cells, names=names)
    table = pa.table([*cells, *index.columns], names=[*names, *index.column_names])
    return table.replace_schema_metadata(index.schema.metadata)
