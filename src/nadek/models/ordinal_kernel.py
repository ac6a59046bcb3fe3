"""Levels in an order learn from their neighbours. The model stays what it is.

A number in bins, or an answer between "never" and "always", has levels in an order, of which a network knows nothing:
each has a column of W and a row of V to itself, and learns from the rows that hold it only. With few rows that is
noise. But W may be written as ``W = U R``, with ``R R`` a kernel over the levels of each such variable: near 1 for
neighbours, near 0 from end to end. An optimizer that works on U moves neighbours together, and weights that are drawn
for U begin smooth. Every W can still be reached: a kernel says what is learnt first, as a Gaussian process's.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from nadek.models.variables import Variables

REACH = 0.3
"""How far neighbours reach, as a part of the way from the first level to the last."""
OWN = 0.01
"""Part of the kernel that a level has for itself."""
FEWEST = 3
"""Levels; fewer have no neighbours."""


class Neighbours:
    """The kernel's roots for the variables of a network whose levels have an order.

    Args:
        variables: of the network.
        ordinal: which of them have their levels in an order.
    """

    def __init__(self, variables: Variables, ordinal: Sequence[int]) -> None:
        alike: dict[int, list[int]] = {}
        for variable in ordinal:
            if (n := variables.levels[variable]) >= FEWEST:
                alike.setdefault(n, []).append(variable)
        self._groups = [(n, _columns(variables, which)) for n, which in alike.items()]
        """Levels, and the columns of variables of so many; no tensors, as models may be built on no device."""

    def spread(self, weight: Float[Tensor, "n m"], *, dim: int) -> None:
        """Make ``U R`` of U in place (``R U`` with dim 0): what stands at one level goes to its neighbours, too.

        Args:
            weight: U.
            dim: which of its dimensions the network's columns are: 1 in W, 0 in V.
        """
        self._multiply(weight, dim, inverse=False)

    def gather(self, weight: Float[Tensor, "n m"], *, dim: int) -> None:
        """The way back, with the inverse of R."""
        self._multiply(weight, dim, inverse=True)

    @torch.no_grad()
    def _multiply(self, weight: Tensor, dim: int, *, inverse: bool) -> None:
        with torch.autocast(weight.device.type, enabled=False):
            for n, columns in self._groups:
                own, root = _index(columns, weight.device), _root(n, inverse, weight.dtype, weight.device)
                by_level = weight.index_select(dim, own).unflatten(dim, (-1, n))
                shared = by_level @ root if dim == 1 else root @ by_level
                weight.index_copy_(dim, own, shared.flatten(dim, dim + 1))


def _columns(variables: Variables, which: Sequence[int]) -> tuple[int, ...]:
    """The columns of some variables of as many levels, one variable after the other."""
    n = variables.levels[which[0]]
    return tuple(variables.start(j) + level for j in which for level in range(n))


@lru_cache(maxsize=64)
def _index(columns: tuple[int, ...], device: torch.device) -> Int[Tensor, " c"]:
    return torch.tensor(columns, device=device)


@lru_cache(maxsize=64)
def _root(
    n_levels: int,
    inverse: bool,  # noqa: FBT001 - by its place, as all arguments of what is cached
    dtype: torch.dtype,
    device: torch.device,
) -> Float[Tensor, "L L"]:
    """R, the symmetric root of the kernel over so many levels, or its inverse; computed in float64.

    Its rows have length 1, which keeps the size of weights, and `OWN` keeps the inverse within reach of float32.
    """
    place = np.linspace(0, 1, n_levels)
    near = np.exp(-0.5 * ((place[:, None] - place) / REACH) ** 2)
    values, vectors = np.linalg.eigh((1 - OWN) * near + OWN * np.eye(n_levels))
    root = (vectors * values ** (-0.5 if inverse else 0.5)) @ vectors.T
    return torch.tensor(root, dtype=dtype, device=device)
