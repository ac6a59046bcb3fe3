"""Other ways through the steps of a model, with the same logits and gradients up to rounding.

`accelerated` chooses among them; the plain loop stands in `nadek.models.iterative_nade`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.kernels.activation_checkpointing import checkpointed_step
from nadek.models.cores import Core
from nadek.models.manual_backward import has_manual_backward, manual_backward_steps
from nadek.models.variables import Variables


class Inputs(NamedTuple):
    """What every step of a model reads of some rows."""

    observed: Float[Tensor, "*batch C"]
    """Observed columns; 0 where missing."""
    mask: Float[Tensor, "*batch C"]
    """1 where a column is missing, else 0."""
    fill: Float[Tensor, " C"]
    """Values of missing columns before the first step."""
    offset: Tensor | None
    """Added to what the first layer reads in every step, such as ``A mask``."""


InputStep = Callable[[Inputs, Tensor, Any, torch.Generator | None], tuple[Tensor, Any]]
"""One step: from inputs, probabilities, state and source of dropout to logits and the next state."""


class Weights(NamedTuple):
    """Weights outside the core."""

    W: Float[Tensor, "H C"]
    c: Float[Tensor, " H"]
    V: Float[Tensor, "C H2"]
    b: Float[Tensor, " C"]


def accelerated(
    step: InputStep,
    core: Core,
    variables: Variables,
    weights: Weights,
    inputs: Inputs,
    n_steps: int,
    *,
    recompute: bool,
    generator: torch.Generator | None,
) -> list[Float[Tensor, "*batch C"]] | None:
    """Return the logits of every step by a faster or smaller way, if one serves.

    The first rule that holds decides:

    1. No gradients are recorded: the plain loop, whose products are fused (`nadek.kernels.linear`).
    2. ``recompute``: the plain loop with activation checkpointing.
    3. Only gradients of weights, rows [B, D] of binary variables, and a plain `Deep` core: all steps as one function
       with gradients by hand (`nadek.models.manual_backward`).
    4. Else: the plain loop.

    Returns:
        One tensor a step; None where the plain loop serves.
    """
    if not torch.is_grad_enabled():
        return None
    if recompute:
        return checkpointed_steps(step, inputs, variables, n_steps, generator)
    only_weights = inputs.observed.ndim == 2 and not inputs.observed.requires_grad
    if not only_weights or not has_manual_backward(core, variables):
        return None
    W, c, V, b = weights
    base = c.unsqueeze(0) if inputs.offset is None else inputs.offset + c
    logits = manual_backward_steps(core, *inputs[:3], base, W=W, V=V, b=b, steps=n_steps, generator=generator)
    return list(logits)


def checkpointed_steps(
    step: InputStep, inputs: Inputs, variables: Variables, n_steps: int, generator: torch.Generator | None
) -> list[Tensor]:
    """Return the logits of every step of the plain loop, with activation checkpointing."""
    state, logits = None, list[Tensor]()
    for t in range(n_steps):
        p = variables.probabilities(logits[-1]) if t else inputs.fill
        output, state = checkpointed_step(partial(step, inputs), p, state, generator)
        logits.append(output)
    return logits
