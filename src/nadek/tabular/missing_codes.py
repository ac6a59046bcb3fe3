"""Numbers and dates that may stand for missing cells, such as -99 among ages."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Shaped

from nadek.tabular.columns import Column, Numeric
from nadek.tabular.columns.parsing import numbers_of, read_cells, shown
from nadek.tabular.names import first_columns
from nadek.tabular.table import Table
from nadek.utils.warn import warn

LOW_CODES = frozenset({-1, -9, -99, -999, -9999, -99999})
HIGH_CODES = frozenset({99, 999, 9999, 99999})
DATE_CODES = np.array(["1900-01-01", "1970-01-01", "2999-12-31", "9999-12-31"], dtype="M8[D]")


def warn_of_missing_codes(table: Table, columns: Mapping[int, Column | None]) -> None:
    """Warn once of numbers that may mean missing, in the columns at these places of a training table."""
    named = []
    for j, column in columns.items():
        if isinstance(column, Numeric) and _ends_in_code(column):
            label, is_date = table.labels[j], column.unit is not None
            values = table.column(j, reading="numbers")
            cells = read_cells(values, name=label, expected_sort="dates" if is_date else "numbers")
            code, count = missing_date(cells.values) if is_date else missing_code(numbers_of(cells, name=label))
            if count:
                named.append(f'{shown(code)} in {count} cells of column "{label}"')
    if named:
        remedy = "--missing=CODE says so" if table.where else "put NaN there"
        start = f"{table.where}: " if table.where else ""
        message = f"{start}these may mean missing, but are learnt as numbers"
        warn(f"{message}: {first_columns(named)}; if they do, {remedy}")


def _ends_in_code(column: Numeric) -> bool:
    """Return True if the least or the largest value is a code."""
    if column.unit is None:
        return column.low in LOW_CODES or column.high in HIGH_CODES
    ends = np.array([column.low, column.high]).astype(np.int64).astype(f"M8[{column.unit}]")
    return bool(np.isin(ends.astype("M8[D]"), DATE_CODES).any())


def missing_code(numbers: Float[np.ndarray, " M"]) -> tuple[float, int]:
    """Return a number that may mean missing, and how often it is there; 0 times without one.

    That is the only negative number, one of `LOW_CODES` and no mirror image of the largest; or the largest, one of
    `HIGH_CODES` and farther from the others than these from each other. It is there more than once.

    Example:
        >>> missing_code(np.array([70.5, -99, 81, -99])), missing_code(np.array([-1.0, 0, 1, -1]))
        ((-99.0, 2), (0.0, 0))
    """
    different, times = np.unique(numbers, return_counts=True)
    if len(different) < 3:
        return 0.0, 0
    first, second, before, last = different[[0, 1, -2, -1]].tolist()
    if first in LOW_CODES and second >= 0 and -first != last and times[0] > 1:
        return first, int(times[0])
    if last in HIGH_CODES and last - before > before - first and times[-1] > 1:
        return last, int(times[-1])
    return 0.0, 0


def missing_date(dates: Shaped[np.ndarray, " M"]) -> tuple[np.datetime64, int]:
    """Return a date that may mean missing or no end, and how often it is there; 0 times without one.

    That is the first or last one, a day of `DATE_CODES`, farther from the others than these from each other. It is
    there more than once.

    Example:
        >>> missing_date(np.array(["2020-01-05", "2020-03-01", "9999-12-31", "9999-12-31"], dtype="M8[D]"))
        (np.datetime64('9999-12-31'), 2)
    """
    different, times = np.unique(dates, return_counts=True)
    ends = [(different, times), (different[::-1], times[::-1])] if len(different) > 2 else []
    for (end, near, *_, far), (count, *_) in ends:
        if count > 1 and abs(near - end) > abs(far - near) and end.astype("M8[D]") in DATE_CODES:
            return end, int(count)
    return DATE_CODES[0], 0
