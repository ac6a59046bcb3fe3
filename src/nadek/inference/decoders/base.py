"""The interface of a decoder."""

from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.models.variables import Variables

Rows = slice | Int[Tensor, " _"]
"""Indices of rows, or a slice of them."""
ALL = slice(None)


@runtime_checkable
class Decoder(Protocol):
    """Source of scores, one variable after the other.

    ``positions`` are consecutive places in the ordering; tensors are in visiting order.
    """

    variables: Variables
    shared: bool
    """True if all rows follow one ordering: rows with the same revealed values are then in the same state."""

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """Return the scores of the variables at ``positions``, given what is revealed so far.

        These are logits [n, w] where all variables are binary, else [n, w, L] (see `nadek.models.variables`).
        """

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """Reveal the codes of the variables at ``positions``; only ``where`` that is True (None: everywhere)."""
