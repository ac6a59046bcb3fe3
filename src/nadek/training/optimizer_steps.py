"""AdamW without the import of PyTorch's compiler, and Muon: momentum with orthogonalised updates, for matrices."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim.adamw import adamw

from nadek.kernels.cpu import has_fast_bfloat16


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


ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of Jordan's quintic: singular values end between about 0.7 and 1.2, which serves as well as 1."""

ADAMW_RMS = 0.2
"""Root mean square of AdamW's updates, to which Liu and others (2025) scale Muon's."""


class MuonAdamW(FusedAdamW):
    """Momentum with an orthogonalised update (Jordan and others 2024) for groups with a ``momentum``, AdamW for others.

    All directions of a matrix move equally far. The filters of a convolution are a matrix with a row a channel. Where
    the processor has fast bfloat16 products, updates equal those of `torch.optim.Muon` to the bit; elsewhere products
    are float32.
    """

    def _step_group(self, group: Mapping[str, Any], parameters: list[Tensor]) -> None:
        """See `FusedAdamW`."""
        if "momentum" not in group:
            super()._step_group(group, parameters)
            return
        lr, momentum = group["lr"], group["momentum"]
        for weight in parameters:
            assert weight.grad is not None
            gradient = _memory_order(weight.grad, weight).flatten(1)
            matrix = _memory_order(weight, weight).view(gradient.shape)
            if weight not in self.state:
                self.state[weight] = {"momentum_buffer": torch.zeros_like(gradient)}
            average = self.state[weight]["momentum_buffer"]
            average.lerp_(gradient, 1 - momentum)
            update = orthogonal(gradient.lerp(average, momentum))  # Nesterov's momentum
            matrix.mul_(1 - lr * group["weight_decay"])
            matrix.add_(update, alpha=-lr * (ADAMW_RMS * math.sqrt(max(matrix.shape))))


def orthogonal(matrix: Float[Tensor, "o i"]) -> Float[Tensor, "o i"]:
    """Return the matrix with all singular values near 1 (Newton-Schulz iteration).

    Products are bfloat16 where the processor has them, else of the matrix's dtype.
    """
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16() if has_fast_bfloat16(matrix.device) else matrix
    x = x.T if tall else x
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _memory_order(values: Tensor, weight: Tensor) -> Tensor:
    """Permute filters [o, i, h, w] to the order of ``weight`` in memory."""
    return values if weight.is_contiguous() else values.permute(0, 2, 3, 1)
