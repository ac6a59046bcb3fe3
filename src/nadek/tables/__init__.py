"""Tables in and out: CSV, Parquet, NumPy's files and `.amat` text, with missing cells, and the names of the columns."""

from nadek.tables.files import SUFFIXES, read_table, write_table
from nadek.tables.table import Table, align_columns

__all__ = ["SUFFIXES", "Table", "align_columns", "read_table", "write_table"]
