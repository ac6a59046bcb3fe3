"""Numbers that may stand for missing cells, such as -99 among ages."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from nadek.tabular.columns import Column, Numeric
from nadek.tabular.columns.parsing import numbers_of, read_cells, shown
from nadek.tabular.table import Table
from nadek.utils.warn import warn

MOST_NAMED = 6
"""Columns in one warning, at most."""


def warn_of_missing_codes(table: Table, columns: Mapping[int, Column | None]) -> None:
    """Warn once of numbers that may mean missing, in the columns at these places of a training table."""
    named = []
    for j, column in columns.items():
        if not isinstance(column, Numeric) or column.unit is not None:
            continue
        if _is_code(-column.low) or (column.high > 9 and _is_code(column.high)):
            label = table.labels[j]
            cells = read_cells(table.column(j, reading="numbers"), name=label, expected_sort="numbers")
            code, count = missing_code(numbers_of(cells, name=label))
            if count:
                named.append(f'{shown(code)} in {count} cells of column "{label}"')
    if named:
        more = f" and in {len(named) - MOST_NAMED} more columns" if len(named) > MOST_NAMED else ""
        remedy = "--missing=CODE says so" if table.where else "put NaN there"
        start = f"{table.where}: " if table.where else ""
        cells_named = "; ".join(named[:MOST_NAMED])
        warn(f"{start}these may mean missing, but are learnt as numbers: {cells_named}{more}; if they do, {remedy}")


def missing_code(numbers: Float[np.ndarray, " M"]) -> tuple[float, int]:
    """Return a number that may mean missing, and how often it is there; 0 times without one.

    That is the only negative number, if it is -1, -9, -99 and so on, and no mirror image of the largest; or a largest
    one of nines, farther from the others than these from each other. It is there more than once.

    Example:
        >>> missing_code(np.array([70.5, -99, 81, -99])), missing_code(np.array([-1.0, 0, 1, -1]))
        ((-99.0, 2), (0.0, 0))
    """
    different, times = np.unique(numbers, return_counts=True)
    if len(different) < 3:
        return 0.0, 0
    first, second, before, last = different[[0, 1, -2, -1]].tolist()
    if _is_code(-first) and second >= 0 and -first != last and times[0] > 1:
        return first, int(times[0])
    if _is_code(last) and last > 9 and last - before > before - first and times[-1] > 1:
        return last, int(times[-1])
    return 0.0, 0


def _is_code(number: float) -> bool:
    """Return True for 1, 9, 99 and so on."""
    return number == 1 or (number > 0 and set(f"{number:g}") == {"9"})
