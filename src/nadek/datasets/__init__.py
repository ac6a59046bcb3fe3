"""Real binary data sets: load them from a data folder, check them, fetch them from their public homes."""

from nadek.datasets.amat import parse_bits, read_amat, read_plain
from nadek.datasets.dataset import Dataset, Status, column_names
from nadek.datasets.fetch import fetch
from nadek.datasets.folder import check, load
from nadek.datasets.sources import names

__all__ = [
    "Dataset",
    "Status",
    "check",
    "column_names",
    "fetch",
    "load",
    "names",
    "parse_bits",
    "read_amat",
    "read_plain",
]
