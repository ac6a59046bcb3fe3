"""From Arrow columns to a matrix of numbers, column by column, and the message about the first wrong cell."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nadek.tabular.columns import LARGEST_EXACT, widened

MISSING = ("", "NaN", "nan", "NA", "N/A", "n/a", "null", "NULL", "None", "<NA>", "#N/A")
"""Words that stand for nothing, as spreadsheets, databases and other libraries write them."""
NOTHING = MISSING[1:]
"""Those that are more than an empty cell, and could be meant as an answer."""
TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")

_WORDS = dict.fromkeys(MISSING, np.nan) | dict.fromkeys(TRUE, 1.0) | dict.fromkeys(FALSE, 0.0)


def number(text: str) -> float | None:
    """The value of a cell of text: NaN when it is missing, None when it is no number.

    >>> number("1.0"), number("true"), number("NA"), number("age"), number("18_25")
    (1.0, 1.0, nan, None, None)
    """
    word = text.strip()
    if word in _WORDS:
        return float(_WORDS[word])
    if "_" in word or not word.isascii():  # Python would take 18_25 for 1825, and the digits of every script
        return None
    try:
        return float(word)
    except ValueError:
        return None


def numbers_among(words: Sequence[str]) -> list[float]:
    """The numbers that some words say; true and false are none, and neither is what stands for nothing.

    >>> numbers_among(["?", "99", "true"])
    [99.0]
    """
    numbers = [number(word) for word in words if word not in TRUE + FALSE]
    return [value for value in numbers if value is not None and not np.isnan(value)]


def is_binary(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Where a value is 0, 1 or missing; same shape."""
    allowed: NDArray[np.bool_] = (values == 0) | (values == 1) | np.isnan(values)
    return allowed


def matrix(
    columns: Sequence[pa.ChunkedArray],
    names: Sequence[str] | None,
    *,
    where: str,
    binary: bool,
    text: bool,
    places: Sequence[int] | None = None,
) -> NDArray[np.float32]:
    """The columns side by side.

    Args:
        columns: All columns of a table, each of N cells.
        names: Their names, for the message.
        where: The file, for the message.
        binary: Refuse everything but 0, 1 and missing; otherwise any number will do.
        text: Whether strings are read as numbers (CSV) or are wrong (Parquet).
        places: D of them, in the order in which they are wanted; all when None.

    Returns:
        float32 [N, D], NaN where missing.

    Raises:
        ValueError: Names the first cell in row order that is not permitted; rows count from 1, the first with data.
    """
    places = range(len(columns)) if places is None else places
    values = np.empty((len(columns[0]), len(places)), dtype=np.float32)
    first: tuple[int, int] | None = None
    for place, j in enumerate(places):
        numbers, wrong = _numbers(columns[j], text=text)
        if binary:
            wrong |= ~is_binary(numbers)  # before float32, which would round 1 + 1e-9 to 1
        row = int(wrong.argmax())
        if wrong[row] and (first is None or (row, j) < first):
            first = (row, j)
        values[:, place] = numbers
    if first is not None:
        row, j = first
        cell = columns[j][row].as_py()
        value = number(cell) if text and isinstance(cell, str) else None
        raise ValueError(wrong_cell(where, row, j, names, cell if value is None else value, binary=binary))
    return values


def wrong_cell(where: str, row: int, column: int, names: Sequence[str] | None, found: object, *, binary: bool) -> str:
    """The message about one cell; `row` and `column` count from 0 here and from 1 in the message."""
    name = f'"{names[column]}"' if names is not None and names[column] else str(column + 1)
    expected = "0, 1 or missing" if binary else "a number or missing"
    return f"{where}: row {row + 1}, column {name}: expected {expected}, found {_shown(found)}"


def _numbers(column: pa.ChunkedArray, *, text: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """float64 [N] with NaN for missing, and bool [N], True where the cell is no number."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _numbers(column.cast(kind.value_type), text=text)
    if pa.types.is_boolean(kind):
        return _numbers(column.cast(pa.int8()), text=text)
    if text and pa.types.is_string(kind):
        return _parsed(column)
    if not is_number(kind):
        return np.full(len(column), np.nan), column.is_valid().to_numpy().copy()
    return floats(column), np.zeros(len(column), dtype=np.bool_)


def floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Arrow's numbers as float64 [N], NaN where missing: the nearest ones to decimals."""
    if pa.types.is_floating(column.type):
        return widened(column.to_numpy())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own way to floats misses the nearest one
    values: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    return values.copy()


def first_rounded(column: pa.ChunkedArray, *, least: int = LARGEST_EXACT) -> int | None:
    """The first cell, counted from 0, whose number would become another one; None where there is none.

    Whole numbers that fit int64 stay what they are. All others become floats, which round those of many digits.

    Args:
        column: numbers, or words that are numbers.
        least: numbers nearer to 0 than this are not looked at.
    """
    if not (pa.types.is_uint64(column.type) or pa.types.is_decimal(column.type) or pa.types.is_string(column.type)):
        return None
    words = column.cast(pa.string())
    large = words.filter(pc.greater_equal(pc.abs(words.cast(pa.float64())), float(least)))
    rounded = [word for word in pc.unique(large).to_pylist() if not _is_held(word)]
    return pc.index(pc.is_in(words, value_set=pa.array(rounded)), value=True).as_py() if rounded else None


def _is_held(word: str) -> bool:
    """Whether a number is in the range of int64, or a float."""
    if word.removeprefix("-").isdecimal() and -(2**63) <= int(word) < 2**63:
        return True
    number = float(word)  # which may be written with all of its digits, or with the fewest that tell it
    return Decimal(word) in (Decimal(number), Decimal(repr(number)))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers, or nothing at all."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text."""
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _parsed(column: pa.ChunkedArray) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The numbers in a column of text, each distinct text being parsed once."""
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    parsed = [number(word) for word in encoded.dictionary.to_pylist()]
    table = np.array([np.nan if value is None else value for value in parsed])
    wrong = np.array([value is None for value in parsed])
    index = encoded.indices.to_numpy()
    return table[index], wrong[index]


def _shown(found: object) -> str:
    if isinstance(found, float) and found.is_integer():
        return str(int(found))
    if isinstance(found, str):
        return repr(found.strip() if len(found) <= 40 else f"{found[:40]}...")
    return str(found)
