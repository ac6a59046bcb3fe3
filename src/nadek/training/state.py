"""State of a run at the end of an epoch: averaged weights, plain tensors and a JSON-able dictionary."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from nadek.models.base import ConditionalModel
from nadek.training.optimizers import Optimizer


class WeightAverage:
    """Exponential moving average of a model's weights; the first update copies them.

    It equals `torch.optim.swa_utils.AveragedModel` to the bit, which looks for the parameters anew in every step: a
    millisecond, in the training of a small table a tenth of all.
    """

    def __init__(self, model: ConditionalModel, decay: float) -> None:
        self.module, self.decay, self.n_averaged = copy.deepcopy(model), decay, 0
        self._averaged: list[Tensor] = list(self.module.parameters())
        self._present: list[Tensor] = list(model.parameters())

    @torch.no_grad()
    def update(self) -> None:
        """Average in the model's present weights."""
        if self.n_averaged == 0:
            torch._foreach_copy_(self._averaged, self._present)
        else:
            torch._foreach_lerp_(self._averaged, self._present, 1 - self.decay)
        self.n_averaged += 1

    def state_dict(self) -> dict[str, Tensor]:
        """Return the averaged weights and the number of updates."""
        weights = {f"module.{name}": value for name, value in self.module.state_dict().items()}
        return {"n_averaged": torch.tensor(self.n_averaged), **weights}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Load a state; a `RuntimeError` tells that it belongs to another model."""
        self.n_averaged = int(state["n_averaged"])
        weights = {name.removeprefix("module."): value for name, value in state.items() if name != "n_averaged"}
        self.module.load_state_dict(weights)


@dataclass(frozen=True)
class TrainingState:
    """State of a run after an epoch.

    No generator is stored: the randomness of an epoch follows from its number.

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
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    if average is not None:
        tensors |= {f"average.{name}": value for name, value in average.state_dict().items()}
    for group, values in extra.items():
        tensors |= {f"{group}.{name}": value for name, value in (values or {}).items()}
    for index, entries in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(v) for name, v in entries.items() if v is not None}
    return TrainingState({name: value.detach().cpu().clone() for name, value in tensors.items()}, info)


def unpack(state: TrainingState, model: nn.Module, optimizer: Optimizer, average: WeightAverage | None) -> None:
    """Load a state into model, optimizer and average."""
    try:
        model.load_state_dict(state.group("model"))
        if average is not None:
            average.load_state_dict(state.group("average"))
    except RuntimeError as error:
        raise ValueError(f"the saved training state does not fit this model: {error}") from None
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in state.group("optimizer").items():
        index, entry = name.split(".", 1)
        entries.setdefault(int(index), {})[entry] = value.clone()  # an optimizer changes it in place
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})
    for parameter, values in optimizer.state.items():
        values |= {name: _match_layout(value, parameter) for name, value in values.items()}


def _match_layout(value: Any, parameter: Tensor) -> Any:  # noqa: ANN401 - any entry of an optimizer's state
    """Give a tensor the memory order of its parameter.

    Files know one order only, filters have another one, and fused optimizers go through both as they lie.
    """
    same = isinstance(value, Tensor) and value.shape == parameter.shape
    return torch.empty_like(parameter, dtype=value.dtype).copy_(value) if same else value
