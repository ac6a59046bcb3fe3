"""The slow twin of all other paths: the whole network at every position."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import ALL, Rows
from nadek.models.base import ConditionalModel


class FullDecoder:
    """The whole network at every position, given what has been revealed.

    Args:
        model: any model with the face ``model(x, missing) -> logits of every step``.
        ordering: one ordering a row.
        dtype: of the matrix products; the model's own when None.
    """

    def __init__(
        self, model: ConditionalModel, ordering: Int[Tensor, "B D"], *, dtype: torch.dtype | None = None
    ) -> None:
        self.model, self.ordering, self.dtype = model, ordering, dtype
        self.variables, self.shared = model.variables, False
        self.values = torch.zeros(ordering.shape, dtype=model.b.dtype, device=ordering.device)
        self.missing = torch.ones_like(ordering, dtype=torch.bool)

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """See `Path`."""
        with products_in(self.dtype, self.values.device):
            logits = self.model(self.values[rows], self.missing[rows])[-1]
        asked = self.ordering[rows, positions]
        return torch.stack([self.variables.scores(logits, variable) for variable in asked.unbind(1)], dim=1)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], told: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Path`."""
        visited, value = self.ordering[:, positions], value.to(self.values.dtype)
        told = torch.ones_like(visited, dtype=torch.bool) if told is None else told
        self.values.scatter_(1, visited, torch.where(told, value, self.values.gather(1, visited)))
        self.missing.scatter_(1, visited, self.missing.gather(1, visited) & ~told)


def products_in(dtype: torch.dtype | None, device: torch.device) -> torch.autocast:
    """A context in which the matrix products of a float32 network are carried out in another dtype."""
    return torch.autocast(device.type, dtype, enabled=dtype is not None)
