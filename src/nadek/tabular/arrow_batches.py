"""Batches of Arrow, which engines hand out: read for a model, and given back with new cells."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nadek.tabular.arrow_columns import AnyColumn, is_text, to_arrow
from nadek.tabular.names import quoted
from nadek.tabular.table import Table
from nadek.tabular.text_cells import Spelling

Batch = TypeVar("Batch", pa.RecordBatch, pa.Table)


def model_table(batch: Batch, columns: Sequence[str] | None, row_id: str) -> Table:
    """Return a model's columns in a batch; without names, all but the ids."""
    names = [name for name in batch.schema.names if name != row_id] if columns is None else list(columns)
    lacking = [name for name in names if batch.schema.names.count(name) != 1]
    if lacking:
        raise ValueError(f"expected each column of the model once in a batch, found none or more of {quoted(lacking)}")
    cells = tuple(pa.chunked_array([to_arrow(_chunked(batch[name]))]) for name in names)
    return Table(cells, None if columns is None else tuple(names), where="a batch", labels=tuple(names))


def ids_in(batch: Batch, row_id: str) -> NDArray[np.int64]:
    """Return the ids of rows, [N]."""
    if not isinstance(batch, pa.RecordBatch | pa.Table):
        raise TypeError(f"expected a RecordBatch or a Table of pyarrow, found {type(batch).__name__}")
    if batch.schema.names.count(row_id) != 1:
        raise ValueError(f'row_id: expected one column "{row_id}" in a batch, found {quoted(batch.schema.names)}')
    ids = _chunked(batch[row_id])
    if not pa.types.is_integer(ids.type) or ids.null_count:
        missing = f" with {ids.null_count} missing" if ids.null_count else ""
        raise ValueError(f'row_id: expected whole numbers in the column "{row_id}", found {ids.type}{missing}')
    return ids.cast(pa.int64()).to_numpy().copy()


def spelling_of(cells: pa.ChunkedArray, values: NDArray[Any]) -> Spelling:
    """Return the spelling of a column; whether it is text follows from its type, not from the cells at hand."""
    spelling = Spelling()
    spelling.add(values)
    if is_text(getattr(cells.type, "value_type", cells.type)):
        spelling.sorts.add(str)
    return spelling


def with_new_cells(batch: Batch, columns: Mapping[str, AnyColumn]) -> Batch:
    """Return a batch with some columns replaced, all of their old types."""
    arrays = []
    for place, field in enumerate(batch.schema):
        cells = columns.get(field.name, batch.column(place))
        if isinstance(cells, np.ndarray):
            message = f"{field.type} does not hold what is filled in; cast it to {to_arrow(cells).type} before"
            raise ValueError(f'a batch: column "{field.name}": {message}')
        arrays.append(to_arrow(cells) if isinstance(cells, pa.ChunkedArray) else cells)
    return type(batch).from_arrays(arrays, schema=batch.schema)


def beside_ids(batch: Batch, row_id: str, columns: Mapping[str, NDArray[Any]]) -> Batch:
    """Return new columns beside the ids of a batch."""
    return type(batch).from_arrays([batch[row_id], *map(pa.array, columns.values())], names=[row_id, *columns])


def _chunked(cells: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])
