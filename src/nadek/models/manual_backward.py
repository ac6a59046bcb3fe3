"""All steps of a deep binary network as one differentiable function: the fast twin of the loop in `network`.

Training spends its time in matrix products. Automatic differentiation makes one product a step and weight for the
gradients of the weights, and adds them up; since every step uses the same weights, their sum is one product over the
rows of all steps, which is quicker and rounds once. That is what the backward pass here does, by hand:

    l_t = V h_t + b,  p_t = sigmoid(l_t),  v_(t+1) = shown + m p_t,  h_(t+1) = core(W v_(t+1) + c)

with ``g`` for the gradient of the cost with respect to what is named: ``g(l_t) = given + g(v_(t+1)) m p_t (1 - p_t)``,
down through the layers, and at the end ``g(V) = sum_t g(l_t)' h_t`` as one product; W and the layers likewise. With
dropout every layer above reads what was left of ``h``, and ``g(h)`` is thinned out by the same draws.
"""

from collections.abc import Callable
from typing import Any, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.kernels.linear import IN_PLACE, activate, affine
from nadek.models.cores import Core, Deep, changed, keep, thinned
from nadek.models.variables import BinaryVariables, Variables

BACK: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": torch.ops.aten.tanh_backward,
    "sigmoid": torch.ops.aten.sigmoid_backward,
    "relu": lambda g, h: torch.ops.aten.threshold_backward(g, h, 0),
}
"""From g(h) and h to the gradient of what the activation read."""


def unrolls(core: Core, variables: Variables) -> TypeGuard[Deep]:
    """Whether `unroll` serves a network: deep, an activation of `BACK`, binary variables.

    A class made from `Deep` may compute something else, of which the gradients here know nothing; so may hooks.
    """
    of_paper = type(core) is Deep and core.activation in BACK and not changed(core)
    return of_paper and isinstance(variables, BinaryVariables)


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
    generator: torch.Generator | None = None,
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
        generator: source of the randomness of dropout, drawn from as the loop draws.
    """
    dropout = core.dropout if core.training else 0.0
    layers = [parameter for layer in core.layers for parameter in (layer.weight, layer.bias)]
    settings = (core.activation, steps, dropout, generator)
    logits: Tensor = _Unrolled.apply(*settings, shown, m, fill, base, W, V, b, *layers)  # type: ignore[no-untyped-call]
    return logits


class _Unrolled(torch.autograd.Function):
    """See the module. What a step read is kept with the rows of all steps below one another."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        activation: str,
        steps: int,
        dropout: float,
        generator: torch.Generator | None,
        shown: Tensor,
        m: Tensor,
        fill: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        """The loop. ``h`` are the units, ``read`` what the layer above reads of them, the same without dropout."""
        base, W, V, b, *layers = (weight.to(shown.dtype) for weight in weights)
        base = base[0] if len(base) == 1 else base
        U, d = layers[::2], layers[1::2]
        v = shown.new_empty(steps, *shown.shape)
        logits = torch.empty_like(v)
        h = [shown.new_empty(steps, len(shown), len(weight)) for weight in (W, *U)]
        read = [torch.empty_like(units) for units in h] if dropout else h
        kept = [torch.empty_like(units, dtype=torch.bool) for units in h] if dropout else []
        p = fill.to(shown.dtype).expand_as(shown)
        for t in range(steps):
            below = torch.addcmul(shown, m, p, out=v[t])
            for i, (weight, bias) in enumerate(zip((W, *U), (base, *d), strict=True)):
                h[i][t] = units(activation, below, weight, bias)
                if dropout:
                    kept[i][t] = keep(h[i][t], dropout, generator)
                    read[i][t] = thinned(h[i][t], kept[i][t], dropout)
                below = read[i][t]
            torch.addmm(b, below, V.t(), out=logits[t])
            if t + 1 < steps:
                p = logits[t].sigmoid()
        ctx.save_for_backward(m, v, V, W, *U, *h, *read, *kept)
        ctx.activation, ctx.dropout, ctx.n_layers = activation, dropout, len(h)
        ctx.dtypes, ctx.base_rows = [weight.dtype for weight in weights], len(weights[0])
        return logits

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's
        """Down through every step, last first; then each weight's gradient in one product."""
        m, v, V, *rest = ctx.saved_tensors
        matrices, h, read, kept = (rest[i * ctx.n_layers : (i + 1) * ctx.n_layers] for i in range(4))
        back = BACK[ctx.activation]
        g_logits, g_units = torch.empty_like(v), [torch.empty_like(units) for units in h]
        for t in reversed(range(len(v))):
            if t + 1 == len(v):
                g_logits[t] = given[t]
            else:  # v[t + 1] is p where m is 1
                g_v = torch.ops.aten.sigmoid_backward(g_units[0][t + 1] @ matrices[0], v[t + 1])
                torch.addcmul(given[t], g_v, m, out=g_logits[t])
            g = g_logits[t] @ V
            for i in reversed(range(len(h))):
                g = thinned(g, kept[i][t], ctx.dropout) if kept else g
                g_units[i][t] = back(g, h[i][t])
                g = g_units[i][t] @ matrices[i] if i > 0 else g
        g_base = g_units[0].sum(0) if ctx.base_rows > 1 else g_units[0].sum((0, 1)).unsqueeze(0)
        gradients = [g_base, _outer(g_units[0], v), _outer(g_logits, read[-1]), g_logits.sum((0, 1))]
        for i in range(1, len(h)):
            gradients += [_outer(g_units[i], read[i - 1]), g_units[i].sum((0, 1))]
        return (None,) * 7 + tuple(g.to(dtype) for g, dtype in zip(gradients, ctx.dtypes, strict=True))


def units(activation: str, below: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A layer's units from the layer below. In float32 a training keeps to the products that its records came from."""
    if bias.ndim == 1 and below.dtype == torch.bfloat16:
        return affine(below, weight, bias, activation)
    u = torch.addmm(bias, below, weight.t())
    return IN_PLACE[activation](u) if u.dtype != torch.bfloat16 else activate(activation, u)


def _outer(g: Tensor, read: Tensor) -> Tensor:
    """The gradient of a weight, from those of what it gave and from what it read, over all steps and rows."""
    return g.flatten(0, 1).t() @ read.flatten(0, 1)
