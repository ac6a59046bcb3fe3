"""What every conditional network shows to the layers above it, and how it is asked.

A conditional network maps a row and what is missing from it to logits of every column. Training, scoring, sampling and
queries need no more than that; what a network is made of is its own affair (see `nadek.models.registry` for the kinds).
"""

import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from nadek.kernels.cpu import keep_freed_memory
from nadek.models.variables import Variables, check_tensor

Options = ParamSpec("Options")
Answer = TypeVar("Answer")
Model = TypeVar("Model", bound="ConditionalModel")

REDUCED = (torch.bfloat16, torch.float16)
"""What products of a float32 network can be carried out in instead."""


@runtime_checkable
class Structure(Protocol):
    """What the config of any conditional network tells."""

    @property
    def n_variables(self) -> int:
        """D."""

    @property
    def steps(self) -> int:
        """K."""

    @property
    def ordering(self) -> tuple[int, ...] | None:
        """The one ordering of a fixed-order network; None for a network of every ordering."""

    @property
    def levels(self) -> tuple[int, ...] | None:
        """How many levels each variable has; None: all are binary."""


class ConditionalModel(nn.Module, ABC):
    """A network that tells how likely each missing value is, given those that are not.

    Attributes:
        config: the structure.
        variables: what the D variables are, and which of the C columns are theirs.
        b: visible bias [C]; its dtype and device are those of the network.
        fill: what a missing column reads before the first step [C].
    """

    config: Structure
    variables: Variables
    b: Tensor
    fill: Tensor

    @property
    def n_variables(self) -> int:
        """D."""
        return self.config.n_variables

    @property
    def levels(self) -> tuple[int, ...]:
        """How many levels each variable has."""
        return self.variables.levels

    @property
    def steps(self) -> int:
        """k, as configured; `forward` can be told another number."""
        return self.config.steps

    @property
    def own_ordering(self) -> Int[Tensor, " D"] | None:
        """The one ordering of a fixed-order network, on its device; None for a network of every ordering."""
        told = self.config.ordering
        return None if told is None else torch.tensor(told, device=self.b.device)

    @property
    @abstractmethod
    def units_per_row(self) -> int:
        """How many numbers one row keeps alive in the network, generously; what bounds on memory count with."""

    @abstractmethod
    def forward(
        self,
        x: Shaped[Tensor, "*batch D"],
        missing: Bool[Tensor, "*batch D"],
        *,
        steps: int | None = None,
        recompute: bool = False,
        generator: torch.Generator | None = None,
    ) -> list[Float[Tensor, "*batch C"]]:
        """Logits of every column after each step (a list of ``steps`` tensors).

        Args:
            x: codes; what stands where ``missing`` is True is never read.
            missing: True where a value is to be predicted.
            steps: how many steps instead of the configured number.
            recompute: where gradients are recorded, keep no activations of the steps but compute them again on the way
                back: less memory and more time. Gradients are equal to rounding.
            generator: source of dropout, while training only.
        """

    def _begin_at(self, mean: Float[Tensor, " C"] | None) -> Float[Tensor, " C"]:
        """Put the visible bias where it gives the means of the columns; unknown ones (NaN, None) are as if uniform."""
        uniform = self.variables.uniform().to(self.b)
        if mean is not None:
            _check_mean(mean, self.variables.n_columns)
        mean = uniform if mean is None else torch.where(mean.isnan(), uniform, mean.to(self.b))
        self.b.copy_(self.variables.bias(mean))
        return mean


def _check_mean(mean: Tensor, n_columns: int) -> None:
    """Refuse what are no means of columns that are between 0 and 1.

    Raises:
        TypeError: if they are no tensor.
        ValueError: on another number of them, and on one that is none.
    """
    check_tensor(mean, "mean")
    if mean.shape != (n_columns,):
        expected = f"expected one number for each of {n_columns} columns, as nadek.data_mean gives them"
        raise ValueError(f"mean: {expected}; found an array of shape {tuple(mean.shape)}")
    if (bad := (mean < 0) | (mean > 1)).any():
        column = int(bad.nonzero()[0])
        expected = "expected numbers from 0 to 1 (NaN where unknown)"
        raise ValueError(f"mean: {expected}, found {mean[column].item():g} for column {column}")


def check_network(model: object) -> None:
    """Refuse what is no network, such as an estimator that holds one.

    Raises:
        TypeError: names the type that was found.
    """
    if not isinstance(model, nn.Module):
        found = f"expected a network, found {type(model).__name__}"
        raise TypeError(f"{found}: ask an estimator by its own methods, or pass its network_")


def check_question(model: object, x: object) -> None:
    """Refuse what is no network, and rows that are no tensor, before either is looked into.

    Raises:
        TypeError: names the type that was found.
    """
    check_network(model)
    check_tensor(x)


def evaluation_mode(
    function: Callable[Concatenate[Model, Options], Answer],
) -> Callable[Concatenate[Model, Options], Answer]:
    """Run a function of a model without gradients and in eval mode; all its parts' own modes are restored after it.

    A model that was just built, or that is being trained, thus answers without dropout, and so it does where several
    threads ask it at a time. An autocast around it does not count: in which dtype to multiply is an option of those
    functions that offer it.
    """

    @functools.wraps(function)
    def answer(model: Model, *args: Options.args, **options: Options.kwargs) -> Answer:
        check_network(model)
        keep_freed_memory()
        kind = model.b.device.type
        with _answering(model), torch.no_grad(), torch.autocast(kind, enabled=False):
            return function(model, *args, **options)

    return answer  # type: ignore[return-value]  # mypy wants `model` positional only; callers may name it


_LOCK = threading.Lock()
_ASKED: WeakKeyDictionary[nn.Module, tuple[int, list[nn.Module]]] = WeakKeyDictionary()
"""How many ask a model at the moment, and which of its parts go back to training when the last has its answer."""


@contextmanager
def _answering(model: nn.Module) -> Iterator[None]:
    """Eval mode, for as long as anybody asks."""
    with _LOCK:
        n_asking, training = _ASKED.get(model, (0, []))
        if n_asking == 0:
            training = [part for part in model.modules() if part.training]
            model.eval()
        _ASKED[model] = n_asking + 1, training
    try:
        yield
    finally:
        with _LOCK:
            n_asking, training = _ASKED.pop(model)
            if n_asking > 1:
                _ASKED[model] = n_asking - 1, training
            else:
                for part in training:
                    part.training = True


def product_dtype(weight: Tensor) -> torch.dtype:
    """What matrix products will be carried out in: the weights' dtype, unless a context says otherwise.

    Such a context leaves float64 alone.
    """
    kind = weight.device.type
    reduced = torch.is_autocast_enabled(kind) and weight.dtype != torch.float64
    return torch.get_autocast_dtype(kind) if reduced else weight.dtype


def dtype_asked(model: ConditionalModel, dtype: object) -> torch.dtype | None:
    """In which dtype a user wants matrix products, where that is another than the model's own; None where not.

    Args:
        model: any conditional network.
        dtype: what was given: None for the model's own, or that, or one of `REDUCED` for a float32 model.

    Raises:
        TypeError: if it is no dtype.
        ValueError: if products of this model are not carried out in it.
    """
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype: expected one of PyTorch's, such as torch.bfloat16, or None, found {dtype!r}")
    own = model.b.dtype
    if dtype is None or dtype == own:
        return None
    if own != torch.float32 or dtype not in REDUCED:
        others = "".join(f" or {one}" for one in REDUCED) if own == torch.float32 else ""
        raise ValueError(f"dtype: expected {own} (the model's own, as None){others}, found {dtype}")
    return dtype
