"""Choice of the quickest decoder, and the wrapper for a model with a memory."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders.full import Decoder, FullDecoder, Rows
from nadek.inference.decoders.incremental import IncrementalDecoder, RaggedDecoder
from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.memory import MemoryModel
from nadek.models.variables import ALL


class MemoryDecoder:
    """Blend the scores of a decoder with the kernel average of the remembered rows.

    Hamming distances [B, N] follow what is revealed, and only the columns asked for are averaged.
    """

    def __init__(self, inner: Decoder, model: MemoryModel, ordering: Int[Tensor, " D"], n_rows: int) -> None:
        self.inner, self.model = inner, model
        self.variables, self.along, self.shared = inner.variables, model.variables.permute(ordering), inner.shared
        self.stored = model.stored.select(model.variables.column_order(ordering))
        self.distance = self.stored.values.new_zeros(n_rows, len(self.stored.values))

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """See `Decoder`."""
        scores, stored = self.inner.scores(positions, rows), self.stored.select(self.along.columns(positions))
        means, log_weight = self.model.kernel_average(stored, self.distance[rows])
        certainty = self.model.certainty(log_weight)
        return self.along.mix_scores(scores.to(certainty.dtype), means, certainty, positions)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Decoder`."""
        self.inner.reveal(positions, value, where)
        observed = torch.ones_like(value, dtype=torch.bool) if where is None else where
        hidden = ~self.along.expand(observed, positions)
        shown = self.along.one_hot(value, positions).to(self.distance.dtype).masked_fill(hidden, 0)
        self.distance += self.stored.select(self.along.columns(positions)).hamming_distance(shown, ~hidden)


def select_decoder(
    model: ConditionalModel,
    ordering: Int[Tensor, "*rows D"],
    n_rows: int,
    *,
    stage: Shaped[Tensor, "B D"] | None,
    dtype: torch.dtype | None,
) -> Decoder:
    """Return the quickest decoder for rows of one ordering or one a row; ``stage`` is that of `RaggedDecoder`."""
    if ordering.ndim == 2 or not model.can_decode_incrementally:
        return FullDecoder(model, ordering.expand(n_rows, -1), dtype=dtype)
    model = getattr(model, "_orig_mod", model)  # what torch.compile was given
    if isinstance(model, MemoryModel):
        inner = select_decoder(model.network, ordering, n_rows, stage=stage, dtype=dtype)
        return MemoryDecoder(inner, model, ordering, n_rows)
    assert isinstance(model, IterativeNADE)
    if stage is None:
        return IncrementalDecoder(model, ordering, n_rows, dtype=dtype)
    return RaggedDecoder(model, ordering, stage, dtype=dtype)
