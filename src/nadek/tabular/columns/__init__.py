"""Column types, their inference, and their codes."""

from nadek.tabular.columns.bins import Measure, log_density, log_outwards, log_relative_density, within_bins
from nadek.tabular.columns.encoding import Unknown, bin_probabilities, decode, encode, expected
from nadek.tabular.columns.infer import infer
from nadek.tabular.columns.parsing import is_missing, read_cells
from nadek.tabular.columns.types import (
    Binary,
    Categorical,
    Column,
    Numeric,
    Ordinal,
    describe,
    is_plain,
    knots,
    level_names,
    n_levels,
    ordinal,
)

__all__ = [
    "Binary",
    "Categorical",
    "Column",
    "Measure",
    "Numeric",
    "Ordinal",
    "Unknown",
    "bin_probabilities",
    "decode",
    "describe",
    "encode",
    "expected",
    "infer",
    "is_missing",
    "is_plain",
    "knots",
    "level_names",
    "log_density",
    "log_outwards",
    "log_relative_density",
    "n_levels",
    "ordinal",
    "read_cells",
    "within_bins",
]
