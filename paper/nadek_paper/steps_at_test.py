"""Log-likelihoods of a model with other numbers of steps than it was trained with."""

from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from nadek.inference.decoders.chunking import MAX_BYTES, bytes_per_row, chunks
from nadek.inference.order_agnostic import MaskDistribution, step_costs
from nadek.inference.summary import Summary, summarise
from nadek.models import IterativeNADE
from nadek.models.base import Inputs
from nadek.models.evaluation import evaluation_mode


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


@evaluation_mode
def log_probs_by_steps(
    model: IterativeNADE, x: Shaped[Tensor, "B D"], *, steps: int, masks: int, generator: torch.Generator
) -> Float[Tensor, "steps B"]:
    """Estimate log p(x) of a model with 1, 2, ... steps (nats).

    These are unbiased estimates of the mean of log p(x | o) over orderings. All numbers of steps see the same masks, so
    their differences are much less noisy than each one.
    """
    total = torch.zeros(steps, len(x), dtype=torch.float64, device=x.device)
    for _ in range(masks):
        missing = MaskDistribution(stratified=True).sample(torch.ones_like(x, dtype=torch.bool), generator=generator)
        for rows in chunks(len(x), bytes_per_row(model) * (steps + 1), MAX_BYTES):
            total[:, rows] -= step_costs(model, x[rows], missing[rows], steps=steps).double()
    return total / masks


def summaries_by_steps(
    model: IterativeNADE, x: Shaped[Tensor, "B D"], *, steps: int, masks: int, seed: int
) -> list[Summary]:
    """Summarise the estimates of `log_probs_by_steps` over rows."""
    generator = torch.Generator(x.device).manual_seed(seed)
    values = log_probs_by_steps(model, x, steps=steps, masks=masks, generator=generator)
    return [summarise(row.unsqueeze(0)) for row in values]
