"""What Muon does to matrices and filters: momentum whose update is made orthogonal."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.kernels.cpu import quick_in_bfloat16

ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of Jordan's quintic, steepest at zero: lengths end between about 0.7 and 1.2, which serves as well as 1."""

LIKE_ADAMW = 0.2
"""The root mean square of AdamW's updates, which Liu and others (2025) scale Muon's to."""


class Orthogonalised(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal (Jordan and others 2024): all directions of a matrix move equally far.

    Where the processor has bfloat16 products it moves matrices by the bits of `torch.optim.Muon`. That one takes them
    everywhere, many times as long where the processor has none, and knows no filters: here products are float32 then,
    and the filters of a convolution are a matrix with a row for each channel.

    Args:
        params: matrices [o, i] and filters [o, i, h, w].
        lr: learning rate.
        weight_decay: decoupled.
        momentum: of the gradients.
    """

    def __init__(self, params: Iterable[Tensor], *, lr: float, weight_decay: float, momentum: float) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every weight that has a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    gradient = _lying(weight.grad, weight).flatten(1)
                    matrix = _lying(weight, weight).view(gradient.shape)
                    _move(matrix, gradient, self.state[weight], group)


def _move(
    matrix: Float[Tensor, "o i"], gradient: Float[Tensor, "o i"], state: dict[str, Tensor], group: dict[str, Any]
) -> None:
    """One step of one matrix, in place, with Nesterov's momentum."""
    if "momentum_buffer" not in state:
        state["momentum_buffer"] = torch.zeros_like(gradient)
    average = state["momentum_buffer"]
    average.lerp_(gradient, 1 - group["momentum"])
    update = orthogonal(gradient.lerp(average, group["momentum"]))
    lr = group["lr"]
    matrix.mul_(1 - lr * group["weight_decay"])
    matrix.add_(update, alpha=-lr * (LIKE_ADAMW * math.sqrt(max(matrix.shape))))


def orthogonal(matrix: Float[Tensor, "o i"]) -> Float[Tensor, "o i"]:
    """A matrix of the same directions, all nearly of length 1, by Newton and Schulz's iteration.

    Its products are bfloat16 where the processor has them, and of the matrix's own dtype elsewhere.

    Args:
        matrix: the matrix.

    Example:
        >>> lengths = torch.linalg.svdvals(orthogonal(torch.tensor([[3.0, 0.0], [0.0, 0.1]])).float())
        >>> ((lengths > 0.6) & (lengths < 1.3)).all().item()
        True
    """
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16() if quick_in_bfloat16(matrix.device) else matrix
    x = x.T if tall else x
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _lying(values: Tensor, weight: Tensor) -> Tensor:
    """Filters [o, i, h, w], or their gradient, with the axes in the order in which ``weight`` lies in memory."""
    return values if weight.is_contiguous() else values.permute(0, 2, 3, 1)
