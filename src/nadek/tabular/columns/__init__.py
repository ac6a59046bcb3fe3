"""Column types, their inference, and their codes."""

from nadek.tabular.columns.bins import Measure, log_density, log_outwards, log_relative_density, within_bins
from nadek.tabular.columns.encoding import (
    Statistic,
    Unknown,
    bin_probabilities,
    decode,
    encode,
    expected,
    summarised,
)
from nadek.tabular.columns.infer import infer
from nadek.tabular.columns.parsing import is_missing, read_cells
from nadek.tabular.columns.quantiles import quantile_of_number
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
    "Statistic",
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
    "quantile_of_number",
    "read_cells",
    "summarised",
    "within_bins",
]
