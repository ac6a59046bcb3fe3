"""Read and write a table in any of the forms, told by the end of the file's name."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nadek.datasets import read_amat, read_plain
from nadek.files import replacing
from nadek.tables.arrays import format_amat, read_npy, read_npz, write_npz
from nadek.tables.arrow import read_parquet, write_parquet
from nadek.tables.comma import format_csv, parse_csv
from nadek.tables.table import Table, check_names, check_rectangle

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".npz", ".npy", ".amat", ".amat.gz")


@runtime_checkable
class TextStream(Protocol):
    """What takes text, such as `sys.stdout`."""

    def write(self, text: str, /) -> object:
        """Take some text."""


def read_table(path: str | os.PathLike[str], *, binary: bool = True) -> Table:
    """Read a table from CSV, Parquet, NumPy's files or `.amat` text.

    Missing are an empty cell, NaN, nan, NA, null or None in CSV, null or NaN in Parquet, and NaN in npy and npz. The
    first row of CSV is a header unless all its cells could be values. An npz holds one array, or one called "values"
    (with its names in "columns"). In messages rows count from 1, the first row with data; so do columns without names.

    Args:
        path: File that ends in .csv, .csv.gz, .parquet, .npz, .npy, .amat or .amat.gz.
        binary: Refuse everything but 0, 1, false, true and missing; otherwise any number will do.

    Raises:
        ValueError: Another ending, a broken file, no rows, rows of several lengths, a name that occurs twice, or a
            cell that is not permitted; names the first such cell.
        FileNotFoundError: There is no such file.
        IsADirectoryError: It is a folder.
    """
    file = Path(path)
    suffix = _suffix(file)
    if file.is_dir():
        raise IsADirectoryError(f"{file}: is a folder, expected a file that ends in {', '.join(SUFFIXES)}")
    if not file.exists():
        raise FileNotFoundError(f"{file}: there is no such file")
    if suffix.startswith(".csv"):
        return parse_csv(read_plain(file), where=str(file), binary=binary)
    if suffix.startswith(".amat"):
        return Table(read_amat(file).astype(np.float32), None)
    readers = {".parquet": read_parquet, ".npz": read_npz, ".npy": read_npy}
    return readers[suffix](str(file), binary=binary)


def write_table(
    path_or_stream: str | os.PathLike[str] | TextStream, values: ArrayLike, *, columns: Sequence[str] | None = None
) -> None:
    """Write a table to a file, whole or not at all, in the form that its name ends in; or to a stream as CSV.

    NaN is written as missing, a table of 0 and 1 as integers, and other floats in CSV with all digits that tell them
    apart. Without names CSV has no header and Parquet calls the columns "x0", "x1" and so on; npy and `.amat` hold
    no names.

    Args:
        path_or_stream: File that ends in one of `SUFFIXES`, or a text stream such as `sys.stdout`.
        values: Numbers [N, D]; NaN = missing.
        columns: D names, or None.

    Raises:
        ValueError: Another ending, not a 2-D array of numbers, not D different names, or values that `.amat` lacks.
        OSError: The folder does not exist, or the file cannot be written.
    """
    array = np.asarray(values)
    check_rectangle(array, where="values")
    names = None if columns is None else check_names(columns, array.shape[1], where="columns")
    if not isinstance(path_or_stream, str | os.PathLike):
        path_or_stream.write(format_csv(array, names).decode())
        return
    file = Path(path_or_stream)
    suffix = _suffix(file)
    text = _format(array, names, file, suffix)
    with replacing(file) as stream:
        if suffix == ".parquet":
            write_parquet(stream, array, names)
        elif suffix == ".npz":
            write_npz(stream, array, names)
        elif suffix == ".npy":
            np.save(stream, array)
        else:
            stream.write(text)


def _format(values: NDArray[Any], names: tuple[str, ...] | None, file: Path, suffix: str) -> bytes:
    """The bytes of the forms that are text; none for the others."""
    if suffix.startswith(".csv"):
        text = format_csv(values, names)
    elif suffix.startswith(".amat"):
        text = format_amat(values, where=str(file))
    else:
        return b""
    return gzip.compress(text, compresslevel=4, mtime=0) if suffix.endswith(".gz") else text


def _suffix(file: Path) -> str:
    name = file.name.lower()
    suffix = next((s for s in SUFFIXES if name.endswith(s)), None)
    if suffix is None:
        raise ValueError(f"{file}: expected a file that ends in {', '.join(SUFFIXES)}, found {file.suffix!r}")
    return suffix
