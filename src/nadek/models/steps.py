"""Loop over the steps of a model, with activation checkpointing if asked for."""

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
) -> list[Tensor]:
    """Return every step's logits.

    With ``recompute`` activations are computed again for the gradient: a training step then holds the logits of all
    steps and the activations of one.
    """
    if recompute and torch.is_grad_enabled():
        step = partial(_checkpointed_step, step)
    state, logits = None, list[Tensor]()
    for t in range(n_steps):
        p = variables.probabilities(logits[-1]) if t else inputs.fill  # Eq. 8; before the first step, Eq. 5
        output, state = step(inputs, p, state, generator)
        logits.append(output)
    return logits


def _checkpointed_step(
    step: Step,
    inputs: Inputs,
    p: Tensor,
    state: Any,  # noqa: ANN401 - of any core
    generator: torch.Generator | None,
) -> tuple[Tensor, Any]:
    """Carry out a step, and again for its gradient."""
    generator_state = None if generator is None else generator.get_state()
    n_calls = 0

    def run(p: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401 - of any core
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1 or generator is None:
            return step(inputs, p, state, generator)
        source = torch.Generator(generator.device).set_state(generator_state)  # type: ignore[arg-type]
        return step(inputs, p, state, source)

    result: tuple[Tensor, Any] = checkpoint(run, p, state, use_reentrant=False, preserve_rng_state=generator is None)
    return result
