"""A training is the same, whatever its caller has switched on or off around it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def isolated(kind: str = "cpu", *, dtype: torch.dtype | None = None) -> Iterator[None]:
    """Record gradients, and reduce no products but those that the run itself says. Serves as a decorator, too.

    Args:
        kind: of the device.
        dtype: of new numbers, whatever PyTorch is set to; None leaves it.
    """
    with ExitStack() as stack:
        if dtype is not None:
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            torch.set_default_dtype(dtype)
        stack.enter_context(torch.inference_mode(mode=False))
        stack.enter_context(torch.enable_grad())
        if torch.is_autocast_enabled(kind):
            # no cache: it would keep the weights of one minibatch for all others until the caller's own autocast ends
            stack.enter_context(torch.autocast(kind, enabled=False, cache_enabled=False))
        yield
