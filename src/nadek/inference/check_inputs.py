"""Checks of user input: rows, flags, counts and dtypes."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from nadek.models.base import ConditionalModel
from nadek.models.codes import check_tensor, split_missing
from nadek.utils.configs import is_whole

REDUCED = (torch.bfloat16, torch.float16)
"""Dtypes for the products of a float32 model."""


def missing_cells(model: ConditionalModel, x: Shaped[Tensor, "B D"]) -> Bool[Tensor, "B D"]:
    """Return where rows have missing cells, after a check of their shape and values."""
    check_tensor(x)
    if x.ndim != 2 or x.shape[1] != model.n_variables:
        raise ValueError(f"expected rows of {model.n_variables} variables, found an array of shape {tuple(x.shape)}")
    return split_missing(x, model.levels, model.variables.knots)[1]


def complete_rows(model: ConditionalModel, x: Shaped[Tensor, "B D"]) -> Shaped[Tensor, "B D"]:
    """Check that rows have a code for each variable and no missing cell."""
    missing = missing_cells(model, x)
    if missing.any():
        cell = tuple(missing.nonzero()[0].tolist())
        message = f"expected complete rows, found a missing value in the cell at index {cell}"
        raise ValueError(f"{message}; nadek score (in Python log_prob) sums out what is missing")
    return x


def check_flags(name: str, flags: Tensor, shape: Sequence[int]) -> None:
    """Check that there is one flag for each variable [D], or for each cell [B, D]."""
    check_tensor(flags, name)
    if flags.shape != tuple(shape) or flags.dtype != torch.bool:
        there = f"of {shape[0]} variables" if len(shape) == 1 else f"cell of x {tuple(shape)}"
        dtype = str(flags.dtype).removeprefix("torch.")
        message = f"expected one flag (bool) for each {there}, found {tuple(flags.shape)} of {dtype}"
        raise ValueError(f"{name}: {message}")


def row_ids(x: Shaped[Tensor, "B D"], rows: Tensor | None) -> Int[Tensor, " B"]:
    """Return ids of rows: the given ones, or places."""
    if rows is None:
        return torch.arange(len(x), device=x.device)
    check_tensor(rows, "rows")
    if rows.shape != x.shape[:1] or rows.dtype != torch.int64:
        there = f"a tensor of shape {tuple(rows.shape)} and type {rows.dtype}"
        raise ValueError(f"rows: expected one id (torch.int64) for each of {len(x)} rows, found {there}")
    return rows.to(x.device)


def as_count(name: str, count: object, *, of: str = "") -> int:
    """Return a whole number of at least 1."""
    if not is_whole(count):
        raise TypeError(f"{name}: expected a whole number, found {count!r}")
    if count < 1:
        raise ValueError(f"{name}: expected at least 1{of}, found {count}")
    return int(count)


def checked_dtype(own: torch.dtype, dtype: object) -> torch.dtype | None:
    """Return the requested products' dtype; None for the model's."""
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype: expected one of PyTorch's, such as torch.bfloat16, or None, found {dtype!r}")
    if dtype is None or dtype == own:
        return None
    if own != torch.float32 or dtype not in REDUCED:
        others = "".join(f" or {one}" for one in REDUCED) if own == torch.float32 else ""
        raise ValueError(f"dtype: expected {own} (the model's own, as None){others}, found {dtype}")
    return dtype
