"""Columns in words: what each is, and what its levels are called."""

from nadek.columns.cells import listed, shown
from nadek.columns.kinds import Column, Numeric


def describe(column: Column) -> str:
    """One line about a column.

    Example:
        >>> from nadek.columns import Categorical
        >>> describe(Categorical(levels=("a", "b", "c")))
        "categorical, 3 levels: 'a', 'b', 'c'"
    """
    if not isinstance(column, Numeric):
        return f"{column.kind}, {_counted(len(column.levels), 'level')}: {listed(column.levels)}"
    whole = "whole numbers" if column.integer else "numbers"
    bins = _counted(len(column.means), "bin")
    return f"numeric, {whole} from {shown(column.low)} to {shown(column.high)} in {bins}"


def level_names(column: Column) -> list[str]:
    """What the levels are called in a header; bins by their ends, or by their one value.

    Example:
        >>> from nadek.columns import Numeric
        >>> level_names(Numeric(edges=(10.0, 20.0), means=(4.5, 13.0, 20.0), low=0.0, high=20.0, integer=True))
        ['0..10', '10..20', '20']
    """
    if not isinstance(column, Numeric):
        return [str(level) for level in column.levels]
    ends = zip((column.low, *column.edges), (*column.edges, column.high), column.means, strict=True)
    return [shown(left) if left == mean else f"{shown(left)}..{shown(right)}" for left, right, mean in ends]


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
