"""Asking a model something, as opposed to training it."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import torch

from nadek.model.network import Network

Options = ParamSpec("Options")
Answer = TypeVar("Answer")


def asking(
    function: Callable[Concatenate[Network, Options], Answer],
) -> Callable[Concatenate[Network, Options], Answer]:
    """Run a function of a model without gradients and in eval mode; the model's own mode is restored after it.

    A model that was just built, or that is being trained, thus answers without dropout.
    """

    @functools.wraps(function)
    def answer(model: Network, *args: Options.args, **options: Options.kwargs) -> Answer:
        was_training = model.training
        model.eval()
        try:
            with torch.no_grad():
                return function(model, *args, **options)
        finally:
            model.train(was_training)

    return answer  # type: ignore[return-value]  # mypy wants `model` positional only; callers may name it
