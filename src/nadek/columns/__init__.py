"""What a column of a user's table is, and how its values become codes for the network and back."""

from nadek.columns.cells import LARGEST_EXACT, MixedColumnError, read_cells, widened
from nadek.columns.codes import decode, encode, expected
from nadek.columns.density import log_density_within, log_fall_within
from nadek.columns.describe import describe, level_names
from nadek.columns.draws import draw
from nadek.columns.infer import Declared, TickedColumnError, UndecidedColumnError, infer
from nadek.columns.kinds import (
    MOST_LEVELS,
    Binary,
    Categorical,
    Column,
    Level,
    Numeric,
    Ordinal,
    is_plain,
    n_levels,
    ordinal,
)

__all__ = [
    "LARGEST_EXACT",
    "MOST_LEVELS",
    "Binary",
    "Categorical",
    "Column",
    "Declared",
    "Level",
    "MixedColumnError",
    "Numeric",
    "Ordinal",
    "TickedColumnError",
    "UndecidedColumnError",
    "decode",
    "describe",
    "draw",
    "encode",
    "expected",
    "infer",
    "is_plain",
    "level_names",
    "log_density_within",
    "log_fall_within",
    "n_levels",
    "ordinal",
    "read_cells",
    "widened",
]
