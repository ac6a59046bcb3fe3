"""Modes of functions of a model: evaluation and training."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import nn

from nadek.kernels.cpu import keep_freed_memory
from nadek.models.base import ConditionalModel

Options = ParamSpec("Options")
Result = TypeVar("Result")
Model = TypeVar("Model", bound=ConditionalModel)

_LOCK = threading.Lock()
_RUNNING: WeakKeyDictionary[nn.Module, tuple[int, list[nn.Module]]] = WeakKeyDictionary()
"""Number of running evaluations of a model, and its modules that return to training mode after the last."""


def evaluation_mode(
    function: Callable[Concatenate[Model, Options], Result],
) -> Callable[Concatenate[Model, Options], Result]:
    """Run a function without gradients, in eval mode.

    Afterwards every module returns to its own mode. Dropout is off even for a new model, one in training, and one that
    several threads evaluate at a time. A surrounding autocast does not count: functions that allow other dtypes have
    an option for it.
    """

    @functools.wraps(function)
    def evaluate(model: Model, *args: Options.args, **options: Options.kwargs) -> Result:
        check_model(model)
        keep_freed_memory()
        with eval_mode(model), torch.no_grad(), torch.autocast(model.b.device.type, enabled=False):
            return function(model, *args, **options)

    return evaluate  # type: ignore[return-value]  # mypy wants `model` positional only; callers may name it


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Keep a model in eval mode while evaluations run."""
    with _LOCK:
        n_running, training = _RUNNING.get(model, (0, []))
        if n_running == 0:
            training = [module for module in model.modules() if module.training]
            model.eval()
        _RUNNING[model] = n_running + 1, training
    try:
        yield
    finally:
        with _LOCK:
            n_running, training = _RUNNING.pop(model)
            if n_running > 1:
                _RUNNING[model] = n_running - 1, training
            else:
                for module in training:
                    module.training = True


def check_model(model: object) -> None:
    """Check that an argument is a model."""
    if not isinstance(model, nn.Module):
        message = f"expected a network, found {type(model).__name__}"
        raise TypeError(f"{message}: ask an estimator by its own methods, or pass its network_")


@contextmanager
def isolated(kind: str = "cpu", *, dtype: torch.dtype | None = None) -> Iterator[None]:
    """Record gradients and switch the caller's autocast off; also a decorator."""
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
