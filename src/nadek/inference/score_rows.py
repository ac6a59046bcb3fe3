"""Log-likelihoods of rows along orderings, by suitable decoders."""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.inference.cells import cell_scores
from nadek.inference.check_inputs import as_count, checked_dtype
from nadek.inference.decoders.chunking import MAX_BYTES, NEAR_BYTES, Progress, bytes_per_row, chunks
from nadek.inference.decoding import decode_rows
from nadek.inference.orderings import SCORE_FROM, UNSEEN, VISITED, groups, in_stages, missing_at, rank_of
from nadek.models.base import ConditionalModel

DecoderName = Literal["auto", "incremental", "full", "batched"]
FEW_ROWS = 8
"""For so few rows it is quicker to batch over the positions."""


class Decoding(NamedTuple):
    """Checked options of `nadek.inference.likelihood.DecodingOptions`."""

    decoder: DecoderName = "auto"
    chunk: int = 1
    dtype: torch.dtype | None = None
    max_bytes: int = MAX_BYTES
    progress: Progress | None = None

    @classmethod
    def of(cls, model: ConditionalModel, **options: object) -> "Decoding":
        """Check the options against the model."""
        decoding = cls(**options)  # type: ignore[arg-type]
        as_count("chunk", decoding.chunk, of=" variable at once")
        if decoding.decoder not in get_args(DecoderName):
            expected = ", ".join(get_args(DecoderName))
            raise ValueError(f"decoder: expected one of {expected}, found {decoding.decoder!r}")
        return decoding._replace(dtype=checked_dtype(model.b.dtype, decoding.dtype))

    def report(self, done: int, total: int) -> None:
        """Report the rows done."""
        if self.progress is not None:
            self.progress(done, total)


def score_rows(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    orderings: Int[Tensor, "M *rows D"],
    stage: Shaped[Tensor, "B D"],
    decoding: Decoding,
) -> Float[Tensor, "M B"]:
    """Return the log-likelihood of the visited cells of rows, in nats."""
    partial = bool((stage != VISITED).any())
    if partial and decoding.chunk != 1:
        raise ValueError(f"chunk: expected 1 for rows with missing or given cells, found {decoding.chunk}")
    decoder = _choose(model, decoding.decoder, len(x), per_row=orderings.ndim == 3, partial=partial)
    score = _score_cells if decoder == "batched" else _score_decoded
    return score(model, x, orderings, stage, decoding._replace(decoder=decoder))


def _choose(model: ConditionalModel, decoder: DecoderName, n_rows: int, *, per_row: bool, partial: bool) -> DecoderName:
    """Return the decoder that "auto" stands for, or check the one asked for."""
    if decoder == "incremental" and per_row:
        raise ValueError("the incremental decoder needs one ordering [D] shared by all rows, found one a row")
    if decoder == "incremental" and not model.can_decode_incrementally:
        needs = "the incremental decoder needs a network that single variables can be cut out of, without hooks on it"
        raise ValueError(f"{needs}; use another decoder")
    if decoder != "auto":
        return decoder
    if n_rows <= FEW_ROWS or not (partial or model.can_decode_incrementally):
        return "batched"
    return "full" if per_row else "incremental"


def _score_decoded(
    model: ConditionalModel,
    x: Tensor,
    orderings: Int[Tensor, "M *rows D"],
    stage: Shaped[Tensor, "B D"],
    decoding: Decoding,
) -> Float[Tensor, "M B"]:
    """Decode ordering by ordering; rows that share a pattern are decoded together."""
    out = torch.zeros(len(orderings), len(x), dtype=torch.float64, device=x.device)
    full, done = decoding.decoder == "full", 0
    near = not full and x.device.type == "cpu"
    at_once = min(decoding.max_bytes, NEAR_BYTES) if near else decoding.max_bytes
    patterns = list(groups(stage == UNSEEN, share=not full, share_from=SCORE_FROM))
    for index, ordering in enumerate(orderings):
        if full or model.own_ordering is not None:
            own = in_stages(model, ordering, stage)  # refuses what a fixed-order model cannot answer
        for rows, _ in patterns:
            for part in chunks(len(rows), bytes_per_row(model), at_once):
                some = rows[part]
                along = own[some] if full else ordering
                decoded = decode_rows(model, x[some], along, stage[some], chunk=decoding.chunk, dtype=decoding.dtype)
                out[index, some] = decoded.log_probs.sum(1)
                decoding.report(done + part.stop, out.numel())
            done += len(rows)
    return out


def _score_cells(
    model: ConditionalModel,
    x: Tensor,
    orderings: Int[Tensor, "M *rows D"],
    stage: Shaped[Tensor, "B D"],
    decoding: Decoding,
) -> Float[Tensor, "M B"]:
    """Score many cells at once, each by a pass of the whole network: given x, they are independent."""
    n_rows, a_cell = len(x), bytes_per_row(model)
    out = torch.zeros(len(orderings) * n_rows, dtype=torch.float64, device=x.device)
    own = orderings if orderings.ndim == 3 else orderings.unsqueeze(1).expand(-1, n_rows, -1)
    for part in chunks(len(out), x.shape[1] * a_cell, decoding.max_bytes):
        pair = torch.arange(part.start, part.stop, device=x.device)
        row = pair % n_rows
        rank = rank_of(in_stages(model, own[pair // n_rows, row], stage[row]))
        place, variable = (stage[row] == VISITED).nonzero(as_tuple=True)
        for cells in chunks(len(place), a_cell, decoding.max_bytes):
            r, j = place[cells], variable[cells]
            position = rank[r, j]
            missing = missing_at(rank[r], (position - position % decoding.chunk).unsqueeze(1))
            values = x[row[r]]
            scores = cell_scores(model, values, missing, j, dtype=decoding.dtype)
            log_p = model.variables.log_prob(scores, values.gather(1, j.unsqueeze(1)).squeeze(1))
            out.index_add_(0, pair[r], log_p)
        decoding.report(part.stop, len(out))
    return out.view(len(orderings), n_rows)
