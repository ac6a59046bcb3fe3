"""Muon: momentum with orthogonalised updates, for matrices and filters."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.kernels.cpu import has_fast_bfloat16
from nadek.training.adam import FusedAdamW

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
        for weight in parameters:
            assert weight.grad is not None
            gradient = _memory_order(weight.grad, weight).flatten(1)
            matrix = _memory_order(weight, weight).view(gradient.shape)
            _move(matrix, gradient, self.state.setdefault(weight, {}), group)


def _move(
    matrix: Float[Tensor, "o i"], gradient: Float[Tensor, "o i"], state: dict[str, Tensor], group: Mapping[str, Any]
) -> None:
    """Update one matrix in place, with Nesterov's momentum."""
    if "momentum_buffer" not in state:
        state["momentum_buffer"] = torch.zeros_like(gradient)
    average = state["momentum_buffer"]
    average.lerp_(gradient, 1 - group["momentum"])
    update = orthogonal(gradient.lerp(average, group["momentum"]))
    lr = group["lr"]
    matrix.mul_(1 - lr * group["weight_decay"])
    matrix.add_(update, alpha=-lr * (ADAMW_RMS * math.sqrt(max(matrix.shape))))


def orthogonal(matrix: Float[Tensor, "o i"]) -> Float[Tensor, "o i"]:
    """Return the matrix with all singular values near 1 (Newton-Schulz iteration).

    Products are bfloat16 where the processor has them, else of the matrix's dtype.

    Example:
        >>> lengths = torch.linalg.svdvals(orthogonal(torch.tensor([[3.0, 0.0], [0.0, 0.1]])).float())
        >>> ((lengths > 0.6) & (lengths < 1.3)).all().item()
        True
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
