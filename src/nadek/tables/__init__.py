"""Tables in and out: CSV, Parquet, NumPy's files and `.amat` text, with missing cells, and the names of the columns."""

from nadek.tables.arrow import AnyColumn, Index
from nadek.tables.cells import NOTHING, numbers_among
from nadek.tables.files import (
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
from nadek.tables.headers import check_header
from nadek.tables.raw import OtherTypeError, RawTable, from_matrix
from nadek.tables.table import Table, as_known, called, check_names, nearest, places_of, quoted
from nadek.tables.words import Reading

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
