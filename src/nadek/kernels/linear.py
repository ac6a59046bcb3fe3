"""Matrix products and the non-linearities around them, as quick as the processor allows.

On a CPU PyTorch hands float32 products to a library that leaves half of some processors unused, and its tanh takes as
long as a product does. oneDNN, which comes with PyTorch and is what `torch.compile` calls, uses all of them, and takes
bias and non-linearity along in the same pass. It knows no gradients, and makes each product for its shapes when it
first meets them, which takes about a millisecond: so it serves large products only, and who goes through many shapes
rounds them to multiples of `BLOCK`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from nadek.kernels.cpu import quick_in_bfloat16

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "gelu": F.gelu,
}
IN_PLACE = {"tanh": torch.tanh_, "sigmoid": torch.sigmoid_, "relu": torch.relu_, "gelu": F.gelu}
FUSED = {
    None: ("none", ""),
    "tanh": ("tanh", ""),
    "sigmoid": ("sigmoid", ""),
    "relu": ("relu", ""),
    "gelu": ("gelu", "none"),
}
"""What oneDNN's product calls them: a name and a variant."""

BLOCK = 32
"""Columns, where shapes are rounded: few enough shapes, and little work in vain."""

WORTH = 2**23
"""Multiplications from which on a product is worth making for its shapes."""

LARGE = 2**14
"""Units from which on another way to their tanh is worth it."""


def block_of(dtype: torch.dtype, device: torch.device | str, work: int) -> int:
    """What to round a shape to that changes from product to product: `BLOCK` where oneDNN makes them, else 1.

    Args:
        dtype: of the products.
        device: where they are.
        work: multiplications of the largest of them.
    """
    if torch.device(device).type != "cpu" or not torch.backends.mkldnn.enabled:
        return 1
    ours = dtype == torch.float32 and work >= WORTH and _fuses(dtype)
    return BLOCK if ours or dtype == torch.bfloat16 else 1  # PyTorch has it make all products of bfloat16


def affine(
    x: Float[Tensor, "*batch n"],
    weight: Float[Tensor, "m n"],
    bias: Float[Tensor, " m"] | None = None,
    activation: str | None = None,
) -> Float[Tensor, "*batch m"]:
    """``phi(x weight' + bias)``, with gradients where they are recorded."""
    if not _quick(x, weight):
        u = F.linear(x, weight, bias)
        return u if activation is None else activate(activation, u)
    name, variant = FUSED[activation]
    return _oneDNN()._linear_pointwise(x, weight, bias, name, [], variant)  # type: ignore[no-any-return]


def added(base: Float[Tensor, "n m"], x: Float[Tensor, "n k"], weight: Float[Tensor, "m k"]) -> Float[Tensor, "n m"]:
    """``base + x weight'``."""
    if _quick(x, weight):
        return _oneDNN()._linear_pointwise.binary(x, base, weight, None, "add")  # type: ignore[no-any-return]
    return torch.addmm(base, x, weight.t())


def prepack_weight(weight: Float[Tensor, "m k"], n_rows: int) -> Float[Tensor, "m k"]:
    """A weight as oneDNN would lay it out for a product with so many rows, which it does anew for each otherwise.

    For `affine` and `added` only, which take the products with it from then on to oneDNN, whatever the number of rows;
    the weight itself where oneDNN does not serve, or one such product would be too small to pay.
    """
    if not arranges(weight, n_rows):
        return weight
    return _oneDNN()._reorder_linear_weight(weight.detach(), n_rows)  # type: ignore[no-any-return]


def arranges(weight: Float[Tensor, "m k"], n_rows: int) -> bool:
    """Whether `prepack_weight` gives anything but the weight itself."""
    return n_rows * weight.numel() >= WORTH and _serves(weight)


def activate(name: str, u: Tensor) -> Tensor:
    """The non-linearity, in place where no gradient needs ``u`` again.

    On a CPU PyTorch's tanh takes ten times as long as its sigmoid, of which it is a shifted one; and in bfloat16 longer
    than the way through float32, where oneDNN does not serve.
    """
    if name == "tanh" and by_sigmoid(u):
        return torch.add(u.new_tensor(-1.0), u.mul_(2).sigmoid_(), alpha=2, out=u)
    if name == "tanh" and u.dtype == torch.bfloat16 and u.numel() >= LARGE and _serves(u):
        return u.to_mkldnn().tanh().to_dense()
    if u.dtype == torch.bfloat16 and u.device.type == "cpu":
        return activate(name, u.float()).bfloat16()
    table = ACTIVATIONS if torch.is_grad_enabled() else IN_PLACE
    return table[name](u)


def by_sigmoid(u: Tensor) -> bool:
    """Whether the tanh of such units is made of their sigmoid: ``tanh(u) = 2 sigmoid(2 u) - 1``."""
    return u.dtype == torch.float32 and u.numel() >= LARGE and _serves(u)


def _quick(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN serves this product, and pays; it has to where the weight is arranged for it."""
    if weight.is_mkldnn:
        return True
    rows = x.numel() // max(1, x.shape[-1])
    return rows * weight.numel() >= WORTH and weight.dtype == x.dtype and _serves(x)


def _serves(x: Tensor) -> bool:
    """Whether oneDNN may be handed such a tensor."""
    if x.device.type != "cpu" or torch.is_grad_enabled() or not torch.backends.mkldnn.enabled:
        return False
    reduced = x.dtype == torch.float32 and torch.is_autocast_enabled("cpu")  # PyTorch knows what is asked for
    return not reduced and _fuses(x.dtype)


@cache
def _fuses(dtype: torch.dtype) -> bool:
    """Whether this PyTorch has what is needed, and the processor multiplies such numbers itself."""
    needed = ("_linear_pointwise", "_reorder_linear_weight")
    if not (torch.backends.mkldnn.is_available() and all(hasattr(_oneDNN(), name) for name in needed)):
        return False
    return dtype == torch.float32 or (dtype == torch.bfloat16 and quick_in_bfloat16("cpu"))


def _oneDNN() -> Any:  # noqa: ANN401 - operators that are looked up by name; its own spelling
    return torch.ops.mkldnn
