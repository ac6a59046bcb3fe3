"""Tables in and out: CSV, Parquet, NumPy's files and `.amat` text, with missing cells, and the names of the columns."""

from nadek.tabular.io.arrow_table import OtherTypeError, RawTable, from_matrix
from nadek.tabular.io.formats import (
    SUFFIXES,
    Target,
    TextStream,
    columns_beside,
    columns_filled,
    read_raw,
    read_table,
    write_columns,
    write_table,
)
from nadek.tabular.io.headers import check_header
from nadek.tabular.io.names import Table, as_known, called, check_names, nearest, places_of, quoted
from nadek.tabular.io.parquet import AnyColumn, Index
from nadek.tabular.io.text_numbers import NOTHING, numbers_among
from nadek.tabular.io.text_types import Reading

__all__ = [
    "NOTHING",
    "SUFFIXES",
    "AnyColumn",
    "Index",
    "OtherTypeError",
    "RawTable",
    "Reading",
    "Table",
    "Target",
    "TextStream",
    "as_known",
    "called",
    "check_header",
    "check_names",
    "columns_beside",
    "columns_filled",
    "from_matrix",
    "nearest",
    "numbers_among",
    "places_of",
    "quoted",
    "read_raw",
    "read_table",
    "write_columns",
    "write_table",
]
