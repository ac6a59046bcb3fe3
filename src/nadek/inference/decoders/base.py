"""What a walk asks of a path."""

from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.models.variables import Variables

Rows = slice | Int[Tensor, " _"]
"""Which rows: indices, or all of them."""
ALL = slice(None)


@runtime_checkable
class Path(Protocol):
    """Where a walk reads scores from. ``positions`` are consecutive places in the ordering."""

    variables: Variables
    shared: bool
    """Whether all rows follow one ordering, so that rows which have been told the same are in the same state."""

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """What decides about the variables visited at ``positions``, each given all that was revealed so far.

        Logits [n, w] where all variables are binary, else [n, w, L] of levels (see `nadek.models.variables`).
        """

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], told: Bool[Tensor, "B w"] | None = None) -> None:
        """Tell the codes of the variables visited at ``positions``; where ``told`` is False, nothing is told."""
