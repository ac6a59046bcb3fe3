"""Rows by what is missing from them: groups that share a pattern, and orderings that visit cells in stages."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from nadek.models.base import ConditionalModel
from nadek.models.codes import check_tensor, split_missing

SHARE_FROM = 8
"""From so many rows with one pattern of missing cells it pays to walk them by themselves on the fast path."""

SCORE_FROM = 64
"""The same where rows are scored: those walked with others visit all that these visit, and one walk more takes longer
than the products which that spares, except with many columns."""


def groups(
    pattern: Bool[Tensor, "B D"], *, share: bool = True, share_from: int | None = None
) -> Iterator[tuple[Int[Tensor, " n"], bool]]:
    """Indices of the rows, in groups: those that share a pattern by themselves (True), then all others (False).

    Args:
        pattern: where each row has holes.
        share: False puts all rows among the others.
        share_from: rows that share a pattern are among the others, too, where they are fewer; None: `SHARE_FROM`.

    Example:
        >>> pattern = torch.tensor([[True, False]] * 9 + [[False, True]])
        >>> [(len(rows), shared) for rows, shared in groups(pattern)]
        [(9, True), (1, False)]
    """
    n_rows, device = pattern.shape[0], pattern.device
    if n_rows == 0:
        return
    if not share:
        yield torch.arange(n_rows, device=device), False
        return
    _, which, count = torch.unique(pattern, dim=0, return_inverse=True, return_counts=True)
    common = count >= (SHARE_FROM if share_from is None else share_from)
    for index in common.nonzero().squeeze(1):
        yield (which == index).nonzero().squeeze(1), True
    rest = (~common[which]).nonzero().squeeze(1)
    if len(rest):
        yield rest, False


def in_stages(
    model: ConditionalModel, ordering: Int[Tensor, "*rows D"], stage: Shaped[Tensor, "B D"], *, able: str
) -> Int[Tensor, "B D"]:
    """Orderings that visit all cells of a lower stage first, and the cells of a stage as they did before.

    Args:
        model: a NADE-k; a fixed-order NADE has no ordering but its own.
        ordering: one for all rows, or one a row.
        stage: when each cell is to be visited.
        able: what a fixed-order model can do, for the message that says why it cannot do this.

    Raises:
        ValueError: if the model's one ordering is another.
    """
    ordering = ordering.expand(stage.shape)
    visited = stage.gather(1, ordering).to(torch.uint8)
    if model.own_ordering is not None:
        if (visited[:, 1:] < visited[:, :-1]).any():
            hint = "train a NADE-k to condition on anything"
            raise ValueError(f"this model knows one ordering only, and {able} ({hint})")
        check_own(model, ordering)
    return ordering.gather(1, visited.argsort(dim=1, stable=True))


def check_own(model: ConditionalModel, ordering: Shaped[Tensor, "*rows D"], name: str = "ordering") -> None:
    """Refuse orderings that a fixed-order model was never trained for: it would answer with a number all the same.

    Args:
        model: any conditional network.
        ordering: one or more.
        name: of the option, for the message.

    Raises:
        ValueError: if the model's one ordering is another.
    """
    own = model.own_ordering
    if own is not None and not bool((ordering == own.to(ordering.device)).all()):
        raise ValueError(f"{name}: this model knows one ordering only, expected that, found another")


def shared_stages(ordering: Int[Tensor, " D"], stage: Shaped[Tensor, "B D"]) -> tuple[Int[Tensor, " D"], int, int]:
    """An ordering along which rows can walk together, and the positions from and to which any row visits something.

    Variables that a row visits keep their relative order, so nothing changes for it.

    Args:
        ordering: the ordering.
        stage: 0 where a row is given a cell, 1 where it visits it, 2 where it never sees it.

    Example:
        >>> stage = torch.tensor([[1, 2, 0, 1], [0, 2, 0, 1]])
        >>> shared_stages(torch.tensor([3, 1, 2, 0]), stage)
        (tensor([2, 3, 0, 1]), 1, 3)
    """
    visited, given = (stage == 1).any(0), (stage == 0).all(0)
    turn = torch.where(visited, 1, torch.where(given, 0, 2))
    start, n_visited = int((turn == 0).sum()), int(visited.sum())
    return ordering[turn[ordering].argsort(stable=True)], start, start + n_visited


def missing_cells(model: ConditionalModel, x: Shaped[Tensor, "B D"]) -> Bool[Tensor, "B D"]:
    """Where rows have holes, after a look at their shape and values.

    Raises:
        TypeError: if they are no tensor.
        ValueError: on a wrong number of columns, and on values that are no codes.
    """
    check_tensor(x)
    if x.ndim != 2 or x.shape[1] != model.n_variables:
        raise ValueError(f"expected rows of {model.n_variables} variables, found an array of shape {tuple(x.shape)}")
    return split_missing(x, model.levels)[1]


def check_flags(name: str, flags: Tensor, shape: Sequence[int]) -> None:
    """Refuse what is not one flag for each variable [D], or for each cell [B, D]; numbers may be meant as indices.

    Args:
        name: of the option, for the message.
        flags: what was given for it.
        shape: how many there are to be.

    Raises:
        TypeError: if they are no tensor.
        ValueError: on another shape, and on numbers.
    """
    check_tensor(flags, name)
    if flags.shape != tuple(shape) or flags.dtype != torch.bool:
        there = f"of {shape[0]} variables" if len(shape) == 1 else f"cell of x {tuple(shape)}"
        found = f"{tuple(flags.shape)} of {str(flags.dtype).removeprefix('torch.')}"
        raise ValueError(f"{name}: expected one flag (bool) for each {there}, found {found}")
