"""Processes that train one model together; one process is the usual case, and does nothing here.

Every process holds all weights and rows, and draws the masks of whole minibatches from the same generator. It computes
the costs of its part of the rows. So a training does not depend on their number, but for the rounding of sums.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed, nn


@dataclass(frozen=True)
class World:
    """Processes of a training, joined by ``torch.distributed.init_process_group``.

    Attributes:
        rank: number of this process, from 0. Process 0 saves and reports.
        size: number of processes.

    Raises:
        ValueError: if there are several and ``torch.distributed`` does not know them.

    Example:
        >>> World().part(100)  # one process has all rows; `fit` shows a training
        slice(0, 100, None)
    """

    rank: int = 0
    size: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.size:
            raise ValueError(f"world: expected a rank from 0 to {self.size - 1}, found {self.rank}")
        if self.size == 1:
            return
        if not distributed.is_initialized():
            hint = "call torch.distributed.init_process_group first, or start nadek fit by torchrun"
            raise ValueError(f"world: expected {self.size} joined processes, found this one alone: {hint}")
        joined = distributed.get_rank(), distributed.get_world_size()
        if (self.rank, self.size) != joined:
            expected = "rank {} of {}, as in torch.distributed".format(*joined)
            raise ValueError(f"world: expected {expected}, found rank {self.rank} of {self.size}")

    def part(self, n_rows: int) -> slice:
        """Return this process's part of some rows; parts differ by one row at most."""
        return slice(n_rows * self.rank // self.size, n_rows * (self.rank + 1) // self.size)

    def sum(self, value: Tensor) -> Tensor:
        """Return the sum over processes, the same to the bit in each."""
        if self.size > 1:
            value = value.clone()
            distributed.all_reduce(value)
        return value

    @torch.no_grad()
    def sum_gradients(self, model: nn.Module) -> None:
        """Add up the gradients of all processes."""
        if self.size == 1:
            return
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        total = self.sum(torch.cat([gradient.flatten() for gradient in gradients]))
        parts = total.split([gradient.numel() for gradient in gradients])
        torch._foreach_copy_(gradients, [part.view_as(one) for part, one in zip(parts, gradients, strict=True)])

    @torch.no_grad()
    def share(self, tensors: Iterable[Tensor]) -> None:
        """Give all processes the tensors of process 0; processors of other kinds round otherwise."""
        for tensor in tensors if self.size > 1 else ():
            distributed.broadcast(tensor, 0)

    def from_first(self, content: Any) -> Any:  # noqa: ANN401 - whatever process 0 has
        """Return the content that process 0 has."""
        contents = [content]
        if self.size > 1:
            distributed.broadcast_object_list(contents, 0)
        return contents[0]


ALONE = World()
"""The only process of a training."""
