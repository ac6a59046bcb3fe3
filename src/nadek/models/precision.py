"""Dtypes of matrix products."""

import torch
from torch import Tensor

REDUCED = (torch.bfloat16, torch.float16)
"""Dtypes for the products of a float32 model."""


def product_dtype(weight: Tensor) -> torch.dtype:
    """Return the dtype of products with a weight.

    An autocast leaves float64 alone.
    """
    device_type = weight.device.type
    autocast = torch.is_autocast_enabled(device_type) and weight.dtype != torch.float64
    return torch.get_autocast_dtype(device_type) if autocast else weight.dtype


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
