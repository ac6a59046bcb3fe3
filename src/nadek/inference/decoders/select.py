"""Choice of the quickest decoder."""

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import Decoder
from nadek.inference.decoders.full import FullDecoder
from nadek.inference.decoders.incremental import IncrementalDecoder
from nadek.inference.decoders.ragged import RaggedDecoder
from nadek.inference.decoders.with_memory import MemoryDecoder
from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.memory import MemoryModel


def select_decoder(
    model: ConditionalModel,
    ordering: Int[Tensor, " D"],
    n_rows: int,
    *,
    stage: Shaped[Tensor, "B D"] | None = None,
    dtype: torch.dtype | None = None,
) -> Decoder:
    """Return the quickest decoder for rows of one ordering; ``stage`` is that of `RaggedDecoder`."""
    if not model.can_decode_incrementally:
        return FullDecoder(model, ordering.expand(n_rows, -1), dtype=dtype)
    if isinstance(model, MemoryModel):
        inner = select_decoder(model.network, ordering, n_rows, stage=stage, dtype=dtype)
        return MemoryDecoder(inner, model, ordering, n_rows)
    assert isinstance(model, IterativeNADE)
    if stage is None:
        return IncrementalDecoder(model, ordering, n_rows, dtype=dtype)
    return RaggedDecoder(model, ordering, stage, dtype=dtype)
