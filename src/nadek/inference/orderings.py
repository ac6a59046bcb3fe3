"""Orderings of the variables, and the sets of missing ones that they imply. Pure functions of ranks.

``ordering[i]`` is the variable visited i-th; ``rank[j]`` is when variable j is visited. ``missing`` is True
where a value is to be predicted. Equation numbers are those of the paper: Raiko, Yao, Cho and Bengio (2014).
"""

import reprlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

Ordering = Int[Tensor, "*rows D2"] | Int[np.ndarray, "*rows D2"] | Sequence[int] | Sequence[Sequence[int]]
"""One ordering for all rows, or one a row, as a user may give it."""

Orderings = Int[Tensor, "O D"] | Int[np.ndarray, "O D"] | Sequence[Sequence[int]]
"""Several orderings, as a user may give them."""

Masks = Literal["orderings", "holes"]
"""What is hidden of a row: what is yet to come in an ordering (Eq. 4), or fewer cells, as in tables with holes."""

MEAN_ROOT = 8 / 15
"""The mean of sqrt(m / n) where m of n cells are hidden as holes, n large: of sqrt(f), f of density 2 (1 - f)."""


def random_orderings(
    n: int,
    n_variables: int,
    *,
    device: torch.device | str | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "n D"]:
    """Draw ``n`` orderings, uniform over all D! and independent."""
    return torch.rand(n, n_variables, dtype=torch.float64, device=device, generator=generator).argsort(dim=1)


def as_tensor(given: object, name: str = "ordering") -> Shaped[Tensor, "..."]:
    """What a user gave for orderings as a tensor; whether they are any is another question.

    Args:
        given: a tensor, which is handed back as it is, an array, a list or a tuple.
        name: of the option, for the message.

    Raises:
        TypeError: if these are no numbers, or rows of several lengths.

    Example:
        >>> as_tensor(np.arange(3)[::-1])
        tensor([2, 1, 0])
    """
    if isinstance(given, Tensor):
        return given
    try:
        return torch.from_numpy(np.array(given))  # a copy: an array may be read-only or run backwards
    except (TypeError, ValueError):
        found = f"{type(given).__name__} {reprlib.repr(given)}"
        raise TypeError(f"{name}: expected whole numbers in a tensor, an array or a list, found {found}") from None


def rank_of(ordering: Int[Tensor, "*batch D"]) -> Int[Tensor, "*batch D"]:
    """The inverse permutation: when each variable is visited.

    Example:
        >>> rank_of(torch.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    return ordering.argsort(dim=-1)


def are_permutations(orderings: Shaped[Tensor, "*batch D"]) -> bool:
    """Whether whole numbers stand there, and each of 0..D-1 once in every row.

    Example:
        >>> are_permutations(torch.tensor([[2, 0, 1]])), are_permutations(torch.tensor([0.0, 1.0]))
        (True, False)
    """
    if orderings.is_floating_point() or orderings.dtype == torch.bool:
        return False
    straight = torch.arange(orderings.shape[-1], device=orderings.device)
    return bool((orderings.long().sort(-1).values == straight).all())


def missing_at(rank: Int[Tensor, "*ranks D"], position: int | Int[Tensor, "..."]) -> Bool[Tensor, "... D"]:
    """What is still missing when ``position`` variables have been visited (positions count from 0, and broadcast).

    Example:
        >>> missing_at(torch.tensor([1, 2, 0]), 1)
        tensor([ True,  True, False])
    """
    return rank >= position


def draw_missing(
    observed: Bool[Tensor, "B D"],
    *,
    stratified: bool = False,
    tilt: float = 0.0,
    masks: Masks = "orderings",
    generator: torch.Generator | None = None,
) -> Bool[Tensor, "B D"]:
    """Draw what to hide from each row: the mask law of the order-agnostic objective (Eq. 4).

    An ordering of the row's observed cells and a position d in 1..n are drawn uniformly (n = observed cells of
    the row); the cells at positions d..n are hidden. Cells that were never observed are missing too. Every
    subset S of the observed cells but the empty one is hidden with probability ``1 / (n C(n, |S|))``.

    Args:
        observed: True where the row has a value; each row needs at least one.
        stratified: spread d evenly over the rows of the batch: the same law for each row, less noise in their mean.
        tilt: hide few cells more often, see `hidden_probability`; costs must be weighted for it.
        masks: "orderings" is that law. With "holes" d - 1 of n cells are shown with probability ``(2 d - 1) / n^2``, as
            if d were the larger of two draws: a third of the cells is hidden on average, and sometimes all.
        generator: source of randomness, on the device of ``observed``.
    """
    n_rows, device = observed.shape[0], observed.device
    n_observed = observed.sum(dim=1, keepdim=True)
    u = torch.rand(n_rows, 1, dtype=torch.float64, device=device, generator=generator)
    if stratified:
        strata = torch.randperm(n_rows, device=device, generator=generator).unsqueeze(1)
        u = (strata + u) / n_rows
    if masks == "holes":
        u = u.sqrt()
    elif tilt:
        u = 1 - (1 - u) ** (1 / (1 - tilt))
    n_shown = (u * n_observed).long()  # d - 1, uniform on 0..n-1 without a tilt; n where u was rounded to 1
    n_shown = n_shown.minimum((n_observed - 1).clamp(min=0))
    keys = _keys(observed, generator)
    threshold = _sorted(keys).gather(1, n_shown)
    return keys >= threshold


def hidden_probability(
    n_hidden: Int[Tensor, " B"], n_observed: Int[Tensor, " B"] | int, tilt: float
) -> Float[Tensor, " B"]:
    """How often `draw_missing` hides so many of a row's observed cells: ``(m/n)^(1-tilt) - ((m-1)/n)^(1-tilt)``.

    Without a tilt every m in 1..n is as likely as any other, 1/n. A cost that counts m targets n/m times is the noisier
    the fewer they are; a tilt of 0.5 draws rows of few targets more often, and counts each of them less.

    Example:
        >>> hidden_probability(torch.arange(1, 5), 4, 0.5)
        tensor([0.5000, 0.2071, 0.1589, 0.1340], dtype=torch.float64)
    """
    most, least = n_hidden.double() / n_observed, (n_hidden.double() - 1) / n_observed
    return most ** (1 - tilt) - least ** (1 - tilt)


def _sorted(keys: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    """Each row in ascending order; on a CPU by NumPy, whose sort is vectorised (torch's is not)."""
    return torch.from_numpy(np.sort(keys.numpy(), axis=1)) if keys.device.type == "cpu" else keys.sort(dim=1).values


def _keys(observed: Bool[Tensor, "B D"], generator: torch.Generator | None) -> Float[Tensor, "B D"]:
    """Random sort keys, never-observed cells last. float64: two equal keys would hide one cell too many."""
    keys = torch.rand(observed.shape, dtype=torch.float64, device=observed.device, generator=generator)
    return keys.masked_fill_(~observed, 2.0)
