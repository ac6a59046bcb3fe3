"""Decoders: conditionals of one variable after the other.

- `FullDecoder` runs the whole network at every position. It is the plain reference for the others.
- `IncrementalDecoder` serves rows that share an ordering. It keeps running sums and computes only the logits asked for.
- `RaggedDecoder` is the incremental decoder for rows that differ in which variables they visit.
- `MemoryDecoder` wraps one of these for a model with a memory.

All agree up to rounding.
"""

from nadek.inference.decoders.chunking import MAX_BYTES, NEAR_BYTES, Progress, bytes_per_row, chunks
from nadek.inference.decoders.full import ALL, Decoder, FullDecoder, Rows, products_in
from nadek.inference.decoders.incremental import IncrementalDecoder, RaggedDecoder
from nadek.inference.decoders.select import MemoryDecoder, select_decoder

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
