"""Levels in an order learn from their neighbours. The model stays what it is.

A number in bins, or an answer between "never" and "always", has levels in an order, of which a network knows nothing:
each has a column of W and a row of V to itself, and learns from the rows that hold it only. With few rows that is
noise. But W may be written as ``W = U R``, with ``R R`` a kernel over the levels of each such variable: near 1 for
neighbours, near 0 from end to end. An optimizer that works on U moves neighbours together, and weights that are drawn
for U begin smooth. Every W can still be reached: a kernel says what is learnt first, as a Gaussian process's.
"""

from collections.abc import Sequence
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nadek.variables import Variables

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

    def spread(self, weight: Float[Tensor, "n C"]) -> None:
        """Make ``U R`` of U in place: what stands in one level's column goes to its neighbours', too."""
        self._multiply(weight, inverse=False)

    def gather(self, weight: Float[Tensor, "n C"]) -> None:
        """Make ``W R^-1`` of W in place: the way back."""
        self._multiply(weight, inverse=True)

    @torch.no_grad()
    def _multiply(self, weight: Tensor, *, inverse: bool) -> None:
        for n, columns in self._groups:
            own = columns.to(weight.device)
            by_level = weight.index_select(1, own).view(len(weight), -1, n)
            weight[:, own] = (by_level @ _root(n, inverse=inverse).to(weight)).flatten(1)


def by_column(W: Float[Tensor, "H C"] | None, V: Float[Tensor, "C H2"] | None) -> list[Float[Tensor, "n C"]]:
    """Input and output weights, or their gradients, with a column for each of the network's; those that there are."""
    return [weight for weight in (W, None if V is None else V.t()) if weight is not None]


def _columns(variables: Variables, which: Sequence[int]) -> Int[Tensor, " c"]:
    """The columns of some variables of as many levels, one variable after the other."""
    n = variables.levels[which[0]]
    return torch.tensor([variables.start(j) + level for j in which for level in range(n)])


@cache
def _root(n_levels: int, *, inverse: bool) -> Float[Tensor, "L L"]:
    """R, the symmetric root of the kernel over so many levels, or its inverse; float64.

    Its diagonal of ones keeps the size of weights, and `OWN` the inverse within reach of float32.
    """
    place = torch.linspace(0, 1, n_levels, dtype=torch.float64)
    near = torch.exp(-0.5 * ((place[:, None] - place) / REACH) ** 2)
    values, vectors = torch.linalg.eigh((1 - OWN) * near + OWN * torch.eye(n_levels, dtype=torch.float64))
    root: Tensor = (vectors * values ** (-0.5 if inverse else 0.5)) @ vectors.T
    return root
