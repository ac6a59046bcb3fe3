"""AdamW without the import of PyTorch's compiler, and Muon: momentum with orthogonalised updates, for matrices."""

import math
from inspect import unwrap

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.kernels.cpu import has_fast_bfloat16


class FusedAdamW(torch.optim.AdamW):
    """`torch.optim.AdamW` without the decorators of its methods, which import PyTorch's compiler at the first call.

    This takes two seconds of processor time, more than many a table's training.
    """

    add_param_group, zero_grad, state_dict, load_state_dict = (
        unwrap(getattr(torch.optim.AdamW, name))
        for name in ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    )
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


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

    __setstate__ = torch.optim.Optimizer.__setstate__  # Adam's expects its own state of every weight

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        groups = self.param_groups
        for group in groups:
            for weight in group["params"] if "momentum" in group else ():
                if weight.grad is not None:
                    self._step_matrix(weight, **{name: group[name] for name in ("lr", "momentum", "weight_decay")})
        self.param_groups = [group for group in groups if "momentum" not in group]
        super().step()
        self.param_groups = groups

    def _step_matrix(self, weight: Tensor, *, lr: float, momentum: float, weight_decay: float) -> None:
        assert weight.grad is not None
        gradient = _memory_order(weight.grad, weight).flatten(1)
        matrix = _memory_order(weight, weight).view(gradient.shape)
        average = self.state[weight].setdefault("momentum_buffer", torch.zeros_like(gradient))
        average.lerp_(gradient, 1 - momentum)
        update = orthogonal(gradient.lerp(average, momentum))  # Nesterov's momentum
        matrix.mul_(1 - lr * weight_decay)
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
