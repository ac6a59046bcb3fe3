"""The ragged decoder: the incremental one for rows that visit different variables."""

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import Rows
from nadek.inference.decoders.incremental import IncrementalDecoder
from nadek.models import IterativeNADE


class RaggedDecoder(IncrementalDecoder):
    """Decode rows that share an ordering but differ in what is given, visited or never seen.

    Given variables enter the sums at the start. Columns are left out where every row has them by then; among the
    others, those that a row has are set to 0. ``stage`` is in visiting order.
    """

    def __init__(
        self,
        model: IterativeNADE,
        ordering: Int[Tensor, " D"],
        stage: Shaped[Tensor, "B D"],
        *,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(model, ordering, len(stage), dtype=dtype)
        self.guess = self.guess.repeat(len(stage), 1)
        unseen = (stage == 2).any(0).nonzero()
        self.all_seen = int(unseen[0]) if len(unseen) else stage.shape[1]
        n_columns = len(self.b) if self.steps > 1 else 0
        self.missing = torch.ones(len(stage), n_columns, dtype=self.dtype, device=self.b.device)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Decoder`."""
        where = torch.ones_like(value, dtype=torch.bool) if where is None else where
        columns, hidden = self._columns(positions), ~self.variables.expand(where, positions)
        shown = self.variables.encode(value, positions).to(self.seen.dtype).masked_fill(hidden, 0)
        self._add(positions, shown, self.fill[columns] * ~hidden, where)
        if self.steps > 1:
            self.missing[:, columns] *= hidden

    def _low(self, position: int) -> int:
        """See `IncrementalDecoder`."""
        return super()._low(min(position, self.all_seen))

    def _missing(self, position: int, rows: Rows) -> Tensor | None:
        """See `IncrementalDecoder`."""
        return self.missing[rows, self.variables.first_column(self._low(position)) :]
