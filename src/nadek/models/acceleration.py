"""Faster and smaller ways through a model's steps.

`accelerated` chooses among them; the plain loop stands in `nadek.models.iterative_nade`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.kernels.activation_checkpointing import checkpointed_step
from nadek.models.base import Inputs
from nadek.models.cores import Core
from nadek.models.manual_backward import Weights, has_manual_backward, manual_backward_steps
from nadek.models.variables import Variables

InputStep = Callable[[Inputs, Tensor, Any, torch.Generator | None], tuple[Tensor, Any]]
"""One step: from inputs, probabilities, state and source of dropout to logits and the next state."""


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
    """Return every step's logits without the plain loop.

    The first rule that holds decides:

    1. No gradients are recorded: the plain loop, whose products are fused (`nadek.kernels.linear`).
    2. ``recompute``: the plain loop with activation checkpointing.
    3. Only gradients of weights, rows [B, D] of binary variables, and a plain `Deep` core: all steps as one function
       with gradients by hand (`nadek.models.manual_backward`).
    4. Else: the plain loop, for which None is returned.
    """
    if not torch.is_grad_enabled():
        return None
    if recompute:
        return plain_steps(partial(checkpointed_step, step), inputs, variables, n_steps, generator)
    only_weights = inputs.observed.ndim == 2 and not inputs.observed.requires_grad
    if not only_weights or not has_manual_backward(core, variables):
        return None
    return list(manual_backward_steps(core, weights, inputs, n_steps, generator))


def plain_steps(
    step: InputStep, inputs: Inputs, variables: Variables, n_steps: int, generator: torch.Generator | None
) -> list[Tensor]:
    """Return every step's logits by the plain loop."""
    state, logits = None, list[Tensor]()
    for t in range(n_steps):
        p = variables.probabilities(logits[-1]) if t else inputs.fill
        output, state = step(inputs, p, state, generator)
        logits.append(output)
    return logits
