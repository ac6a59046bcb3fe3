"""Encode the values of a column, and decode them."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from nadek.tabular.columns.bins import DOUBLE, codes_of, draw
from nadek.tabular.columns.distributions import bins_of_number, mean_of_number, quantiles_of_number
from nadek.tabular.columns.parsing import (
    Cells,
    Sort,
    listed,
    numbers_of,
    place_of,
    read_cells,
    shown,
    without_other_sorts,
)
from nadek.tabular.columns.types import Categorical, Column, Level, Numeric, Ordinal, is_continuous, n_levels

Unknown = Literal["error", "missing"]
"""Refuse a value that is no level of its column, or take it as missing."""

Statistic = Literal["mean", "median", "mode"]
"""Value that stands for a distribution."""


def encode(
    column: Column, values: NDArray[Any], *, name: str, unknown: Unknown = "error", first_row: int = 0
) -> NDArray[np.float64]:
    """Return codes of values, places of levels or numbers in bins, [N]; NaN where missing.

    Numbers outside the range of a numeric column go to the ends of its outer bins. A value that is no level is missing,
    or an error that names its cell, where rows count from ``first_row`` on.
    """
    levels = None if isinstance(column, Numeric) else column.levels
    if unknown == "missing" and levels is not None and values.dtype.kind in "OUT":
        values = without_other_sorts(values.astype(object), is_text=_sort_of(column) == "text")
    cells = read_cells(values, name=name, expected_sort=_sort_of(column), expected=levels, first_row=first_row)
    codes = np.full(len(values), np.nan)
    if isinstance(column, Numeric):
        numbers = numbers_of(cells, name=name, unit=column.unit)
        codes[cells.rows] = codes_of(column, numbers) if is_continuous(column) else column.bin_of(numbers)
        return codes
    places = _places(column.levels, cells)
    strange = np.isnan(places).nonzero()[0]
    if len(strange) and unknown == "error":
        place = place_of(name, first_row + cells.rows[strange[0]])
        value = cells.values[strange[0]]
        raise ValueError(f"{place}: expected {listed(column.levels)} or missing, found {shown(value)}")
    codes[cells.rows] = places
    return codes


def decode(
    column: Column, codes: NDArray[Any], *, uniforms: NDArray[np.float64] | None = None, dtype: np.dtype[Any] = DOUBLE
) -> NDArray[Any]:
    """Return values of codes, [N]: levels, dates, or numbers with as many decimals as the column.

    Numbers are the means of the bins, or those of the grid nearest to them, or with random numbers in [0, 1) those at
    the code, see `nadek.tabular.columns.bins`. Missing are NaN among numbers, NaT among dates, and None among text and
    booleans.
    """
    if not isinstance(column, Numeric):
        return _chosen(column.levels, codes)
    places = np.round(codes) if is_continuous(column) else codes
    if uniforms is not None and is_continuous(column):
        missing, _ = as_places(places, n_levels(column))
        numbers = draw(column, np.where(missing, 0, codes).astype(np.float64), uniforms=uniforms, dtype=dtype)
        numbers = np.where(missing, np.nan, numbers)
        return column.restored(numbers.astype(np.int64) if column.integer and not missing.any() else numbers)
    means = np.array(column.means)
    if column.grid:
        means = column.low + np.round((means - column.low) / column.step) * column.step
    means = column.rounded(means).tolist()
    return column.restored(_chosen([int(mean) for mean in means] if column.integer else means, places))


def bin_probabilities(
    column: Column, probabilities: NDArray[np.float64], missing: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return probabilities of levels or bins, [N, L], from those of knots."""
    if is_continuous(column):
        return np.where(missing[:, None], bins_of_number(column, probabilities), probabilities)
    return probabilities


def expected(column: Column, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Return the expectation of a column of numbers, [N], out of the probabilities of its levels or knots, [N, L].

    Those of whole numbers are not rounded, and those of dates are counts of their unit. Categories and words have none,
    which is an error.
    """
    values = column.means if isinstance(column, Numeric) else column.levels
    if isinstance(column, Categorical | Ordinal) or any(isinstance(value, str) for value in values):
        raise ValueError(f"expected numbers, found the categories {listed(values)}: they have no mean")
    if is_continuous(column):
        return mean_of_number(column, probabilities)
    return probabilities[:, : len(values)] @ np.array(values, dtype=np.float64)


def summarised(column: Column, probabilities: Float[np.ndarray, "N L"], statistic: Statistic) -> NDArray[Any]:
    """Return one value for each distribution, [N], with as many decimals as the column.

    Levels without an order have neither mean nor median, and those of an order no mean: it is their mode.
    """
    if isinstance(column, Numeric) and statistic != "mode":
        if statistic == "mean":
            numbers = expected(column, probabilities)
        else:
            (numbers,) = quantiles_of_number(column, probabilities, [0.5]).T
        return column.restored(column.rounded(numbers).astype(np.int64 if column.integer else np.float64))
    if isinstance(column, Ordinal) and statistic == "median":
        return decode(column, (probabilities.cumsum(1) < 0.5).sum(1))
    every = np.ones(len(probabilities), dtype=np.bool_)
    return decode(column, bin_probabilities(column, probabilities, every).argmax(1))


def as_places(codes: NDArray[Any], n: int) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return where codes are missing, and codes as indices.

    Missing ones have index 0.
    """
    missing = np.isnan(codes)
    places = np.where(missing, 0, codes).astype(np.intp)
    wrong = ~missing & ((places != codes) | (places < 0) | (places >= n))
    if wrong.any():
        raise ValueError(f"expected codes 0 to {n - 1} or missing, found {shown(codes[wrong][0])}")
    return missing, places


def _sort_of(column: Column) -> Sort:
    if isinstance(column, Numeric):
        return "numbers" if column.unit is None else "dates"
    level = column.levels[0]
    return "text" if isinstance(level, str) else "booleans" if isinstance(level, bool) else "numbers"


def _places(levels: tuple[Level, ...], cells: Cells) -> NDArray[np.float64]:
    """Return levels of observed cells, [M]; NaN for others."""
    codes = {level: float(place) for place, level in enumerate(levels)}  # 1, 1.0 and True are one key
    return np.array([codes.get(value, np.nan) for value in cells.values.tolist()], dtype=DOUBLE)


def _chosen(levels: Sequence[Level], codes: NDArray[Any]) -> NDArray[Any]:
    missing, places = as_places(codes, len(levels))
    incomplete = bool(missing.any())
    if isinstance(levels[0], str) or (isinstance(levels[0], bool) and incomplete):
        values = np.array(levels, dtype=object)[places]
        values[missing] = None
        return values
    chosen = np.array(levels)[places]
    return np.where(missing, np.nan, chosen) if incomplete else chosen
