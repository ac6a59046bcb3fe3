"""Random numbers that follow from a seed, a row and a variable: no batch, order or device matters to them.

They are the outputs of splitmix64 (Steele, Lea and Flood, 2014), one generator a row. Its n-th output is computed
without those before, in 64-bit integers that overflow.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

LEVEL, BESIDE, TURN, CHOICE, NUMBER = range(5)
"""Uses of a random number: the level of a variable, its code beside the level, the turn of the variable in the ordering
of a row, the choice of a row among orderings, and the number in a table at a code."""

STEP = 0x9E3779B97F4A7C15 - 2**64
FACTORS = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
SHIFTS = (30, 27, 31)

CELLS = 2**20
"""Number of cells to hash at a time."""


def row_keys(seed: int, rows: Int[Tensor, " B"]) -> Int[Tensor, " B"]:
    """Return the state of each row's generator."""
    start = rows.new_tensor([seed])
    return splitmix64(splitmix64(start, torch.zeros_like(start)), rows)


def uniforms(
    keys: Int[Tensor, "*#batch"], use: int | Int[Tensor, "*#batch"], variable: Int[Tensor, "*#batch"]
) -> Float[Tensor, "*#batch"]:
    """Return numbers in [0, 1), in float64."""
    return _shifted(splitmix64(keys, (use << 32) + variable), 11).double() * 2.0**-53


def number_uniforms(seed: int, rows: Int[Tensor, " B"]) -> Callable[[int], NDArray[np.float64]]:
    """Return a function from columns to numbers for `decoded`."""
    keys = row_keys(seed, rows)
    return lambda column: uniforms(keys, NUMBER, torch.full_like(keys, column)).cpu().numpy()


def ids_of(codes: Float[Tensor, "B D"]) -> Int[Tensor, " B"]:
    """Return ids of rows that follow from codes.

    Equal rows have consecutive ids, in turn. So a row that has no equal above it has the same id in any table.
    """
    ids = torch.cat([_hash(some) for some in codes.split(max(1, CELLS // codes.shape[1]))])
    by_id = ids.argsort(stable=True)
    _, counts = ids[by_id].unique_consecutive(return_counts=True)
    first = (counts.cumsum(0) - counts).repeat_interleave(counts)
    return ids.scatter_add(0, by_id, torch.arange(len(ids), device=ids.device) - first)


def _hash(codes: Float[Tensor, "B D"]) -> Int[Tensor, " B"]:
    bits = codes.double().nan_to_num(-1).view(torch.int64)
    columns = torch.arange(codes.shape[1], device=codes.device)
    return splitmix64(columns, bits).sum(1)


def splitmix64(state: Int[Tensor, "*#batch"], n: Int[Tensor, "*#batch"]) -> Int[Tensor, "*#batch"]:
    """Return the output n of a generator, from 0."""
    bits = state + (n + 1) * STEP
    for shift, factor in zip(SHIFTS, FACTORS, strict=False):
        bits = (bits ^ _shifted(bits, shift)) * factor
    return bits ^ _shifted(bits, SHIFTS[-1])


def _shifted(bits: Int[Tensor, "*batch"], by: int) -> Int[Tensor, "*batch"]:
    """Shift bits to the right, zeros in."""
    return (bits >> by) & ((1 << (64 - by)) - 1)
