"""Sizes of chunks: many variables at once where it costs little.

A chunk of variables costs one pass. Its variables are predicted from those before the chunk, so the later ones cost
more nats than one at a time. Where little is given the next variables hardly depend on each other; where most is given
they are nearly certain; and the price of each chunk can be measured. The sizes of the least price for a number of
passes follow by dynamic programming (Hoogeboom et al. 2022).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.inference.check_inputs import as_count, complete_rows
from nadek.inference.decoders.chunking import Progress, bytes_per_row, chunks
from nadek.inference.orderings import Orderings, as_orderings, rank_of
from nadek.models.base import ConditionalModel
from nadek.models.codes import check_tensor
from nadek.models.evaluation import evaluation_mode

Chunk = int | Sequence[int]
"""One size for all chunks, or the size of each along an ordering."""


@evaluation_mode
def position_losses(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    orderings: Orderings | int,
    *,
    generator: torch.Generator | None = None,
    progress: Progress | None = None,
) -> Float[Tensor, "D D"]:
    """Measure the losses of all positions, given fewer.

    It takes D passes a row; each row follows one of the orderings.

    Args:
        model: any conditional model.
        x: complete rows of codes, such as some hundred validation rows.
        orderings: those that chunks are wanted for, or a number of orderings to draw.
        generator: source of the orderings that are drawn.
        progress: called with (positions done, D).

    Returns:
        Mean cost of the variable at position j given the first i, in nats, float64 [i, j]; 0 for j < i.

    Raises:
        TypeError: if ``x`` is no tensor.
        ValueError: without rows, on rows that are not complete, and as `nadek.log_prob`.

    Example:
        >>> from nadek.models import nade_k
        >>> losses = position_losses(nade_k(3, hidden=(4,)), torch.tensor([[0, 1, 1], [1, 0, 0]]), 2)
        >>> sum(cheapest_chunks(losses, passes=2))
        3
    """
    x = complete_rows(model, x)
    if not len(x):
        raise ValueError("x: expected rows to measure losses on, found none")
    choices = as_orderings(model, orderings, device=x.device, generator=generator)
    ordering = choices[torch.arange(len(x), device=x.device) % len(choices)]
    rank, n_variables, variables = rank_of(ordering), x.shape[1], model.variables
    losses = torch.zeros(n_variables, n_variables, dtype=torch.float64, device=x.device)
    for first in range(n_variables):
        for rows in chunks(len(x), bytes_per_row(model)):
            logits = model(x[rows], rank[rows] >= first)[-1].double()
            every = torch.arange(n_variables, device=x.device).expand(len(logits), -1)
            log_p = variables.log_prob(variables.scores_at(logits, slice(0, n_variables)), x[rows], every)
            losses[first, first:] -= log_p.gather(1, ordering[rows])[:, first:].sum(0)
        if progress is not None:
            progress(first + 1, n_variables)
    return losses / len(x)


def cheapest_chunks(losses: Float[Tensor, "D D"], passes: int) -> list[int]:
    """Return the chunk sizes of least loss.

    Args:
        losses: of all positions, as `position_losses` measures them.
        passes: number of chunks.

    Returns:
        The size of each chunk, in visiting order, for ``chunk`` of `nadek.log_prob` and `nadek.sample`.

    Raises:
        ValueError: on losses that are no square table, and more passes than variables.

    Example:
        The last two variables cost little at once:

        >>> cheapest_chunks(torch.tensor([[0.7, 0.7, 0.7], [0.0, 0.3, 0.3], [0.0, 0.0, 0.2]]), 2)
        [1, 2]
    """
    check_tensor(losses, "losses")
    passes, n_variables = as_count("passes", passes), len(losses)
    if losses.shape != (n_variables, n_variables):
        raise ValueError(f"losses: expected a square table, found an array of shape {tuple(losses.shape)}")
    if passes > n_variables:
        raise ValueError(f"passes: expected at most {n_variables}, one for each variable, found {passes}")
    # a loss below that at one at a time is chance, and the sizes would follow it
    cost = losses.double().maximum(losses.diagonal().double()).triu().cumsum(1)  # of a chunk from i up to and with j
    cost.masked_fill_(torch.ones_like(cost).tril(-1).bool(), torch.inf)
    best, choices = cost[0], []
    for _ in range(passes - 1):
        best, choice = (best[:-1].unsqueeze(1) + cost[1:]).min(0)  # over the last position of the chunks before
        choices.append(choice)
    ends = [n_variables - 1]
    for choice in reversed(choices):
        ends.append(int(choice[ends[-1]]))
    return [end - start for start, end in pairwise([-1, *reversed(ends)])]


def as_chunk(chunk: object, n_variables: int) -> Chunk:
    """Check one chunk size, or those of all chunks."""
    if not isinstance(chunk, list | tuple):
        return as_count("chunk", chunk, of=" variable at once")
    sizes = [as_count(f"chunk[{place}]", size, of=" variable at once") for place, size in enumerate(chunk)]
    if sum(sizes) != n_variables:
        raise ValueError(f"chunk: expected sizes that add up to {n_variables} variables, found a sum of {sum(sizes)}")
    return sizes


def chunk_slices(chunk: Chunk, start: int, stop: int, turn: Sequence[int] | None = None) -> Iterator[slice]:
    """Yield the positions of each chunk; chunks are cut by ``turn``, increasing numbers of the positions."""
    turns = range(stop) if turn is None else turn
    ends = [] if isinstance(chunk, int) else list(accumulate(chunk))

    def number(position: int) -> int:
        return turns[position] // chunk if isinstance(chunk, int) else bisect_right(ends, turns[position])

    for _, group in groupby(range(start, stop), number):
        first, *others = group
        yield slice(first, first + 1 + len(others))


def chunk_starts(chunk: Chunk, n_variables: int) -> Int[Tensor, " D"]:
    """Return the first position of each position's chunk."""
    slices = chunk_slices(chunk, 0, n_variables)
    return torch.tensor([positions.start for positions in slices for _ in range(positions.stop - positions.start)])
