"""Tables written back as what they were: holes filled, columns left out, or rows that are new altogether."""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from nadek.tabular.columns import LARGEST_EXACT
from nadek.tabular.dtypes import told_type
from nadek.tabular.frames import CATEGORICAL, Table, categories_of, decimal_digits, native_type

Fillings = dict[int, tuple[NDArray[np.bool_], NDArray[Any]]]
"""For the index of a column, which of its cells to replace, and their new values in turn."""


def filled(table: Table, fillings: Fillings) -> Any:  # noqa: ANN401 - an array or a frame
    """A table with some cells replaced, in the container that it came in; columns keep their types where they can.

    Args:
        table: what was read.
        fillings: what to replace, and by what.

    Returns:
        An array or a frame; observed cells are what they were. A column of whole numbers that is given others becomes
        one of floats; if floats would change its own, the others are rounded. A categorical type that lists its
        categories is given those that it lacks. A column whose type cannot hold what is filled in (300 in bytes, text
        in an empty column of numbers) gets a type that can.
    """
    columns = {j: _replaced(table.columns[j], where, new) for j, (where, new) in fillings.items() if where.any()}
    if isinstance(table.native, np.ndarray):
        return _filled_array(table.native, columns)
    frame = table.native
    series = [_with_own(frame[:, j], fillings[j][0], _series_like(frame[:, j], new)) for j, new in columns.items()]
    whole = (frame.with_columns(*series) if series else frame.clone()).to_native()
    if frame.implementation.is_pyarrow() and whole.schema != frame.to_native().schema:
        return whole.replace_schema_metadata()  # what pandas left there tells of the old types, and it believes it
    return whole


def without(native: Any, keep: Sequence[int]) -> Any:  # noqa: ANN401 - an array or a frame
    """Some of the columns of an array or a frame."""
    if isinstance(native, np.ndarray):
        return native[:, list(keep)]
    return nw.from_native(native)[:, list(keep)].to_native()


def as_frame_of(native: Any, library: str, names: Sequence[str]) -> Any:  # noqa: ANN401 - an array or a frame
    """A frame of another library, "pandas" or "polars"; frames that are of it stay what they are.

    Args:
        native: an array or a frame.
        library: the library.
        names: what the columns of an array are called.
    """
    if isinstance(native, np.ndarray):
        backend: Any = library
        return nw.from_numpy(native, list(names), backend=backend).to_native()
    frame = nw.from_native(native)
    if frame.implementation.value == library:
        return native
    return frame.to_pandas() if library == "pandas" else frame.to_polars()


def beside(native: Any, flags: Bool[np.ndarray, "N F"], names: Sequence[str]) -> Any:  # noqa: ANN401
    """A table with columns of flags beside its own: 0 and 1 in an array, booleans in a frame.

    An array of text becomes one of objects.

    Args:
        native: an array or a frame.
        flags: the columns to add.
        names: what they are called in a frame.
    """
    if isinstance(native, np.ndarray):
        dtype = np.dtype(object) if native.dtype.kind in "US" else native.dtype
        return np.hstack([native.astype(dtype), flags.astype(np.int64).astype(dtype)])
    frame = nw.from_native(native)
    added = [
        nw.new_series(name, column, backend=frame.implementation) for name, column in zip(names, flags.T, strict=True)
    ]
    return frame.with_columns(*added).to_native() if added else native


def called(native: Any, names: Sequence[str]) -> Any:  # noqa: ANN401 - a frame
    """A frame whose columns have other names."""
    frame = nw.from_native(native)
    renamed = [frame[:, j].alias(name).to_frame() for j, name in enumerate(names)]
    return nw.concat(renamed, how="horizontal").to_native()


@dataclass(frozen=True, eq=False)
class Template:
    """What kind of table the training rows came in: enough to make new rows like them.

    Attributes:
        empty: an array or a (native) frame of the same types, without rows.
    """

    empty: Any

    def make(self, columns: Sequence[NDArray[Any]]) -> Any:  # noqa: ANN401 - an array or a frame
        """A table of new columns, in the types of the old ones where these can hold them."""
        if isinstance(self.empty, np.ndarray):
            return _array_like(self.empty, columns)
        frame = nw.from_native(self.empty)
        series = [_series_like(frame[:, j], values) for j, values in enumerate(columns)]
        return nw.concat([one.to_frame() for one in series], how="horizontal").to_native()

    def dtypes(self) -> list[np.dtype[Any]]:
        """NumPy's types of numbers in the columns; objects for columns of anything else."""
        if isinstance(self.empty, np.ndarray):
            return [self.empty.dtype] * self.empty.shape[1]
        frame = nw.from_native(self.empty)
        columns = [frame[:, j] for j in range(frame.shape[1])]
        return [_numpy_type(one) if one.dtype.is_float() else np.dtype(object) for one in columns]

    def describe(self) -> dict[str, Any]:
        """The library, and the type of an array or those of the columns of a frame."""
        if isinstance(self.empty, np.ndarray):
            dtype = self.empty.dtype
            return {"container": "numpy", "dtype": dtype.str if dtype.kind == "U" else dtype.name}
        frame = nw.from_native(self.empty)
        types = [told_type(frame[:, j]) for j in range(frame.shape[1])]
        return {"container": frame.implementation.value, "types": types}


def template_of(table: Table) -> Template:
    """The template of a table."""
    native = table.native
    return Template(native[:0].copy() if isinstance(native, np.ndarray) else native.head(0).to_native())


def _replaced(values: NDArray[Any], where: Bool[np.ndarray, " N"], new: NDArray[Any]) -> NDArray[Any]:
    """A copy with some cells replaced, in a type that holds all of them."""
    dtype = np.dtype(object)
    if values.dtype.kind == "f" and new.dtype.kind in "buif" and not _is_large(new):
        dtype = values.dtype if _reaches(values.dtype, new) else np.dtype(np.float64)
    out = values.astype(dtype)
    out[where] = new
    return out


def _is_large(new: NDArray[Any]) -> bool:
    """Whether floats would change whole numbers."""
    return new.dtype.kind == "i" and max(-int(new.min()), int(new.max())) > LARGEST_EXACT


def _are_numbers(values: NDArray[Any]) -> bool:
    """Whether all values are numbers, or booleans, which are 0 and 1."""
    if values.dtype != object:
        return values.dtype.kind in "buif"
    return all(isinstance(value, numbers.Real | Decimal | np.bool_) for value in values)


def _are_whole(values: NDArray[Any]) -> bool:
    """Whether all numbers are whole."""
    return bool((values == np.floor(values)).all())


def _reaches(dtype: np.dtype[Any], values: NDArray[Any]) -> bool:
    """Whether a type of numbers reaches as far as some numbers; floats may have been rounded to just beyond its end."""
    if dtype.kind == "b":
        return bool(((values == 0) | (values == 1)).all())
    ends = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return bool(float(ends.min) <= values.min() and values.max() <= float(ends.max))


def _as_whole(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Numbers that a type of whole numbers reaches in this type; those just beyond its end are put at the end."""
    ends = np.iinfo(dtype)
    if values.dtype == object:
        return np.array([min(max(round(value), ends.min), ends.max) for value in values], dtype=dtype)
    if values.dtype.kind == "f":
        values = np.minimum(values, np.nextafter(float(ends.max) + 1, 0))
    return values.astype(dtype)


def _with_own(old: Any, where: Bool[np.ndarray, " N"], new: Any) -> Any:  # noqa: ANN401 - narwhals series
    """The new series, with the cells that it does not replace as they were: decimals lose digits on their way."""
    if not (decimal_digits(old) and decimal_digits(new)):
        return new
    return old.zip_with(nw.new_series(old.name, ~where, backend=old.implementation), new)


def _filled_array(array: NDArray[Any], columns: Mapping[int, NDArray[Any]]) -> NDArray[Any]:
    """A copy of an array of floats or objects with some columns replaced, in its type where that holds them."""
    dtype = array.dtype
    if not all(map(_are_numbers, columns.values())):
        dtype = np.dtype(object)
    elif dtype.kind == "f" and not all(_reaches(dtype, values) for values in columns.values()):
        dtype = np.dtype(np.float64)
    out = array.astype(dtype)
    for j, values in columns.items():
        out[:, j] = values
    return out


def _array_like(empty: NDArray[Any], columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Columns side by side, in the type of an array where it holds all of them."""
    if empty.dtype == object or any(column.dtype.kind not in "buif" for column in columns):
        out = np.empty((len(columns[0]), len(columns)), dtype=object)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out if empty.dtype.kind not in "US" else out.astype(np.str_)
    stacked = np.column_stack(columns)
    if empty.dtype.kind != "f" and not _are_whole(stacked):
        return stacked.astype(np.float64)
    return _as_whole(stacked, empty.dtype) if empty.dtype.kind in "iu" else stacked.astype(empty.dtype)


def _series_like(like: Any, values: NDArray[Any]) -> Any:  # noqa: ANN401 - narwhals series of whatever frame
    """A series of new values under the name of another, in its type where that holds them."""
    old, holds = like.to_native(), _holds(like, values)
    typed = _series_of(_converted(values, like) if holds else _of_one_type(values), like)
    if holds and like.implementation.is_pyarrow():
        typed = _cast_in_arrow(typed, old.type)
    elif holds:
        dtype = _with_categories(like, values.tolist()) if like.dtype in CATEGORICAL else old.dtype
        if like.implementation.is_pandas_like():  # a dictionary of Arrow takes numbers only as objects
            typed = (typed.astype(object) if like.dtype in CATEGORICAL else typed).astype(dtype)
        else:
            typed = typed.cast(dtype)
    if like.implementation.is_pandas_like() and len(old) == len(typed):
        typed.index = old.index
    return nw.from_native(typed, series_only=True).alias(like.name)


def _cast_in_arrow(typed: Any, kind: Any) -> Any:  # noqa: ANN401 - a series and a type of pyarrow's
    """A series of pyarrow's in another type; it casts nothing but text to dictionaries by itself."""
    if hasattr(kind, "index_type"):
        typed = typed.cast(kind.value_type).dictionary_encode()
    return typed.cast(kind)


def _holds(like: Any, values: NDArray[Any]) -> bool:  # noqa: ANN401 - narwhals series of whatever frame
    """Whether the type of a series holds values, of which none is missing (objects are rounded to whole numbers)."""
    dtype, digits = like.dtype, decimal_digits(like)
    if dtype in (nw.Object, *CATEGORICAL) or native_type(like) == np.dtype(object):
        return True
    if not _are_numbers(values):
        return bool(dtype == nw.String)
    if digits:
        most = float(np.abs(values.astype(np.float64)).max(initial=0))
        return round(most, digits[1]) < 10.0 ** (digits[0] - digits[1])
    if dtype.is_integer() and values.dtype.kind == "f" and not _are_whole(values):
        return False
    numeric = dtype == nw.Boolean or dtype.is_integer() or dtype.is_float()
    return numeric and _reaches(_numpy_type(like), values)


def _converted(values: NDArray[Any], like: Any) -> NDArray[Any]:  # noqa: ANN401 - narwhals series of whatever frame
    """Values that the type of a series holds, so that its library casts them to it without loss."""
    if native_type(like) == np.dtype(object):
        return values
    if like.dtype.is_integer():
        return _as_whole(values, _numpy_type(like))
    if like.dtype == nw.Boolean:
        return values.astype(np.bool_)
    return values.astype(np.float64) if like.dtype.is_float() or decimal_digits(like) else values


def _of_one_type(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers of several types as floats, all else as it is."""
    several = values.dtype == object and len(set(map(type, values))) > 1
    return values.astype(np.float64) if several and _are_numbers(values) else values


def _numpy_type(like: Any) -> np.dtype[Any]:  # noqa: ANN401 - narwhals series of whatever frame
    """NumPy's type of the numbers or booleans of a series; its widest one for whole numbers of 128 bits."""
    name = "bool" if like.dtype == nw.Boolean else str(like.dtype).lower()
    return np.dtype(name.replace("128", "64"))


def _series_of(values: NDArray[Any], like: Any) -> Any:  # noqa: ANN401 - a native series
    """A series of new values, in the library of another and of whatever type it takes these for."""
    plain = values.tolist() if values.dtype.kind in "OUS" and like.dtype != nw.Object else values
    return nw.new_series(like.name, plain, backend=like.implementation).to_native()


def _with_categories(like: Any, values: Sequence[Any]) -> Any:  # noqa: ANN401 - a type of pandas or polars
    """The type of a categorical column; where it lists its categories, the values that these lack come after them."""
    old, listed = like.to_native(), categories_of(like)
    if listed is None:
        return old.dtype
    known = set(listed)
    lacking = [value for value in dict.fromkeys(values) if value not in known]
    if like.implementation.is_pandas_like():
        return old.cat.add_categories(lacking).dtype
    return type(old.dtype)([*listed, *lacking])
