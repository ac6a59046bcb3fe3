"""Log-probabilities of rows with missing cells, as if the rows were whole."""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoding import decode_rows
from nadek.inference.orderings import VISITED
from nadek.inference.row_random import row_keys
from nadek.inference.sampling import draws
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode

N_DRAWN = 256
"""Drawn rows whose mean is taken for the expectation, about."""


@evaluation_mode
def expected_log_probs(
    model: ConditionalModel, orderings: Int[Tensor, "M D"], *, seed: int
) -> tuple[Shaped[Tensor, "n D"], Float[Tensor, " D"]]:
    """Draw rows, and return them with the mean log-probability of each variable.

    It is that given the variables before, in nats, float64; the sum over variables estimates minus the entropy of the
    model under these orderings.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.full((3,), 0.5))
        >>> rows, expected = expected_log_probs(model, torch.tensor([[0, 1, 2], [2, 1, 0]]), seed=0)
        >>> rows.shape, bool((expected < 0).all())
        (torch.Size([256, 3]), True)
    """
    rows, log_probs = list[Tensor](), list[Tensor]()
    for keys in row_keys(seed, torch.arange(N_DRAWN, device=model.b.device)).chunk(len(orderings)):
        empty = model.b.new_full((len(keys), model.n_variables), torch.nan)
        visited = torch.full_like(empty, VISITED, dtype=torch.uint8)
        drawn = decode_rows(model, empty, orderings[len(rows)], visited, draw=draws(model, keys))
        rows.append(drawn.values)
        log_probs.append(drawn.log_probs)
    return torch.cat(rows), torch.cat(log_probs).mean(0)


def as_whole_rows(
    log_probs: Float[Tensor, " B"], x: Float[Tensor, "B D"], expected: Float[Tensor, " D"]
) -> Float[Tensor, " B"]:
    """Return log-probabilities of observed cells so that rows with any missing cells are compared.

    Of a row of n observed cells it is the expectation for a whole row, plus sqrt(D / n) times what the row is above the
    expectation for its observed cells: as if deviations of cells were independent. Whole rows keep theirs; a row
    without an observed cell has the expectation.

    Args:
        log_probs: in nats.
        x: codes, NaN where missing.
        expected: what each cell adds to the log-probability of a row, on average.
    """
    observed = (~x.isnan()).to(expected.dtype)
    above = log_probs - observed @ expected
    return expected.sum() + above * (x.shape[1] / observed.sum(1).clamp(min=1)).sqrt()
