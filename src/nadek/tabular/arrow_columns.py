"""Columns of Arrow: their numbers and objects for NumPy, and NumPy's columns for Arrow."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nadek.tabular.columns.parsing import LARGEST_EXACT, as_objects, widened

AnyColumn: TypeAlias = NDArray[Any] | pa.ChunkedArray
"""NumPy's column, or Arrow's."""


def is_number(kind: pa.DataType) -> bool:
    """Return True if a column of this type holds numbers, or only nulls."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    """Return True if the type holds text."""
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def is_date(kind: pa.DataType) -> bool:
    """Return True if the type holds dates, with or without a time."""
    return any(test(kind) for test in (pa.types.is_timestamp, pa.types.is_date))


def to_dates(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return Arrow's dates in microseconds [N], in universal time, NaT where missing."""
    kind = pa.timestamp("us", getattr(column.type, "tz", None))
    return column.cast(kind, safe=False).to_numpy().copy()


def to_floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return Arrow's numbers as float64 [N], NaN where missing; of decimals the nearest floats."""
    if pa.types.is_floating(column.type):
        return widened(column.to_numpy())
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own way to floats misses the nearest one
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return values if values.flags.writeable else values.copy()


def to_numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return Arrow's numbers as NumPy's: integers if none is missing, otherwise floats with NaN.

    Integers too large for floats are kept as objects beside None.
    """
    if pa.types.is_integer(column.type) and column.type.bit_width == 64 and column.null_count:
        ends = pc.min_max(column).as_py()
        if max(abs(ends["min"] or 0), abs(ends["max"] or 0)) > LARGEST_EXACT:
            return to_objects(column)
    return column.to_numpy().copy() if pa.types.is_integer(column.type) else to_floats(column)


def to_objects(column: pa.ChunkedArray) -> NDArray[np.object_]:
    """Return Python objects [N], None where missing."""
    if pa.types.is_string(column.type):
        return column.to_numpy().copy()
    return as_objects(column.to_pylist())


def to_arrow(values: AnyColumn) -> pa.Array:
    """Return one Arrow column [N] of the same type: None and NaN become null.

    Integers that no type of Arrow holds all become floats.
    """
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    if values.dtype != object:
        return pa.array(native(values), from_pandas=True)
    for kind in (None, pa.uint64()):
        try:
            return pa.array(values.tolist(), kind, from_pandas=True)
        except (OverflowError, pa.ArrowInvalid):
            continue
    return pa.array(values.astype(np.float64), from_pandas=True)


def typed(values: NDArray[Any], kind: pa.DataType | str, categories: Sequence[Any] = ()) -> AnyColumn:
    """Return values as Arrow's column of a type, or of its name; as they are if it cannot hold them.

    A dictionary lists the ``categories`` first, in their order.
    """
    try:
        kind = type_of(kind) if isinstance(kind, str) else kind
        return cast_in_arrow(pa.chunked_array([to_arrow(values)]), kind, categories)
    except (pa.ArrowException, ValueError):
        return values


def cast_in_arrow(column: pa.ChunkedArray, kind: pa.DataType, categories: Sequence[Any]) -> pa.ChunkedArray:
    """Cast a column of pyarrow, which by itself makes dictionaries of text only, in the order in which it comes."""
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    words = column.cast(kind.value_type)
    listed = dict.fromkeys((*categories, *words.unique().drop_null().to_pylist()))
    values = pa.array(listed, kind.value_type)
    codes = [pc.index_in(part, value_set=values).cast(kind.index_type) for part in words.chunks]
    dictionaries = [pa.DictionaryArray.from_arrays(part, values, ordered=kind.ordered) for part in codes]
    return pa.chunked_array(dictionaries, kind)


def categories_listed(column: pa.ChunkedArray) -> list[Any]:
    """Return the categories of a dictionary, in their order."""
    if not pa.types.is_dictionary(column.type) or not column.num_chunks:
        return []
    return list(column.unify_dictionaries().chunk(0).dictionary.to_pylist())


def wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return a type that holds what two types hold.

    It is that of text if there is no other.
    """
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    kinds = [pa.int8() if pa.types.is_boolean(kind) else kind for kind in (one, other)]
    try:
        schemas = [pa.schema([("column", kind)]) for kind in kinds]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.string()


def type_of(name: str) -> pa.DataType:
    """Return the type of a column that Arrow writes so; a ValueError for any other name."""
    if decimal := re.fullmatch(r"decimal(32|64|128|256)\((\d+), (-?\d+)\)", name):
        return getattr(pa, f"decimal{decimal[1]}")(int(decimal[2]), int(decimal[3]))
    if words := re.fullmatch(r"dictionary<values=(\w+), indices=(\w+), ordered=([01])>", name):
        return pa.dictionary(pa.type_for_alias(words[2]), pa.type_for_alias(words[1]), ordered=words[3] == "1")
    if zoned := re.fullmatch(r"timestamp\[(s|ms|us|ns), tz=([\w/+:-]+)\]", name):
        return pa.timestamp(zoned[1], zoned[2])
    return pa.type_for_alias(name)


def native(values: NDArray[Any]) -> NDArray[Any]:
    """Return the same cells in types that Arrow has: the machine's byte order, floats of 4 or 8 bytes."""
    if values.dtype.kind in "UT":
        return values.astype(object)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def check_exact(column: pa.ChunkedArray, name: str, first_row: int) -> None:
    """Refuse numbers that floats would change."""
    row = first_rounded(column)
    if row is not None:
        message = f"expected a number that floats can hold, found {column[row]}"
        place = f'row {first_row + row + 1}, column "{name}"'
        raise ValueError(f"{place}: {message}, which they would round: drop the column, or say that it is categorical")


def first_rounded(column: pa.ChunkedArray, *, least: int = LARGEST_EXACT) -> int | None:
    """Return the row of the first number that floats would change, from 0, or None.

    Integers in the range of int64 are kept as they are, so they do not count.
    """
    if not (pa.types.is_uint64(column.type) or pa.types.is_decimal(column.type) or pa.types.is_string(column.type)):
        return None
    words = column.cast(pa.string())
    large = words.filter(pc.greater_equal(pc.abs(words.cast(pa.float64())), float(least)))
    rounded = [word for word in pc.unique(large).to_pylist() if not _is_exact(word)]
    return pc.index(pc.is_in(words, value_set=pa.array(rounded)), value=True).as_py() if rounded else None


def choose(where: pa.Array, new: pa.ChunkedArray | pa.Scalar, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with new cells in some places."""
    kind = _kind_of_choices(cells)
    chosen = pc.if_else(where, new.cast(kind), cells.cast(kind))
    return cast_in_arrow(chosen, cells.type, categories_listed(cells))


def rows_of_column(cells: pa.ChunkedArray, chosen: pa.Array) -> pa.ChunkedArray:
    """Return the chosen cells of a column."""
    return cells.cast(_kind_of_choices(cells)).filter(chosen).cast(cells.type)


def _kind_of_choices(cells: pa.ChunkedArray) -> pa.DataType:
    """Return a type among whose values Arrow can choose."""
    return pa.string() if pa.types.is_string_view(cells.type) else cells.type


def _is_exact(word: str) -> bool:
    """Return True if a number is in the range of int64, or is a float."""
    if len(word) < 40 and word.removeprefix("-").isdecimal() and -(2**63) <= int(word) < 2**63:
        return True
    number = float(word)  # which may be written with all of its digits, or with the fewest that tell it
    return Decimal(word) in (Decimal(number), Decimal(repr(number)))
