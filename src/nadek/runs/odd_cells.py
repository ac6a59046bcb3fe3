"""Surprising cells, with the words of the table."""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference import Explanation, explain_cells
from nadek.inference.decoders.chunking import Progress
from nadek.runs.data import ModelRows, of_numbers
from nadek.tabular.columns import level_names, log_outwards, log_own
from nadek.tabular.columns.parsing import shown


class OddCell(NamedTuple):
    """A cell and what was expected there."""

    row: int
    column: str
    value: str
    expected: str
    surprise: float


def odd_cells(
    saved: SavedModel,
    batch: ModelRows,
    rows: Tensor,
    choose: Callable[[Explanation], list[tuple[int, int]]],
    progress: Progress | None = None,
) -> list[OddCell]:
    """Return the cells that ``choose`` takes from some rows of a batch."""
    if not len(rows):
        return []
    outwards, own = of_numbers(log_outwards, saved, batch, new=True)[rows], of_numbers(log_own, saved, batch)[rows]
    cells = explain_cells(saved.model, batch.x[rows], outwards=outwards, own=own, progress=progress)
    odd, names, kinds = choose(cells), saved.labels, saved.kinds
    values = [batch.values[j][int(rows[i])] for i, j in odd]
    return [
        OddCell(
            row=batch.first_row + int(rows[i]) + 1,
            column=names[j],
            value=value if isinstance(value, str) else shown(value),
            expected=level_names(kinds[j])[int(cells.expected[i, j])],
            surprise=float(cells.surprise[i, j]),
        )
        for (i, j), value in zip(odd, values, strict=True)
    ]
