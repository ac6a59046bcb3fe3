"""Ordinal kernel: neighbouring levels of a variable learn together.

The levels of a number in bins, or of an answer between "never" and "always", have an order. The model does not know it:
each level has a column of W and a row of V for itself, and learns from its own rows only. With few rows that is noise.
But W may be written as ``W = U R``, where ``R R`` is a kernel over the levels of each ordinal variable: near 1 for
neighbours, near 0 from end to end. An optimizer that works on U moves neighbours together, and weights that are drawn
for U begin smooth. Every W can still be reached: as in a Gaussian process, the kernel says what is learnt first.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from nadek.models.variables import Variables

LENGTH_SCALE = 0.3
"""Length scale of the kernel, as a fraction of the way from the first level to the last."""
NUGGET = 0.01
"""Fraction of the kernel that a level has for itself."""
MIN_LEVELS = 3
"""Levels of a variable with neighbours."""


BLOCK = 128
"""Columns that are multiplied at once: many small products would take longer than one with zeros in it."""


class OrdinalKernel:
    """Matrix R for the ordinal variables of a model."""

    def __init__(self, variables: Variables, ordinal: Sequence[int]) -> None:
        # levels and columns of each block; no tensors, as models are built on meta
        self._blocks: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        for variable in ordinal:
            if (n := variables.levels[variable]) < MIN_LEVELS:
                continue
            if not self._blocks or len(self._blocks[-1][1]) + n > BLOCK:
                self._blocks.append(((), ()))
            levels, columns = self._blocks[-1]
            first = variables.first_column(variable)
            self._blocks[-1] = (*levels, n), (*columns, *range(first, first + n))

    @torch.no_grad()
    def multiply(self, weight: Float[Tensor, "n m"], *, dim: int, inverse: bool = False) -> None:
        """Turn U into ``U R`` or ``R U`` in place, or back."""
        power = -0.5 if inverse else 0.5
        with torch.autocast(weight.device.type, enabled=False):
            for levels, columns in self._blocks:
                index, root = _block(levels, columns, power, weight.dtype, weight.device)
                part = weight.index_select(dim, index)
                weight.index_copy_(dim, index, part @ root if dim == 1 else root @ part)


@lru_cache(maxsize=64)
def _block(
    levels: tuple[int, ...], columns: tuple[int, ...], power: float, dtype: torch.dtype, device: torch.device
) -> tuple[Int[Tensor, " c"], Float[Tensor, "c c"]]:
    """Return the columns of a block, and its part of R or of the inverse."""
    root = torch.block_diag(*(torch.from_numpy(_root(n, power)) for n in levels))
    return torch.tensor(columns, device=device), root.to(device, dtype)


def _root(n_levels: int, power: float) -> NDArray[np.float64]:
    """Return the kernel's symmetric root R (of power 1/2), or its inverse (-1/2).

    Its rows have length 1, which keeps the size of weights; `NUGGET` keeps the inverse within reach of float32.
    """
    place = np.linspace(0, 1, n_levels)
    kernel = np.exp(-0.5 * ((place[:, None] - place) / LENGTH_SCALE) ** 2)
    values, vectors = np.linalg.eigh((1 - NUGGET) * kernel + NUGGET * np.eye(n_levels))
    root: NDArray[np.float64] = (vectors * values**power) @ vectors.T
    return root
