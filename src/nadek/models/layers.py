"""Layers with undrawn weights, and dropout with a generator."""

import math
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Layer = TypeVar("Layer", bound=nn.Module)


def uninitialised(kind: type[Layer], *args: Any, **options: Any) -> Layer:  # noqa: ANN401 - those of any layer
    """Return a layer whose weights the model draws later.

    PyTorch draws them from the global generator, which is put back. (`torch.nn.utils.skip_init` draws none, but imports
    a computer algebra system, which takes a second.)
    """
    with torch.random.fork_rng(devices=[]):
        return kind(*args, **options)


def is_modified(module: nn.Module) -> bool:
    """Return True for hooks or another forward.

    Faster ways to compute the same must leave such a module to its call.
    """
    ways = ("forward", "forward_pre", "backward", "backward_pre")
    return any(getattr(module, f"_{way}_hooks") for way in ways) or "forward" in vars(module)


def drop(h: Tensor, rate: float, generator: torch.Generator | None, *, n_tied_axes: int = 0) -> Tensor:
    """Apply inverted dropout with draws from ``generator``."""
    if rate == 0.0:
        return h
    shape = (*h.shape[: h.ndim - n_tied_axes], *(1,) * n_tied_axes)
    n_units = math.prod(shape)
    # drawing takes the time, so four units share a number; the rate is rounded by less than 2^-16
    numbers = torch.empty(-(-n_units // 4), dtype=torch.int64, device=h.device)
    numbers.random_(-(2**63), None, generator=generator)
    kept = numbers.view(torch.int16)[:n_units].view(shape) >= int(rate * 2**16) - 2**15
    return h * (kept.view(torch.uint8).to(h.dtype) / (1 - rate))  # a boolean factor takes seven times as long on a CPU
