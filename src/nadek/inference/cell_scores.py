"""Scores of single cells given all others: which cells make a row unlikely."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.check_inputs import checked_dtype, missing_cells
from nadek.inference.decoders.chunking import MAX_BYTES, Progress, bytes_per_row, chunks
from nadek.inference.decoders.full import products_in
from nadek.inference.orderings import in_stages
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode


class Explanation(NamedTuple):
    """Each observed cell compared with the expected level; NaN where a cell is missing."""

    log_prob: Float[Tensor, "B D"]
    """float64, nats: log-probability of the observed level, given all other observed cells."""
    expected: Float[Tensor, "B D"]
    """float64: code of the most probable level."""
    expected_log_prob: Float[Tensor, "B D"]
    """float64, nats: log-probability of the most probable level."""

    @property
    def surprise(self) -> Float[Tensor, "B D"]:
        """Log-ratio of the expected level's probability to the observed one's, in nats; at least 0.

        Use it to compare cells of different variables: among many levels each one is improbable.
        """
        return self.expected_log_prob - self.log_prob


@evaluation_mode
def explain_cells(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    *,
    dtype: torch.dtype | None = None,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> Explanation:
    """Compare each observed cell with its distribution given all other observed cells.

    It takes one pass of the network a cell. The log-probabilities do not add up to that of the row.

    Args:
        model: a NADE-k; a fixed-order NADE serves for rows with a single value, of the first variable in its ordering.
        x: codes, NaN for a missing value.
        dtype: of the matrix products; see `nadek.inference.likelihood.DecodingOptions`.
        max_bytes: bound on the working memory.
        progress: called with (rows done, rows in all).

    Raises:
        ValueError: on a wrong number of columns, on values that are no codes, and on rows in which a fixed-order
            model cannot condition on all other cells.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.tensor([0.9, 0.1, 0.5]), generator=torch.Generator())
        >>> explain_cells(model, torch.tensor([[0, 0, torch.nan]])).expected
        tensor([[1., 0., nan]], dtype=torch.float64)
    """
    missing, dtype = missing_cells(model, x), checked_dtype(model.b.dtype, dtype)
    place = torch.arange(x.shape[1], device=x.device)
    cells = Explanation(*torch.full((3, *x.shape), torch.nan, dtype=torch.float64, device=x.device))
    values = x.masked_fill(missing, 0)
    row, variable = (~missing).nonzero(as_tuple=True)
    for part in chunks(len(row), bytes_per_row(model), max_bytes):
        r, j = row[part], variable[part]
        itself, unknown = j[:, None] == place, missing[r]
        if model.own_ordering is not None:
            in_stages(model, model.own_ordering, unknown.long() * 2 + itself)  # refuses what it cannot answer
        levels = model.variables.level_log_probs(cell_scores(model, values[r], unknown | itself, j, dtype=dtype))
        cells.log_prob[r, j] = levels.gather(1, x[r, j].long()[:, None]).squeeze(1)
        best, level = levels.max(-1)
        cells.expected_log_prob[r, j], cells.expected[r, j] = best, level.double()
        if progress is not None:
            progress(int(r[-1]), len(x))
    if progress is not None:
        progress(len(x), len(x))
    return cells


def cell_scores(
    model: ConditionalModel,
    x: Shaped[Tensor, "N D"],
    missing: Bool[Tensor, "N D"],
    variable: Int[Tensor, " N"],
    *,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "N ..."]:
    """Return the scores of one variable a row (float64), by one pass of the whole network."""
    with products_in(dtype, x.device):
        logits = model(x, missing)[-1]
    return model.variables.scores(logits, variable).double()
