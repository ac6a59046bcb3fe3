"""Gradients through k steps without keeping what the steps computed: it is computed again on the way back.

The memory of a training step is then that of the logits of all steps and the activations of one.
"""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

State = TypeVar("State")
Step = Callable[[Tensor, State, torch.Generator | None], tuple[Tensor, State]]
"""From probabilities, what the last step left and the source of dropout to logits and what the next step gets."""


def checkpointed_step(
    step: Step[State], p: Tensor, state: State, generator: torch.Generator | None
) -> tuple[Tensor, State]:
    """Carry out a step of a network, and once more when its gradient is asked for, with the same dropout."""
    before = None if generator is None else generator.get_state()
    n_calls = 0

    def run(p: Tensor, state: State) -> tuple[Tensor, State]:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1 or generator is None:
            return step(p, state, generator)
        return step(p, state, torch.Generator(generator.device).set_state(before))  # type: ignore[arg-type]

    found: tuple[Tensor, State] = checkpoint(run, p, state, use_reentrant=False, preserve_rng_state=generator is None)
    return found
