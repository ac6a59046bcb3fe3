"""Types of columns: binary, categorical, ordinal, numeric in bins; and texts about them.

A code is the place of a level, or of a bin and a number in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.parsing import Unit, counted, listed, shown

Level = str | int | float | bool
"""A value that a column can have."""

MOST_LEVELS = 4096
"""Most levels of a column."""

MOST_DECIMALS = 6
"""Most decimals that are kept; finer numbers count as continuous."""


class _Described:
    """A column that prints as its description."""

    def __repr__(self) -> str:
        return f"<{describe(self)}>"  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, repr=False)
class _Levels(_Described):
    """Levels of a column, all of one sort; their order is that of the codes.

    There were ``n_values`` training values; None if nobody counted.
    """

    levels: tuple[Level, ...]
    n_values: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        levels = self.levels
        if not 1 <= len(levels) <= MOST_LEVELS:
            raise ValueError(f"levels: expected 1 to {MOST_LEVELS}, found {len(levels)}")
        if len(set(levels)) != len(levels):
            raise ValueError(f"levels: expected each once, found {levels}")
        if len({float if type(level) is int else type(level) for level in levels}) > 1:
            raise ValueError(f"levels: expected all text, all numbers or all booleans, found {levels}")
        if any(isinstance(level, float) and not math.isfinite(level) for level in levels):
            raise ValueError(f"levels: expected finite numbers, found {levels}")


@dataclass(frozen=True, kw_only=True, repr=False)
class Binary(_Levels):
    """Two values, of codes 0 and 1; see the example of `Categorical`."""

    levels: tuple[Level, Level] = (0, 1)
    kind: Literal["binary"] = "binary"


@dataclass(frozen=True, kw_only=True, repr=False)
class Categorical(_Levels):
    """One of several values, in no order; the code of a value is its place among the levels.

    Example:
        >>> from nadek.tabular.columns import encode
        >>> town = Categorical(levels=("Bern", "Rome", "Ulm"))
        >>> town, encode(town, np.array(["Rome", "Ulm", None]), name="town")
        (<categorical, 3 levels: 'Bern', 'Rome', 'Ulm'>, array([ 1.,  2., nan]))
    """

    kind: Literal["categorical"] = "categorical"


@dataclass(frozen=True, kw_only=True, repr=False)
class Ordinal(_Levels):
    """One of several values in an order, "never" to "always"; see the example of `Categorical`."""

    kind: Literal["ordinal"] = "ordinal"


@dataclass(frozen=True, kw_only=True, repr=False)
class Numeric(_Described):
    """A number, in bins.

    Bin b holds what is at least its left edge and below the next one, and every left edge is a training value: so a
    bin whose mean is its left edge holds this one value only.

    Attributes:
        edges: where one bin ends and the next begins, increasing, all above ``low``.
        means: the mean of the training values of each bin, one more than edges.
        low: the smallest training value but for those very far out, as typing errors are; the left edge of the first
            bin.
        high: the largest.
        integer: whether all values are whole numbers, and not only because floats so large always are.
        decimals: how many digits behind the point the values need, at most `MOST_DECIMALS`; None for whole numbers and
            where more are needed.
        grid: how many units of the last digit neighbours are apart at least, 25 for 3,700, 3,725 and 3,775; None for
            1, and beside few values.
        n_values: how many training values there were; None if nobody counted.
        gaps: bins above which no numbers lie for long, see `nadek.tabular.columns.infer`.
        tails: how far from their inner edges half of the training values of the first and of the last bin lie; None
            where all bins held one value only, where that is too far for floats, or nobody counted.
        atoms: numbers that recur in bins of several values, increasing, and the parts of their bins that they have for
            themselves, see `nadek.tabular.columns.recurring`.
        unit: of dates: the numbers are whole counts of it since 1970; None for other numbers.
        bend: how much the logarithm of the density bows up between two knots, see `bent`; None, and in files, where
            nobody says.
        cuts: what separates the bins where numbers have no step: midpoints between the last training value of one bin
            and the first of the next, so that rounding moves no value to another bin. None: the edges.

    Example:
        >>> children = Numeric(edges=(1.0, 2.0), means=(0.0, 1.0, 2.5), low=0.0, high=4.0, integer=True)
        >>> children.bin_of(np.array([0.0, 3.0])).tolist(), level_names(children)
        ([0, 2], ['0', '1', '2..4'])
    """

    edges: tuple[float, ...]
    means: tuple[float, ...]
    low: float
    high: float
    integer: bool
    decimals: int | None = None
    grid: int | None = None
    tails: tuple[float, float] | None = None
    cuts: tuple[float, ...] | None = None
    n_values: int | None = None
    gaps: tuple[int, ...] = ()
    atoms: tuple[tuple[float, float], ...] = ()
    unit: Unit | None = None
    bend: float | None = None
    kind: Literal["numeric"] = "numeric"

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (*self.edges, *self.means, self.low, self.high))):
            raise ValueError("expected finite edges and means, found another number")
        if any(a >= b for a, b in zip(self.lefts, self.edges, strict=False)) or self.lefts[-1] > self.high:
            raise ValueError(f"edges: expected increasing numbers between low and high, found {self.edges}")
        if len(self.means) != len(self.lefts) or len(self.lefts) > MOST_LEVELS:
            raise ValueError(f"means: expected one for each of at most {MOST_LEVELS} bins, found {len(self.means)}")
        if self.tails is not None and not all(0 <= tail < math.inf for tail in self.tails):
            raise ValueError(f"tails: expected distances, found {self.tails}")
        if self.decimals is not None and (self.integer or not 1 <= self.decimals <= MOST_DECIMALS):
            expected = "none for whole numbers" if self.integer else f"1 to {MOST_DECIMALS}"
            raise ValueError(f"decimals: expected {expected}, found {self.decimals}")
        if self.grid is not None and (self.grid < 2 or not self.step):
            raise ValueError(f"grid: expected 2 or more, of numbers with a last digit, found {self.grid}")
        if not all(0 <= place < len(self.edges) for place in self.gaps):
            raise ValueError(f"gaps: expected bins below the last one, found {self.gaps}")
        if self.atoms and not self._holds_atoms(*np.array(self.atoms).T):
            raise ValueError("atoms: expected increasing numbers of a column with steps, and less than 1 of each bin")
        if self.unit is not None and not self.integer:
            raise ValueError(f"unit: expected whole numbers beside {self.unit!r}, found others")
        if self.cuts is not None:
            before = zip(self.lefts, self.cuts, self.edges, strict=False)
            if len(self.cuts) != len(self.edges) or not all(a < cut <= edge for a, cut, edge in before):
                raise ValueError(f"cuts: expected one at most at each edge and above the one before, found {self.cuts}")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Hash without the atoms, whose own would take long."""
        return hash((self.edges, self.means, self.low, self.high))

    def _holds_atoms(self, numbers: NDArray[np.float64], parts: NDArray[np.float64]) -> bool:
        increases = self.low <= numbers[0] and (np.diff(numbers) > 0).all() and numbers[-1] <= self.high
        are_parts = (parts > 0).all() and (np.bincount(self.bin_of(numbers), parts) < 1).all()
        return bool(self.step and increases and are_parts)

    @cached_property
    def lefts(self) -> tuple[float, ...]:
        """Return the left edges of all bins."""
        return (self.low, *self.edges)

    @cached_property
    def is_single(self) -> NDArray[np.bool_]:
        """Return True for bins of a single value, [L]."""
        return np.equal(self.means, self.lefts)

    @property
    def single(self) -> tuple[int, ...]:
        """Return the bins of a single value."""
        return tuple(np.flatnonzero(self.is_single).tolist())

    @property
    def ends(self) -> tuple[float, ...]:
        """Where all bins but the last end."""
        return self.edges if self.cuts is None else self.cuts

    def bin_of(self, numbers: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the bin of each number."""
        return np.searchsorted(self.ends, self.snapped(numbers), side="right")

    @property
    def step(self) -> float:
        """The distance of neighbours: 1 for whole numbers, 0.01 for two decimals, times the grid; else 0."""
        digits = 0 if self.integer else self.decimals
        return 0.0 if digits is None else (self.grid or 1) * 10.0**-digits

    def rounded(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Round numbers to the decimals of the column."""
        return np.round(numbers, self.decimals or 0) + 0.0 if self.step else numbers  # + 0.0: no -0.0

    def snapped(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Round numbers that single precision cannot tell from their rounded value.

        So 0.10000000149, which is what 0.1 becomes on its way through single precision, falls into the bin of 0.1.
        """
        if self.decimals is None:
            return numbers
        with np.errstate(over="ignore"):
            rounded = self.rounded(numbers)
            same = np.isfinite(rounded) & (rounded.astype(np.float32) == numbers.astype(np.float32))
        return np.where(same, rounded, numbers)

    def restored(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return dates for their numbers, NaT for NaN; other numbers as they are."""
        if self.unit is None:
            return numbers
        missing = np.isnan(numbers)
        dates = np.where(missing, 0, np.round(numbers)).astype(np.int64).astype(f"M8[{self.unit}]")
        dates[missing] = np.datetime64("NaT")
        return dates.astype("M8[s]") if self.unit in ("h", "m") else dates  # units that Arrow has

    def text(self, number: float) -> str:
        """Return a number, or a date, for people."""
        return shown(self.restored(np.array([number]))[0]) if self.unit else shown(number)


Column = Binary | Categorical | Ordinal | Numeric


def n_levels(column: Column) -> int:
    """Return the number of levels, or of bins."""
    return len(column.means) if isinstance(column, Numeric) else len(column.levels)


def ordinal(columns: Sequence[Column]) -> tuple[int, ...]:
    """Return places of columns of ordered codes: numbers in bins, and `Ordinal` ones of more than two levels."""
    kinds = (Numeric, Ordinal)
    return tuple(place for place, column in enumerate(columns) if isinstance(column, kinds) and n_levels(column) > 2)


def is_continuous(column: Column) -> TypeGuard[Numeric]:
    """Return True where a bin has several values."""
    return isinstance(column, Numeric) and not column.is_single.all()


def knots(columns: Sequence[Column]) -> tuple[tuple[int | float, ...] | None, ...] | None:
    """Return where the bins of continuous columns are not joined, see `nadek.models.variables`."""
    apart = tuple(_apart(column) if is_continuous(column) else None for column in columns)
    return apart if any(one is not None for one in apart) else None


def _apart(column: Numeric) -> tuple[int | float, ...]:
    """Return the bins of a single value, and the middles of gaps."""
    return tuple(sorted((*column.single, *(place + 0.5 for place in column.gaps))))


def bent(columns: Sequence[Column], bends: Sequence[float]) -> tuple[Column, ...]:
    """Return columns with the bends of a network."""
    each = zip(columns, bends or [0.0] * len(columns), strict=True)
    return tuple(replace(one, bend=bend) if bend and isinstance(one, Numeric) else one for one, bend in each)


def is_plain(column: Column) -> bool:
    """Return True for a column of 0 and 1."""
    return isinstance(column, Binary) and column.levels == (0, 1) and all(type(level) is int for level in column.levels)


def describe(column: Column) -> str:
    """Describe a column in one line."""
    if isinstance(column, Ordinal):
        first, last = shown(column.levels[0]), shown(column.levels[-1])
        return f"ordinal, {counted(len(column.levels), 'level')} from {first} to {last}"
    if not isinstance(column, Numeric):
        return f"{column.kind}, {counted(len(column.levels), 'level')}: {listed(column.levels)}"
    numbers = "dates" if column.unit else "whole numbers" if column.integer else "numbers"
    bins = counted(len(column.means), "bin")
    return f"numeric, {numbers} from {column.text(column.low)} to {column.text(column.high)} in {bins}"


def level_names(column: Column) -> list[str]:
    """Return the names of levels in a header.

    A bin is named by its least and greatest number, or by its one value. Where numbers have no step, ``..<`` and the
    first number of the next bin stand for the greatest one.
    """
    if not isinstance(column, Numeric):
        return [str(level) for level in column.levels]
    ends = [*(_end_below(column, edge) for edge in column.edges), f"..{column.text(column.high)}"]
    bins = zip(column.lefts, column.means, ends, strict=True)
    return [column.text(left) + ("" if left == mean else end) for left, mean, end in bins]


def _end_below(column: Numeric, edge: float) -> str:
    """Return the end of a bin's name; its right edge belongs to the next bin."""
    if not column.step:
        return f"..<{shown(edge)}"
    return f"..{column.text(round(edge - column.step, column.decimals or 0))}"
