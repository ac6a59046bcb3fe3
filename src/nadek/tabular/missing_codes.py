"""Numbers that may stand for missing cells, such as -99 among ages."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from nadek.tabular.columns import Column, Numeric
from nadek.tabular.columns.parsing import numbers_of, read_cells, shown
from nadek.tabular.names import first_columns
from nadek.tabular.table import Table
from nadek.utils.warn import warn

LOW_CODES = frozenset({-1, -9, -99, -999, -9999, -99999})
HIGH_CODES = frozenset({99, 999, 9999, 99999})


def warn_of_missing_codes(table: Table, columns: Mapping[int, Column | None]) -> None:
    """Warn once of numbers that may mean missing, in the columns at these places of a training table."""
    named = []
    for j, column in columns.items():
        if not isinstance(column, Numeric) or column.unit is not None:
            continue
        if column.low in LOW_CODES or column.high in HIGH_CODES:
            label = table.labels[j]
            cells = read_cells(table.column(j, reading="numbers"), name=label, expected_sort="numbers")
            code, count = missing_code(numbers_of(cells, name=label))
            if count:
                named.append(f'{shown(code)} in {count} cells of column "{label}"')
    if named:
        remedy = "--missing=CODE says so" if table.where else "put NaN there"
        start = f"{table.where}: " if table.where else ""
        message = f"{start}these may mean missing, but are learnt as numbers"
        warn(f"{message}: {first_columns(named)}; if they do, {remedy}")


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
