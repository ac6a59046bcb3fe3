"""Batches of rows, to hold no more in memory."""

from collections.abc import Generator, Iterable

import pyarrow as pa

CELLS = 2**21
"""Cells of a batch, at most."""


def rows_of(n_columns: int, cells: int | None) -> int | None:
    """Return a number of rows, or None for all."""
    return None if cells is None else max(1, cells // n_columns)


def cut(parts: Iterable[pa.RecordBatch], most: int | None) -> Generator[tuple[int, pa.Table], None, None]:
    """Yield tables and the places of their first rows.

    Each has ``most`` rows, but for the last; with None all rows are in one. Places count from 0. The last table comes
    when the parts have come to their end.
    """
    first, kept = 0, []
    for part in parts:
        kept.append(part)
        n_rows = sum(map(len, kept))
        if most is not None and n_rows > most:
            table = pa.Table.from_batches(kept)
            for start in range(0, n_rows - most, most):
                yield first + start, table.slice(start, most)
            done = (n_rows - 1) // most * most
            first, kept = first + done, table.slice(done).to_batches()
    if kept:
        yield first, pa.Table.from_batches(kept)
