"""Activation checkpointing: activations are computed again for the gradient.

A training step then holds the logits of all steps and the activations of one.
"""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Inputs = TypeVar("Inputs")
State = TypeVar("State")
Step = Callable[[Inputs, Tensor, State, torch.Generator | None], tuple[Tensor, State]]
"""From inputs, probabilities, state of the last step and source of dropout to logits and the next state."""


def checkpointed_step(
    step: Step[Inputs, State], inputs: Inputs, p: Tensor, state: State, generator: torch.Generator | None
) -> tuple[Tensor, State]:
    """Carry out a step, and again for its gradient."""
    generator_state = None if generator is None else generator.get_state()
    n_calls = 0

    def run(p: Tensor, state: State) -> tuple[Tensor, State]:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1 or generator is None:
            return step(inputs, p, state, generator)
        source = torch.Generator(generator.device).set_state(generator_state)  # type: ignore[arg-type]
        return step(inputs, p, state, source)

    result: tuple[Tensor, State] = checkpoint(run, p, state, use_reentrant=False, preserve_rng_state=generator is None)
    return result
