"""The one way back: tables with missing cells filled in, as what they were."""

import numbers
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Shaped
from numpy.typing import NDArray

from nadek.tabular.arrow_columns import AnyColumn, cast_in_arrow, categories_listed, choose, typed
from nadek.tabular.columns import Column, Ordinal, decode
from nadek.tabular.columns.parsing import LARGEST_EXACT, as_objects
from nadek.tabular.files import MATRICES, Target, form_of
from nadek.tabular.frames import (
    CATEGORICAL,
    categories_of,
    decimal_digits,
    in_plain_zone,
    intervals_as_text,
    is_date,
    native_type,
)
from nadek.tabular.table import OtherTypeError, Table
from nadek.tabular.text_cells import Spelling, as_texts, with_points

Uniforms = Callable[[int], NDArray[np.float64]] | None
"""Function from the place of a column to the random numbers [N] of its cells."""


class Filling(NamedTuple):
    """Which cells of a column to replace, [N], and their new values, in turn."""

    where: NDArray[np.bool_]
    new: NDArray[Any]


Fillings = dict[int, Filling]
"""Fillings of columns, by their places."""


def decoded(columns: Sequence[Column], codes: NDArray[Any], *, uniforms: Uniforms = None) -> list[NDArray[Any]]:
    """Return the values of codes, D arrays [N]; see `nadek.tabular.columns.decode`."""
    return [
        decode(column, codes[:, j], uniforms=None if uniforms is None else uniforms(j))
        for j, column in enumerate(columns)
    ]


def filled(table: Table, fillings: Fillings, model: Sequence[Column | None]) -> Any:  # noqa: ANN401 - an array or frame
    """Return an array or a data frame with some cells replaced, and types kept if these can hold them.

    Observed cells are what they were, also where the model did not know their values. A column of integers that is
    given other numbers becomes one of floats; if floats would change its own, the others are rounded. A categorical
    type that lists its categories is given those that it lacks, in the order that the ``model`` knows. A column whose
    type cannot hold a new value (300 in bytes, text in an empty column of numbers) gets a type that can.
    """
    missing = {j: one.where & table.is_missing(j) for j, one in fillings.items()}
    fillings = {j: Filling(missing[j], new[missing[j][where]]) for j, (where, new) in fillings.items()}
    columns = {j: replaced(table.column(j), *filling) for j, filling in fillings.items() if filling.where.any()}
    frame = table.native
    if isinstance(frame, np.ndarray):
        return array_like(frame, [columns.get(j, column) for j, column in enumerate(frame.T)])
    series = []
    for j, values in columns.items():
        old, column = frame[:, j], model[j]
        new = series_like(old, values, column.levels if isinstance(column, Ordinal) else ())
        series.append(_with_own(old, fillings[j].where, new))
    whole = under_names_of((frame.with_columns(*series) if series else frame.clone()).to_native(), frame)
    if frame.implementation.is_pyarrow() and whole.schema != frame.to_native().schema:
        return whole.replace_schema_metadata()  # what pandas left there tells of the old types, and it believes it
    return whole


def filled_words(table: Table, j: int, filling: Filling, spelling: Spelling) -> AnyColumn:
    """Return the words of a text file's column as they were, beside new ones in the ``spelling`` of all."""
    cells: Any = table.cells[j]
    is_text = spelling.is_text or any(isinstance(value, str) for value in filling.new.tolist())
    words = with_points(cells, "numbers") if table.decimal_commas and not is_text else cells
    return pc.replace_with_mask(words, pa.array(filling.where), spelling.spelt(filling.new))


def filled_column(table: Table, j: int, values: NDArray[Any], filling: Filling, spelling: Spelling) -> AnyColumn:
    """Return a file's column with some cells replaced.

    It is Arrow's column of its own type if this can hold the new values, or just values. ``values`` [N] are those that
    the model reads.
    """
    cells: Any = table.cells[j]
    where, new = filling
    # a table may say true and false where the model's said 1 and 0
    may_be_truths = new.dtype.kind in "iuf" and values.dtype.kind in "bO"
    if may_be_truths and any(isinstance(value, bool) for value in values.tolist()):
        values = values.astype(np.float64)
    values, new = _as_in_file(values, where, new, spelling)
    whole = replaced(values, where, new)
    whole = as_texts(whole) if spelling.is_text else _of_one_sort(whole)
    if table.is_text_file:
        return whole
    whole = typed(whole, cells.type)
    return whole if isinstance(whole, np.ndarray) else choose(pa.array(where), whole, cells)


def other_column(table: Table, j: int, target: Target) -> AnyColumn:
    """Return a column of a file that the model does not read, to be written along."""
    cells: Any = table.cells[j]
    if form_of(target) in MATRICES:
        with suppress(OtherTypeError):
            return numbers_for(target, table.labels[j], table.column(j))
    elif form_of(target) == ".parquet" or not pa.types.is_nested(cells.type):
        return cells
    name = target if isinstance(target, str | Path) else "standard output (CSV)"
    raise ValueError(f'{name}: this form cannot hold the column "{table.labels[j]}" of {cells.type}; write .parquet')


def numbers_for(target: Target, label: str, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values of a column as a file of numbers holds them; a ValueError if it does not."""
    complaint = f'{target}: this form cannot hold the column "{label}"'
    if values.dtype.kind == "M":
        raise ValueError(f"{complaint}, which holds dates; write .csv or .parquet")
    if values.dtype == object and any(isinstance(value, str) for value in values.tolist()):
        # also where it looks like numbers: it would not come back as it was
        raise ValueError(f"{complaint}, which holds text; write .csv or .parquet")
    floats = values.astype(np.float64)
    if values.dtype.kind != "f" and (np.abs(floats) >= LARGEST_EXACT).any():
        raise ValueError(f"{complaint}, whose whole numbers floats would round; write .csv or .parquet")
    if form_of(target) == ".amat" and not ((floats == 0) | (floats == 1)).all():
        raise ValueError(f"{complaint}, which holds other cells than 0 and 1; write .csv or .parquet")
    return floats


def replaced(values: NDArray[Any], where: Bool[np.ndarray, " N"], new: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of values [N] with some replaced by others in turn, in a type that holds all of them."""
    if where.all():  # an empty column does not tell what it would hold
        return new
    if not where.any():
        return values
    if values.dtype == object and len(set(map(type, values[~where]))) == 1:
        new = like_cell(values[~where][0], new)
    if new.dtype.kind == "i":
        values = _as_integers(values, where)
    are_numbers = values.dtype.kind in "iuf" and new.dtype.kind in "buif"
    are_alike = are_numbers or values.dtype.kind == new.dtype.kind == "M" or values.dtype == new.dtype
    out = values.astype(np.result_type(values, new) if are_alike else object)
    out[where] = new
    return out


def like_cell(cell: object, new: NDArray[Any]) -> NDArray[Any]:
    """Return decimals or dates as objects of the kind and zone of a cell; other values as they are."""
    items: list[Any] = list(new)
    if isinstance(cell, Decimal) and new.dtype.kind in "iuf":
        items = [Decimal(str(value)) for value in new.tolist()]
    elif cell is None or new.dtype.kind != "M":
        return new
    elif isinstance(cell, date):
        unit, zone = "us" if isinstance(cell, datetime) else "D", getattr(cell, "tzinfo", None)
        items = [type(cell).fromisoformat(str(value)) for value in new.astype(f"M8[{unit}]")]
        items = [one.replace(tzinfo=UTC).astimezone(zone) for one in items] if zone else items
    return as_objects(items)


def _as_integers(values: NDArray[Any], where: Bool[np.ndarray, " N"]) -> NDArray[Any]:
    """Return integers that missing cells made floats as integers again, 0 in these cells; other values as they are."""
    if values.dtype.kind != "f":
        return values
    observed = np.where(where, 0, values).astype(np.float64)
    whole = (observed == np.floor(observed)) & (np.abs(observed) < LARGEST_EXACT)
    return observed.astype(np.int64) if whole.all() else values


def to_library(native: Any, library: str, names: Sequence[str]) -> Any:  # noqa: ANN401 - an array or a frame
    """Return a frame of another library, "pandas" or "polars"; frames of it stay what they are."""
    if isinstance(native, np.ndarray):
        backend: Any = library
        return nw.from_numpy(native, list(names), backend=backend).to_native()
    frame = nw.from_native(native)
    if frame.implementation.value == library:
        return native
    return frame.to_pandas() if library == "pandas" else frame.to_polars()


def with_flags(native: Any, flags: Bool[np.ndarray, "N F"], names: Sequence[str]) -> Any:  # noqa: ANN401
    """Return a table with columns of flags beside its own: 0 and 1 in an array, booleans in a frame.

    An array of text becomes one of objects.
    """
    if not isinstance(native, np.ndarray):
        return with_columns(native, flags, names)
    dtype = np.dtype(object) if native.dtype.kind in "US" else native.dtype
    return np.hstack([native.astype(dtype), flags.astype(np.int64).astype(dtype)])


def with_columns(native: Any, values: Shaped[np.ndarray, "N F"], names: Sequence[Any]) -> Any:  # noqa: ANN401 - a frame
    """Return a frame with columns of values, in place of those with the same names."""
    frame = nw.from_native(native)
    named = zip(names, values.T, strict=True)
    columns = [nw.new_series(name, column, backend=frame.implementation) for name, column in named]
    return frame.with_columns(*columns).to_native() if columns else native


def under_names_of(native: Any, like: Any) -> Any:  # noqa: ANN401 - a new frame, and one of narwhals
    """Return a frame under the names of another; pandas counts where one is None."""
    if like.implementation.is_pandas_like():
        native.columns = like.to_native().columns
    return native


def renamed(native: Any, names: Sequence[str]) -> Any:  # noqa: ANN401 - a frame
    """Return a frame whose columns have other names."""
    frame = nw.from_native(native)
    columns = [frame[:, j].alias(name).to_frame() for j, name in enumerate(names)]
    return nw.concat(columns, how="horizontal").to_native()


def array_like(like: NDArray[Any], columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return columns side by side, in the type of an array if it holds all of them."""
    if like.dtype == object or not all(map(_are_numbers, columns)):
        whole = np.column_stack([column.astype(object) for column in columns])
        return whole if like.dtype.kind not in "US" else whole.astype(np.str_)
    whole = np.column_stack([column.astype(np.float64) if column.dtype == object else column for column in columns])
    if like.dtype.kind != "f" and not _are_whole(whole):
        return whole.astype(np.float64)
    if like.dtype.kind in "iu":
        return _as_whole(whole, like.dtype)
    return whole.astype(like.dtype if like.dtype.kind != "f" or _reaches(like.dtype, whole) else np.float64)


def series_like(like: Any, values: NDArray[Any], order: Sequence[object] = ()) -> Any:  # noqa: ANN401 - narwhals
    """Return a series of new values under the name of another, in its type if that holds them.

    Categories that its type lacks come after its own, or where the ``order`` has them.
    """
    is_pandas = like.implementation.is_pandas_like()
    values = values if is_pandas else _of_one_sort(values)
    plain = in_plain_zone(intervals_as_text(like))
    fitting = _fitting(values, plain)
    new = _of_other_type(values, plain) if fitting is None else _of_same_type(fitting, plain, like, order)
    if is_pandas and len(plain) == len(new):
        new.index = plain.to_native().index
    return nw.from_native(new, series_only=True).alias(like.name)


def _of_same_type(values: NDArray[Any], plain: Any, like: Any, order: Sequence[object]) -> Any:  # noqa: ANN401
    """Return fitting values in the type of ``like``, of which ``plain`` has text for intervals, and UTC for zones."""
    new, old = _new_series(values, plain), plain.to_native()
    if zone := getattr(plain.dtype, "time_zone", None):
        new = new.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    new = new.to_native()
    if plain.implementation.is_pyarrow():
        return cast_in_arrow(new, old.type, categories_listed(old))
    is_categorical = plain.dtype in CATEGORICAL
    dtype = _with_categories(plain, values.tolist(), order) if is_categorical else like.to_native().dtype
    if not plain.implementation.is_pandas_like():
        return new.cast(dtype)
    if not is_categorical:
        return new.astype(dtype)
    new = new.astype(object).astype(dtype)  # a dictionary of Arrow takes numbers only so
    if like is plain or len(dtype.categories) > len(old.cat.categories):
        return new  # no intervals, or others among them, which stay text
    return new.cat.rename_categories(like.to_native().cat.categories)


def _of_other_type(values: NDArray[Any], plain: Any) -> Any:  # noqa: ANN401 - narwhals series
    """Return values that the type of a series does not hold, as numbers where they are."""
    if values.dtype == object and len(set(map(type, values))) > 1 and _are_numbers(values):
        values = values.astype(np.float64)
    new = _new_series(values, plain).to_native()
    if plain.implementation.is_pandas_like() and plain.dtype.is_integer() and values.dtype.kind == "f":
        return new.astype((plain.to_native()[:0] + 0.5).dtype)  # floats of the same library: NumPy, pandas or Arrow
    return new


def _new_series(values: NDArray[Any], like: Any) -> Any:  # noqa: ANN401 - narwhals series
    items = values.tolist() if values.dtype.kind in "OUS" and like.dtype != nw.Object else values
    kind = nw.Object if native_type(like) == np.dtype(object) else None  # pandas would make one of datetimes
    return nw.new_series(like.name, items, kind, backend=like.implementation)


def numpy_type(like: Any) -> np.dtype[Any]:  # noqa: ANN401 - narwhals series
    """Return NumPy's type of the numbers or booleans of a series; its widest one for integers of 128 bits."""
    name = "bool" if like.dtype == nw.Boolean else str(like.dtype).lower()
    return np.dtype(name.replace("128", "64"))


def _with_own(old: Any, where: Bool[np.ndarray, " N"], new: Any) -> Any:  # noqa: ANN401 - narwhals series
    """Return a new series with the observed cells of the old one: decimals and dates lose digits on their way."""
    if not (decimal_digits(old) and decimal_digits(new)) and not (is_date(old) and old.dtype == new.dtype):
        return new
    return old.zip_with(nw.new_series(old.name, ~where, backend=old.implementation), new)


def _are_numbers(values: NDArray[Any]) -> bool:
    """Return True if all values are numbers, or booleans, which are 0 and 1."""
    if values.dtype != object:
        return values.dtype.kind in "buif"
    return all(isinstance(value, numbers.Real | Decimal | np.bool_) for value in values)


def _are_whole(values: NDArray[Any]) -> bool:
    return bool((values == np.floor(values)).all())


def _reaches(dtype: np.dtype[Any], values: NDArray[Any]) -> bool:
    """Return True if numbers are in the range of a type; floats may have been rounded to just beyond its end."""
    if dtype.kind == "b":
        return bool(((values == 0) | (values == 1)).all())
    ends = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return not ((values < float(ends.min)) | (values > float(ends.max))).any()


def _as_whole(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers in a type of integers; those just beyond its range are put at its end."""
    ends = np.iinfo(dtype)
    if values.dtype == object:
        return np.array([min(max(round(value), ends.min), ends.max) for value in values], dtype=dtype)
    if values.dtype.kind == "f":
        values = np.minimum(values, np.nextafter(float(ends.max) + 1, 0))
    return values.astype(dtype)


def _fitting(values: NDArray[Any], like: Any) -> NDArray[Any] | None:  # noqa: ANN401 - narwhals series
    """Return values, none of them missing, ready for a cast to the type of a series; None if it cannot hold them."""
    dtype, digits = like.dtype, decimal_digits(like)
    if dtype in (nw.Object, *CATEGORICAL) or native_type(like) == np.dtype(object):
        return values
    if is_date(like) or values.dtype.kind == "M":
        fits = is_date(like) and values.dtype.kind == "M"
        fits = fits and (dtype == nw.Datetime or (values.astype("M8[D]") == values).all())  # a day has no time
        return values.astype("M8[us]") if fits else None
    if not _are_numbers(values):
        return values if dtype == nw.String else None
    if digits:
        most = float(np.abs(values.astype(np.float64)).max(initial=0))
        return values.astype(np.float64) if round(most, digits[1]) < 10.0 ** (digits[0] - digits[1]) else None
    if not (dtype == nw.Boolean or dtype.is_integer() or dtype.is_float()) or not _reaches(numpy_type(like), values):
        return None
    if dtype.is_integer():
        return _as_whole(values, numpy_type(like)) if values.dtype.kind != "f" or _are_whole(values) else None
    return values.astype(np.bool_ if dtype == nw.Boolean else np.float64)


def _as_in_file(
    values: NDArray[Any], where: NDArray[np.bool_], new: NDArray[Any], spelling: Spelling
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return old and new values in the file's types.

    A batch alone may have other types than all cells of the column.
    """
    if spelling.is_text:
        return values.astype(object), new
    if new.dtype.kind == "M":
        return values, new.astype("M8[us]")
    if new.dtype.kind == "b" and spelling.sorts & {int, float} and (spelling.has_missing or bool in spelling.sorts):
        return values.astype(np.float64), new.astype(np.float64)
    return _as_integers(values, where) if new.dtype.kind == "i" and spelling.has_missing else values, new


def _of_one_sort(values: NDArray[Any]) -> NDArray[Any]:
    """Return text and numbers, which no typed column holds together, as text; all else as it is."""
    if values.dtype != object or len({isinstance(value, str) for value in values if value is not None}) < 2:
        return values
    return as_texts(values)


def _with_categories(like: Any, values: Sequence[Any], order: Sequence[object]) -> Any:  # noqa: ANN401 - a type
    """Return the type of a categorical column of pandas or polars; if it lists categories, with the lacking ones."""
    old, listed = like.to_native(), categories_of(like)
    if listed is None:
        return old.dtype
    own, whole = list(listed), list(dict.fromkeys((*listed, *values)))
    in_order = [level for level in order if level in whole]
    if len(in_order) == len(whole) and [level for level in in_order if level in own] == own:
        whole = in_order
    if like.implementation.is_pandas_like():
        return old.cat.set_categories(whole).dtype
    return type(old.dtype)(whole)
