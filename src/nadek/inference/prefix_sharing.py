"""Rows with the same revealed values, for which the network is run once.

A conditional depends on the revealed values only. Along a shared ordering all rows begin in one state, and rows of few
variables stay together for long: 16 binary variables have at most 256 states up to the ninth.
"""

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from nadek.models.codes import MAX_LEVELS

WORTH = 0.9
"""States are followed no longer once there are so many for each row: they never become fewer again."""


class SharedPrefixes:
    """Track which rows share the same revealed values.

    Example:
        >>> prefixes = SharedPrefixes(5)
        >>> prefixes.append(torch.tensor([[1], [0], [1], [1], [0]]))
        >>> rows, state = prefixes.states(None)
        >>> len(rows), state.tolist()
        (2, [1, 0, 1, 1, 0])
    """

    def __init__(self, n_rows: int, *, distinct: bool = False, device: torch.device | str | None = None) -> None:
        self.state: Tensor | None = torch.zeros(n_rows, dtype=torch.long, device=device)
        self.n_states = n_rows if distinct else 1
        self._forget_if_many()

    def append(self, codes: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """Add revealed codes; rows with another code part. Nothing is revealed where ``where`` is False."""
        for column in range(codes.shape[1]):
            if self.state is None:
                return
            code = codes[:, column].nan_to_num(0).long() + 1
            if where is not None:
                code = code * where[:, column]
            distinct, self.state = (self.state * (MAX_LEVELS + 1) + code).unique(return_inverse=True)
            self.n_states = len(distinct)
            self._forget_if_many()

    def states(self, rows: Int[Tensor, " n"] | None) -> tuple[slice | Int[Tensor, " m"], slice | Int[Tensor, " n"]]:
        """Return one row for each state among some rows (None: all), and the state of each of these rows."""
        every = slice(None)
        if self.state is None:
            return (every if rows is None else rows), every
        state, n_states = self.state, self.n_states
        if rows is not None:
            distinct, state = state[rows].unique(return_inverse=True)
            n_states = len(distinct)
        place = torch.arange(len(state), device=state.device) if rows is None else rows
        return place.new_empty(n_states).scatter_(0, state, place), state

    def _forget_if_many(self) -> None:
        if self.state is not None and self.n_states > WORTH * len(self.state):
            self.state = None
