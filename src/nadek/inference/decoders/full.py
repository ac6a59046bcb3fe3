"""The interface of decoders, and the plain one: the whole network at every position."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.models.base import ConditionalModel
from nadek.models.variables import ALL, Variables

Rows = slice | Int[Tensor, " _"]
"""Indices of rows, or a slice of them."""


@runtime_checkable
class Decoder(Protocol):
    """Source of scores, one variable after the other.

    ``positions`` are consecutive places in the ordering; tensors are in visiting order.
    """

    variables: Variables
    """Those of the model, in its own order."""
    shared: bool
    """True if all rows follow one ordering: rows with the same revealed values are then in the same state."""

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """Return the scores of the variables at ``positions``, given what is revealed so far.

        These are logits [n, w] where all variables are binary, else [n, w, L] (see `nadek.models.variables`).
        """

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """Reveal the codes of the variables at ``positions``; only ``where`` that is True (None: everywhere)."""


class FullDecoder:
    """Run the whole network at every position, along one ordering a row."""

    def __init__(
        self, model: ConditionalModel, ordering: Int[Tensor, "B D"], *, dtype: torch.dtype | None = None
    ) -> None:
        self.model, self.ordering, self.dtype = model, ordering, dtype
        self.variables, self.shared = model.variables, False
        self.values = torch.zeros(ordering.shape, dtype=model.b.dtype, device=ordering.device)
        self.missing = torch.ones_like(ordering, dtype=torch.bool)

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """See `Decoder`."""
        with products_in(self.dtype, self.values.device):
            logits = self.model(self.values[rows], self.missing[rows])[-1]
        visited = self.ordering[rows, positions]
        return torch.stack([self.variables.scores(logits, variable) for variable in visited.unbind(1)], dim=1)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Decoder`."""
        visited, value = self.ordering[:, positions], value.to(self.values.dtype)
        where = torch.ones_like(visited, dtype=torch.bool) if where is None else where
        self.values.scatter_(1, visited, torch.where(where, value, self.values.gather(1, visited)))
        self.missing.scatter_(1, visited, self.missing.gather(1, visited) & ~where)


def products_in(dtype: torch.dtype | None, device: torch.device) -> torch.autocast:
    """Return a context in which matrix products of a float32 model have another dtype."""
    return torch.autocast(device.type, dtype, enabled=dtype is not None)
