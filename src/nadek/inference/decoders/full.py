"""The full decoder: the whole network at every position."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import ALL, Rows
from nadek.models.base import ConditionalModel


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
