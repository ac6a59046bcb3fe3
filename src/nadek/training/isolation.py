"""Isolation of a training from its caller's gradient, autocast and dtype settings."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def isolated(kind: str = "cpu", *, dtype: torch.dtype | None = None) -> Iterator[None]:
    """Record gradients and switch the caller's autocast off; also a decorator.

    Args:
        kind: type of the device.
        dtype: default dtype of new tensors; None leaves it.
    """
    with ExitStack() as stack:
        if dtype is not None:
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            torch.set_default_dtype(dtype)
        stack.enter_context(torch.inference_mode(mode=False))
        stack.enter_context(torch.enable_grad())
        if torch.is_autocast_enabled(kind):
            # no cache: it would keep the weights of one minibatch until the caller's own autocast ends
            stack.enter_context(torch.autocast(kind, enabled=False, cache_enabled=False))
        yield
