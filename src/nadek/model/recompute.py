"""The steps of a deep binary network as one function that keeps nothing but their logits.

It is to `nadek.model.unrolled` what `nadek.again` is to the loop: what a step computed is computed again on the way
back.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from nadek.cores import activate

BACK: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": torch.ops.aten.tanh_backward,
    "sigmoid": torch.ops.aten.sigmoid_backward,
    "relu": lambda g, h: torch.ops.aten.threshold_backward(g, h, 0),
}
"""From g(h) and h to the gradient of what the activation read."""


class Recomputed(torch.autograd.Function):
    """The steps of a deep binary network; only their logits are kept."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        activation: str,
        steps: int,
        shown: Tensor,
        m: Tensor,
        fill: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        """The loop."""
        base, W, V, b, *layers = (weight.to(shown.dtype) for weight in weights)
        fill = fill.to(shown.dtype).expand_as(shown)
        logits = shown.new_empty(steps, *shown.shape)
        for t in range(steps):
            v = torch.addcmul(shown, m, fill if t == 0 else logits[t - 1].sigmoid())
            torch.addmm(b, _hidden(activation, v, base, W, layers)[-1], V.t(), out=logits[t])
        ctx.save_for_backward(shown, m, fill, logits, base, W, V, *layers)
        ctx.activation, ctx.dtypes = activation, [weight.dtype for weight in weights]
        return logits

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's
        """Down through every step, last first; gradients of the weights are added up in float32 at least."""
        shown, m, fill, logits, base, W, V, *layers = ctx.saved_tensors
        U = layers[::2]
        wide = torch.promote_types(shown.dtype, torch.float32)
        like = (base, W, V, V[:, 0], *layers)
        total = [torch.zeros(weight.shape, dtype=wide, device=shown.device) for weight in like]
        g_u, v_next = torch.empty(0), torch.empty(0)
        for t in reversed(range(len(logits))):
            v = torch.addcmul(shown, m, fill if t == 0 else logits[t - 1].sigmoid())
            h = _hidden(ctx.activation, v, base, W, layers)
            g_logits = given[t]
            if t + 1 < len(logits):  # v_next is p where m is 1
                g_logits = torch.addcmul(g_logits, torch.ops.aten.sigmoid_backward(g_u @ W, v_next), m)
            total[2] += g_logits.t() @ h[-1]
            total[3] += g_logits.sum(0)
            g = g_logits @ V
            for i in reversed(range(len(h))):
                g_u = BACK[ctx.activation](g, h[i])
                if i > 0:
                    total[2 + 2 * i] += g_u.t() @ h[i - 1]
                    total[3 + 2 * i] += g_u.sum(0)
                    g = g_u @ U[i - 1]
            total[0] += g_u if len(base) > 1 else g_u.sum(0, keepdim=True)
            total[1] += g_u.t() @ v
            v_next = v
        return (None,) * 5 + tuple(g.to(dtype) for g, dtype in zip(total, ctx.dtypes, strict=True))


def _hidden(activation: str, v: Tensor, base: Tensor, W: Tensor, layers: list[Tensor]) -> list[Tensor]:
    """All hidden layers of one step."""
    h = [activate(activation, torch.addmm(base, v, W.t()))]
    for weight, bias in zip(layers[::2], layers[1::2], strict=True):
        h.append(activate(activation, torch.addmm(bias, h[-1], weight.t())))
    return h
