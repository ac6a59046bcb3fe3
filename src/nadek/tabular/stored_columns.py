"""Columns that stay in a file, and are read when they are asked for."""

import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nadek.tabular.cut_rows import CELLS
from nadek.tabular.table import Columns, Table

ROWS = 2**14
"""Rows of a Parquet file that are unpacked at once, at most."""


def stored_columns(parquet: pq.ParquetFile, names: Sequence[str], check: Callable[..., Any] = iter) -> Columns:
    """Return columns of a Parquet file, in groups of `CELLS` cells or one by one; a check may refuse batches."""
    n_rows = parquet.metadata.num_rows
    size = max(1, CELLS // n_rows)

    @lru_cache(maxsize=2)
    def group(first: int) -> list[pa.ChunkedArray]:
        chosen = list(names[first : first + size])
        parts = parquet.iter_batches(batch_size=min(n_rows, ROWS), columns=chosen)
        return pa.Table.from_batches(list(check(parts))).select(chosen).columns

    return Columns(len(names), lambda j: group(j - j % size)[j % size])


def stored(parts: Iterator[Table]) -> Table:
    """Return a table of words that comes in parts, with its columns in a temporary file without a name."""
    first = next(parts)
    names = list(map(str, range(len(first.cells))))
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        with pq.ParquetWriter(file, pa.schema(dict.fromkeys(names, pa.string()))) as writer:
            for part in chain([first], parts):
                writer.write_table(pa.table([part.cells[int(j)] for j in names], names))
        cells = stored_columns(pq.ParquetFile(file), names)
        weakref.finalize(cells, stack.pop_all().close)
    return replace(first, cells=cells)
