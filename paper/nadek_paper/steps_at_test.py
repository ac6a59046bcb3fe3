"""Log-likelihoods of a model with other numbers of steps than it was trained with."""

from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor

from nadek.inference.likelihood import log_probs_by_steps
from nadek.inference.summary import Summary, summarise
from nadek.models import IterativeNADE
from nadek.models.base import Inputs


class Damped(IterativeNADE):
    """Network of binary variables with ever shorter extra steps (Mann 1953).

    The n-th step beyond the usual ones goes 1 / (n + 1) of the way from the values before it to its answer. So the
    values are the mean of the answers since the last usual step.
    """

    def step(
        self,
        inputs: Inputs,
        p: Tensor,
        state: Any,  # noqa: ANN401 - the number of steps, and the core's
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Any]:
        """Count the steps in the state."""
        done, state = (0, None) if state is None else state
        logits, state = super().step(inputs, p, state, generator)
        if done >= self.steps:
            logits = torch.lerp(p, logits.sigmoid(), 1 / (done - self.steps + 2)).logit(1e-7)
        return logits, (done + 1, state)


def damped(model: IterativeNADE) -> Damped:
    """Return a copy with damped steps."""
    copy = Damped(model.config, generator=torch.Generator()).to(model.b)
    copy.load_state_dict(model.state_dict())
    return copy


def summaries_by_steps(
    model: IterativeNADE, x: Shaped[Tensor, "B D"], *, steps: int, masks: int, seed: int
) -> list[Summary]:
    """Summarise unbiased estimates of log p(x) with 1, 2, ... steps over rows (nats)."""
    generator = torch.Generator(x.device).manual_seed(seed)
    values = log_probs_by_steps(model, x, steps=steps, masks=masks, generator=generator)
    return [summarise(row.unsqueeze(0)) for row in values]
