"""Observed cells of one column, and their sort: text, numbers, booleans or dates."""

import math
import numbers
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Sort = Literal["nothing", "booleans", "numbers", "dates", "text"]

Unit = Literal["D", "h", "m", "s", "us"]
"""Of dates: days, hours, minutes, seconds, microseconds."""
UNITS: tuple[Unit, ...] = get_args(Unit)

LARGEST_EXACT = 2**53
"""Up to here a float can be any whole number; beyond, it skips some and is always whole, which tells nothing."""


class MixedColumnError(ValueError):
    """A column holds several sorts of values, such as text and numbers."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Observed cells of a column: their sort, values [M] and rows [M].

    Values are bool, int64, float64, dates in microseconds, or objects.
    """

    sort: Sort
    values: NDArray[Any]
    rows: NDArray[np.intp]


def read_cells(
    values: NDArray[Any],
    *,
    name: str,
    expected_sort: Sort | None = None,
    expected: Sequence[object] | None = None,
    first_row: int = 0,
) -> Cells:
    """Return a column's observed cells and their sort; None, NaN and null are missing.

    Cells must be of ``expected_sort``, or of the most frequent one. Other cells are a `MixedColumnError`, infinite
    numbers a ValueError, and lists and the like a TypeError. Messages list the ``expected`` values, and count rows from
    ``first_row`` on.
    """
    if values.ndim != 1:
        raise ValueError(f'column "{name}": expected one dimension, found an array of shape {values.shape}')
    if values.dtype.kind in "OUT":
        return _read_objects(values.astype(object), name, expected_sort, expected, first_row)
    if values.dtype.kind == "M":
        rows = np.flatnonzero(~is_missing(values))
        return Cells("dates" if len(rows) else "nothing", values[rows].astype("M8[us]"), rows)
    if values.dtype.kind not in "buif":
        raise ValueError(f'column "{name}": expected text, numbers, dates or booleans, found {values.dtype}')
    if values.dtype.kind == "b":
        return Cells("booleans", values, np.arange(len(values)))
    if values.dtype.kind in "iu":
        return Cells("numbers", _whole(values), np.arange(len(values)))
    rows = (~np.isnan(values)).nonzero()[0]  # np.flatnonzero takes three times as long on a single row
    observed = _finite(widened(values[rows]), rows + first_row, name)
    return Cells("numbers" if len(rows) else "nothing", observed, rows)


def numbers_of(cells: Cells, *, name: str, unit: Unit | None = None) -> NDArray[np.float64]:
    """Return observed cells as numbers, [M]; dates as whole counts of a unit since 1970.

    The largest whole ones stay in the range of int64 when they are rounded.
    """
    if cells.sort != "nothing" and (cells.sort == "text" or (cells.sort == "dates") != (unit is not None)):
        place, expected = place_of(name, cells.rows[0]), "a number" if unit is None else "a date"
        raise ValueError(f"{place}: expected {expected} or missing, found {shown(cells.values[0])}")
    if cells.sort == "dates":
        return cells.values.astype(f"M8[{unit}]").astype(np.int64).astype(np.float64)
    numbers = cells.values.astype(np.float64)
    return np.minimum(numbers, np.nextafter(2.0**63, 0)) if cells.values.dtype.kind == "i" else numbers


def widened(numbers: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return floats [...] as float64; narrower ones become the shortest decimals that they stand for.

    So 0.1 is one number in whatever precision a table comes, and falls into one bin.
    """
    if numbers.dtype.itemsize >= 8:
        return numbers.astype(np.float64)
    different, places = np.unique(numbers, return_inverse=True)
    return different.astype(np.str_).astype(np.float64)[places].reshape(numbers.shape)


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where values are missing (None, NaN, what pandas has for them, or an empty text), [N]."""
    if values.dtype.kind in "fMUT":
        return values == "" if values.dtype.kind in "UT" else np.isnan(values)
    if values.dtype != object:
        return np.zeros(len(values), dtype=np.bool_)
    return np.array(list(map(_is_missing, values)), dtype=np.bool_)


def is_new(values: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where observed values have no code, [N]: they are no levels of their column."""
    new = np.isnan(codes)
    new[new] = ~is_missing(values[new])
    return new


def without_other_sorts(values: NDArray[np.object_], *, is_text: bool) -> NDArray[np.object_]:
    """Return values [N] without numbers and booleans in a column of text, or without text in another one."""
    sorts = {kind: _sort_of(kind) for kind in set(map(type, values))}
    others = {kind for kind, sort in sorts.items() if sort is not None and (sort == "text") != is_text}
    out = values.copy()
    out[np.array([type(value) in others for value in values], dtype=np.bool_)] = None
    return out


def as_objects(items: Sequence[Any]) -> NDArray[np.object_]:
    """Return an array of objects [N], tuples too."""
    objects = np.empty(len(items), dtype=object)
    objects[:] = items
    return objects


def place_of(name: str, row: int | np.intp) -> str:
    """Return the place of a cell for messages, where rows count from 1."""
    return f'row {row + 1}, column "{name}"'


def shown(value: object) -> str:
    """Format a value for a message: text quoted and cut, whole numbers without a point, dates without a time of 0."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:40]}...")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, np.datetime64):
        return str(value.astype("M8[us]")).replace("T", " ").removesuffix(".000000").removesuffix(" 00:00:00")
    return str(value)


def listed(values: Sequence[object], most: int = 6) -> str:
    """Format the first few values for a message."""
    more = f" (and {len(values) - most} more)" if len(values) > most else ""
    return ", ".join(map(shown, values[:most])) + more


def _read_objects(
    values: NDArray[np.object_],
    name: str,
    expected_sort: Sort | None,
    expected: Sequence[object] | None,
    first_row: int,
) -> Cells:
    """Return an object column's cells, all of one sort."""
    rows = np.flatnonzero(~is_missing(values))
    observed = values[rows]
    sorts = {kind: _sort_of(kind) for kind in dict.fromkeys(map(type, observed))}
    different = set(sorts.values())
    if None in different or len(different) > 1:
        _refuse(observed, rows + first_row, [sorts[type(value)] for value in observed], name, expected_sort, expected)
    if not different:
        return Cells("nothing", np.empty(0), rows)
    (sort,) = different
    if sort == "booleans":
        return Cells("booleans", observed.astype(np.bool_), rows)
    if sort == "text":
        return Cells("text", observed, rows)
    if sort == "dates":
        return Cells("dates", np.array(list(map(_universal, observed)), "M8[us]"), rows)
    whole = all(issubclass(kind, numbers.Integral) for kind in sorts)
    if any(issubclass(kind, np.float16 | np.float32) for kind in sorts):  # see `widened`
        narrow = [isinstance(value, np.float16 | np.float32) for value in observed]
        observed = np.where(narrow, observed.astype(np.str_), observed)
    plain = _whole(observed) if whole else observed.astype(np.float64)
    return Cells("numbers", _finite(plain, rows + first_row, name), rows)


def _finite(observed: NDArray[Any], rows: NDArray[np.intp], name: str) -> NDArray[Any]:
    infinite = np.isinf(observed)
    if infinite.any():
        first = infinite.argmax()
        place = place_of(name, rows[first])
        raise ValueError(f"{place}: expected a finite number or missing, found {shown(observed[first])}")
    return observed


def _refuse(
    observed: NDArray[np.object_],
    rows: NDArray[np.intp],
    sorts: list[Sort | None],
    name: str,
    expected_sort: Sort | None,
    expected: Sequence[object] | None,
) -> None:
    """Raise for the first cell of a wrong sort."""
    # 1,234 is not what 999.5 should have been, however often it is there
    meant = ["numbers" if _is_like_a_number(value) else sort for value, sort in zip(observed, sorts, strict=True)]
    times = Counter(sort for sort in meant if sort is not None)
    right = expected_sort or (times.most_common(1)[0][0] if times else None)  # of as many cells each, the first
    wrong = next(i for i, sort in enumerate(sorts) if sort is None or sort != right)
    place, value = place_of(name, rows[wrong]), observed[wrong]
    if sorts[wrong] is None:  # scikit-learn asks for this error, and for these words
        raise TypeError(
            f"{place}: the argument must be text (a string), a number, a date, a boolean or missing,"
            f" found {value!r} ({type(value).__name__}); a number may be one of Python or NumPy"
        )
    raise MixedColumnError(
        f"{place}: expected {listed(expected) if expected else right} or missing, found {shown(value)}"
    )


def _is_like_a_number(value: object) -> bool:
    """Return True for text with digits and without letters."""
    return isinstance(value, str) and any(map(str.isdigit, value)) and not any(map(str.isalpha, value))


def _sort_of(kind: type) -> Sort | None:
    if issubclass(kind, bool | np.bool_):
        return "booleans"
    if issubclass(kind, numbers.Real | Decimal):
        return "numbers"
    if issubclass(kind, date | np.datetime64):
        return "dates"
    return "text" if issubclass(kind, str) else None


def _universal(value: date | np.datetime64) -> date | np.datetime64:
    """Return a date in universal time, without a zone."""
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value


def _is_missing(value: Any) -> bool:  # noqa: ANN401 - any object
    if isinstance(value, str):
        return not value
    if isinstance(value, float | np.floating | Decimal | np.datetime64):
        return bool(value != value)
    # pandas' own words for missing are known by their names, as pandas need not be there to be imported
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as int64; as floats if they are too large."""
    try:
        fits = values.dtype.kind != "u" or not len(values) or values.max() <= np.iinfo(np.int64).max
        return values.astype(np.int64 if fits else np.float64)
    except OverflowError:
        return np.array([to_float(value) for value in values])


def to_float(number: Any) -> float:  # noqa: ANN401 - a number of any type
    """Return the nearest float: infinite beyond the range of floats, where Python's integers raise an error."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def counted(n: int, what: str) -> str:
    """Return a number of things, for people."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
