"""Texts about columns and their levels."""

import math

from nadek.tabular.columns.parsing import listed, shown
from nadek.tabular.columns.types import Column, Numeric, Ordinal


def describe(column: Column) -> str:
    """Describe a column in one line."""
    if isinstance(column, Ordinal):
        first, last = shown(column.levels[0]), shown(column.levels[-1])
        return f"ordinal, {_counted(len(column.levels), 'level')} from {first} to {last}"
    if not isinstance(column, Numeric):
        return f"{column.kind}, {_counted(len(column.levels), 'level')}: {listed(column.levels)}"
    whole = "whole numbers" if column.integer else "numbers"
    bins = _counted(len(column.means), "bin")
    return f"numeric, {whole} from {shown(column.low)} to {shown(column.high)} in {bins}"


def level_names(column: Column) -> list[str]:
    """Return the names of levels in a header.

    A bin is named by its least and greatest number, or by its one value. Where numbers have no step, ``..<`` and the
    first number of the next bin stand for the greatest one.
    """
    if not isinstance(column, Numeric):
        return [str(level) for level in column.levels]
    left = (column.low, *column.edges)
    ends = [*(_end_below(column, edge) for edge in column.edges), f"..{shown(column.high)}"]
    return [shown(a) + ("" if a == mean else end) for a, mean, end in zip(left, column.means, ends, strict=True)]


def _end_below(column: Numeric, edge: float) -> str:
    """Return the end of a bin's name; its right edge belongs to the next bin."""
    if column.integer:
        return f"..{math.ceil(edge) - 1}"
    return f"..<{shown(edge)}" if column.decimals is None else f"..{shown(round(edge - column.step, column.decimals))}"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
