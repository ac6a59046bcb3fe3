"""Loop over the steps of a model: plain, with activation checkpointing, or with gradients by hand.

Training spends its time in matrix products. Automatic differentiation makes one product for each step and weight, and
adds them up. As every step uses the same weights, their sum is one product over the rows of all steps, which is faster
and rounds once. With

    l_t = V h_t + b,  p_t = sigmoid(l_t),  v_(t+1) = observed + mask p_t,  h_(t+1) = core(W v_(t+1) + c)

and ``g`` for the gradient of the cost, ``g(l_t) = g_out(l_t) + g(v_(t+1)) mask p_t (1 - p_t)``, then down through the
layers, and at the end ``g(V) = sum_t g(l_t)' h_t`` as one product; likewise for W and the layers. With dropout every
layer reads the rescaled units of the layer below, and ``g(h)`` takes the same mask.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from nadek.kernels.linear import IN_PLACE, activate, affine
from nadek.models.base import Inputs
from nadek.models.binary_variables import BinaryVariables
from nadek.models.cores import Core, Deep
from nadek.models.layers import dropout_mask, is_modified, rescaled
from nadek.models.variables import Variables

Step = Callable[[Inputs, Tensor, Any, torch.Generator | None], tuple[Tensor, Any]]
"""One step: from inputs, probabilities, state and source of dropout to logits and the next state."""

BACK: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": torch.ops.aten.tanh_backward,
    "sigmoid": torch.ops.aten.sigmoid_backward,
    "relu": lambda g, h: torch.ops.aten.threshold_backward(g, h, 0),
}
"""From g(h) and h to the gradient of the pre-activation."""


def plain_steps(
    step: Step,
    inputs: Inputs,
    variables: Variables,
    n_steps: int,
    generator: torch.Generator | None,
    *,
    recompute: bool = False,
    detached: int = 0,
) -> list[Tensor]:
    """Return every step's logits; no gradient flows through the first ``detached`` steps.

    With ``recompute`` activations are computed again for the gradient: a training step then holds the logits of all
    steps and the activations of one.
    """
    recorded = torch.is_grad_enabled()
    kept = partial(_checkpointed_step, step) if recompute and recorded else step
    state, logits = None, list[Tensor]()
    for t in range(n_steps):
        with torch.set_grad_enabled(recorded and t >= detached):
            p = variables.probabilities(logits[-1]) if t else inputs.fill  # Eq. 8; before the first step, Eq. 5
            output, state = (kept if t >= detached else step)(inputs, p, state, generator)
        logits.append(output)
    return logits


def _checkpointed_step(
    step: Step, inputs: Inputs, p: Tensor, state: object, generator: torch.Generator | None
) -> tuple[Tensor, Any]:
    """Carry out a step, and again for its gradient."""
    begin = None if generator is None else generator.clone_state()
    sources = iter([generator])  # of the first run; others draw the same numbers again

    def run(p: Tensor, state: object) -> tuple[Tensor, Any]:
        return step(inputs, p, state, next(sources, None if begin is None else begin.clone_state()))

    return checkpoint(run, p, state, use_reentrant=False, preserve_rng_state=generator is None)


def has_manual_backward(core: Core, variables: Variables) -> TypeGuard[Deep]:
    """Return True if `manual_backward_steps` serves a core and variables.

    The core is an unmodified `Deep` with an activation of `BACK`, the variables are binary. A subclass or a hook may
    compute something else, of which the gradients here know nothing.
    """
    return (
        type(core) is Deep
        and core.activation in BACK
        and not is_modified(core)
        and isinstance(variables, BinaryVariables)
    )


def manual_backward_steps(
    core: Deep, weights: Sequence[Tensor], inputs: Inputs, n_steps: int, generator: torch.Generator | None = None
) -> Float[Tensor, "k B D"]:
    """Return the logits after every step; the weights are W, c, V and b."""
    W, c, V, b = weights
    base = c.unsqueeze(0) if inputs.offset is None else inputs.offset + c
    dropout = core.dropout if core.training else 0.0
    layers = [parameter for layer in core.layers for parameter in (layer.weight, layer.bias)]
    settings = (core.activation, n_steps, dropout, generator)
    return _Steps.apply(*settings, *inputs[:3], base, W, V, b, *layers)  # type: ignore[no-untyped-call]


class _Steps(torch.autograd.Function):
    """Loop over steps with stacked tensors [k, B, ...]."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        activation: str,
        steps: int,
        dropout: float,
        generator: torch.Generator | None,
        observed: Tensor,
        mask: Tensor,
        fill: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        """Run the plain loop; ``read`` is ``h`` after dropout."""
        base, W, V, b, *layers = (weight.to(observed.dtype) for weight in weights)
        base = base[0] if len(base) == 1 else base
        U, d = layers[::2], layers[1::2]
        v = observed.new_empty(steps, *observed.shape)
        logits = torch.empty_like(v)
        h = [observed.new_empty(steps, len(observed), len(weight)) for weight in (W, *U)]
        read = [torch.empty_like(units) for units in h] if dropout else h
        masks = [torch.empty_like(units, dtype=torch.bool) for units in h] if dropout else []
        p = fill.to(observed.dtype)
        for t in range(steps):
            below = torch.addcmul(observed, mask, p, out=v[t])
            for i, (weight, bias) in enumerate(zip((W, *U), (base, *d), strict=True)):
                h[i][t] = _units(activation, below, weight, bias)
                if dropout:
                    masks[i][t] = dropout_mask(h[i][t], dropout, generator)
                    read[i][t] = rescaled(h[i][t], masks[i][t], dropout)
                below = read[i][t]
            torch.addmm(b, below, V.t(), out=logits[t])
            if t + 1 < steps:
                p = logits[t].sigmoid()
        ctx.save_for_backward(mask, v, V, W, *U, *h, *read, *masks)
        ctx.activation, ctx.dropout, ctx.n_layers = activation, dropout, len(h)
        ctx.dtypes, ctx.base_rows = [weight.dtype for weight in weights], len(weights[0])
        return logits

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g_out: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's
        """Go down through every step, last first."""
        mask, v, V, *rest = ctx.saved_tensors
        matrices, h, read, masks = (rest[i * ctx.n_layers : (i + 1) * ctx.n_layers] for i in range(4))
        back = BACK[ctx.activation]
        g_logits, g_units = torch.empty_like(v), [torch.empty_like(units) for units in h]
        for t in reversed(range(len(v))):
            if t + 1 == len(v):
                g_logits[t] = g_out[t]
            else:  # v[t + 1] is p where the mask is 1
                g_v = torch.ops.aten.sigmoid_backward(g_units[0][t + 1] @ matrices[0], v[t + 1])
                torch.addcmul(g_out[t], g_v, mask, out=g_logits[t])
            g = g_logits[t] @ V
            for i in reversed(range(len(h))):
                g = rescaled(g, masks[i][t], ctx.dropout) if masks else g
                g_units[i][t] = back(g, h[i][t])
                g = g_units[i][t] @ matrices[i] if i > 0 else g
        g_base = g_units[0].sum(0) if ctx.base_rows > 1 else g_units[0].sum((0, 1)).unsqueeze(0)
        gradients = [g_base, _outer(g_units[0], v), _outer(g_logits, read[-1]), g_logits.sum((0, 1))]
        for i in range(1, len(h)):
            gradients += [_outer(g_units[i], read[i - 1]), g_units[i].sum((0, 1))]
        return (None,) * 7 + tuple(g.to(dtype) for g, dtype in zip(gradients, ctx.dtypes, strict=True))


def _units(activation: str, below: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the units of a layer."""
    if bias.ndim == 1 and below.dtype == torch.bfloat16:
        return affine(below, weight, bias, activation)
    u = torch.addmm(bias, below, weight.t())  # in float32 the same products as in earlier records
    return IN_PLACE[activation](u) if u.dtype != torch.bfloat16 else activate(activation, u)


def _outer(g: Tensor, read: Tensor) -> Tensor:
    """Return a weight's gradient, summed over steps and rows."""
    return g.flatten(0, 1).t() @ read.flatten(0, 1)
