"""Orderings of variables: drawn, checked, shared by rows, and the masks they imply.

``ordering[i]`` is the variable visited i-th; ``rank[j]`` is when variable j is visited. ``missing`` is True
where a value is to be predicted. Equation numbers are those of the paper: Raiko, Yao, Cho and Bengio (2014).
"""

import reprlib
from collections.abc import Iterator, Sequence
from numbers import Number

import numpy as np
import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from nadek.inference.check_inputs import as_count
from nadek.models.base import ConditionalModel

Ordering = Int[Tensor, "*rows D2"] | Int[np.ndarray, "*rows D2"] | Sequence[int] | Sequence[Sequence[int]]
"""One ordering for all rows, or one a row."""

Orderings = Int[Tensor, "O D"] | Int[np.ndarray, "O D"] | Sequence[Sequence[int]]
"""Several orderings."""

GIVEN, VISITED, UNSEEN = 0, 1, 2
"""Stages of a cell: its value is given from the start, it is visited, or it is never seen."""


def random_orderings(
    n: int, n_variables: int, *, device: torch.device | str | None = None, generator: torch.Generator | None = None
) -> Int[Tensor, "n D"]:
    """Draw ``n`` orderings, uniform over all D! and independent.

    Args:
        n: number of orderings.
        n_variables: D.
        device: of the result.
        generator: source of randomness.

    Returns:
        The variables in the order in which they are visited, [n, D].

    Example:
        >>> random_orderings(2, 4).sort(1).values.tolist()
        [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    return torch.rand(n, n_variables, dtype=torch.float64, device=device, generator=generator).argsort(dim=1)


def as_tensor(given: object, name: str = "ordering") -> Shaped[Tensor, "..."]:
    """Return orderings as a tensor, not yet checked."""
    if isinstance(given, Tensor):
        return given
    try:
        return torch.from_numpy(np.array(given))  # a copy: an array may be read-only or run backwards
    except (TypeError, ValueError):
        value = f"{type(given).__name__} {reprlib.repr(given)}"
        raise TypeError(f"{name}: expected whole numbers in a tensor, an array or a list, found {value}") from None


def rank_of(ordering: Int[Tensor, "*batch D"]) -> Int[Tensor, "*batch D"]:
    """Return the position at which each variable is visited."""
    return ordering.argsort(dim=-1)


def as_ordering(model: ConditionalModel, x: Shaped[Tensor, "B D"], ordering: Ordering | None) -> Int[Tensor, "*rows D"]:
    """Return one ordering for the rows ``x`` [D], or one a row [B, D]; None stands for the model's own."""
    ordering = model.own_ordering if ordering is None else ordering
    if ordering is None:
        raise ValueError("this model answers for every ordering: give one (see nadek.random_orderings)")
    ordering = as_tensor(ordering).to(x.device)
    expected = f"a permutation of 0..{x.shape[1] - 1}, one for all rows or one a row"
    return _checked(model, ordering, "ordering", expected, fits=ordering.shape in (x.shape[1:], x.shape))


def as_orderings(
    model: ConditionalModel,
    orderings: Orderings | int,
    *,
    device: torch.device | str | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "M D"]:
    """Return the given orderings, or so many drawn ones; a fixed-order model has only its own."""
    n = model.n_variables
    if not isinstance(orderings, Number):
        given = as_tensor(orderings, "orderings").to(device)
        fits = given.ndim == 2 and len(given) > 0 and given.shape[1] == n
        expected = f"permutations of 0..{n - 1}, at least one of them, each a row"
        return _checked(model, given, "orderings", expected, fits=fits)
    count = as_count("orderings", orderings)
    if model.own_ordering is not None:
        return model.own_ordering.unsqueeze(0).to(device)
    return random_orderings(count, n, device=device, generator=generator)


def _checked(
    model: ConditionalModel, ordering: Shaped[Tensor, "*rows _"], name: str, expected: str, *, fits: bool
) -> Int[Tensor, "*rows _"]:
    """Return orderings of a fitting shape that are permutations, and the own one of a fixed-order model."""
    whole = not ordering.is_floating_point() and ordering.dtype != torch.bool
    straight = torch.arange(model.n_variables, device=ordering.device)
    if not fits or not whole or not bool((ordering.long().sort(-1).values == straight).all()):
        there = f"an array of shape {tuple(ordering.shape)} and type {ordering.dtype}"
        raise ValueError(f"{name}: expected {expected}, found {there}")
    own = model.own_ordering
    if own is not None and not bool((ordering == own.to(ordering.device)).all()):
        raise ValueError(f"{name}: this model knows one ordering only, expected that, found another")
    return ordering.long()


def groups(pattern: Bool[Tensor, "B D"], share_from: int) -> Iterator[Int[Tensor, " n"]]:
    """Yield indices of rows with one pattern, one group each, then those of all others.

    Fewer rows than ``share_from`` are among the others.
    """
    if len(pattern) == 0:  # `unique` refuses no rows
        return
    _, group, count = torch.unique(pattern, dim=0, return_inverse=True, return_counts=True)
    common = count >= share_from
    for index in common.nonzero().squeeze(1):
        yield (group == index).nonzero().squeeze(1)
    rest = (~common[group]).nonzero().squeeze(1)
    if len(rest):
        yield rest


def in_stages(
    model: ConditionalModel, ordering: Int[Tensor, "*rows D"], stage: Shaped[Tensor, "B D"]
) -> Int[Tensor, "B D"]:
    """Return orderings that visit all cells of a lower stage first, otherwise in the same order."""
    ordering = ordering.expand(stage.shape)
    visited = stage.gather(1, ordering).to(torch.uint8)
    if model.own_ordering is not None and (visited[:, 1:] < visited[:, :-1]).any():
        raise ValueError(
            "this model knows one ordering only, and answers where it visits what is given first, then what is asked"
            " for, and last what is neither; found others (train a NADE-k to condition on anything)"
        )
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
