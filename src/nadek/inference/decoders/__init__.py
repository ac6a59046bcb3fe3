"""Decoders: conditionals of one variable after the other.

- `FullDecoder` runs the whole network at every position. It is the plain reference for the others.
- `IncrementalDecoder` serves rows that share an ordering. It keeps running sums and computes only the logits asked for.
- `RaggedDecoder` is the incremental decoder for rows that differ in which variables they visit.
- `MemoryDecoder` wraps one of these for a model with a memory.

All agree up to rounding.
"""

from nadek.inference.decoders.base import ALL, Decoder, Rows
from nadek.inference.decoders.chunking import MAX_BYTES, NEAR_BYTES, Progress, bytes_per_row, chunks
from nadek.inference.decoders.full import FullDecoder, products_in
from nadek.inference.decoders.incremental import IncrementalDecoder
from nadek.inference.decoders.ragged import RaggedDecoder
from nadek.inference.decoders.select import select_decoder
from nadek.inference.decoders.with_memory import MemoryDecoder

__all__ = [
    "ALL",
    "MAX_BYTES",
    "NEAR_BYTES",
    "Decoder",
    "FullDecoder",
    "IncrementalDecoder",
    "MemoryDecoder",
    "Progress",
    "RaggedDecoder",
    "Rows",
    "bytes_per_row",
    "chunks",
    "products_in",
    "select_decoder",
]
