"""The fast path for rows that share an ordering and differ in which of its variables they visit."""

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import Rows
from nadek.inference.decoders.incremental import IncrementalDecoder
from nadek.models import IterativeNADE


class RaggedDecoder(IncrementalDecoder):
    """One shared ordering, of which each row visits some variables, knows others from the start, never sees the rest.

    What a row knows from the start is in its sums from the start, so along the shared ordering it has an
    ordering of its own: the variables that it knows, then those that it visits, then the others. Weights are permuted
    once for all rows, and the columns before a position are left out where every row knows them by then. Among the
    columns that remain, what a single row knows is set to 0.

    Args:
        model: a NADE-k.
        ordering: the shared ordering [D].
        stage: **in visiting order**, what each row [B] does: 0 known from the start, 1 visited, 2 never seen.
        dtype: of the matrix products; the model's own when None.
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

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], told: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Path`."""
        told = torch.ones_like(value, dtype=torch.bool) if told is None else told
        columns, hidden = self._columns(positions), ~self.variables.expand(told, positions)
        shown = self.variables.encode(value, positions).to(self.seen.dtype).masked_fill(hidden, 0)
        self._add(positions, shown, self.fill[columns] * ~hidden, told)
        if self.steps > 1:
            self.missing[:, columns] *= hidden

    def _low(self, position: int) -> int:
        """See `IncrementalDecoder`."""
        return super()._low(min(position, self.all_seen))

    def _missing(self, position: int, rows: Rows) -> Tensor | None:
        """See `IncrementalDecoder`."""
        return self.missing[rows, self.variables.first_column(self._low(position)) :]
