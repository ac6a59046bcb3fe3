"""Tables as Parquet, and a matrix as Arrow columns."""

from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nadek.tables.cells import is_binary, matrix
from nadek.tables.table import Table, check_names


def to_columns(values: NDArray[Any]) -> list[pa.Array]:
    """One Arrow column for each column of `values` [N, D]: NaN becomes null, and 0/1 become integers when all are."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)  # Arrow writes no others
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=np.bool_)
    if values.dtype.kind == "b" or (values.dtype.kind == "f" and is_binary(values).all()):
        values = np.where(missing, 0, values).astype(np.int8)
    return [
        pa.array(np.ascontiguousarray(values[:, j]), mask=np.ascontiguousarray(missing[:, j]))
        for j in range(values.shape[1])
    ]


def read_parquet(path: str, *, binary: bool) -> Table:
    """Read a Parquet file; null and NaN are missing.

    Raises:
        ValueError: It is none, holds nothing, has a name twice, or has a cell that is not permitted.
    """
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: expected a whole Parquet file ({reason})") from error
    if 0 in table.shape:
        raise ValueError(f"{path}: expected rows and columns, found shape {table.shape}")
    names = check_names(table.column_names, table.num_columns, where=path)
    return Table(matrix(table.columns, names, where=path, binary=binary, text=False), names)


def write_parquet(stream: BinaryIO, values: NDArray[Any], columns: Sequence[str] | None) -> None:
    """Write a Parquet file; columns without names are called "x0", "x1" and so on."""
    names = [f"x{j}" for j in range(values.shape[1])] if columns is None else list(columns)
    pq.write_table(pa.table(to_columns(values), names=names), stream)
