"""AdamW without the import of PyTorch's compiler."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw


class FusedAdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), equal to `torch.optim.AdamW` to the bit.

    The first optimizer object of `torch.optim` in a process imports PyTorch's compiler. This takes two seconds of
    processor time, more than many a table's training. So the state is kept here, and the step is PyTorch's function.
    ``param_groups`` has the learning rate of the next step.
    """

    def __init__(self, groups: Sequence[Mapping[str, Any]], *, lr: float) -> None:
        self.param_groups = [{**group, "lr": lr} for group in groups]
        self.state: dict[Tensor, dict[str, Tensor]] = {}

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for parameter in self._parameters():
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            self._step_group(group, [parameter for parameter in group["params"] if parameter.grad is not None])

    def state_dict(self) -> dict[str, Any]:
        """Return the state of each parameter by its number, and the groups, as torch.optim does."""
        numbered = {index: self.state[one] for index, one in enumerate(self._parameters()) if one in self.state}
        return {"state": numbered, "param_groups": self.param_groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the state of each parameter."""
        parameters = self._parameters()
        self.state = {
            parameters[index]: {name: value.to(parameters[index].device) for name, value in entries.items()}
            for index, entries in state_dict["state"].items()
        }

    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def _step_group(self, group: Mapping[str, Any], parameters: list[Tensor]) -> None:
        """Update parameters that have a gradient."""
        states = [self._state_of(parameter) for parameter in parameters]
        adamw(
            parameters,
            [parameter.grad for parameter in parameters if parameter.grad is not None],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            max_exp_avg_sqs=[],
            state_steps=[state["step"] for state in states],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=1e-8,
            maximize=False,
        )

    def _state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        if parameter not in self.state:
            first, second = torch.zeros_like(parameter), torch.zeros_like(parameter)
            step = torch.zeros((), dtype=torch.float32, device=parameter.device)
            self.state[parameter] = {"step": step, "exp_avg": first, "exp_avg_sq": second}
        return self.state[parameter]
