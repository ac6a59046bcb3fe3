"""Validation with the same masks every time: two epochs differ by their weights only."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.inference.decoders.chunking import MAX_BYTES, bytes_per_row, chunks
from nadek.inference.likelihood import log_prob
from nadek.inference.mask_distribution import MaskDistribution, MaskLaw
from nadek.inference.order_agnostic import step_costs
from nadek.models.base import ConditionalModel
from nadek.training.prepare import Rows

MIN_ROWS = 4096
"""Smaller validation sets are repeated, with other masks."""


class Validation(NamedTuple):
    """Validation rows and their masks."""

    rows: Rows
    missing: Tensor
    ordering: Tensor | None
    """Of a fixed-order model, which needs no masks."""
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
    if (ordering := model.own_ordering) is not None:
        return Validation(rows, torch.empty(0), ordering, masks)
    repeats = -(-min_rows // len(rows.values))
    values = rows.values.repeat(repeats, 1)
    observed = None if rows.observed is None else rows.observed.repeat(repeats, 1)
    shown = torch.ones_like(values, dtype=torch.bool) if observed is None else observed
    missing = masks.sample(shown, generator=generator)
    return Validation(Rows(values, observed, rows.n_skipped), missing, None, masks)


@torch.no_grad()
def validation_costs(model: ConditionalModel, validation: Validation) -> Float[Tensor, " k"]:
    """Return the mean cost after every step, in nats a row (float64 sums)."""
    model.eval()
    if validation.ordering is not None:
        return -log_prob(model, validation.rows.values, ordering=validation.ordering).mean(0, keepdim=True).cpu()
    total = torch.zeros(1, dtype=torch.float64)
    n_rows = len(validation.rows.values)
    for rows in chunks(n_rows, bytes_per_row(model) * (model.steps + 1), MAX_BYTES):
        x, observed = validation.rows.batch(rows)
        costs = step_costs(model, x, validation.missing[rows], observed, masks=validation.masks)
        total = total + costs.double().sum(1).cpu()
    return total / n_rows
