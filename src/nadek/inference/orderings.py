"""Orderings of variables, and the masks they imply.

``ordering[i]`` is the variable visited i-th; ``rank[j]`` is when variable j is visited. ``missing`` is True
where a value is to be predicted. Equation numbers are those of the paper: Raiko, Yao, Cho and Bengio (2014).
"""

import reprlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

Ordering = Int[Tensor, "*rows D2"] | Int[np.ndarray, "*rows D2"] | Sequence[int] | Sequence[Sequence[int]]
"""One ordering for all rows, or one a row."""

Orderings = Int[Tensor, "O D"] | Int[np.ndarray, "O D"] | Sequence[Sequence[int]]
"""Several orderings."""


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


def are_permutations(orderings: Shaped[Tensor, "*batch D"]) -> bool:
    """Return True if every row permutes 0..D-1."""
    if orderings.is_floating_point() or orderings.dtype == torch.bool:
        return False
    straight = torch.arange(orderings.shape[-1], device=orderings.device)
    return bool((orderings.long().sort(-1).values == straight).all())


def missing_at(rank: Int[Tensor, "*ranks D"], position: int | Int[Tensor, "..."]) -> Bool[Tensor, "... D"]:
    """Return the mask of what is missing once ``position`` variables are visited."""
    return rank >= position
