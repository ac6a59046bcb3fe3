"""Fast matrix products with bias and activation.

On a CPU PyTorch gives float32 products to a library that leaves half of some processors unused, and its tanh takes as
long as a product. oneDNN comes with PyTorch, uses the whole processor, and adds bias and activation in the same pass.
It has no gradients, and compiles each product for its shapes at first use, in about a millisecond. So it serves large
products only, and callers with many shapes round them to multiples of `BLOCK`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from nadek.kernels.cpu import has_fast_bfloat16

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "gelu": F.gelu,
}
IN_PLACE = {"tanh": torch.tanh_, "sigmoid": torch.sigmoid_, "relu": torch.relu_, "gelu": F.gelu}

BLOCK = 32
"""Columns to which shapes are rounded: few shapes, and little wasted work."""

MIN_PRODUCT = 2**23
"""Multiplications from which on compiling a product for its shapes pays."""

MIN_TANH = 2**14
"""Units from which on a tanh by another way pays."""


def block_size(dtype: torch.dtype, device: torch.device | str, work: int) -> int:
    """Return the multiple for changing shapes: `BLOCK` where oneDNN compiles products of ``work``, else 1."""
    if torch.device(device).type != "cpu" or not torch.backends.mkldnn.enabled:
        return 1
    fused = dtype == torch.float32 and work >= MIN_PRODUCT and _fuses(dtype)
    return BLOCK if fused or dtype == torch.bfloat16 else 1  # PyTorch gives all products of bfloat16 to oneDNN


def product_dtype(weight: Tensor) -> torch.dtype:
    """Return the dtype of products with a weight.

    An autocast leaves float64 alone.
    """
    device_type = weight.device.type
    autocast = torch.is_autocast_enabled(device_type) and weight.dtype != torch.float64
    return torch.get_autocast_dtype(device_type) if autocast else weight.dtype


def affine(
    x: Float[Tensor, "*batch n"],
    weight: Float[Tensor, "m n"],
    bias: Float[Tensor, " m"] | None = None,
    activation: str | None = None,
) -> Float[Tensor, "*batch m"]:
    """Return ``phi(x weight' + bias)``, with gradients if recorded."""
    if not _uses_onednn(x, weight):
        u = F.linear(x, weight, bias)
        return u if activation is None else activate(activation, u)
    variant = "none" if activation == "gelu" else ""
    return _oneDNN()._linear_pointwise(x, weight, bias, activation or "none", [], variant)


def add_product(
    base: Float[Tensor, "n m"], x: Float[Tensor, "n k"], weight: Float[Tensor, "m k"]
) -> Float[Tensor, "n m"]:
    """Return ``base + x weight'`` without gradients."""
    if _uses_onednn(x, weight):
        return _oneDNN()._linear_pointwise.binary(x, base, weight, None, "add")
    return torch.addmm(base, x, weight.t())


def prepack_weight(weight: Float[Tensor, "m k"], n_rows: int) -> Float[Tensor, "m k"]:
    """Return a weight in oneDNN's layout for ``n_rows`` rows, which only `affine` and `add_product` can read.

    The weight itself comes back where oneDNN does not serve, or where one such product is too small to pay.
    """
    if n_rows * weight.numel() < MIN_PRODUCT or not _serves(weight):
        return weight
    return _oneDNN()._reorder_linear_weight(weight.detach(), n_rows)


def activate(name: str, u: Tensor) -> Tensor:
    """Apply an activation, in place without gradients.

    On a CPU PyTorch's tanh takes ten times as long as its sigmoid, from which it can be computed. In bfloat16 without
    oneDNN the way through float32 is faster.
    """
    if name == "tanh" and uses_sigmoid(u):
        return torch.add(u.new_tensor(-1.0), u.mul_(2).sigmoid_(), alpha=2, out=u)
    if name == "tanh" and u.dtype == torch.bfloat16 and u.numel() >= MIN_TANH and _serves(u):
        return u.to_mkldnn().tanh().to_dense()
    if u.dtype == torch.bfloat16 and u.device.type == "cpu":
        return activate(name, u.float()).bfloat16()
    table = ACTIVATIONS if torch.is_grad_enabled() else IN_PLACE
    return table[name](u)


def uses_sigmoid(u: Tensor) -> bool:
    """Return True if `activate` computes tanh from a sigmoid."""
    return not torch.is_grad_enabled() and u.dtype == torch.float32 and u.numel() >= MIN_TANH and _serves(u)


def _uses_onednn(x: Tensor, weight: Tensor) -> bool:
    if weight.is_mkldnn:
        return True
    if torch.is_grad_enabled():
        return False  # before the size is asked for: a network that is exported does not know it
    rows = x.numel() // max(1, x.shape[-1])
    return rows * weight.numel() >= MIN_PRODUCT and weight.dtype == x.dtype and _serves(x)


def _serves(x: Tensor) -> bool:
    """Return True if oneDNN can take the tensor."""
    if x.device.type != "cpu" or torch.is_grad_enabled() or not torch.backends.mkldnn.enabled:
        return False
    autocast = x.dtype == torch.float32 and torch.is_autocast_enabled("cpu")  # left to PyTorch
    return not autocast and _fuses(x.dtype)


@cache
def _fuses(dtype: torch.dtype) -> bool:
    """Return True if PyTorch and the processor support oneDNN."""
    needed = ("_linear_pointwise", "_reorder_linear_weight")
    if not (torch.backends.mkldnn.is_available() and all(hasattr(_oneDNN(), name) for name in needed)):
        return False
    return dtype == torch.float32 or (dtype == torch.bfloat16 and has_fast_bfloat16("cpu"))


def _oneDNN() -> Any:  # noqa: ANN401 - operators that are looked up by name; oneDNN spells itself so
    return torch.ops.mkldnn
