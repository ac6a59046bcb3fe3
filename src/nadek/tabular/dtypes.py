"""Types of the columns of frames in plain words, which JSON can hold, and back."""

from typing import Any

import narwhals.stable.v2 as nw

from nadek.tabular.frames import categories_of

Told = str | dict[str, Any]
"""The name of a type in its library, or which categories it lists."""


def told_type(series: Any) -> Told:  # noqa: ANN401 - a narwhals series of whatever frame
    """What the type of a column is.

    Example:
        >>> import pandas as pd
        >>> told_type(nw.from_native(pd.Series([1], dtype="Int8"), series_only=True))
        'Int8'
        >>> told_type(nw.from_native(pd.Series(["b"], dtype="category"), series_only=True))
        {'categories': ['b'], 'ordered': False}
    """
    native, library = series.to_native(), series.implementation
    if library.is_pyarrow():
        return str(native.type)
    listed = categories_of(series)
    if listed is not None and all(isinstance(category, str | int | float) for category in listed):
        return {"categories": listed.tolist(), "ordered": bool(getattr(native.dtype, "ordered", False))}
    return str(series.dtype if library.is_polars() else native.dtype)


def retyped(series: Any, told: Told) -> Any:  # noqa: ANN401 - a narwhals series of whatever frame
    """A column without cells in the type that was told; as it is where its library makes no such type of words.

    That goes for decimals, and in pandas for the dictionaries of Arrow.
    """
    try:
        return nw.from_native(_cast(series, told), series_only=True).alias(series.name)
    except (TypeError, ValueError, NotImplementedError):  # which those of Arrow are, too
        return series


def _cast(series: Any, told: Told) -> Any:  # noqa: ANN401 - series
    native, library = series.to_native(), series.implementation
    if isinstance(told, dict):
        categories, ordered = told["categories"], told["ordered"]
        if library.is_polars():
            return series.cast(nw.Enum(categories)).to_native()
        listed = nw.new_series(series.name, categories, backend=library).to_native()
        return listed.astype("category").cat.set_categories(categories, ordered=ordered)[:0]
    if library.is_pyarrow():
        return native.dictionary_encode() if told.startswith("dictionary") else native.cast(told)
    if library.is_pandas_like():
        return native.astype(told)
    kind = None if told in ("Object", "Unknown") else getattr(nw, told, None)
    return (series if kind is None else series.cast(kind)).to_native()
