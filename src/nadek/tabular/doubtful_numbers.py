"""Numbers that are no measurements: codes for missing cells such as -99, slips such as 3.2 among counts, row counts."""

import numpy as np
from jaxtyping import Bool, Float, Shaped

from nadek.tabular.columns import Column, Numeric
from nadek.tabular.columns.parsing import Cells, Sort, numbers_of, read_cells, shown
from nadek.tabular.table import Table

CODES = tuple(
    frozenset({*range(10**n - 5, 10**n), *(digit * (10**n // 9) for digit in (6, 7, 8))}) for n in range(1, 10)
)
"""Numbers of 1 to 9 digits that stand for "refused", "does not know" and the like: 95 to 99, 66, 77 and 88."""
MOST_CODES = 4
"""Codes of a column; more of them are numbers."""
FEWEST_COUNTED = 20
"""Rows that a column may only count; fewer may be measured one by one."""
MOST_BROKEN = 3
"""Slips of a column of whole numbers; more of them are numbers."""
DATE_CODES = np.array(["1900-01-01", "1970-01-01", "2999-12-31", "9999-12-31"], dtype="M8[D]")


def counts_of_codes(table: Table, j: int, column: Column) -> dict[str, int]:
    """Return the numbers or dates of a training column that may mean missing, with their numbers of cells."""
    if not isinstance(column, Numeric):
        return {}
    cells, label = _training_cells(table, j, column), table.labels[j]
    codes = missing_dates(cells.values) if column.unit else missing_codes(numbers_of(cells, name=label))
    return {shown(code): count for code, count in codes.items()}


def lone_fractions(table: Table, j: int, column: Column) -> list[str]:
    """Return numbers with a fraction, of a training column in which hardly another one has any."""
    if not isinstance(column, Numeric) or column.unit is not None or column.integer:
        return []
    numbers = numbers_of(_training_cells(table, j, column), name=table.labels[j])
    broken = numbers[numbers != np.floor(numbers)]
    return [shown(number) for number in broken] if len(broken) <= min(MOST_BROKEN, len(numbers) / 100) else []


def row_counts(table: Table, j: int, column: Column) -> list[str]:
    """Return the ends of numbers that only count the rows of training, in any order."""
    if not isinstance(column, Numeric) or column.unit is not None or column.high - column.low + 1 != len(table):
        return []
    numbers = np.unique(numbers_of(_training_cells(table, j, column), name=table.labels[j]))
    counts = column.integer and numbers[-1] - numbers[0] + 1 == len(numbers) == len(table) >= FEWEST_COUNTED
    return [f"{shown(numbers[0])} to {shown(numbers[-1])}"] if counts else []


def _training_cells(table: Table, j: int, column: Numeric) -> Cells:
    sort: Sort = "dates" if column.unit else "numbers"
    return read_cells(table.column(j, reading="numbers"), name=table.labels[j], expected_sort=sort)


def missing_codes(numbers: Float[np.ndarray, " M"]) -> dict[float, int]:
    """Return numbers that may mean missing, and how often they are there.

    These are all the negative numbers, if they look like codes (see below), and the largest and smallest ones that are
    `CODES` of as many digits, two or more, and farther from the others than these from each other. One of them is there
    more than once.

    Example:
        >>> missing_codes(np.array([70.5, -99, 81, -99])), missing_codes(np.array([-1.0, 0, 1, -1]))
        ({-99.0: 2}, {})
    """
    different, times = np.unique(numbers, return_counts=True)
    missing = dict[float, int]()
    outside = [[sign * code for code in codes] for codes in reversed(CODES[1:]) for sign in (-1, 1)]
    for codes in (None, *outside):
        others = different[~np.isin(different, list(missing))]
        is_chosen = others < 0 if codes is None else np.isin(others, codes)
        chosen, others = others[is_chosen], others[~is_chosen]
        counts = times[np.isin(different, chosen)]
        if 0 < len(chosen) <= MOST_CODES and len(others) > 1 and counts.max() > 1:
            distance = max(chosen[0] - others[-1], others[0] - chosen[-1])
            is_far, below = distance > others[-1] - others[0], (-chosen).tolist()
            if _are_negative_codes(below, others.tolist()) if codes is None else is_far:
                missing |= dict(zip(chosen.tolist(), counts.tolist(), strict=True))
    return missing


def _are_negative_codes(below: list[float], others: list[float]) -> bool:
    """Return True if negative numbers, without their signs, look like codes beside others.

    That is -1 alone, or those of `CODES` or of one digit, either with one of 7 to 9 among them or apart from the others
    as 0 is not there. They are no mirror image of the others.
    """
    may_be = set(range(1, 10)).union(*CODES)
    are_apart = below == [1] or max(below) >= 7 or others[0] > 0
    return may_be.issuperset(below) and are_apart and set(below) != {one for one in others if one}


def far_codes(numbers: Float[np.ndarray, " N"], low: float, high: float) -> Bool[np.ndarray, " N"]:
    """Return where numbers of a later table may mean missing: `CODES` far outside of training.

    They are farther outside than the range from ``low`` to ``high`` is wide. Those of one digit are negative.

    Example:
        >>> far_codes(np.array([-99.0, 250, 999, 60]), 18.0, 90.0).tolist()
        [True, False, True, False]
    """
    where = (numbers < low - (high - low)) | (numbers > high + (high - low))
    far, negative = numbers[where], [-code for code in CODES[0]]
    where[where] = np.isin(np.abs(far), list(frozenset.union(*CODES[1:]))) | np.isin(far, negative)
    return where


def missing_dates(dates: Shaped[np.ndarray, " M"]) -> dict[np.datetime64, int]:
    """Return a date that may mean missing or no end, and how often it is there.

    That is the first or last one, a day of `DATE_CODES`, farther from the others than these from each other. It is
    there more than once.

    Example:
        >>> missing_dates(np.array(["2020-01-05", "2020-03-01", "9999-12-31", "9999-12-31"], dtype="M8[D]"))
        {np.datetime64('9999-12-31'): 2}
    """
    different, times = np.unique(dates, return_counts=True)
    ends = [(different, times), (different[::-1], times[::-1])] if len(different) > 2 else []
    for (end, near, *_, far), (count, *_) in ends:
        if count > 1 and abs(near - end) > abs(far - near) and end.astype("M8[D]") in DATE_CODES:
            return {end: int(count)}
    return {}
