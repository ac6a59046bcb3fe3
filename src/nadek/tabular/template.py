"""`Template`: the kind of table that training rows came in, from which new rows are made."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nadek.tabular.arrow_columns import cast_in_arrow, categories_listed, type_of
from nadek.tabular.columns import Column, decode
from nadek.tabular.frames import categories_of, native_type
from nadek.tabular.table import Table
from nadek.tabular.writeback import array_like, like_cell, numpy_type, series_like, under_names_of

TypeName = str | dict[str, Any]
"""The name of a type in its library, which categories it lists, or what its objects are; JSON can hold it."""

OBJECTS = "objects"
"""Key of the latter."""

Example = Decimal | date | np.datetime64
"""A decimal or a date that is an object."""

EXAMPLES: dict[str, Example] = {
    type(one).__name__: one for one in (Decimal(0), date(1970, 1, 1), datetime(1970, 1, 1), np.datetime64(0, "D"))
}
"""An object of each type that a description may name; those of pandas it makes of dates by itself."""

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Libraries of frames that a description may name: nothing else that a file says is ever imported."""


@dataclass(frozen=True, eq=False)
class Template:
    """An array or (native) frame without rows, enough to make new rows like those of training.

    Columns of objects that are decimals or dates have an example in ``cells``; others have None there.
    """

    empty: Any
    cells: tuple[Example | None, ...] = ()

    @classmethod
    def of(cls, table: Table) -> "Template":
        """Return the template of a table."""
        native = table.native
        if isinstance(native, np.ndarray):
            return cls(native[:0].copy())
        return cls(native.head(0).to_native(), tuple(_object_in(native[:, j]) for j in range(native.shape[1])))

    @classmethod
    def from_description(
        cls, columns: Sequence[Column | None], names: Sequence[str] | None, description: Mapping[str, Any]
    ) -> "Template":
        """Return the template of a description; pyarrow replaces a library that is not installed.

        Without ``names`` a frame of pandas numbers its columns. An empty description stands for the default.
        """
        container = description.get("container", "numpy" if names is None else "pandas")
        if container == "numpy":
            return cls(np.empty((0, len(columns)), dtype=description.get("dtype", "float64")))
        if container not in LIBRARIES:
            raise ValueError(f"container: expected numpy, {', '.join(LIBRARIES)}, found {container!r}")
        installed = find_spec(container) is not None
        backend: Any = container if installed else "pyarrow"
        numbers = range(len(columns))
        labels: Sequence[Any] = names or (numbers if backend == "pandas" else list(map(str, numbers)))
        values = [[np.nan] if column is None else decode(column, np.zeros(1)).tolist() for column in columns]
        frame = nw.DataFrame.from_dict(dict(zip(labels, values, strict=True)), backend=backend).head(0)
        types = description.get("types") if installed else None
        if types is None:
            return cls(frame.to_native())
        kinds = [name.get(OBJECTS) if isinstance(name, dict) else None for name in types]
        names = ["object" if kind else name for kind, name in zip(kinds, types, strict=True)]
        typed = [retyped(frame[:, j], name).to_frame() for j, name in enumerate(names)]
        return cls(nw.concat(typed, how="horizontal").to_native(), tuple(EXAMPLES.get(str(kind)) for kind in kinds))

    def make(self, columns: Sequence[NDArray[Any]]) -> Any:  # noqa: ANN401 - an array or a frame
        """Return a table of new columns, in the types of the old ones if these can hold them."""
        if isinstance(self.empty, np.ndarray):
            return array_like(self.empty, columns)
        frame = nw.from_native(self.empty)
        if self.cells:
            columns = [like_cell(cell, values) for cell, values in zip(self.cells, columns, strict=True)]
        series = [series_like(frame[:, j], values) for j, values in enumerate(columns)]
        return under_names_of(nw.concat([one.to_frame() for one in series], how="horizontal").to_native(), frame)

    def dtypes(self) -> list[np.dtype[Any]]:
        """Return NumPy's types of the columns that hold numbers; objects for all others."""
        if isinstance(self.empty, np.ndarray):
            return [self.empty.dtype] * self.empty.shape[1]
        frame = nw.from_native(self.empty)
        columns = [frame[:, j] for j in range(frame.shape[1])]
        return [numpy_type(one) if one.dtype.is_float() else np.dtype(object) for one in columns]

    def describe(self) -> dict[str, Any]:
        """Return the library, and the type of an array or those of the columns of a frame."""
        if isinstance(self.empty, np.ndarray):
            dtype = self.empty.dtype
            return {"container": "numpy", "dtype": dtype.str if dtype.kind == "U" else dtype.name}
        frame = nw.from_native(self.empty)
        types = [type_name(frame[:, j]) for j in range(frame.shape[1])]
        for j, cell in enumerate(self.cells):
            types[j] = types[j] if cell is None else {OBJECTS: type(cell).__name__}
        library = frame.implementation.value
        return {"container": library if library in LIBRARIES else "pandas", "types": types}  # others are like pandas


def _object_in(series: Any) -> Example | None:  # noqa: ANN401 - a narwhals series
    """Return the first cell of a column of objects, if that is a decimal or a date."""
    cells = series.drop_nulls().head(1).to_list() if native_type(series) == np.dtype(object) else []
    return cells[0] if cells and isinstance(cells[0], Example) else None


def type_name(series: Any) -> TypeName:  # noqa: ANN401 - a narwhals series
    """Return the type of a column in plain words, or the categories that it lists."""
    native, library = series.to_native(), series.implementation
    if library.is_pyarrow():
        words = categories_listed(native)
        is_plain = words and all(isinstance(word, str | int | float) for word in words)
        return {"type": str(native.type), "categories": words} if is_plain else str(native.type)
    listed = categories_of(series)
    if listed is not None and all(isinstance(category, str | int | float) for category in listed):
        return {"categories": listed.tolist(), "ordered": bool(getattr(native.dtype, "ordered", False))}
    return str(series.dtype if library.is_polars() else native.dtype)


def retyped(series: Any, name: TypeName) -> Any:  # noqa: ANN401 - a narwhals series
    """Return a column without cells in a type, or as it is if its library makes no such type of a name.

    In pandas that goes for decimals, dictionaries and dates with a zone of Arrow.
    """
    try:
        return nw.from_native(_cast(series, name), series_only=True).alias(series.name)
    except (TypeError, ValueError, NotImplementedError):  # which those of Arrow are, too
        return series


def _cast(series: Any, name: TypeName) -> Any:  # noqa: ANN401 - series
    native, library = series.to_native(), series.implementation
    if library.is_pyarrow():
        kind, words = (name["type"], name["categories"]) if isinstance(name, dict) else (name, ())
        return cast_in_arrow(pa.chunked_array([native.combine_chunks()]), type_of(kind), words)
    if isinstance(name, dict):
        categories, ordered = name["categories"], name["ordered"]
        if library.is_polars():
            return series.cast(nw.Enum(categories)).to_native()
        listed = nw.new_series(series.name, categories, backend=library).to_native()
        return listed.astype("category").cat.set_categories(categories, ordered=ordered)[:0]
    if library.is_pandas_like():
        return native.astype(object).astype(name)  # dates without a zone get none directly
    if zoned := re.fullmatch(r"Datetime\(time_unit='(ms|us|ns)', time_zone=(?:None|'([^']+)')\)", name):
        unit: Any = zoned[1]
        return series.cast(nw.Datetime(unit, zoned[2])).to_native()
    kind = getattr(nw, name, None)
    is_type = isinstance(kind, type) and issubclass(kind, nw.dtypes.DType) and name not in ("Object", "Unknown")
    return (series.cast(kind) if is_type else series).to_native()
