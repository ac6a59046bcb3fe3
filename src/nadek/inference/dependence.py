"""Variables that a model guesses no better from all others than from nothing."""

import torch
from jaxtyping import Shaped
from torch import Tensor

from nadek.inference.check_inputs import missing_cells
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode

LEAST_CELLS = 30
"""Observed cells of a variable that show anything."""
MOST_GAIN = 0.05
"""Part of the cost given nothing that the others may save, with two standard errors on top."""
LEAST_COST = 0.1
"""Cost given nothing, in nats, below which a variable hardly varies."""


@evaluation_mode
def unrelated_variables(model: ConditionalModel, x: Shaped[Tensor, "N D"]) -> list[int]:
    """Return the variables of which the others tell nothing.

    Rows are unseen ones, NaN where missing. A variable that is in doubt is not among them. It takes D passes.
    """
    missing = missing_cells(model, x)
    if len(x) < LEAST_CELLS:
        return []
    values, unrelated = x.masked_fill(missing, 0), []
    costs = model.variables.costs(model(values, torch.ones_like(missing))[-1].double(), values)
    for j in ((~missing).sum(0) >= LEAST_CELLS).nonzero().flatten().tolist():
        observed, hidden = ~missing[:, j], missing.clone()
        hidden[:, j] = True
        given = model.variables.costs(model(values, hidden)[-1].double(), values)[observed, j]
        cost, gain = costs[observed, j].mean(), costs[observed, j] - given
        most = gain.mean() + 2 * gain.std() / len(gain) ** 0.5
        if cost >= LEAST_COST and most < MOST_GAIN * cost:
            unrelated.append(j)
    return unrelated
