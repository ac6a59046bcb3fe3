"""Chunks of rows that fit into a memory bound."""

from collections.abc import Callable, Iterator

from nadek.models.base import ConditionalModel

MAX_BYTES = 256 * 2**20
"""Bound on the working memory of an evaluation, without data and model."""

NEAR_BYTES = 64 * 2**20
"""Bound for the incremental decoder on a CPU, so that its sums stay in the processor's cache."""

Progress = Callable[[int, int], None]
"""Function of (rows done, rows in all), called after each chunk."""


def part_of(progress: Progress, first: int, n_rows: int, n_in_all: int) -> Progress:
    """Return progress of some rows as part of all."""
    return lambda done, total: progress(first + n_rows * done // total, n_in_all)


TABLES = 4
"""Number of tables [rows, cells] alive at once: scores, their softmax, its exponential, and the gathered values."""


def bytes_per_row(model: ConditionalModel) -> int:
    """Return a generous bound of a row's bytes."""
    variables = model.variables
    n_cells = variables.n_cells * (1 if variables.densities is None else variables.densities.pieces)
    return model.b.element_size() * (model.units_per_row + TABLES * n_cells) + 24 * variables.n_columns


def chunks(n_rows: int, bytes_per_row: int, max_bytes: int = MAX_BYTES) -> Iterator[slice]:
    """Cut ``n_rows`` into slices that fit the memory bound (at least one row each)."""
    size = max(1, min(max_bytes, MAX_BYTES) // bytes_per_row)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
