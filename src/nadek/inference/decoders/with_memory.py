"""The decoder of a model with a memory: it wraps the decoder of the network alone."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import ALL, Decoder, Rows
from nadek.models.memory import MemoryModel


class MemoryDecoder:
    """Blend the scores of a decoder with the kernel average of the remembered rows.

    Hamming distances [B, N] follow what is revealed, and only the columns asked for are averaged.
    """

    def __init__(self, inner: Decoder, model: MemoryModel, ordering: Int[Tensor, " D"], n_rows: int) -> None:
        self.inner, self.model = inner, model
        self.variables, self.shared = inner.variables, inner.shared
        self.stored = model.stored.select(model.variables.column_order(ordering))
        self.distance = self.stored.values.new_zeros(n_rows, len(self.stored.values))

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """See `Decoder`."""
        scores, stored = self.inner.scores(positions, rows), self.stored.select(self._columns(positions))
        means, log_weight = self.model.kernel_average(stored, self.distance[rows])
        certainty = self.model.certainty(log_weight)
        return self.variables.mix_scores(scores.to(certainty.dtype), means, certainty, positions)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Decoder`."""
        self.inner.reveal(positions, value, where)
        observed = torch.ones_like(value, dtype=torch.bool) if where is None else where
        hidden = ~self.variables.expand(observed, positions)
        shown = self.variables.encode(value, positions).to(self.distance.dtype).masked_fill(hidden, 0)
        self.distance += self.stored.select(self._columns(positions)).hamming_distance(shown, ~hidden)

    def _columns(self, positions: slice) -> slice:
        return slice(self.variables.first_column(positions.start), self.variables.first_column(positions.stop))
