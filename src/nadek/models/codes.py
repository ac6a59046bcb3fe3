"""Checks of rows of codes, and their missing values."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

MAX_LEVELS = 4096
"""Levels of one variable."""

DTYPES = (
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
)
"""Dtypes of codes; PyTorch has more, and lacks much of its arithmetic for them."""


def code_dtype(levels: Sequence[int] | None, *, continuous: bool = False) -> torch.dtype:
    """Return the smallest dtype of codes."""
    if continuous:
        return torch.float32
    return torch.uint8 if levels is None or max(levels) <= 256 else torch.int16


def check_tensor(x: object, name: str = "x") -> None:
    """Check that rows, or another option, are a tensor, and not a sparse one."""
    if not isinstance(x, Tensor):
        kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
        hint = f"torch.as_tensor({name}) makes one of an array or a list"
        raise TypeError(f"{name}: expected a tensor, found {kind}: {hint}")
    if x.layout != torch.strided:
        raise TypeError(f"{name}: expected a dense tensor, found a {x.layout} one: {name}.to_dense() makes one of it")


def check_codes(x: object) -> None:
    """Check that rows have one of `DTYPES`."""
    check_tensor(x)
    assert isinstance(x, Tensor)
    if x.dtype not in DTYPES:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
        raise TypeError(f"x: expected numbers in one of {names}, found {x.dtype}: x.float() makes such of them")


def split_missing(
    x: Shaped[Tensor, "*batch D"],
    levels: Sequence[int] | None = None,
    knots: Sequence[Sequence[int | float] | None] | None = None,
    first_row: int = 0,
) -> tuple[Shaped[Tensor, "*batch D"], Bool[Tensor, "*batch D"]]:
    """Split codes with NaN into codes and mask."""
    check_codes(x)
    top = 1 if levels is None else max(levels) - 1
    if x.is_floating_point() and top * torch.finfo(x.dtype).eps > 2:
        raise TypeError(f"x: expected a dtype that tells the codes 0 to {top} apart, found {x.dtype}")
    if knots is not None and x.dtype == torch.bool:
        raise TypeError("x: expected numbers, as some variables are continuous, found booleans: x.float() makes some")
    missing = x.isnan()
    values = x.masked_fill(missing, 0)
    tops = [1] * x.shape[-1] if levels is None else [n - 1 for n in levels]
    between = [apart is not None for apart in knots or [None] * len(tops)]  # continuous: codes between levels, too
    good = (values >= 0) & (values <= torch.tensor(tops, device=x.device))
    if values.is_floating_point():
        good &= (values == values.floor()) | torch.tensor(between, device=x.device)
    if not good.all():
        cell = tuple((~good).nonzero()[0].tolist())
        top, place = tops[cell[-1]], (cell[0] + first_row, *cell[1:])
        expected = {0: "0", 1: "0, 1"}.get(top, f"a whole number from 0 to {top}")
        expected = f"a number from 0 to {top}" if between[cell[-1]] else expected
        raise ValueError(f"expected {expected} or NaN (missing), found {x[cell].item():g} in the cell at index {place}")
    return values, missing
