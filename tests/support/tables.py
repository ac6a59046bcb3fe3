"""Tables of numbers as tests compare them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nadek.tabular.columns import Binary
from nadek.tabular.encode import encode_table
from nadek.tabular.files import read_file


@dataclass
class Matrix:
    """Numbers [N, D], NaN where missing, and the names of their columns."""

    values: np.ndarray
    columns: tuple[str, ...] | None


def read_matrix(path: str | Path, *, binary: bool = True) -> Matrix:
    """Read a table of 0 and 1, or of any numbers."""
    table = read_file(path)
    if binary:
        values = encode_table(table, [Binary()] * len(table.cells))[1]
    else:
        values = np.column_stack([table.column(j, reading="numbers") for j in range(len(table.cells))])
    return Matrix(values.astype(np.float32), table.columns)
