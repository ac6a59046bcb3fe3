"""Record and state of a run at the end of an epoch, and the error of one that diverged."""

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel

from nadek.models.base import ConditionalModel
from nadek.utils.configs import convert, difference

MAX_COST = 1000.0
"""Largest sensible mean cost, in nats a variable. A guess costs 0.7."""


@dataclass(frozen=True)
class Epoch:
    """One epoch of training, returned by `nadek.fit`; costs in nats a row.

    Attributes:
        epoch: its number, from 1.
        epochs: number of epochs of the run.
        phase: the objective it was trained on.
        train: mean cost on the minibatches as they were trained, after every step t = 1..k that the objective counts
            (all_steps), or after the last alone.
        validation: mean cost after every step on the validation rows, with the same masks every time; None where not
            measured.
        best: the cost of the last step on the validation rows of the weights that did best so far. It is measured anew
            where missing values are drawn anew and where the steps change.
        seconds: time since the run began (running time only, over all resumptions).
    """

    epoch: int
    epochs: int
    phase: str
    train: list[float]
    validation: list[float] | None
    best: float | None
    seconds: float

    def __str__(self) -> str:
        validation = "" if self.validation is None else f"  validation {self.validation[-1]:.3f}"
        best = "" if self.best is None else f"  best {self.best:.3f}"
        return f"epoch {self.epoch}/{self.epochs} ({self.phase})  cost {self.train[-1]:.3f}{validation}{best}"


def read_history(metrics: Mapping[str, Any]) -> list[Epoch]:
    """Return the epochs in a model's metrics."""
    return convert(list[Epoch], metrics.get("history", []), "metrics.history")


class TrainingDivergedError(ArithmeticError):
    """Training diverged: a cost or weight is not finite, or a cost is absurd.

    The model holds the last good weights. Raised by `nadek.fit`.

    Attributes:
        history: the epochs up to these weights.
        model: the model.
    """

    def __init__(  # a pickle gives the message alone
        self, message: str, history: Sequence[Epoch] = (), model: ConditionalModel | None = None
    ) -> None:
        super().__init__(message)
        self.history, self.model = list(history), model


def diverged_cost(costs: Sequence[float], weights: Iterable[Tensor], n_variables: int) -> float | None:
    """Return the cost of a diverged training, or None."""
    worst = max(costs, key=lambda cost: cost if math.isfinite(cost) else math.inf)
    if not math.isfinite(worst) or worst > MAX_COST * n_variables:
        return worst
    return None if all(value.isfinite().all() for value in weights) else math.nan


class WeightAverage(AveragedModel):
    """Exponential moving average of a model's weights; the first update copies them.

    `AveragedModel.update_parameters` looks for the parameters anew in every step: a millisecond, in the training of a
    small table a tenth of all. With ``part`` the average covers about so large a part of the updates so far, where the
    decay would cover more.
    """

    module: ConditionalModel

    def __init__(self, model: ConditionalModel, decay: float, *, part: float | None = None) -> None:
        super().__init__(model)
        self.decay, self.part = decay, part
        self._averaged: list[Tensor] = list(self.module.parameters())
        self._present: list[Tensor] = list(model.parameters())
        self._of_buffers = list(zip(self.module.buffers(), model.buffers(), strict=True))

    @torch.no_grad()
    def update(self) -> None:
        """Average in the model's present weights."""
        n_averaged = int(self.n_averaged)
        least = 0.0 if self.part is None else min(1.0, 1 / (self.part * (n_averaged + 1)))
        weight = max(1 - self.decay, least) if n_averaged else 1.0
        torch._foreach_lerp_(self._averaged, self._present, weight)
        self.n_averaged += 1

    @torch.no_grad()
    def current(self) -> ConditionalModel:
        """Return the averaged model, with the model's present buffers."""
        for averaged, present in self._of_buffers:
            averaged.copy_(present)
        return self.module


@dataclass(frozen=True)
class TrainingState:
    """State of a run after an epoch.

    No generator is stored: the randomness of an epoch follows from its number. See the example of `nadek.fit`.

    Attributes:
        tensors: weights and optimizer state by name.
        info: history, early stopping and config, as JSON has them.
    """

    tensors: dict[str, Tensor]
    info: dict[str, Any] = field(default_factory=dict)

    def group(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of one part, such as "model"."""
        prefix = f"{name}."
        return {key.removeprefix(prefix): value for key, value in self.tensors.items() if key.startswith(prefix)}


def pack(
    model: nn.Module,
    optimizer: Optimizer,
    average: WeightAverage | None,
    extra: Mapping[str, dict[str, Tensor] | None],
    info: dict[str, Any],
) -> TrainingState:
    """Copy weights, optimizer, average and extras into a state."""
    groups = {"model": model.state_dict(), "average": {} if average is None else average.state_dict(), **extra}
    tensors = {f"{group}.{name}": value for group, values in groups.items() for name, value in (values or {}).items()}
    for index, entries in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(v) for name, v in entries.items() if v is not None}
    return TrainingState({name: value.detach().cpu().clone() for name, value in tensors.items()}, info)


def unpack(state: TrainingState, model: nn.Module, optimizer: Optimizer, average: WeightAverage | None) -> None:
    """Load a state into model, optimizer and average."""
    check_alike("model", state.group("model"), model.state_dict())
    model.load_state_dict(state.group("model"))
    if average is not None:
        check_alike("average", state.group("average"), average.state_dict())
        average.load_state_dict(state.group("average"))
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in state.group("optimizer").items():
        index, entry = name.split(".", 1)
        entries.setdefault(int(index), {})[entry] = value.clone()  # an optimizer changes it in place
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})
    for parameter, values in optimizer.state.items():
        values |= {name: _match_layout(value, parameter) for name, value in values.items()}


def check_optimizer(state: TrainingState, model: nn.Module, build: Callable[[nn.Module], Optimizer]) -> None:
    """Refuse other entries than a step of the optimizer makes: fused steps write beyond tensors that are too small."""
    twin = copy.deepcopy(model)
    for parameter in twin.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = build(twin)
    optimizer.step()
    actual, expected = state.group("optimizer"), pack(twin, optimizer, None, {}, {}).group("optimizer")
    present = {name.partition(".")[0] for name in actual}  # others never had a gradient
    check_alike("optimizer", actual, {name: one for name, one in expected.items() if name.partition(".")[0] in present})


def check_alike(group: str, actual: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse tensors of other names, shapes or types."""
    both = ({name: (tuple(one.shape), one.dtype) for name, one in each.items()} for each in (expected, actual))
    if different := difference(*both):
        name, wanted, actual_one = different
        message = f"expected {wanted or 'nothing'} as {group}.{name}, found {actual_one or 'nothing'}"
        raise ValueError(f"the saved training state does not fit this model: {message}")


def _match_layout(value: Any, parameter: Tensor) -> Any:  # noqa: ANN401 - any entry of an optimizer's state
    """Give a tensor the memory order of its parameter.

    Files know one order only, filters have another one, and fused optimizers go through both as they lie.
    """
    same = isinstance(value, Tensor) and value.shape == parameter.shape
    return torch.empty_like(parameter, dtype=value.dtype).copy_(value) if same else value
