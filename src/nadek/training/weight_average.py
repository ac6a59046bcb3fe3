"""Moving average of a model's weights."""

import copy
from collections.abc import Mapping

import torch
from torch import Tensor

from nadek.models.base import ConditionalModel


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
