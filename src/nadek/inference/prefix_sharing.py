"""Rows that are in the same state along an ordering, so that the network is asked once for all of them.

A conditional depends on what has been revealed and on nothing else. Along a shared ordering all rows begin alike, and
rows of few variables, or such that rarely differ, stay alike for long: of 16 binary variables at most 256 states are
met up to the ninth.
"""

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from nadek.models.codes import MAX_LEVELS

WORTH = 0.9
"""Rows are told apart no longer once there are so many states for each row: they never become fewer again."""


class Alike:
    """Follows which of B rows have been told the same.

    Args:
        n_rows: B.
        told_apart: they are in different states from the beginning.
        device: where the rows live.

    Example:
        >>> alike = Alike(5)
        >>> alike.tell(torch.tensor([[1], [0], [1], [1], [0]]))
        >>> rows, back = alike.states(None)
        >>> len(rows), back.tolist()
        (2, [1, 0, 1, 1, 0])
    """

    def __init__(self, n_rows: int, *, told_apart: bool = False, device: torch.device | str | None = None) -> None:
        self.state: Tensor | None = torch.zeros(n_rows, dtype=torch.long, device=device)
        self.n_states = n_rows if told_apart else 1
        self._forget_if_many()

    def tell(self, codes: Shaped[Tensor, "B w"], told: Bool[Tensor, "B w"] | None = None) -> None:
        """Rows go on alike where they were alike and are told the same codes; nothing, where ``told`` is False."""
        for column in range(codes.shape[1]):
            if self.state is None:
                return
            heard = codes[:, column].nan_to_num(0).long() + 1
            if told is not None:
                heard = heard * told[:, column]
            kinds, self.state = (self.state * (MAX_LEVELS + 1) + heard).unique(return_inverse=True)
            self.n_states = len(kinds)
            self._forget_if_many()

    def states(self, rows: Int[Tensor, " n"] | None) -> tuple[slice | Int[Tensor, " m"], slice | Int[Tensor, " n"]]:
        """One row for each state that is met among some rows (None: all), and for each of them which it is in."""
        every = slice(None)
        if self.state is None:
            return (every if rows is None else rows), every
        state, n_states = self.state, self.n_states
        if rows is not None:
            kinds, state = state[rows].unique(return_inverse=True)
            n_states = len(kinds)
        place = torch.arange(len(state), device=state.device) if rows is None else rows
        return place.new_empty(n_states).scatter_(0, state, place), state

    def _forget_if_many(self) -> None:
        if self.state is not None and self.n_states > WORTH * len(self.state):
            self.state = None
