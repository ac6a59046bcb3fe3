"""Log-probabilities of rows with missing cells, as if the rows were whole."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.orderings import rank_of
from nadek.inference.row_random import row_keys
from nadek.inference.sampling import complete, draws, orderings_of
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode

N_DRAWN = 512
"""Drawn rows whose means are taken for expectations."""


class Drawn(NamedTuple):
    """Drawn rows, each along an ordering of its own."""

    x: Shaped[Tensor, "N D"]
    """Codes."""
    log_probs: Float[Tensor, "N D"]
    """Of each cell given those before, in nats, float64."""
    rank: Int[Tensor, "N D"]
    """Number of cells before."""


@evaluation_mode
def draw_rows(model: ConditionalModel, *, seed: int) -> Drawn:
    """Draw rows of a model, and return the log-probabilities of their cells."""
    keys = row_keys(seed, torch.arange(N_DRAWN, device=model.b.device))
    ordering, own = orderings_of(keys, model.n_variables), model.own_ordering
    empty = model.b.new_full(ordering.shape, torch.nan)
    decoded = complete(model, empty, draws(model, keys), ordering)
    return Drawn(*decoded, rank_of(ordering if own is None else own.to(keys.device).expand(ordering.shape)))


def expectation_by_rank(log_probs: Float[Tensor, "N D"], rank: Int[Tensor, "N D"]) -> Float[Tensor, "2 D"]:
    """Return lines through the log-probabilities of each variable by the number of cells before.

    They are the values without any cell before, and the slopes; 0 where the number is always the same.
    """
    away = rank - rank.double().mean(0)
    slope = (away * log_probs).sum(0) / away.square().sum(0).clamp(min=1)
    return torch.stack([log_probs.mean(0) - slope * rank.double().mean(0), slope])


def as_whole_rows(
    log_probs: Float[Tensor, " B"], observed: Bool[Tensor, "B D"], expected: Float[Tensor, "2 D"]
) -> Float[Tensor, " B"]:
    """Return log-probabilities of observed cells so that rows with any missing cells are compared.

    Of a row of n observed cells it is the expectation for a whole row, plus sqrt(D / n) times what the row is above the
    expectation for its observed cells: as if deviations of cells were independent. Whole rows keep theirs; a row
    without an observed cell has the expectation.

    Args:
        log_probs: in nats.
        observed: True for their cells.
        expected: see `expectation_by_rank`.
    """
    counted = observed.to(expected.dtype)
    above = log_probs - _expectation(counted, expected)
    whole = _expectation(torch.ones_like(counted[:1]), expected)
    return whole + above * (counted.shape[1] / counted.sum(1).clamp(min=1)).sqrt()


def _expectation(observed: Float[Tensor, "B D"], expected: Float[Tensor, "2 D"]) -> Float[Tensor, " B"]:
    """Return the expected sum over observed cells: half of the others come before each, on average."""
    first, slope = expected
    return observed @ first + (observed @ slope) * (observed.sum(1) - 1) / 2
