"""What a minibatch teaches: its rows, what is hidden from them, and the costs of that. Nothing here changes."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nadek.inference.order_agnostic import fixed_order_costs, step_costs
from nadek.inference.orderings import draw_missing
from nadek.models.base import ConditionalModel
from nadek.training.prepare import Rows, mirrored
from nadek.training.training_config import Phase, TrainingConfig


@dataclass(frozen=True)
class BatchLoss:
    """The costs of minibatches, as a run asks for them.

    Attributes:
        model: the network that learns.
        config: the run.
        teacher: a trained network to learn from; None where rows tell what they hold.
        ordering: the one of a fixed-order network [D]; None for others.
    """

    model: ConditionalModel
    config: TrainingConfig
    teacher: ConditionalModel | None
    ordering: Tensor | None

    def costs(
        self, rows: Rows, places: Int[Tensor, " B"], phase: Phase, generator: torch.Generator
    ) -> Float[Tensor, "k B"]:
        """Costs of some rows after every step of the network that the phase counts, with their gradient."""
        x, observed = self._shown(rows, places, generator)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
            if phase.objective == "fixed_order":
                return self._in_order(x, generator)
            shown = torch.ones_like(x, dtype=torch.bool) if observed is None else observed
            law: dict[str, Any] = {"tilt": self.config.tilt, "masks": phase.hides}
            missing = draw_missing(shown, stratified=self.config.stratified, **law, generator=generator)
            return step_costs(
                self.model,
                x,
                missing,
                observed,
                **law,
                taught=self._taught(x, missing),
                steps=phase.steps,
                last_only=phase.objective == "last_step",
                recompute=self.config.recompute,
                generator=generator,
            )

    def _in_order(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """The costs of every stride-th conditional, from a place that is drawn."""
        assert self.ordering is not None  # checked when the run began
        stride = self.config.stride
        start = int(torch.randint(stride, (), generator=generator, device=x.device)) if stride > 1 else 0
        return fixed_order_costs(self.model, x, self.ordering, start=start, stride=stride, generator=generator)

    @torch.no_grad()
    def _taught(self, x: Tensor, missing: Tensor) -> Tensor | None:
        """What the teacher says of the hidden cells."""
        return None if self.teacher is None else self.teacher(x, missing)[-1]

    def _shown(self, rows: Rows, places: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor | None]:
        """Values and holes of a minibatch, with half of the images mirrored where that is asked for."""
        x, observed = rows.batch(places)
        shape = self.config.mirror
        if shape is None:
            return x, observed
        turned = torch.rand(len(x), device=x.device, generator=generator) < 0.5
        return mirrored(x, turned, shape), None if observed is None else mirrored(observed, turned, shape)
