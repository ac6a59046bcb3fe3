"""Tables as people hold them, read column by column, and written back as what they were.

NumPy arrays (and lists of rows) and the frames of pandas, polars and pyarrow; narwhals speaks to the latter. A frame of
narwhals is the one that it wraps.
"""

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from jaxtyping import Bool
from narwhals import LazyFrame
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from nadek.tabular.columns import LARGEST_EXACT, widened
from nadek.tabular.io import numbers_among
from nadek.tabular.selection import MatrixLike

CATEGORICAL = (nw.Categorical, nw.Enum)
WIDEST = (nw.Int128, nw.UInt128)
UNDERSTOOD = (nw.Object, nw.Unknown, nw.String, nw.Boolean, *CATEGORICAL)
"""Types of frame columns that are read, besides numbers."""


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of D columns.

    Attributes:
        columns: the values of each, [N]; missing ones are None, NaN, or what else the container uses.
        labels: what messages call them: their names, or their indices where they have none.
        categorical: whether the type of a column says that it is categorical.
        categories: what such a type says that its values can be, also those that do not occur; None where it is silent.
        native: the array, or the narwhals frame, that they were read from.
    """

    columns: tuple[NDArray[Any], ...]
    labels: tuple[str, ...]
    categorical: tuple[bool, ...]
    categories: tuple[NDArray[Any] | None, ...]
    native: Any

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return not isinstance(self.native, np.ndarray)

    def __len__(self) -> int:
        """N."""
        return len(self.columns[0])


def read_table(
    estimator: BaseEstimator, X: MatrixLike, *, reset: bool, words: Sequence[str] = (), dropped: Sequence[str] = ()
) -> Table:
    """Read a table for an estimator, with scikit-learn's checks of shape and column names.

    Args:
        estimator: told the number and names of the columns, or asked for them.
        X: the table.
        reset: whether the estimator learns them (`fit`) or they must be those that it knows.
        words: cells that hold one of them are missing; in cells of numbers it is the number that counts.
        dropped: columns that an estimator without them leaves out, where they are there; see `_kept`.

    Raises:
        ValueError: on another shape or other columns than expected, columns of one name, or no rows or columns.
        TypeError: on sparse matrices, lazy frames, and cells that are neither text nor numbers nor booleans.
    """
    X = _unwrapped(X)
    if nw.dependencies.is_into_dataframe(X):
        return _read_frame(estimator, X, reset=reset, words=words, dropped=dropped)
    if isinstance(X, np.ma.MaskedArray) and X.dtype.names is None:
        X = _emptied(X.data, np.ma.getmaskarray(X))
    if not isinstance(X, np.ndarray) and isinstance(X, Sequence) and np.asarray(X).dtype.kind in "US":
        X = np.asarray(X, dtype=object)  # a list of rows keeps its numbers
    if dropped and isinstance(X, np.ndarray) and X.ndim == 2:
        X = X[:, _kept(estimator, None, X.shape[1], dropped)]
    options = {"dtype": None, "ensure_all_finite": False, "reset": reset}
    array: NDArray[Any] = validate_data(estimator, X, **options)
    array = _without(array, words)
    columns = tuple(array[:, j] for j in range(array.shape[1]))
    labels = tuple(map(str, getattr(estimator, "feature_names_in_", range(len(columns)))))
    if array.dtype == object:
        for column, label in zip(columns, labels, strict=True):
            check_cells(column, label)
    return Table(columns, labels, (False,) * len(columns), (None,) * len(columns), array)


def is_missing(table: Table, column: int) -> np.ndarray:
    """Which cells of a column are missing, whatever it holds."""
    values = table.columns[column]
    if values.dtype.kind == "f":
        missing: NDArray[np.bool_] = np.isnan(values)
        return missing
    if values.dtype != object:
        return np.zeros(len(values), dtype=np.bool_)
    return np.array([v is None or type(v).__name__ in ("NAType", "NaTType") or v != v for v in values], dtype=np.bool_)


def is_boolean(table: Table, column: int) -> bool:
    """Whether what a column holds are booleans, by the first that is not missing."""
    values = table.columns[column]
    if values.dtype != object:
        return values.dtype.kind == "b"
    known = values[~is_missing(table, column)]
    return len(known) > 0 and isinstance(known[0], bool | np.bool_)


def is_text(table: Table, column: int) -> bool:
    """Whether the type of a frame's column says that it holds text, and categories that it may list are texts."""
    listed = table.categories[column]
    texts = listed is None or all(isinstance(category, str) for category in listed)
    return table.named and texts and bool(table.native[:, column].dtype in (nw.String, *CATEGORICAL))


def categories_of(series: Any) -> NDArray[Any] | None:  # noqa: ANN401 - a narwhals series of whatever frame
    """What the type of a column lists; polars' Categorical lists whatever any column of the process has held.

    A dictionary of Arrow in a pandas frame lists nothing: pandas has no way to ask it.
    """
    if series.dtype not in CATEGORICAL or (series.dtype == nw.Categorical and series.implementation.is_polars()):
        return None
    if series.implementation.is_pandas_like() and not hasattr(series.to_native(), "cat"):
        return None
    listed = series.cat.get_categories().to_list()
    categories = np.empty(len(listed), dtype=object)
    categories[:] = listed
    return categories


def is_ordered(table: Table, column: int) -> bool:
    """Whether the type of a column says that its categories have an order, as one of pandas or Arrow can.

    An Enum of polars has one for sorting, whatever it lists: it says nothing.
    """
    return table.named and bool(getattr(native_type(table.native[:, column]), "ordered", False))


def decimal_digits(series: Any) -> tuple[int, int] | None:  # noqa: ANN401 - a narwhals series of whatever frame
    """How many digits decimals have, in all and behind the point; None for a column of anything else."""
    kind = native_type(series)
    return (kind.precision or 38, kind.scale) if hasattr(kind, "scale") else None


def native_type(series: Any) -> Any:  # noqa: ANN401 - a narwhals series of whatever frame
    """What its library calls the type of a column; that of Arrow where pandas holds it."""
    native = series.to_native()
    kind = native.type if series.implementation.is_pyarrow() else native.dtype
    return getattr(kind, "pyarrow_dtype", kind)


def names_in(estimator: BaseEstimator, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ANN401 - names
    """Names of the columns that go into a fitted estimator: those of `fit`, those given, or x0, x1 and so on.

    Raises:
        ValueError: if the names given are not those of `fit`, or not as many.
    """
    known, n_columns = getattr(estimator, "feature_names_in_", None), estimator.n_features_in_
    if input_features is None:
        names = [f"x{j}" for j in range(n_columns)] if known is None else known
        return np.asarray(names, dtype=object)
    given = np.asarray(input_features, dtype=object)
    if known is not None and not np.array_equal(known, given):
        raise ValueError("input_features is not equal to feature_names_in_")
    if len(given) != n_columns:
        raise ValueError(
            f"input_features should have length equal to number of features ({n_columns}), got {len(given)}"
        )
    return given


def check_cells(values: NDArray[Any], label: str) -> None:
    """Refuse objects that no column is made of, with the error that scikit-learn has for them.

    Raises:
        TypeError: on a cell that is neither text nor a number nor a boolean nor missing.
    """
    wrong = {kind for kind in set(map(type, values)) if not _is_understood(kind)}
    if wrong:
        row = next(row for row, value in enumerate(values) if type(value) in wrong)
        raise TypeError(
            f'row {row + 1}, column "{label}": the argument must be text (a string), a number, a boolean or missing,'
            f" found {values[row]!r} ({type(values[row]).__name__}); a number may be one of Python or NumPy"
        )


def _is_understood(kind: type) -> bool:
    plain = issubclass(kind, str | float | int | np.generic | Decimal | type(None))
    return plain or kind.__name__ in ("NAType", "NaTType")  # of pandas, which need not be there


def _unwrapped(X: MatrixLike) -> MatrixLike:
    """What is to be read: the frame that one of narwhals wraps, a table in place of a batch of Arrow's, or X itself.

    Raises:
        TypeError: on lazy frames.
    """
    native: Any = nw.to_native(X, pass_through=True)
    if isinstance(X, LazyFrame) or nw.dependencies.is_polars_lazyframe(native):
        raise TypeError("expected a table with its rows at hand, found a lazy frame: call collect() on it")
    arrow = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(native, arrow.RecordBatch):
        return arrow.Table.from_batches([native])
    return native


def _kept(estimator: BaseEstimator, names: Sequence[Hashable] | None, width: int, dropped: Sequence[str]) -> list[int]:
    """Which columns of a table are left when those that were left out in training are taken away.

    They are found by their names. Where the columns in training had none, these are their numbers from 1, which say
    something of a table that is as wide as that of training was.

    Args:
        estimator: knows the names of its columns, or how many there are.
        names: of the columns of the table; None for an array.
        width: of the table.
        dropped: what was left out.
    """
    if hasattr(estimator, "feature_names_in_"):
        return [j for j in range(width) if names is None or names[j] not in dropped]
    whole = width == estimator.n_features_in_ + len(dropped)
    return [j for j in range(width) if not (whole and str(j + 1) in dropped)]


def _read_frame(
    estimator: BaseEstimator, X: MatrixLike, *, reset: bool, words: Sequence[str], dropped: Sequence[str]
) -> Table:
    try:
        frame = nw.from_native(X, eager_only=True)
        if dropped:
            frame = frame[:, _kept(estimator, frame.columns, len(frame.columns), dropped)]
        names = [str(name) for name in frame.columns]
    except DuplicateError as error:
        found = " ".join(str(error).split())
        raise ValueError(f"expected each column name once ({found}); rename columns before fitting") from None
    validate_data(estimator, frame.to_native(), reset=reset, skip_check_array=True)
    if len(names) < 1:
        raise ValueError(f"Found array with 0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
    if len(frame) < 1:
        raise ValueError(f"Found array with 0 sample(s) (shape={frame.shape}) while a minimum of 1 is required.")
    series = [frame[:, j] for j in range(len(names))]
    columns = tuple(_without(_values(one, name), words) for one, name in zip(series, names, strict=True))
    categorical = tuple(one.dtype in CATEGORICAL for one in series)
    return Table(columns, tuple(names), categorical, tuple(map(categories_of, series)), frame)


def _values(series: Any, name: str) -> NDArray[Any]:  # noqa: ANN401 - a narwhals series of whatever frame
    """The cells of one column; numbers with holes are floats, or objects where floats would change them."""
    if decimal_digits(series):
        series = series.cast(nw.String).cast(nw.Float64)  # Arrow's own way to floats misses the nearest one
    if series.dtype == nw.Unknown and series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if not (series.dtype.is_numeric() or series.dtype in UNDERSTOOD):
        raise ValueError(f'column "{name}": expected text, numbers, booleans or categories, found {series.dtype}')
    if series.dtype in CATEGORICAL or _is_inexact(series):  # Arrow's dictionaries lose their nulls on the direct way
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
    else:  # NumPy has no whole numbers of 128 bits
        values = (series.cast(nw.Int64) if series.dtype in WIDEST else series).to_numpy()
    if values.dtype == object:
        check_cells(values, name)
    return values


def _is_inexact(series: Any) -> bool:  # noqa: ANN401 - a narwhals series of whatever frame
    """Whether a column has whole numbers that NumPy has no type for, or holes and such as floats would change."""
    if series.dtype not in (nw.Int64, nw.UInt64, *WIDEST):
        return False
    observed = series.drop_nulls()
    holes = len(observed) < len(series)
    largest = LARGEST_EXACT if holes else np.iinfo(np.int64).max if series.dtype in WIDEST else np.inf
    return len(observed) > 0 and max(-int(observed.min()), int(observed.max())) > largest


def _without(values: NDArray[Any], words: Sequence[str]) -> NDArray[Any]:
    """Values [...] with nothing in the cells that hold one of some words; see `nadek.tabular.io.RawTable.without`."""
    return _emptied(values, _holding(values, words)) if words else values


def _holding(values: NDArray[Any], words: Sequence[str]) -> Bool[np.ndarray, "..."]:
    """Which cells hold one of some words, or the number that one says; spaces around them do not count."""
    numbers_told = numbers_among(words)
    if values.dtype.kind in "iuf":
        return np.isin(widened(values) if values.dtype.kind == "f" else values, numbers_told)
    held = [
        cell.strip() in words
        if isinstance(cell, str)
        else isinstance(cell, numbers.Real | Decimal) and not isinstance(cell, bool) and float(cell) in numbers_told
        for cell in values.ravel().tolist()
    ]
    return np.array(held, dtype=np.bool_).reshape(values.shape)


def _emptied(values: NDArray[Any], where: Bool[np.ndarray, "..."]) -> NDArray[Any]:
    """Values [...] with NaN in some cells, or None where they are no numbers, or such as floats would change."""
    if not where.any():
        return values
    dtype = values.dtype if values.dtype.kind == "f" else np.dtype(object)
    others = values[~where]
    if values.dtype.kind in "iu" and (not others.size or max(-int(others.min()), int(others.max())) <= LARGEST_EXACT):
        dtype = np.dtype(np.float64)
    out = values.astype(dtype)
    out[where] = np.nan if dtype.kind == "f" else None
    return out
