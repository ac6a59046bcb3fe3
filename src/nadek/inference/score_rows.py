"""Log-likelihoods of rows along orderings, by suitable decoders."""

from typing import Literal, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.inference.cells import cell_scores
from nadek.inference.check_inputs import checked_dtype
from nadek.inference.chunk_sizes import Chunk, as_chunk, chunk_starts
from nadek.inference.decoders.chunking import MAX_BYTES, NEAR_BYTES, Progress, bytes_per_row, chunks
from nadek.inference.decoding import decode_rows
from nadek.inference.orderings import UNSEEN, VISITED, groups, in_stages, rank_of
from nadek.models.base import ConditionalModel

DecoderName = Literal["auto", "incremental", "full", "batched"]
SCORE_FROM = 64
"""From so many rows with one pattern of missing cells on, it pays to score them by themselves."""

FEW_ROWS, FEW_CELLS = 32, 6400
"""For so few rows, of so few cells in all, it is quicker to batch over the positions."""


def score_rows(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    orderings: Int[Tensor, "M *rows D"],
    stage: Shaped[Tensor, "B D"],
    *,
    decoder: str = "auto",
    chunk: object = 1,
    dtype: object = None,
    progress: Progress | None = None,
) -> Float[Tensor, "M B"]:
    """Return the log-likelihood of the visited cells of rows, in nats.

    The options are those of `nadek.inference.likelihood.DecodingOptions`, not yet checked.
    """
    chunk = as_chunk(chunk, x.shape[1])
    partial = bool((stage != VISITED).any())
    if partial and chunk != 1:
        raise ValueError(f"chunk: expected 1 for rows with missing or given cells, found {chunk}")
    decoder = _choose(model, decoder, len(x), per_row=orderings.ndim == 3, partial=partial)
    dtype = checked_dtype(model.b.dtype, dtype)
    report = progress or (lambda done, total: None)
    if decoder == "batched":
        return _score_cells(model, x, orderings, stage, chunk, dtype, report)
    out = torch.zeros(len(orderings), len(x), dtype=torch.float64, device=x.device)
    full, done = decoder == "full", 0
    max_bytes = NEAR_BYTES if not full and x.device.type == "cpu" else MAX_BYTES
    patterns = [torch.arange(len(x), device=x.device)] if full else list(groups(stage == UNSEEN, SCORE_FROM))
    for index, ordering in enumerate(orderings):
        if full or model.own_ordering is not None:
            own = in_stages(model, ordering, stage)  # refuses what a fixed-order model cannot answer
        for rows in patterns:  # rows that share one are decoded together
            for part in chunks(len(rows), bytes_per_row(model), max_bytes):
                some = rows[part]
                along = own[some] if full else ordering
                decoded = decode_rows(model, x[some], along, stage[some], chunk=chunk, dtype=dtype)
                out[index, some] = decoded.log_probs.sum(1)
                report(done + part.stop, out.numel())
            done += len(rows)
    return out


def _choose(model: ConditionalModel, decoder: str, n_rows: int, *, per_row: bool, partial: bool) -> str:
    """Return the decoder that "auto" stands for, or check the one asked for."""
    if decoder not in get_args(DecoderName):
        raise ValueError(f"decoder: expected one of {', '.join(get_args(DecoderName))}, found {decoder!r}")
    if decoder == "incremental" and per_row:
        raise ValueError("the incremental decoder needs one ordering [D] shared by all rows, found one a row")
    if decoder == "incremental" and not model.can_decode_incrementally:
        needs = "the incremental decoder needs a network that single variables can be cut out of, without hooks on it"
        raise ValueError(f"{needs}; use another decoder")
    if decoder != "auto":
        return decoder
    if n_rows <= min(FEW_ROWS, FEW_CELLS // model.n_variables) or not (partial or model.can_decode_incrementally):
        return "batched"
    return "full" if per_row else "incremental"


def _score_cells(
    model: ConditionalModel,
    x: Tensor,
    orderings: Int[Tensor, "M *rows D"],
    stage: Shaped[Tensor, "B D"],
    chunk: Chunk,
    dtype: torch.dtype | None,
    report: Progress,
) -> Float[Tensor, "M B"]:
    """Score many cells at once, each by a pass of the whole network: given x, they are independent."""
    n_rows, a_cell = len(x), bytes_per_row(model)
    out = torch.zeros(len(orderings) * n_rows, dtype=torch.float64, device=x.device)
    starts = chunk_starts(chunk, x.shape[1]).to(x.device)
    own = orderings if orderings.ndim == 3 else orderings.unsqueeze(1).expand(-1, n_rows, -1)
    for part in chunks(len(out), x.shape[1] * a_cell):
        pair = torch.arange(part.start, part.stop, device=x.device)
        row = pair % n_rows
        rank = rank_of(in_stages(model, own[pair // n_rows, row], stage[row]))
        place, variable = (stage[row] == VISITED).nonzero(as_tuple=True)
        for cells in chunks(len(place), a_cell):
            r, j = place[cells], variable[cells]
            missing = rank[r] >= starts[rank[r, j]].unsqueeze(1)
            values = x[row[r]]
            scores = cell_scores(model, values, missing, j, dtype=dtype)
            log_p = model.variables.log_prob(scores, values.gather(1, j.unsqueeze(1)).squeeze(1), j)
            out.index_add_(0, pair[r], log_p)
        report(part.stop, len(out))
    return out.view(len(orderings), n_rows)
