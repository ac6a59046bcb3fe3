"""Column types, their inference, and their codes."""

from nadek.tabular.columns.bins import draw, log_density_within, log_fall_outside, log_fall_within, within_bins
from nadek.tabular.columns.encoding import Unknown, decode, encode, expected
from nadek.tabular.columns.infer import Declared, TickedColumnError, UndecidedColumnError, infer
from nadek.tabular.columns.parsing import (
    LARGEST_EXACT,
    MixedColumnError,
    is_missing,
    read_cells,
    shown,
    to_float,
    widened,
)
from nadek.tabular.columns.types import (
    MOST_LEVELS,
    Binary,
    Categorical,
    Column,
    Level,
    Numeric,
    Ordinal,
    describe,
    is_plain,
    level_names,
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
    "Unknown",
    "decode",
    "describe",
    "draw",
    "encode",
    "expected",
    "infer",
    "is_missing",
    "is_plain",
    "level_names",
    "log_density_within",
    "log_fall_outside",
    "log_fall_within",
    "n_levels",
    "ordinal",
    "read_cells",
    "shown",
    "to_float",
    "widened",
    "within_bins",
]
