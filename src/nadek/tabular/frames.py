"""Tables from arrays, lists of rows and the frames of pandas, polars and pyarrow; narwhals speaks to the latter.

A frame of narwhals is the one that it wraps.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals import LazyFrame
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from nadek.tabular.columns.parsing import LARGEST_EXACT, as_objects, shown
from nadek.tabular.table import Table, empty_cells

MatrixLike = Any
"""A table: an array, a list of rows, a sparse matrix of SciPy, or a pandas, polars or pyarrow table."""

CATEGORICAL = (nw.Categorical, nw.Enum)
WIDEST = (nw.Int128, nw.UInt128)
UNDERSTOOD = (nw.Object, nw.Unknown, nw.String, nw.Boolean, *CATEGORICAL)
"""Types of frame columns that are read, besides numbers."""


def plain_table(X: MatrixLike) -> Any:  # noqa: ANN401 - a native frame or something like an array
    """Return what is to be read: a native frame, a dense array without a mask, or X itself."""
    native: Any = nw.to_native(X, pass_through=True)
    if isinstance(native, str | os.PathLike):
        raise TypeError(f"expected a table, found the path {str(native)!r}: read it first, as with pandas.read_csv")
    if isinstance(X, LazyFrame) or nw.dependencies.is_polars_lazyframe(native):
        raise TypeError("expected a table with its rows at hand, found a lazy frame: call collect() on it")
    arrow = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(native, arrow.RecordBatch):
        return arrow.Table.from_batches([native])
    if hasattr(native, "toarray"):  # sparse: cells that it does not store are 0, and not missing
        return native.toarray()
    if isinstance(native, Mapping):
        raise TypeError("expected a table, found a dictionary: pandas.DataFrame(X) makes one of its columns")
    if isinstance(native, np.ma.MaskedArray) and native.dtype.names is None:
        return empty_cells(native.data, np.ma.getmaskarray(native))
    if isinstance(native, Sequence) and np.asarray(native).dtype.kind in "US":
        return np.asarray(native, dtype=object)  # a list of rows keeps its numbers
    return native


def is_frame(X: MatrixLike) -> bool:
    """Return True for a data frame that narwhals knows."""
    return bool(nw.dependencies.is_into_dataframe(X))


def frame_columns(X: MatrixLike) -> list[Any]:
    """Return a frame's column names, as they are."""
    try:
        return list(nw.from_native(X, eager_only=True).columns)
    except DuplicateError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"expected each column name once ({reason}); rename columns before fitting") from None


def select_columns(X: MatrixLike, places: Sequence[int]) -> Any:  # noqa: ANN401 - an array or a frame
    """Return some of the columns of an array or a native frame."""
    if isinstance(X, np.ndarray):
        return X[:, list(places)]
    return nw.from_native(X)[:, list(places)].to_native()


def read_array(array: NDArray[Any], labels: Sequence[str] = ()) -> Table:
    """Return the table of an array [N, D]."""
    labels = tuple(labels) or tuple(map(str, range(array.shape[1])))
    return Table(tuple(array.T), None, native=array, labels=labels)


def read_frame(X: MatrixLike) -> Table:
    """Return the table of a data frame."""
    names = tuple(map(str, frame_columns(X)))
    frame = nw.from_native(X, eager_only=True)
    cells = tuple(_values(intervals_as_text(frame[:, j]), name) for j, name in enumerate(names))
    return Table(cells, names, native=frame, labels=names)


def is_categorical(table: Table, j: int) -> bool:
    """Return True if the type of a frame's column says that it is categorical."""
    return _is_frame_table(table) and table.native[:, j].dtype in CATEGORICAL


def categories_in(table: Table, j: int) -> NDArray[Any] | None:
    """Return the categories that the type of a frame's column lists, see `categories_of`."""
    return categories_of(table.native[:, j]) if _is_frame_table(table) else None


def is_text_column(table: Table, j: int) -> bool:
    """Return True if the type of a frame's column, and the categories that it may list, are text."""
    listed = categories_in(table, j)
    texts = listed is None or all(isinstance(category, str) for category in listed)
    return _is_frame_table(table) and texts and bool(table.native[:, j].dtype in (nw.String, *CATEGORICAL))


def is_ordered(table: Table, j: int) -> bool:
    """Return True if the type of a column gives its categories an order, as one of pandas or Arrow can.

    An Enum of polars has one for sorting, whatever it lists: it says nothing.
    """
    return _is_frame_table(table) and bool(getattr(native_type(table.native[:, j]), "ordered", False))


def categories_of(series: Any) -> NDArray[Any] | None:  # noqa: ANN401 - a narwhals series
    """Return the categories that the type of a series lists, also those that do not occur; None if it is silent.

    The Categorical of polars lists whatever any column of the process has held, and pandas has no way to ask a
    dictionary of Arrow: both count as silent.
    """
    if series.dtype not in CATEGORICAL or (series.dtype == nw.Categorical and series.implementation.is_polars()):
        return None
    if series.implementation.is_pandas_like() and not hasattr(series.to_native(), "cat"):
        return None
    return as_objects(intervals_as_text(series).cat.get_categories().to_list())


def intervals_as_text(series: Any) -> Any:  # noqa: ANN401 - narwhals series
    """Return categories that are intervals, as `pandas.cut` makes them, as their texts; any other column as it is."""
    categories = getattr(native_type(series), "categories", None)
    if not str(getattr(categories, "dtype", "")).startswith("interval"):
        return series
    return nw.from_native(series.to_native().cat.rename_categories(_interval_text), series_only=True)


def _interval_text(interval: Any) -> str:  # noqa: ANN401 - an interval of pandas
    """Return the text of an interval; 20 and 20.0 are one number."""
    ends = f"{shown(interval.left)}, {shown(interval.right)}"
    return f"{'[' if interval.closed_left else '('}{ends}{']' if interval.closed_right else ')'}"


def decimal_digits(series: Any) -> tuple[int, int] | None:  # noqa: ANN401 - a narwhals series
    """Return the digits of decimals, in all and behind the point; None for a column of anything else."""
    kind = native_type(series)
    return (kind.precision or 38, kind.scale) if hasattr(kind, "scale") else None


def native_type(series: Any) -> Any:  # noqa: ANN401 - a narwhals series
    """Return the type of a column in its own library; that of Arrow if pandas holds it."""
    native = series.to_native()
    kind = native.type if series.implementation.is_pyarrow() else native.dtype
    return getattr(kind, "pyarrow_dtype", kind)


def is_date(series: Any) -> bool:  # noqa: ANN401 - a narwhals series
    """Return True for a column of dates, with or without a time."""
    return bool(in_plain_zone(series).dtype in (nw.Date, nw.Datetime))


def in_plain_zone(series: Any) -> Any:  # noqa: ANN401 - a narwhals series
    """Return dates of pandas in universal time where narwhals does not know their zone, as America/New_York."""
    if series.dtype != nw.Unknown or getattr(native_type(series), "tz", None) is None:
        return series
    return nw.from_native(series.to_native().dt.tz_convert("UTC"), series_only=True)


def _is_frame_table(table: Table) -> bool:
    return isinstance(table.native, nw.DataFrame)


def _values(series: Any, name: str) -> NDArray[Any]:  # noqa: ANN401 - a narwhals series
    """Return the cells of a column; integers beside missing ones are floats, or objects if these change them."""
    series = in_plain_zone(series)
    if decimal_digits(series):
        series = series.cast(nw.String).cast(nw.Float64)  # Arrow's own way to floats misses the nearest one
    if series.dtype == nw.Unknown and series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if is_date(series):
        counts = series.dt.timestamp("us").to_numpy().astype(np.float64)
        dates = np.nan_to_num(counts).astype(np.int64).astype("M8[us]")
        return np.where(np.isnan(counts), np.datetime64("NaT"), dates)
    if not (series.dtype.is_numeric() or series.dtype in UNDERSTOOD):
        raise ValueError(
            f'column "{name}": expected text, numbers, dates, booleans or categories, found {series.dtype}'
        )
    if series.dtype in CATEGORICAL or _is_inexact(series):  # Arrow's dictionaries lose their nulls on the direct way
        return as_objects(series.to_list())
    # NumPy has no whole numbers of 128 bits
    return (series.cast(nw.Int64) if series.dtype in WIDEST else series).to_numpy()


def _is_inexact(series: Any) -> bool:  # noqa: ANN401 - a narwhals series
    """Return True if NumPy's integers, or floats beside missing cells, would change the integers of a column."""
    if series.dtype not in (nw.Int64, nw.UInt64, *WIDEST):
        return False
    observed = series.drop_nulls()
    some_missing = len(observed) < len(series)
    largest = LARGEST_EXACT if some_missing else np.iinfo(np.int64).max if series.dtype in WIDEST else np.inf
    return len(observed) > 0 and max(-int(observed.min()), int(observed.max())) > largest
