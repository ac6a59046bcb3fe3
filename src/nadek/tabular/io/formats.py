"""Read and write a table in any of the forms, told by the end of the file's name."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from nadek.datasets import read_amat, read_plain
from nadek.tabular.columns import LARGEST_EXACT
from nadek.tabular.io.arrow_table import RawTable, from_matrix
from nadek.tabular.io.csv import format_csv, parse_csv, parse_words
from nadek.tabular.io.names import Table, check_names, check_rectangle
from nadek.tabular.io.numpy_files import format_amat, load_npy, load_npz, read_npy, read_npz, write_npz
from nadek.tabular.io.parquet import AnyColumn, Index, load_parquet, read_parquet, to_column, to_columns, write_parquet
from nadek.utils.files import replacing

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".npz", ".npy", ".amat", ".amat.gz")


@runtime_checkable
class TextStream(Protocol):
    """What takes text, such as `sys.stdout`."""

    def write(self, text: str, /) -> object:
        """Take some text."""


Target = str | os.PathLike[str] | TextStream


def read_table(path: str | os.PathLike[str], *, binary: bool = True) -> Table:
    """Read a table from CSV, Parquet, NumPy's files or `.amat` text.

    Missing are an empty cell, NaN, nan, NA, null or None in CSV, null or NaN in Parquet, and NaN in npy and npz. The
    first row of CSV is a header unless all its cells could be values; where it has no comma, semicolons or tabs
    separate cells. An npz holds one array, or one called "values" (with its names in "columns"). In messages rows
    count from 1, the first row with data; so do columns without names.

    Args:
        path: File that ends in .csv, .csv.gz, .parquet, .npz, .npy, .amat or .amat.gz.
        binary: Refuse everything but 0, 1, false, true and missing; otherwise any number will do.

    Raises:
        ValueError: Another ending, a broken file, no rows, rows of several lengths, a name that occurs twice, or a
            cell that is not permitted; names the first such cell.
        FileNotFoundError: There is no such file.
        IsADirectoryError: It is a folder.
    """
    file, suffix = _existing(path)
    if suffix.startswith(".csv"):
        return parse_csv(read_plain(file), where=str(file), binary=binary)
    if suffix.startswith(".amat"):
        return Table(read_amat(file).astype(np.float32), None)
    readers = {".parquet": read_parquet, ".npz": read_npz, ".npy": read_npy}
    return readers[suffix](str(file), binary=binary)


def read_raw(path: str | os.PathLike[str], *, missing: Sequence[str] = ()) -> RawTable:
    """Read a table whose columns hold text, numbers or booleans; forms, missing cells and headers as in `read_table`.

    Args:
        path: File that ends in .csv, .csv.gz, .parquet, .npz, .npy, .amat or .amat.gz.
        missing: Words that stand for nothing where a header is told from rows; they stay in their cells.

    Raises:
        ValueError: As `read_table`, but for the cells: they are looked at when a column is read.
        OSError: As `read_table`.
    """
    file, suffix = _existing(path)
    if suffix.startswith(".csv"):
        return parse_words(read_plain(file), where=str(file), missing=missing)
    if suffix.startswith(".amat"):
        return from_matrix(read_amat(file), None, where=str(file))
    if suffix == ".parquet":
        cells, names, index = load_parquet(str(file))
        return RawTable(tuple(cells), names, are_words=False, where=str(file), index=index)
    return from_matrix(*(load_npy if suffix == ".npy" else load_npz)(str(file)), where=str(file))


def write_table(path_or_stream: Target, values: ArrayLike, *, columns: Sequence[str] | None = None) -> None:
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
    if _is_matrix_file(path_or_stream):
        _write_matrix(Path(path_or_stream), array, names)
    else:
        _write_cells(path_or_stream, to_columns(array), names)


def columns_beside(raw: RawTable, places: Sequence[int], target: Target) -> dict[int, AnyColumn]:
    """The columns that do not stand at some places, as they were read, to be written to a target later.

    Raises:
        ValueError: On one that the form cannot hold: text and too large numbers among floats, other numbers among 0
            and 1, or lists and the like in CSV.
    """
    others = sorted(set(range(len(raw.cells))) - set(places))
    return {j: _beside(raw, j, target) for j in others}


def columns_filled(
    raw: RawTable,
    places: Sequence[int],
    values: Sequence[NDArray[Any]],
    missing: NDArray[np.bool_],
    target: Target,
) -> list[AnyColumn]:
    """The columns at some places with their holes filled, to be written to a target; from CSV to CSV word by word.

    Args:
        raw: The table.
        places: Of D columns.
        values: Of all cells of these, D arrays [N].
        missing: Where they are new, [N, D].
        target: File that ends in one of `SUFFIXES`, or a text stream.
    """
    as_text = not _is_matrix_file(target) and not _is_parquet(target)
    filled = zip(places, values, missing.T, strict=True)
    return [raw.filled(place, column, holes, as_text=as_text) for place, column, holes in filled]


def _beside(raw: RawTable, place: int, target: Target) -> AnyColumn:
    cells, told = raw.cells[place], f'{_called(target)}: this form cannot hold the column "{raw.names[place]}"'
    if not _is_matrix_file(target):
        if pa.types.is_nested(cells.type) and not _is_parquet(target):
            raise ValueError(f"{told} of {cells.type}; write .parquet")
        return cells
    try:
        values = raw.column(place)
        if values.dtype == object and any(isinstance(value, str) for value in values.tolist()):
            raise ValueError  # even where it looks like numbers: it would not come back as it was
        floats = values.astype(np.float64)
    except ValueError:
        raise ValueError(f"{told}, which holds no numbers; write .csv or .parquet") from None
    if values.dtype.kind != "f" and (np.abs(floats) >= LARGEST_EXACT).any():
        raise ValueError(f"{told}, whose whole numbers floats would round; write .csv or .parquet")
    if _suffix(Path(target)).startswith(".amat") and not ((floats == 0) | (floats == 1)).all():
        raise ValueError(f"{told}, which holds other cells than 0 and 1; write .csv or .parquet")
    return floats


def _called(target: Target) -> str:
    return str(target) if isinstance(target, str | os.PathLike) else "standard output (CSV)"


def write_columns(
    target: Target,
    values: Sequence[AnyColumn],
    *,
    columns: Sequence[str] | None = None,
    index: Index | None = None,
) -> None:
    """Write columns of text, numbers and booleans as `write_table` does; None and NaN are written as missing.

    Args:
        target: File that ends in one of `SUFFIXES`, or a text stream such as `sys.stdout`.
        values: D arrays of N cells, or columns as they were read.
        columns: D names, or None.
        index: What pandas calls the rows, which Parquet alone can hold; None where it says nothing of them.

    Raises:
        ValueError: As `write_table`, and on text for a form that holds numbers only.
        OSError: As `write_table`.
    """
    names = None if columns is None else check_names(columns, len(values), where="columns")
    if not _is_matrix_file(target):
        _write_cells(target, [to_column(column) for column in values], names, index)
        return
    file = Path(target)
    _write_matrix(file, np.column_stack([_numbers(column, file) for column in values]), names)


def _is_matrix_file(target: Target) -> TypeGuard[str | os.PathLike[str]]:
    """Whether the form knows no columns of their own types."""
    return isinstance(target, str | os.PathLike) and _suffix(Path(target)).startswith((".np", ".amat"))


def _is_parquet(target: Target) -> bool:
    return isinstance(target, str | os.PathLike) and _suffix(Path(target)) == ".parquet"


def _numbers(column: AnyColumn, file: Path) -> NDArray[Any]:
    values: NDArray[Any] = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column
    try:
        return values.astype(np.float64) if values.dtype == object else values
    except ValueError:
        raise ValueError(f"{file}: this form holds numbers only, found text; write .csv or .parquet") from None


def _write_cells(
    target: Target, cells: Sequence[pa.Array], names: tuple[str, ...] | None, index: Index | None = None
) -> None:
    if not isinstance(target, str | os.PathLike):
        target.write(format_csv(cells, names).decode())
        return
    file = Path(target)
    suffix = _suffix(file)
    text = b"" if suffix == ".parquet" else _packed(format_csv(cells, names), suffix)
    with replacing(file) as stream:
        if suffix == ".parquet":
            write_parquet(stream, cells, names, index)
        else:
            stream.write(text)


def _write_matrix(file: Path, values: NDArray[Any], names: tuple[str, ...] | None) -> None:
    suffix = _suffix(file)
    text = _packed(format_amat(values, where=str(file)), suffix) if suffix.startswith(".amat") else b""
    with replacing(file) as stream:
        if suffix == ".npz":
            write_npz(stream, values, names)
        elif suffix == ".npy":
            np.save(stream, values)
        else:
            stream.write(text)


def _packed(text: bytes, suffix: str) -> bytes:
    return gzip.compress(text, compresslevel=4, mtime=0) if suffix.endswith(".gz") else text


def _existing(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """A file that is there, and its suffix."""
    file = Path(path)
    suffix = _suffix(file)
    if file.is_dir():
        raise IsADirectoryError(f"{file}: is a folder, expected a file that ends in {', '.join(SUFFIXES)}")
    if not file.exists():
        raise FileNotFoundError(f"{file}: there is no such file")
    return file, suffix


def _suffix(file: Path) -> str:
    name = file.name.lower()
    suffix = next((s for s in SUFFIXES if name.endswith(s)), None)
    if suffix is None:
        raise ValueError(f"{file}: expected a file that ends in {', '.join(SUFFIXES)}, found {file.suffix!r}")
    return suffix
