"""All that a run needs to go on from the end of an epoch, as plain tensors and a JSON-able dictionary."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel


@dataclass(frozen=True)
class TrainingState:
    """A run at the end of an epoch. The randomness of an epoch is derived from its number, so none is stored."""

    tensors: dict[str, Tensor]
    info: dict[str, Any] = field(default_factory=dict)


def pack(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: AveragedModel | None,
    kept: Mapping[str, dict[str, Tensor] | None],
    info: dict[str, Any],
) -> TrainingState:
    """Copy weights, optimizer, average and other weights that are kept, by name, into one flat dictionary."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    if average is not None:
        tensors |= {f"average.{name}": value for name, value in average.state_dict().items()}
    for which, weights in kept.items():
        tensors |= {f"{which}.{name}": value for name, value in (weights or {}).items()}
    for index, entries in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(v) for name, v in entries.items() if v is not None}
    return TrainingState({name: value.detach().cpu().clone() for name, value in tensors.items()}, info)


def unpack(
    state: TrainingState, model: nn.Module, optimizer: torch.optim.Optimizer, average: AveragedModel | None
) -> None:
    """Load a state into what a run works with.

    Raises:
        ValueError: if the state belongs to a model of another structure.
    """
    try:
        model.load_state_dict(_part(state, "model."))
        if average is not None:
            average.load_state_dict(_part(state, "average."))
    except RuntimeError as error:
        raise ValueError(f"the saved training state does not fit this model: {error}") from None
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in _part(state, "optimizer.").items():
        index, entry = name.split(".", 1)
        entries.setdefault(int(index), {})[entry] = value.clone()  # an optimizer works in place on what it is given
    optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})
    for parameter, kept in optimizer.state.items():
        kept |= {name: _laid_out(value, parameter) for name, value in kept.items()}


def weights_in(state: TrainingState, which: str) -> dict[str, Tensor] | None:
    """What `pack` was given to keep under a name."""
    return _part(state, f"{which}.") or None


def _laid_out(value: Any, parameter: Tensor) -> Any:  # noqa: ANN401 - whatever an optimizer remembers
    """What is remembered of each entry of a parameter, in the order of the parameter's own memory.

    Files know one order only, filters are kept in another one, and fused optimizers go through both as they lie.
    """
    alike = isinstance(value, Tensor) and value.shape == parameter.shape
    return torch.empty_like(parameter, dtype=value.dtype).copy_(value) if alike else value


def _part(state: TrainingState, prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.tensors.items() if name.startswith(prefix)}
