"""Costs in training: of minibatches, whose masks are drawn anew, and of validation rows, whose masks stay the same."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nadek.inference.decoders.chunking import MAX_BYTES, bytes_per_row, chunks
from nadek.inference.likelihood import log_prob
from nadek.inference.order_agnostic import PAPER, MaskDistribution, MaskLaw, fixed_order_costs, step_costs
from nadek.kernels.cpu import has_fast_bfloat16
from nadek.models.base import ConditionalModel
from nadek.training.prepare import Rows, mirror_images
from nadek.training.training_config import Phase, TrainingConfig
from nadek.training.world import ALONE, World

MIN_ROWS = 4096
"""Smaller validation sets are repeated, with other masks."""


class Minibatch(NamedTuple):
    """Rows of a minibatch, and their draws."""

    rows: Rows
    missing: Bool[Tensor, "B D"] | None
    """None under the fixed_order objective, which counts conditionals from ``start`` on."""
    start: int = 0
    more_steps: int = 0
    """Uses of the network before the usual ones, without gradient."""


def draw_batch(
    rows: Rows,
    indices: Int[Tensor, " B"],
    phase: Phase,
    config: TrainingConfig,
    *,
    own: slice = slice(None),
    generator: torch.Generator,
) -> Minibatch:
    """Draw all that is random in a minibatch, but for dropout, and return its ``own`` rows."""
    batch, device = rows.select(indices), rows.values.device
    if config.mirror is not None:  # half of the images
        mirrored = torch.rand(len(indices), device=device, generator=generator) < 0.5
        observed = None if batch.observed is None else mirror_images(batch.observed, mirrored, config.mirror)
        batch = batch._replace(values=mirror_images(batch.values, mirrored, config.mirror), observed=observed)
    if phase.objective == "fixed_order":
        stride = config.stride
        start = int(torch.randint(stride, (), generator=generator, device=device)) if stride > 1 else 0
        return Minibatch(batch.select(own), None, start)
    missing = config.mask_distribution(phase).sample(batch.shown, own=own, generator=generator)
    extra = phase.extra_steps
    more = int(torch.randint(extra + 1, (), generator=generator, device=device)) if extra else 0
    return Minibatch(batch.select(own), missing, more_steps=more)


def takes_bfloat16(config: TrainingConfig, device: torch.device) -> bool:
    """Return True if matrix products are bfloat16."""
    return config.precision == "bfloat16" and has_fast_bfloat16(device)


def batch_costs(
    model: ConditionalModel,
    batch: Minibatch,
    phase: Phase,
    config: TrainingConfig,
    *,
    teacher: ConditionalModel | None,
    smoothing: Float[Tensor, " D"] | None = None,
    generator: torch.Generator,
) -> Float[Tensor, "k B"]:
    """Return the costs of a minibatch after every step that the phase counts, with their gradient."""
    rows, missing, start, more = batch
    x = rows.values
    with torch.autocast(x.device.type, torch.bfloat16, enabled=takes_bfloat16(config, x.device)):
        if missing is None:
            ordering = model.own_ordering
            assert ordering is not None  # checked when the run began
            costs = fixed_order_costs(model, x, ordering, start=start, stride=config.stride, generator=generator)
        else:
            with torch.no_grad():
                teacher_logits = None if teacher is None else teacher(x, missing)[-1]
            costs = step_costs(
                model,
                x,
                missing,
                rows.observed,
                masks=config.mask_distribution(phase),
                teacher_logits=teacher_logits,
                smoothing=smoothing,
                steps=(phase.steps or model.steps) + more,
                first=-1 if phase.objective == "last_step" else more,
                detached=more,
                recompute=config.recompute,
                generator=generator,
            )
    return costs if rows.weights is None else rows.weights * costs


def smoothing_of(rows: Rows, model: ConditionalModel, config: TrainingConfig) -> Float[Tensor, " D"] | None:
    """Return the factors of smoothing, 0 for continuous variables."""
    if config.smoothing is None:
        return None
    factors = config.smoothing / (rows.counted.double() @ rows.shown.double()).clamp(min=1)
    for j, knots in enumerate(model.variables.knots or ()):
        if knots is not None:
            factors[j] = 0
    return factors.float()


class Validation(NamedTuple):
    """Validation rows and their masks."""

    rows: Rows
    missing: Tensor
    masks: MaskDistribution


def prepare_validation(
    rows: Rows,
    model: ConditionalModel,
    generator: torch.Generator,
    *,
    law: MaskLaw = "orderings",
    min_rows: int = MIN_ROWS,
) -> Validation:
    """Draw the masks of the validation rows.

    A fixed-order model needs none: its cost is exact.
    """
    masks = MaskDistribution(law, stratified=True)
    if model.own_ordering is not None:
        return Validation(rows, torch.empty(0), masks)
    repeats = -(-min_rows // len(rows.values))
    repeated = rows.select(torch.arange(len(rows.values), device=rows.values.device).repeat(repeats))
    return Validation(repeated, masks.sample(repeated.shown, generator=generator), masks)


def cell_weights(validation: Validation) -> Float[Tensor, "V D"]:
    """Return the weight of each cell in the order-agnostic cost (Eq. 4)."""
    shown = validation.rows.shown
    targets = validation.missing & shown
    return targets * PAPER.weight(targets.sum(1, keepdim=True), shown.sum(1, keepdim=True), dtype=torch.float64)


@torch.no_grad()
def validation_costs(
    model: ConditionalModel, validation: Validation, steps: int | None = None, *, world: World = ALONE
) -> Float[Tensor, " k"]:
    """Return the mean cost after every step, or the first ones, in nats a row (float64 sums).

    Each process computes those of its part of the rows.
    """
    model.eval()
    n_rows = len(validation.rows.values)
    own = world.part(n_rows)
    part = validation.rows.select(own)
    if (ordering := model.own_ordering) is not None:
        costs = -log_prob(model, part.values, ordering=ordering)
        return world.sum(_total(costs.unsqueeze(0), part.weights)) / n_rows
    missing = validation.missing[own]
    total = torch.zeros(steps or model.steps, dtype=torch.float64)
    for rows in chunks(len(missing), bytes_per_row(model) * (model.steps + 1), MAX_BYTES):
        some = part.select(rows)
        costs = step_costs(model, some.values, missing[rows], some.observed, masks=validation.masks, steps=steps)
        total = total + _total(costs, some.weights)
    return world.sum(total) / n_rows


def _total(costs: Float[Tensor, "k B"], weights: Float[Tensor, " B"] | None) -> Float[Tensor, " k"]:
    """Return sums over rows, in float64 on the CPU."""
    return (costs if weights is None else weights * costs).double().sum(1).cpu()
