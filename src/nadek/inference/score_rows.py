"""Log-likelihoods of rows along orderings, by suitable decoders."""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.inference.cell_scores import cell_scores
from nadek.inference.check_inputs import check_chunk
from nadek.inference.decoders import (
    MAX_BYTES,
    NEAR_BYTES,
    Decoder,
    FullDecoder,
    Progress,
    bytes_per_row,
    chunks,
    products_in,
    select_decoder,
)
from nadek.inference.decoding import decode, decode_separately, decode_shared
from nadek.inference.missing_patterns import SCORE_FROM, UNSEEN, VISITED, groups, staged
from nadek.inference.orderings import missing_at, rank_of
from nadek.models.base import ConditionalModel
from nadek.models.precision import checked_dtype

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
        check_chunk(decoding.chunk)
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
    stage: Shaped[Tensor, "B D"] | None,
    decoding: Decoding,
) -> Float[Tensor, "M B"]:
    """Return the log-likelihood of the visited cells of rows, in nats."""
    decoder = _choose(model, decoding.decoder, len(x), per_row=orderings.ndim == 3, partial=stage is not None)
    decoding = decoding._replace(decoder=decoder)
    if stage is None:
        return _score_complete(model, x, orderings, decoding)
    if decoding.chunk != 1:
        raise ValueError(f"chunk: expected 1 for rows with missing or given cells, found {decoding.chunk}")
    score = _score_cells if decoder == "batched" else _score_partial
    return score(model, x, orderings, stage, decoding)


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


def _score_complete(
    model: ConditionalModel, x: Tensor, orderings: Int[Tensor, "M *rows D"], decoding: Decoding
) -> Float[Tensor, "M B"]:
    """Score all cells, ordering by ordering."""
    out = torch.empty(len(orderings), len(x), dtype=torch.float64, device=x.device)
    near = decoding.decoder == "incremental" and x.device.type == "cpu"
    at_once = min(decoding.max_bytes, NEAR_BYTES) if near else decoding.max_bytes
    for index, ordering in enumerate(orderings):
        for rows in chunks(len(x), bytes_per_row(model), at_once):
            along = ordering if ordering.ndim == 1 else ordering[rows]
            out[index, rows] = _score_chunk(model, x[rows], along, decoding)
            decoding.report(index * len(x) + rows.stop, out.numel())
    return out


def _score_chunk(
    model: ConditionalModel, x: Tensor, ordering: Int[Tensor, "*rows D"], decoding: Decoding
) -> Float[Tensor, " B"]:
    per_row = ordering.expand(len(x), -1)
    if decoding.decoder == "batched":
        return _score_positions(model, x, per_row, decoding)
    if decoding.decoder == "full":
        decoder: Decoder = FullDecoder(model, per_row, dtype=decoding.dtype)
    else:
        decoder = select_decoder(model, ordering, len(x), dtype=decoding.dtype)
    return decode(decoder, x.gather(1, per_row), chunk=decoding.chunk).log_probs.sum(1)


def _score_positions(
    model: ConditionalModel, x: Tensor, ordering: Int[Tensor, "B D"], decoding: Decoding
) -> Float[Tensor, " B"]:
    """Run the whole network for many positions at once: given x, the D conditionals of a row are independent."""
    n_rows, n_variables = x.shape
    rank = rank_of(ordering)
    total = torch.zeros(n_rows, dtype=torch.float64, device=x.device)
    for positions in chunks(n_variables, n_rows * bytes_per_row(model), decoding.max_bytes):
        position = torch.arange(positions.start, positions.stop, device=x.device)
        missing = missing_at(rank, (position - position % decoding.chunk)[:, None, None])  # [positions, rows, D]
        with products_in(decoding.dtype, x.device):
            logits = model(x.expand(missing.shape), missing)[-1]
        visited = ordering[:, positions]
        scores = model.variables.scores(logits, visited.t())
        total += model.variables.log_prob(scores.double(), x.gather(1, visited).t()).sum(0)
    return total


def _score_partial(
    model: ConditionalModel,
    x: Tensor,
    orderings: Int[Tensor, "M *rows D"],
    stage: Int[Tensor, "B D"],
    decoding: Decoding,
) -> Float[Tensor, "M B"]:
    """Score the visited cells, ordering by ordering; rows that share a pattern are decoded together."""
    out = torch.zeros(len(orderings), len(x), dtype=torch.float64, device=x.device)
    full = decoding.decoder == "full"
    run = decode_separately if full else decode_shared
    patterns, done = list(groups(stage == UNSEEN, share=not full, share_from=SCORE_FROM)), 0
    for index, ordering in enumerate(orderings):
        if full or model.own_ordering is not None:
            own = staged(model, ordering, stage)  # refuses what a fixed-order model cannot answer
        for rows, _ in patterns:
            for part in chunks(len(rows), bytes_per_row(model), decoding.max_bytes):
                some = rows[part]
                along = own[some] if full else ordering
                decoded = run(model, x[some], along, stage[some], dtype=decoding.dtype)
                out[index, some] = decoded.log_probs.sum(1)
                decoding.report(done + part.stop, out.numel())
            done += len(rows)
    return out


def _score_cells(
    model: ConditionalModel,
    x: Tensor,
    orderings: Int[Tensor, "M *rows D"],
    stage: Int[Tensor, "B D"],
    decoding: Decoding,
) -> Float[Tensor, "M B"]:
    """Score the visited cells of all orderings and rows at once, each by a pass of the whole network."""
    n_orderings, shape = len(orderings), (len(orderings) * len(x), x.shape[1])
    rank = torch.stack([rank_of(staged(model, ordering, stage)) for ordering in orderings]).view(shape)
    repeated, visited = x.repeat(n_orderings, 1), (stage == VISITED).repeat(n_orderings, 1)
    out = torch.zeros(len(repeated), dtype=torch.float64, device=x.device)
    row, variable = visited.nonzero(as_tuple=True)
    for part in chunks(len(row), bytes_per_row(model), decoding.max_bytes):
        r, j = row[part], variable[part]
        missing = missing_at(rank[r], rank[r, j].unsqueeze(1))
        scores = cell_scores(model, repeated[r], missing, j, dtype=decoding.dtype)
        out.index_add_(0, r, model.variables.log_prob(scores, repeated[r, j]))
        decoding.report(int(r[-1]), len(out))
    decoding.report(len(out), len(out))
    return out.view(n_orderings, -1)
