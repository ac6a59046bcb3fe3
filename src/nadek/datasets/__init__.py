"""Public binary data sets: load, check and fetch them."""

from nadek.datasets.download import fetch
from nadek.datasets.folder import check, load
from nadek.datasets.sources import Dataset, Status, names

__all__ = ["Dataset", "Status", "check", "fetch", "load", "names"]
