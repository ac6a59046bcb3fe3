"""What makes a row unlikely: each of its cells, given all others."""

from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from nadek.inference.cell_questions import each_cell, in_turn, tell_rows
from nadek.inference.decoders import MAX_BYTES
from nadek.inference.likelihood import Progress
from nadek.inference.missing_patterns import missing_cells
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode
from nadek.models.precision import checked_dtype


class Explanation(NamedTuple):
    """What the model thinks of each observed cell, given all other observed cells of its row; NaN where missing."""

    log_prob: Float[Tensor, "B D"]
    """float64, nats: the log-probability of what was observed."""
    expected: Float[Tensor, "B D"]
    """float64: the code of the most probable level."""
    expected_log_prob: Float[Tensor, "B D"]
    """float64, nats: its log-probability."""

    @property
    def surprise(self) -> Float[Tensor, "B D"]:
        """How much likelier the expected level would have been, as the logarithm of the ratio; 0 where it is there.

        To compare cells of different variables by: a level of many is seldom probable, even where nothing is odd.
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
    """Compare each observed cell with what the model expects, given all other observed cells of its row.

    One pass of the network a cell. The log-probabilities do not add up to that of the row.

    Args:
        model: a NADE-k; a fixed-order NADE serves for rows with a single value, of the first variable in its ordering.
        x: codes and NaN for missing.
        dtype: of the matrix products, see `nadek.inference.likelihood.log_prob`.
        max_bytes: bound on the working memory.
        progress: called with the rows done.

    Raises:
        ValueError: on a wrong number of columns, on values that are no codes, and on rows in which a fixed-order
            model cannot ask for every cell.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.tensor([0.9, 0.1, 0.5]), generator=torch.Generator())
        >>> explain_cells(model, torch.tensor([[0, 0, torch.nan]])).expected
        tensor([[1., 0., nan]], dtype=torch.float64)
    """
    missing, dtype = missing_cells(model, x), checked_dtype(model.b.dtype, dtype)
    place = torch.arange(x.shape[1], device=x.device)

    def hidden(row: Tensor, variable: Tensor) -> Tensor:
        asked, unknown = variable[:, None] == place, missing[row]
        if model.own_ordering is not None:
            in_turn(model, model.own_ordering, unknown.long() * 2 + asked)
        return unknown | asked

    found = Explanation(*torch.full((3, *x.shape), torch.nan, dtype=torch.float64, device=x.device))
    values, tell = x.masked_fill(missing, 0), partial(tell_rows, progress, 0, x.shape[0])
    for row, j, scores in each_cell(model, values, ~missing, hidden, dtype=dtype, max_bytes=max_bytes, progress=tell):
        levels = model.variables.level_log_probs(scores)
        found.log_prob[row, j] = levels.gather(1, x[row, j].long()[:, None]).squeeze(1)
        best, level = levels.max(-1)
        found.expected_log_prob[row, j], found.expected[row, j] = best, level.double()
    return found


def cell_log_probs(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    *,
    dtype: torch.dtype | None = None,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> Float[Tensor, "B D"]:
    """Log-probability of each observed cell given all other observed cells of its row, in nats; NaN where missing.

    Args:
        model: see `explain_cells`, as are the other options.
        x: codes and NaN for missing.
        dtype: of the matrix products.
        max_bytes: bound on the working memory.
        progress: called with the rows done.

    Raises:
        ValueError: see `explain_cells`.
    """
    return explain_cells(model, x, dtype=dtype, max_bytes=max_bytes, progress=progress).log_prob
