"""Ways through the conditionals of one variable after the other, and the memory they take.

- `FullDecoder`: the whole network at every position. Obviously right; every row may have an ordering of its own.
- `IncrementalDecoder`: for rows that share an ordering. It never multiplies by what is known already, nor computes a
logit
  that nobody asks for.
- `RaggedDecoder`: the fast path for rows that share an ordering and differ in which of its variables they visit.
- `MemoryDecoder`: any of the last two beside a memory, whose distances follow what is revealed.

All are equal up to rounding.
"""

from nadek.inference.decoders.base import ALL, Path, Rows
from nadek.inference.decoders.chunking import MAX_BYTES, NEAR_BYTES, bytes_per_row, chunks
from nadek.inference.decoders.full import FullDecoder, products_in
from nadek.inference.decoders.incremental import IncrementalDecoder
from nadek.inference.decoders.ragged import RaggedDecoder
from nadek.inference.decoders.select import shared_path
from nadek.inference.decoders.with_memory import MemoryDecoder

__all__ = [
    "ALL",
    "MAX_BYTES",
    "NEAR_BYTES",
    "FullDecoder",
    "IncrementalDecoder",
    "MemoryDecoder",
    "Path",
    "RaggedDecoder",
    "Rows",
    "bytes_per_row",
    "chunks",
    "products_in",
    "shared_path",
]
