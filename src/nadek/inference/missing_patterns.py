"""Patterns of missing cells: groups of rows that share one, and orderings that visit cells in stages."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from nadek.inference.check_inputs import check_own
from nadek.models.base import ConditionalModel

GIVEN, VISITED, UNSEEN = 0, 1, 2
"""Stages of a cell: its value is given from the start, it is visited, or it is never seen."""

SHARE_FROM = 8
"""From so many rows with one pattern of missing cells on, it pays to decode them by themselves."""

SCORE_FROM = 64
"""The same where rows are scored: there, decoding with others costs less."""

ABLE = "answers where it visits what is given first, then what is asked for, and last what is missing; found others"
"""What a message says that a fixed-order model can do."""


def groups(
    pattern: Bool[Tensor, "B D"], *, share: bool = True, share_from: int | None = None
) -> Iterator[tuple[Int[Tensor, " n"], bool]]:
    """Yield indices of rows with one pattern (True), one group each, then those of all others (False).

    Fewer rows than ``share_from`` are among the others; without ``share`` all are.
    """
    n_rows, device = pattern.shape[0], pattern.device
    if n_rows == 0:
        return
    if not share:
        yield torch.arange(n_rows, device=device), False
        return
    _, group, count = torch.unique(pattern, dim=0, return_inverse=True, return_counts=True)
    common = count >= (SHARE_FROM if share_from is None else share_from)
    for index in common.nonzero().squeeze(1):
        yield (group == index).nonzero().squeeze(1), True
    rest = (~common[group]).nonzero().squeeze(1)
    if len(rest):
        yield rest, False


def in_stages(
    model: ConditionalModel, ordering: Int[Tensor, "*rows D"], stage: Shaped[Tensor, "B D"], *, able: str = ABLE
) -> Int[Tensor, "B D"]:
    """Return orderings that visit all cells of a lower stage first, otherwise in the same order."""
    ordering = ordering.expand(stage.shape)
    visited = stage.gather(1, ordering).to(torch.uint8)
    if model.own_ordering is not None:
        if (visited[:, 1:] < visited[:, :-1]).any():
            hint = "train a NADE-k to condition on anything"
            raise ValueError(f"this model knows one ordering only, and {able} ({hint})")
        check_own(model, ordering)
    return ordering.gather(1, visited.argsort(dim=1, stable=True))


def shared_stages(ordering: Int[Tensor, " D"], stage: Shaped[Tensor, "B D"]) -> tuple[Int[Tensor, " D"], int, int]:
    """Return an ordering that rows can share, and the positions from and to which any row visits a cell.

    The visited variables of a row keep their relative order, so its distribution is the same.

    Example:
        >>> stage = torch.tensor([[1, 2, 0, 1], [0, 2, 0, 1]])
        >>> shared_stages(torch.tensor([3, 1, 2, 0]), stage)
        (tensor([2, 3, 0, 1]), 1, 3)
    """
    visited, given = (stage == VISITED).any(0), (stage == GIVEN).all(0)
    turn = torch.where(visited, 1, torch.where(given, 0, 2))
    start, n_visited = int((turn == 0).sum()), int(visited.sum())
    return ordering[turn[ordering].argsort(stable=True)], start, start + n_visited
