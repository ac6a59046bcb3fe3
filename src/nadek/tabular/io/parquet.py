"""Tables as Parquet, and a matrix as Arrow columns."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nadek.tabular.io.names import Table, check_names
from nadek.tabular.io.text_numbers import is_binary, matrix

_NO_NAME = re.compile(r"__index_level_\d+__")
"""What pandas calls the levels of an index that have no name."""


AnyColumn: TypeAlias = NDArray[Any] | pa.ChunkedArray
"""Values, or a column as it was read."""


@dataclass(frozen=True, eq=False)
class Index:
    """What pandas calls the rows of a Parquet file.

    Attributes:
        cells: columns of the file that are no data, as they have no name.
        names: what these are called in the file.
        told: what pandas says of the index in the metadata of the file, and of no other columns.
    """

    cells: tuple[pa.ChunkedArray, ...]
    names: tuple[str, ...]
    told: dict[str, Any]


def to_columns(values: NDArray[Any]) -> list[pa.Array]:
    """One Arrow column for each column of `values` [N, D]: NaN becomes null, and 0/1 become integers when all are."""
    values = native(values)
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=np.bool_)
    if values.dtype.kind == "b" or (values.dtype.kind == "f" and is_binary(values).all()):
        values = np.where(missing, 0, values).astype(np.int8)
    return [
        pa.array(np.ascontiguousarray(values[:, j]), mask=np.ascontiguousarray(missing[:, j]))
        for j in range(values.shape[1])
    ]


def native(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers as Arrow takes and writes them: in the machine's order of bytes, floats of 4 or 8 bytes."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def to_column(values: AnyColumn) -> pa.Array:
    """One Arrow column of text, numbers or booleans [N]: None and NaN become null; what is one stays what it is.

    Whole numbers that no type of them holds all become floats.
    """
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    if values.dtype != object:
        return pa.array(values, from_pandas=True)
    for kind in (None, pa.uint64()):
        try:
            return pa.array(values.tolist(), kind, from_pandas=True)
        except (OverflowError, pa.ArrowInvalid):
            continue
    return pa.array(values.astype(np.float64), from_pandas=True)


def read_parquet(path: str, *, binary: bool) -> Table:
    """Read a Parquet file; null and NaN are missing.

    Raises:
        ValueError: It is none, holds nothing, has a name twice, or has a cell that is not permitted.
    """
    columns, names, _ = load_parquet(path)
    return Table(matrix(columns, names, where=path, binary=binary, text=False), names)


def load_parquet(path: str) -> tuple[list[pa.ChunkedArray], tuple[str, ...], Index | None]:
    """The columns of a Parquet file, whatever is in them, and their names; an index of pandas without a name by itself.

    Raises:
        ValueError: It is none, holds nothing, or has a name twice.
    """
    try:
        with pq.ParquetFile(path) as file:
            table, index = _apart(file.read())
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: expected a whole Parquet file ({reason})") from error
    if 0 in table.shape:
        raise ValueError(f"{path}: expected rows and columns, found shape {table.shape}")
    return table.columns, check_names(table.column_names, table.num_columns, where=path), index


def _apart(table: pa.Table) -> tuple[pa.Table, Index | None]:
    """Take out what numbers the rows of a pandas table; an index that has a name may be data, and stays in it."""
    told = table.schema.pandas_metadata or {}
    levels = told.get("index_columns", [])  # names, or what makes a range
    if not levels:
        return table, None
    unnamed = [name for name in table.column_names if _NO_NAME.fullmatch(name) and name in levels]
    described = [column for column in told["columns"] if column.get("field_name") in levels]
    index = Index(
        cells=tuple(table.column(name) for name in unnamed),
        names=tuple(unnamed),
        told=told | {"columns": described, "column_indexes": []},
    )
    return table.drop_columns(unnamed), index


def write_parquet(
    stream: BinaryIO, values: Sequence[pa.Array], columns: Sequence[str] | None, index: Index | None = None
) -> None:
    """Write a Parquet file of Arrow columns; those without names are called "x0", "x1" and so on.

    With an index pandas calls the rows what it called them in the file that it comes from.
    """
    names = [f"x{j}" for j in range(len(values))] if columns is None else list(columns)
    if index is None:
        table = pa.table(list(values), names=names)
    else:
        table = pa.table([*values, *index.cells], names=[*names, *index.names])
        table = table.replace_schema_metadata({"pandas": json.dumps(index.told)})
    pq.write_table(table, stream)
