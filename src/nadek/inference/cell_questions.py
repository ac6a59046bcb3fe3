"""What all queries do: ask for single cells, each given what of its row is shown."""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders import bytes_per_row, chunks, products_in
from nadek.inference.likelihood import Progress
from nadek.inference.missing_patterns import in_stages
from nadek.models.base import ConditionalModel

Hidden = Callable[[Tensor, Tensor], Tensor]
"""What is not shown [N, D] when asking in these rows [N] for these variables [N]."""


def in_turn(
    model: ConditionalModel, ordering: Int[Tensor, "*rows D"], stage: Shaped[Tensor, "B D"]
) -> Int[Tensor, "B D"]:
    """The ordering, for each row with what is given (stage 0) first, then what is asked for (1), then the rest (2).

    Raises:
        ValueError: if a fixed-order model's own ordering is another.
    """
    able = "answers where it visits what is given first, then what is asked for, and last what is missing; found others"
    return in_stages(model, ordering, stage, able=able)


def tell_rows(progress: Progress | None, done: int, total: int, rows: int) -> None:
    """Pass the progress within a part on as that of the whole."""
    if progress is not None:
        progress(done + rows, total)


def cell_scores(
    model: ConditionalModel,
    x: Shaped[Tensor, "N D"],
    missing: Bool[Tensor, "N D"],
    variable: Int[Tensor, " N"],
    *,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "N ..."]:
    """What decides about one variable a row (see `nadek.models.variables`), float64, by one pass of the whole network.

    Args:
        model: any conditional network.
        x: codes; anything where missing.
        missing: what the network is not shown.
        variable: which variable of each row.
        dtype: of the matrix products; the model's own when None.
    """
    with products_in(dtype, x.device):
        logits = model(x, missing)[-1]
    return model.variables.scores(logits, variable).double()


def each_cell(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    cells: Bool[Tensor, "B D"],
    hidden: Hidden,
    *,
    dtype: torch.dtype | None,
    max_bytes: int,
    progress: Callable[[int], None],
) -> Iterator[tuple[Int[Tensor, " N"], Int[Tensor, " N"], Float[Tensor, "N ..."]]]:
    """Ask for single cells, each given what is shown of its row then; one pass of the network each, many at once.

    Args:
        model: any conditional network.
        x: codes; anything in cells that are always hidden.
        cells: which to ask for.
        hidden: what is not shown then; the cell itself must be among it.
        dtype: of the matrix products; the model's own when None.
        max_bytes: bound on the working memory.
        progress: told how many rows are done.

    Yields:
        Rows, variables, and what decides about them, chunk by chunk.
    """
    row, variable = cells.nonzero(as_tuple=True)
    for part in chunks(len(row), bytes_per_row(model), max_bytes):
        r, j = row[part], variable[part]
        yield r, j, cell_scores(model, x[r], hidden(r, j), j, dtype=dtype)
        progress(int(r[-1]))
    progress(x.shape[0])
