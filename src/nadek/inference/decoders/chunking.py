"""How many rows fit into a bound on the working memory."""

from collections.abc import Iterator

from nadek.models.base import ConditionalModel

MAX_BYTES = 256 * 2**20
"""Default bound on the working memory of an evaluation, on top of data and model."""

NEAR_BYTES = 64 * 2**20
"""What the fast path scores at once on a CPU fits into this, whatever larger bound is given: what it goes over at every
position then stays nearer to the processor."""

TABLES = 4
"""So many tables of variables and levels live at once, where variables are not all binary: scores, their softmax, its
exponential, and what is gathered from it."""


def bytes_per_row(model: ConditionalModel) -> int:
    """A generous count of the bytes that one row keeps alive along a path."""
    variables = model.variables
    return model.b.element_size() * (model.units_per_row + TABLES * variables.table_size) + 24 * variables.n_columns


def chunks(n_rows: int, bytes_per_row: int, max_bytes: int) -> Iterator[slice]:
    """Cut ``n_rows`` into slices that fit the memory bound (always at least one row).

    Example:
        >>> list(chunks(5, 10, 20))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, max_bytes // bytes_per_row)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
