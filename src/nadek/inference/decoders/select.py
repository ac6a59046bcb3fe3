"""Which path rows that share an ordering take."""

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import Path
from nadek.inference.decoders.full import FullDecoder
from nadek.inference.decoders.incremental import IncrementalDecoder
from nadek.inference.decoders.ragged import RaggedDecoder
from nadek.inference.decoders.with_memory import MemoryDecoder
from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.memory import MemoryModel


def shared_path(
    model: ConditionalModel,
    ordering: Int[Tensor, " D"],
    n_rows: int,
    *,
    stage: Shaped[Tensor, "B D"] | None = None,
    dtype: torch.dtype | None = None,
) -> Path:
    """The quickest path for so many rows that share an ordering.

    Args:
        model: any conditional network; one that cannot be cut takes the plain path.
        ordering: the shared ordering.
        n_rows: B.
        stage: see `RaggedDecoder`, for rows that differ in what they visit.
        dtype: of the matrix products; the model's own when None.
    """
    if not model.can_decode_incrementally:
        return FullDecoder(model, ordering.expand(n_rows, -1), dtype=dtype)
    if isinstance(model, MemoryModel):
        alone = shared_path(model.network, ordering, n_rows, stage=stage, dtype=dtype)
        return MemoryDecoder(alone, model, ordering, n_rows)
    assert isinstance(model, IterativeNADE)
    if stage is None:
        return IncrementalDecoder(model, ordering, n_rows, dtype=dtype)
    return RaggedDecoder(model, ordering, stage, dtype=dtype)
