"""The one way in: `read` takes a file, an array or a data frame."""

import os

import numpy as np

from nadek.tabular.csv import CsvFormat
from nadek.tabular.files import read_file
from nadek.tabular.frames import is_frame, plain_table, read_array, read_frame
from nadek.tabular.schema import Schema
from nadek.tabular.selection import MatrixLike
from nadek.tabular.table import Table


def read(
    source: str | os.PathLike[str] | MatrixLike, *, form: CsvFormat | None = None, model: Schema | None = None
) -> Table:
    """Read a table from a file, an array, a list of rows, or a frame of pandas, polars or pyarrow.

    By the columns of a ``model`` the header of a CSV file is recognised; their names are labels of those of an array.
    """
    if isinstance(source, str | os.PathLike):
        return read_file(source, form=form, model=model)
    native = plain_table(source)
    return read_frame(native) if is_frame(native) else read_array(np.asarray(native), (model and model.columns) or ())
