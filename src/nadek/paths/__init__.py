"""Ways through the conditionals of one variable after the other, and the memory they take.

- `PlainPath`: the whole network at every position. Obviously right; every row may have an ordering of its own.
- `FastPath`: for rows that share an ordering. It never multiplies by what is known already, nor computes a logit
  that nobody asks for.
- `RaggedPath`: the fast path for rows that share an ordering and differ in which of its variables they visit.
- `RememberingPath`: any of the last two beside a memory, whose distances follow what is revealed.

All are equal up to rounding.
"""

from nadek.paths.bounds import MAX_BYTES, NEAR_BYTES, bytes_per_row, chunks
from nadek.paths.choice import shared_path
from nadek.paths.fast import FastPath
from nadek.paths.path import ALL, Path, Rows
from nadek.paths.plain import PlainPath, products_in
from nadek.paths.ragged import RaggedPath
from nadek.paths.remembering import RememberingPath

__all__ = [
    "ALL",
    "MAX_BYTES",
    "NEAR_BYTES",
    "FastPath",
    "Path",
    "PlainPath",
    "RaggedPath",
    "RememberingPath",
    "Rows",
    "bytes_per_row",
    "chunks",
    "products_in",
    "shared_path",
]
