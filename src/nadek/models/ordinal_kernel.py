"""Ordinal kernel: neighbouring levels of a variable learn together.

The levels of a number in bins, or of an answer between "never" and "always", have an order. The model does not know it:
each level has a column of W and a row of V for itself, and learns from its own rows only. With few rows that is noise.
But W may be written as ``W = U R``, where ``R R`` is a kernel over the levels of each ordinal variable: near 1 for
neighbours, near 0 from end to end. An optimizer that works on U moves neighbours together, and weights that are drawn
for U begin smooth. Every W can still be reached: as in a Gaussian process, the kernel says what is learnt first. Levels
on either side of a gap, where no numbers lie, are no neighbours.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from nadek.models.variables import Variables

LENGTH_SCALE = 0.3
"""Length scale of the kernel, as a fraction of the way from the first level to the last."""
NUGGET = 0.01
"""Fraction of the kernel that a level has for itself."""
MIN_LEVELS = 3
"""Levels of a variable with neighbours."""
BLOCK = 160
"""Columns that are multiplied at once: many small products would take longer than one with zeros in it."""


class OrdinalKernel:
    """Matrix R for the ordinal variables of a model; 1 on the diagonal for others."""

    def __init__(self, variables: Variables, ordinal: Sequence[int]) -> None:
        # first column of each block, and the sizes of its parts; no tensors, as models are built on meta
        self._blocks: list[tuple[int, tuple[int, ...]]] = []
        for variable, n_levels in enumerate(variables.levels):
            columns = variables.columns(slice(variable, variable + 1))
            n_columns = columns.stop - columns.start
            is_ordered = n_levels >= MIN_LEVELS and variable in ordinal
            apart = variables.knots and variables.knots[variable]
            parts = _between_gaps(n_levels, apart or ()) if is_ordered else (1,) * n_columns
            fits = bool(self._blocks) and columns.stop - self._blocks[-1][0] <= BLOCK
            start, sizes = self._blocks.pop() if fits else (columns.start, ())
            self._blocks.append((start, (*sizes, *parts)))
        self._blocks = [block for block in self._blocks if max(block[1]) > 1]

    @torch.no_grad()
    def multiply(self, weight: Float[Tensor, "n m"], *, dim: int, inverse: bool = False) -> Float[Tensor, "n m"]:
        """Return ``U R`` or ``R U`` for a U, or U for one of these."""
        product = weight.clone()
        with torch.autocast(weight.device.type, enabled=False):
            for start, sizes in self._blocks:
                root = _block(sizes, -0.5 if inverse else 0.5, weight.dtype, weight.device)
                part, into = (one.narrow(dim, start, len(root)) for one in (weight, product))
                torch.mm(*((part, root) if dim == 1 else (root, part)), out=into)
        return product


def _between_gaps(n_levels: int, knots: Sequence[int | float]) -> tuple[int, ...]:
    """Return the numbers of levels between gaps, see `nadek.models.variables.Knots`."""
    ends = [0, *(level for level in range(1, n_levels) if level - 0.5 in knots), n_levels]
    return tuple(np.diff(ends).tolist())


@lru_cache(maxsize=64)
def _block(sizes: tuple[int, ...], power: float, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "c c"]:
    """Return the part of R, or of its inverse, for consecutive columns."""
    return torch.block_diag(*(torch.from_numpy(_root(n, power)) for n in sizes)).to(device, dtype)


def _root(n_levels: int, power: float) -> NDArray[np.float64]:
    """Return the kernel's symmetric root R (of power 1/2), or its inverse (-1/2).

    Its rows have length 1, which keeps the size of weights; `NUGGET` keeps the inverse within reach of float32.
    """
    place = np.linspace(0, 1, n_levels)
    kernel = np.exp(-0.5 * ((place[:, None] - place) / LENGTH_SCALE) ** 2)
    values, vectors = np.linalg.eigh((1 - NUGGET) * kernel + NUGGET * np.eye(n_levels))
    return (vectors * values**power) @ vectors.T
