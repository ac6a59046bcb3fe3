"""All steps of a deep binary network as one differentiable function: the fast twin of the loop in `network`.

Training spends its time in matrix products. Automatic differentiation makes one product a step and weight for the
gradients of the weights, and adds them up; since every step uses the same weights, their sum is one product over the
rows of all steps, which is quicker and rounds once. That is what the backward pass here does, by hand:

    l_t = V h_t + b,  p_t = sigmoid(l_t),  v_(t+1) = shown + m p_t,  h_(t+1) = core(W v_(t+1) + c)

with ``g`` for the gradient of the cost with respect to what is named: ``g(l_t) = given + g(v_(t+1)) m p_t (1 - p_t)``,
down through the layers, and at the end ``g(V) = sum_t g(l_t)' h_t`` as one product; W and the layers likewise.
"""

from collections.abc import Callable
from typing import Any, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.cores import Core, Deep, activate
from nadek.variables import BinaryVariables, Variables

BACK: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": torch.ops.aten.tanh_backward,
    "sigmoid": torch.ops.aten.sigmoid_backward,
    "relu": lambda g, h: torch.ops.aten.threshold_backward(g, h, 0),
}
"""From g(h) and h to the gradient of what the activation read."""


def unrolls(core: Core, variables: Variables) -> TypeGuard[Deep]:
    """Whether `unroll` serves a network: deep, without dropout, an activation of `BACK`, binary variables."""
    return (
        isinstance(core, Deep)
        and core.activation in BACK
        and not (core.training and core.dropout)
        and isinstance(variables, BinaryVariables)
    )


def unroll(
    core: Deep,
    shown: Float[Tensor, "B D"],
    m: Float[Tensor, "B D"],
    fill: Float[Tensor, " D"],
    base: Float[Tensor, "#B H"],
    *,
    W: Float[Tensor, "H D"],
    V: Float[Tensor, "D H2"],
    b: Float[Tensor, " D"],
    steps: int,
) -> Float[Tensor, "k B D"]:
    """Logits after every step.

    Args:
        core: the hidden layers.
        shown: values, 0 where missing; its dtype is that of the products.
        m: 1 where missing.
        fill: what a missing cell reads before the first step.
        base: what the first layer reads besides W v: c, plus A missing where there is a mask input.
        W: input weights.
        V: output weights.
        b: visible biases.
        steps: k.
    """
    layers = [parameter for layer in core.layers for parameter in (layer.weight, layer.bias)]
    logits: Tensor = _Unrolled.apply(core.activation, steps, shown, m, fill, base, W, V, b, *layers)  # type: ignore[no-untyped-call]
    return logits


class _Unrolled(torch.autograd.Function):
    """See the module. What a step read is kept with the rows of all steps below one another."""

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
        U, d = layers[::2], layers[1::2]
        v = shown.new_empty(steps, *shown.shape)
        logits = torch.empty_like(v)
        h = [shown.new_empty(steps, len(shown), len(weight)) for weight in (W, *U)]
        p = fill.to(shown.dtype).expand_as(shown)
        for t in range(steps):
            torch.addcmul(shown, m, p, out=v[t])
            h[0][t] = activate(activation, torch.addmm(base, v[t], W.t()))
            for i in range(len(U)):
                h[i + 1][t] = activate(activation, torch.addmm(d[i], h[i][t], U[i].t()))
            torch.addmm(b, h[-1][t], V.t(), out=logits[t])
            if t + 1 < steps:
                p = logits[t].sigmoid()
        ctx.save_for_backward(m, v, W, V, *U, *h)
        ctx.activation, ctx.dtypes, ctx.base_rows = activation, [weight.dtype for weight in weights], len(base)
        return logits

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's
        """Down through every step, last first; then each weight's gradient in one product."""
        m, v, W, V, *rest = ctx.saved_tensors
        U, h = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        back = BACK[ctx.activation]
        g_logits, g_units = torch.empty_like(v), [torch.empty_like(units) for units in h]
        for t in reversed(range(len(v))):
            if t + 1 == len(v):
                g_logits[t] = given[t]
            else:  # v[t + 1] is p where m is 1
                g_v = torch.ops.aten.sigmoid_backward(g_units[0][t + 1] @ W, v[t + 1])
                torch.addcmul(given[t], g_v, m, out=g_logits[t])
            g = g_logits[t] @ V
            for i in reversed(range(len(h))):
                g_units[i][t] = back(g, h[i][t])
                g = g_units[i][t] @ U[i - 1] if i > 0 else g
        g_base = g_units[0].sum(0) if ctx.base_rows > 1 else g_units[0].sum((0, 1)).unsqueeze(0)
        gradients = [g_base, _outer(g_units[0], v), _outer(g_logits, h[-1]), g_logits.sum((0, 1))]
        for i in range(len(U)):
            gradients += [_outer(g_units[i + 1], h[i]), g_units[i + 1].sum((0, 1))]
        return (None,) * 5 + tuple(g.to(dtype) for g, dtype in zip(gradients, ctx.dtypes, strict=True))


def _outer(g: Tensor, read: Tensor) -> Tensor:
    """The gradient of a weight, from those of what it gave and from what it read, over all steps and rows."""
    return g.flatten(0, 1).t() @ read.flatten(0, 1)
