"""Loop over the steps of a model, plain or with activation checkpointing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from nadek.models.base import Inputs
from nadek.models.variables import Variables

Step = Callable[[Inputs, Tensor, Any, torch.Generator | None], tuple[Tensor, Any]]
"""One step: from inputs, probabilities, state and source of dropout to logits and the next state."""


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
