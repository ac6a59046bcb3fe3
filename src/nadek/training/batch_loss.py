"""Costs of a minibatch: its rows, the masks drawn for them, and a teacher's logits."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nadek.inference.order_agnostic import fixed_order_costs, step_costs
from nadek.models.base import ConditionalModel
from nadek.training.prepare import Rows, mirror_images
from nadek.training.training_config import Phase, TrainingConfig


@dataclass(frozen=True)
class BatchLoss:
    """Costs of minibatches under one training config; ``ordering`` [D] is a fixed-order network's."""

    model: ConditionalModel
    config: TrainingConfig
    teacher: ConditionalModel | None
    ordering: Tensor | None

    def costs(
        self, rows: Rows, indices: Int[Tensor, " B"], phase: Phase, generator: torch.Generator
    ) -> Float[Tensor, "k B"]:
        """Return the costs after every step that the phase counts, with their gradient."""
        x, observed = self._batch(rows, indices, generator)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
            if phase.objective == "fixed_order":
                return self._fixed_order_costs(x, generator)
            masks = self.config.mask_distribution(phase)
            shown = torch.ones_like(x, dtype=torch.bool) if observed is None else observed
            missing = masks.sample(shown, generator=generator)
            return step_costs(
                self.model,
                x,
                missing,
                observed,
                masks=masks,
                teacher_logits=self._teacher_logits(x, missing),
                steps=phase.steps,
                last_only=phase.objective == "last_step",
                recompute=self.config.recompute,
                generator=generator,
            )

    def _fixed_order_costs(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Return the costs of every stride-th conditional, from a random start."""
        assert self.ordering is not None  # checked when the run began
        stride = self.config.stride
        start = int(torch.randint(stride, (), generator=generator, device=x.device)) if stride > 1 else 0
        return fixed_order_costs(self.model, x, self.ordering, start=start, stride=stride, generator=generator)

    @torch.no_grad()
    def _teacher_logits(self, x: Tensor, missing: Tensor) -> Tensor | None:
        return None if self.teacher is None else self.teacher(x, missing)[-1]

    def _batch(self, rows: Rows, indices: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor | None]:
        """Return values and observed cells of a minibatch, half of its images mirrored if the config says so."""
        x, observed = rows.batch(indices)
        shape = self.config.mirror
        if shape is None:
            return x, observed
        chosen = torch.rand(len(x), device=x.device, generator=generator) < 0.5
        return mirror_images(x, chosen, shape), None if observed is None else mirror_images(observed, chosen, shape)
