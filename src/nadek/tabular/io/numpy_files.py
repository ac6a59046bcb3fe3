"""Tables as NumPy's files, and as `.amat` text."""

import zipfile
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.io.names import Table, check_names, check_rectangle
from nadek.tabular.io.text_numbers import is_binary, wrong_cell

_BROKEN = (ValueError, TypeError, KeyError, EOFError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def read_npy(path: str, *, binary: bool) -> Table:
    """Read an `.npy` file of shape [N, D].

    Raises:
        ValueError: It is none, is not two-dimensional, or has a value that is not permitted.
    """
    return _table(*load_npy(path), path, binary=binary)


def read_npz(path: str, *, binary: bool) -> Table:
    """Read an `.npz` file: its array "values" (and its names "columns", if there), or its only array.

    Raises:
        ValueError: It is none, has several arrays and no "values", or has a value that is not permitted.
    """
    return _table(*load_npz(path), path, binary=binary)


def load_npy(path: str) -> tuple[NDArray[Any], None]:
    """The array of an `.npy` file, whatever is in it, and no names.

    Raises:
        ValueError: It is none.
    """
    try:
        with open(path, "rb") as stream:
            return np.lib.format.read_array(stream, allow_pickle=False), None
    except _BROKEN as error:
        raise ValueError(f"{path}: expected a whole npy file of numbers ({_line(error)})") from error


def load_npz(path: str) -> tuple[NDArray[Any], list[str] | None]:
    """The array and the names of an `.npz` file, see `read_npz`.

    Raises:
        ValueError: It is none, has several arrays and no "values", or names that are no text.
    """
    if not zipfile.is_zipfile(path):  # np.load would speak of pickles
        raise ValueError(f"{path}: expected a whole npz file, found something else")
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            keys = list(archive.files)
            key = "values" if "values" in keys else keys[0] if len(keys) == 1 else None
            values = None if key is None else archive[key]
            names = archive["columns"] if key == "values" and "columns" in keys else None
    except _BROKEN as error:
        raise ValueError(f"{path}: expected a whole npz file of numbers ({_line(error)})") from error
    if values is None:
        raise ValueError(
            f'{path}: expected one array, or one called "values"; found {", ".join(sorted(keys)) or "none"}'
        )
    if names is not None and names.dtype.kind != "U":
        raise ValueError(f'{path}: expected "columns" to hold text, found {names.dtype}')
    return values, None if names is None else names.ravel().tolist()


def write_npz(stream: BinaryIO, values: NDArray[Any], columns: Sequence[str] | None) -> None:
    """Write the array "values", and the names as "columns" when there are any."""
    names = {} if columns is None else {"columns": np.array(columns, dtype=np.str_)}
    np.savez_compressed(stream, values=values, **names)  # type: ignore[arg-type]


def format_amat(values: NDArray[Any], *, where: str) -> bytes:
    """Write rows of 0 and 1 with single spaces.

    Raises:
        ValueError: Something else is in `values`: this form has no way to write it.
    """
    wrong = ~((values == 0) | (values == 1))
    if wrong.any():
        row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
        found = values[row, column]
        raise ValueError(
            f"{where}: row {row + 1}, column {column + 1}: expected 0 or 1, found {found}; .amat holds nothing else"
        )
    text = np.full((values.shape[0], 2 * values.shape[1]), ord(" "), dtype=np.uint8)
    text[:, ::2] = values == 1
    text[:, ::2] += ord("0")
    text[:, -1] = ord("\n")
    return text.tobytes()


def _table(values: NDArray[Any], names: list[str] | None, path: str, *, binary: bool) -> Table:
    check_rectangle(values, where=path)
    columns = None if names is None else check_names(names, values.shape[1], where=path)
    if binary:
        numbers = values if values.dtype.kind == "f" else values.astype(np.float64)
        wrong = ~is_binary(numbers)
        row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
        if wrong[row, column]:
            found = values[row, column].item()
            raise ValueError(wrong_cell(path, int(row), int(column), columns, found, binary=True))
    return Table(np.ascontiguousarray(values, dtype=np.float32), columns)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
