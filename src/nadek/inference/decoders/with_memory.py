"""The path of a network that has a memory: that of the network alone, and how far rows are from the remembered ones."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import ALL, Path, Rows
from nadek.models.memory import MemoryModel


class MemoryDecoder:
    """A path along which a memory has its word.

    The columns of the remembered rows are permuted once, as those of the network are. Distances [B, N] follow what is
    revealed, and only the requested columns are averaged: a memory asked as a whole would compare rows with
    all of it at every position.

    Args:
        path: that of the network inside.
        model: the network with its memory.
        ordering: the ordering that the rows share [D].
        n_rows: B.
    """

    def __init__(self, path: Path, model: MemoryModel, ordering: Int[Tensor, " D"], n_rows: int) -> None:
        self.path, self.model = path, model
        self.variables, self.shared = path.variables, path.shared
        self.stored = model.stored.select(model.variables.column_order(ordering))
        self.distance = self.stored.values.new_zeros(n_rows, len(self.stored.values))

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """See `Path`."""
        scores, stored = self.path.scores(positions, rows), self.stored.select(self._columns(positions))
        means, log_weight = self.model.kernel_average(stored, self.distance[rows])
        share = self.model.share(log_weight)
        return self.variables.mix_scores(scores.to(means.dtype), means, share, positions)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], told: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Path`."""
        self.path.reveal(positions, value, told)
        observed = torch.ones_like(value, dtype=torch.bool) if told is None else told
        hidden = ~self.variables.expand(observed, positions)
        shown = self.variables.encode(value, positions).to(self.distance.dtype).masked_fill(hidden, 0)
        self.distance += self.stored.select(self._columns(positions)).hamming_distance(shown, ~hidden)

    def _columns(self, positions: slice) -> slice:
        return slice(self.variables.first_column(positions.start), self.variables.first_column(positions.stop))
