"""How likely a part of a row is, by itself or given another part.

A model of every ordering knows the distribution of any part of a row: visit that part first, and stop. Each ordering
gives a proper distribution, and so does their mixture (`nadek.inference.likelihood.mixture_log_prob`).
"""

from functools import partial

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.cell_questions import each_cell, in_turn, tell_rows
from nadek.inference.decoders import MAX_BYTES, bytes_per_row, chunks
from nadek.inference.decoding import as_orderings, walk_together
from nadek.inference.likelihood import FEW_ROWS, Progress
from nadek.inference.missing_patterns import SCORE_FROM, check_flags, groups, missing_cells
from nadek.inference.orderings import Orderings, missing_at, rank_of
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import check_model_and_rows, evaluation_mode
from nadek.models.precision import checked_dtype


def marginal_log_probs(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    orderings: Orderings | int,
    *,
    dtype: torch.dtype | None = None,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
    progress: Progress | None = None,
) -> Float[Tensor, "O B"]:
    """Exact log p(observed cells) of every row under several orderings, missing cells summed out; nats, float64.

    Every row follows each ordering as far as it can: its observed cells first, in the order in which that ordering
    visits them. So rows without holes get what `nadek.inference.likelihood.log_probs` gives, and rows of NaN get 0.

    Args:
        model: a NADE-k; a fixed-order NADE serves where the missing cells come last in its ordering.
        x: codes and NaN for missing, any pattern in every row.
        orderings: the orderings, or how many to draw (a fixed-order model has one and ignores the number).
        dtype: of the matrix products, see `nadek.inference.likelihood.log_prob`.
        max_bytes: bound on the working memory.
        generator: source of the orderings, where they are drawn; on the device of ``x``.
        progress: called with the rows scored, counted over all orderings.

    Raises:
        ValueError: on a wrong number of columns, on values that are no codes, on orderings that are none, and on a
            pattern that a fixed-order model cannot sum out.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.tensor([0.5, 0.5, 0.5]))
        >>> marginal_log_probs(model, torch.tensor([[0, torch.nan, 1], [torch.nan] * 3]), 2)[:, 1]
        tensor([0., 0.], dtype=torch.float64)
    """
    check_model_and_rows(model, x)
    nothing = torch.zeros(x.shape[1:], dtype=torch.bool, device=x.device)
    return conditional_log_probs(
        model, x, nothing, orderings, dtype=dtype, max_bytes=max_bytes, generator=generator, progress=progress
    )


@evaluation_mode
def conditional_log_probs(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    given: Bool[Tensor, " D"],
    orderings: Orderings | int,
    *,
    dtype: torch.dtype | None = None,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
    progress: Progress | None = None,
) -> Float[Tensor, "O B"]:
    """Exact log p(other observed cells | observed cells among ``given``) under several orderings; nats, float64.

    Every row follows each ordering as far as it can: what is given first, then the other observed cells, each in the
    order in which that ordering visits them; what is missing is summed out, on both sides of the condition. Each
    ordering gives a proper conditional distribution, and so does their mixture. The rule log p(a) + log p(b | a)
    = log p(a, b) holds along one ordering that visits a before b, not for the mixtures.

    Args:
        model: a NADE-k; a fixed-order NADE serves where its ordering visits the cells in these stages.
        x: codes and NaN for missing, any pattern in every row.
        given: True for the variables to condition on.
        orderings: see `marginal_log_probs`, as are the other options.
        dtype: of the matrix products.
        max_bytes: bound on the working memory.
        generator: source of the orderings, where they are drawn.
        progress: called with the rows scored, counted over all orderings.

    Raises:
        ValueError: see `marginal_log_probs`.
    """
    missing = missing_cells(model, x)
    check_flags("given", given, x.shape[1:])
    dtype = checked_dtype(model.b.dtype, dtype)
    stage = torch.where(missing, 2, (~given.to(x.device)).long())
    orderings = as_orderings(model, orderings, device=x.device, generator=generator)
    score = _cell_by_cell if len(x) <= FEW_ROWS else _walked
    return score(model, x.masked_fill(missing, 0), stage, orderings, dtype, max_bytes, progress)


def _walked(
    model: ConditionalModel,
    values: Tensor,
    stage: Int[Tensor, "B D"],
    orderings: Int[Tensor, "O D"],
    dtype: torch.dtype | None,
    max_bytes: int,
    progress: Progress | None,
) -> Float[Tensor, "O B"]:
    """What is visited of each row (stage 1), ordering by ordering; rows that share a pattern walk together."""
    out = torch.zeros(len(orderings), len(values), dtype=torch.float64, device=values.device)
    patterns, done = list(groups(stage == 2, share_from=SCORE_FROM)), 0
    for index, ordering in enumerate(orderings):
        if model.config.ordering is not None:
            in_turn(model, ordering, stage)  # refuses what it cannot answer
        for rows, _ in patterns:
            for part in chunks(len(rows), bytes_per_row(model), max_bytes):
                some = rows[part]
                walked = walk_together(model, values[some], ordering, stage[some], dtype=dtype)
                out[index, some] = walked.log_probs.sum(1)
                tell_rows(progress, done, out.numel(), part.stop)
            done += len(rows)
    return out


def _cell_by_cell(
    model: ConditionalModel,
    values: Tensor,
    stage: Int[Tensor, "B D"],
    orderings: Int[Tensor, "O D"],
    dtype: torch.dtype | None,
    max_bytes: int,
    progress: Progress | None,
) -> Float[Tensor, "O B"]:
    """The same of few rows: as many passes of the whole network, of all orderings and positions at once.

    A walk asks for one position of one ordering after the other, and with few rows it mostly waits for the interpreter.
    """
    n_orderings, shape = len(orderings), (len(orderings) * len(values), values.shape[1])
    rank = torch.stack([rank_of(in_turn(model, ordering, stage)) for ordering in orderings]).view(shape)
    x, visited = values.repeat(n_orderings, 1), (stage == 1).repeat(n_orderings, 1)
    out = torch.zeros(len(x), dtype=torch.float64, device=x.device)

    def hidden(row: Tensor, variable: Tensor) -> Tensor:
        return missing_at(rank[row], rank[row, variable].unsqueeze(1))

    tell = partial(tell_rows, progress, 0, len(x))
    for row, j, scores in each_cell(model, x, visited, hidden, dtype=dtype, max_bytes=max_bytes, progress=tell):
        out.index_add_(0, row, model.variables.log_prob(scores, x[row, j]))
    return out.view(n_orderings, -1)
