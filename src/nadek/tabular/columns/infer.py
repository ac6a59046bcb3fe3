"""Infer the type of a column from its values, or ask the user."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nadek.tabular.columns.parsing import LARGEST_EXACT, UNITS, Cells, listed, numbers_of, read_cells, shown
from nadek.tabular.columns.recurring import atoms_of
from nadek.tabular.columns.text_hints import ODD_NUMBER, hint_of_form, hint_of_parts
from nadek.tabular.columns.types import MOST_DECIMALS, MOST_LEVELS, Binary, Categorical, Column, Level, Numeric

Declared = Literal["auto", "categorical", "numeric"]

N_BINS = 16
"""Bins of a column of numbers, at most; finer ones learn more slowly, and are more exact only where rows are many."""

MOST_WORDS = 32
"""Most different texts of a column that is taken for categories without a question."""

OUTERMOST = 0.01
"""Part of the values at either end that bins may lump together."""

FARTHEST, FARTHEST_QUARTILES, FARTHEST_RANGES = 20, 50, 10
"""Distances from the inner edge of an outermost bin beyond which there is none: in widths of bins or in quartiles of
the bin, whichever is farther, and in ranges of all edges."""

FAR = 3
"""Distance from the frequent values, as a multiple of their range, from which on a rare one may be a typing error."""

OUTSTANDING = 10
"""How many times as frequent as numbers nearby is one that has a bin to itself without a bin's share."""

LEAST_SHARE = 0.02
"""Least part of the values that such a number has, or a side of a gap."""

STAND_OUT_FROM = 5
"""Bins from which on there is one for each of three numbers that stand out, and for the others between them."""

BINS_A_GAP = 4
"""At most one in so many bins is for a gap."""

GAP = 25
"""Least width of a gap, in distances of the numbers beside it."""

NEARBY, BESIDE = 5, 10
"""Numbers on either side of a frequent one that it is compared with; distances on either side of a gap."""

ERRORS = 4
"""Most errors of rounding in a number that arithmetic made, as 0.30000000000000004 from 0.1 + 0.2."""

NO_VALUE = 'column "{}" has no value in any row: leave it out, or find some values'

LARGEST_EXACT_SINGLE = 2**24
"""`LARGEST_EXACT` of single precision."""


class UndecidedColumnError(ValueError):
    """Error: the user has to declare this column, as one of the remedies if any.

    Its message gives an ``example`` of the cells.
    """

    def __init__(self, message: str, remedies: tuple[str, ...] = ("categorical",), *, example: str = "") -> None:
        super().__init__(message)
        self.remedies, self.example = remedies, example


class TickedColumnError(UndecidedColumnError):
    """Error: a column holds one word, or nothing, which may be an answer, as in a box to tick."""


def infer(
    values: NDArray[Any],
    *,
    name: str,
    kind: Declared = "auto",
    n_bins: int = N_BINS,
    integers: Literal["ask", "numeric"] = "ask",
) -> Column:
    """Infer the type of a column from its values.

    Booleans and the numbers 0 and 1 are binary, and so are two different texts; a few texts are categories; numbers
    that are not all whole are numeric, and so are dates. Many different texts may be names, and whole numbers may be
    categories or amounts: nobody but the user can tell, by ``kind``. Where ``integers`` is "ask", whole numbers beyond
    0 and 1 raise `UndecidedColumnError`, and so does a single word beside missing cells. Values that are not what
    ``kind`` says, or none at all, are a ValueError.
    """
    if not 1 <= n_bins <= MOST_LEVELS:
        raise ValueError(f"n_bins: expected 1 to {MOST_LEVELS}, found {n_bins}")
    cells = read_cells(values, name=name, expected_sort="numbers" if kind == "numeric" else None)
    if cells.sort == "nothing" or not len(cells.values):
        raise ValueError(NO_VALUE.format(name))
    if cells.sort == "dates":
        if kind == "categorical":
            raise ValueError(f'column "{name}": dates are no categories; make text of them, if they shall be')
        return _dates(cells, n_bins, name)
    if kind == "numeric":
        return _numeric(cells, numbers_of(cells, name=name), n_bins)
    levels = _levels(cells)
    if kind == "categorical":
        if len(levels) > MOST_LEVELS:
            raise ValueError(f'column "{name}": expected at most {MOST_LEVELS} categories, found {len(levels)}')
        return Categorical(levels=tuple(levels))
    if cells.sort != "text" and set(levels) <= {0, 1}:
        return Binary(levels=(False, True)) if cells.sort == "booleans" else Binary()
    if cells.sort == "text" and len(levels) == 1 and integers == "ask" and len(cells.values) < len(values):
        message = f'column "{name}" holds {shown(levels[0])} or nothing: write a word where nothing is an answer'
        raise TickedColumnError(f"{message}, or say that the column is categorical if empty cells are unknown answers")
    if cells.sort == "text":
        return _words(list(map(str, levels)), len(cells.values), name)
    if len(levels) == 1:
        return Categorical(levels=tuple(levels))
    if integers == "ask" and all(float(level).is_integer() for level in levels):
        raise _about_whole_numbers(cells, levels, name)
    return _numeric(cells, numbers_of(cells, name=name), n_bins)


def _levels(cells: Cells) -> list[Level]:
    """Return the different values, sorted; whole numbers as integers."""
    if cells.sort == "text":
        return sorted(set(map(str, cells.values)))
    different = np.unique(cells.values).tolist()
    return [int(value) if isinstance(value, float) and _tells_whole(value) else value for value in different]


def _tells_whole(numbers: NDArray[np.float64] | float) -> Any:  # noqa: ANN401 - as many booleans as numbers
    """Return True for whole floats below `LARGEST_EXACT`."""
    return (np.floor(numbers) == numbers) & (np.abs(numbers) < LARGEST_EXACT)


def _words(levels: list[str], n_cells: int, name: str) -> Column:
    """Return the type of texts; ask about those that may be names, or something else."""
    hint = hint_of_form(levels)
    if len(levels) == 2 and hint is None:
        return Binary(levels=(levels[0], levels[1]))
    if hint is not None or len(levels) > MOST_WORDS or 1 < len(levels) == n_cells:
        hint = hint_of_parts(levels) if hint is None else hint
        oddest_first = sorted(levels, key=lambda level: ODD_NUMBER.fullmatch(level) is None)
        example = f" ({listed(oddest_first, 3)})"
        message = f'column "{name}" has {len(levels)} different texts in {n_cells} rows{example}'
        message += "" if hint is None else f", {hint}"
        if len(levels) > MOST_LEVELS:
            raise UndecidedColumnError(f"{message}, too many for categories: leave it out", (), example=example)
        raise UndecidedColumnError(f"{message}: say that it is categorical, or leave it out", example=example)
    return Categorical(levels=tuple(levels))


def _about_whole_numbers(cells: Cells, levels: list[Level], name: str) -> UndecidedColumnError:
    """Ask if whole numbers are categories; show the first that is not 0 or 1."""
    first = int(np.argmax((cells.values != 0) & (cells.values != 1)))
    example = f" ({shown(cells.values[first])} in row {cells.rows[first] + 1})"
    ends = f"from {shown(levels[0])} to {shown(levels[-1])}"
    message = f'column "{name}" has whole numbers {ends}, {len(levels)} different ones{example}'
    if len(levels) > MOST_LEVELS:
        question = f"{message}, too many for categories: say that they are numbers, or leave the column out"
        return UndecidedColumnError(question, ("numeric",), example=example)
    are_names = MOST_WORDS < len(levels) == len(cells.values)
    out = ", or leave the column out if it only numbers the rows" if are_names else ""
    question = f"{message}: say whether they are categories or numbers{out}"
    return UndecidedColumnError(question, ("categorical", "numeric"), example=example)


def _dates(cells: Cells, n_bins: int, name: str) -> Numeric:
    """Return a column of dates, in the coarsest unit that holds them."""
    unit = next(unit for unit in UNITS if (cells.values.astype(f"M8[{unit}]") == cells.values).all())
    counts = numbers_of(cells, name=name, unit=unit).astype(np.int64)
    return replace(_numeric(replace(cells, values=counts), counts.astype(np.float64), n_bins), unit=unit)


def _numeric(cells: Cells, observed: NDArray[np.float64], n_bins: int) -> Numeric:
    different = np.unique(observed)
    integer = cells.values.dtype.kind == "i" or bool(_tells_whole(different).all())
    decimals = None if integer else _decimals(different)
    if decimals is not None:
        observed = np.round(observed, decimals)  # 0.10000000149 is 0.1
    observed = _without_typing_errors(observed, n_bins)
    different, times = np.unique(observed, return_counts=True)
    digits = 0 if integer else decimals
    grid = None if digits is None or len(different) <= n_bins else _grid(different, digits)
    step = 0.0 if digits is None else (grid or 1) * 10.0**-digits
    if len(different) > n_bins:
        gaps = _gaps(different, times, n_bins, step)
        edges = _edges(different, times, n_bins, step, gaps)
    else:
        gaps, edges = different[:0], different[1:]
    holds_several = 0 < len(edges) < len(different) - 1
    if holds_several:
        observed = _without_far_numbers(observed, different, edges, gaps)
        different, times = np.unique(observed, return_counts=True)
    place = np.searchsorted(edges, observed, side="right")
    with np.errstate(over="ignore"):
        tails = [float(np.median(some)) for some in _outwards(observed, edges)] if holds_several else [np.inf]
    n = np.bincount(place)
    means = np.bincount(place, observed) / n
    if not np.isfinite(means).all():  # their sum is too large for floats
        means = (np.bincount(place, observed / n.max()) / n) * n.max()
    # rounding must not move the mean of one single value, which stands for "nothing else is in this bin"
    left = np.concatenate((different[:1], edges))
    last = different[np.append(np.searchsorted(different, edges), len(different)) - 1]
    column = Numeric(
        edges=tuple(edges.tolist()),
        means=tuple(np.clip(means, left, last).tolist()),
        low=float(different[0]),
        high=float(different[-1]),
        integer=integer,
        decimals=decimals,
        grid=grid,
        tails=(tails[0], tails[1]) if np.isfinite(tails).all() else None,
        cuts=_cuts(different, edges, gaps) if not integer and decimals is None and len(edges) else None,
        n_values=len(observed),
        gaps=tuple(np.searchsorted(edges, gaps).tolist()),
    )
    return replace(column, atoms=atoms_of(column, different, times))


def _cuts(different: NDArray[np.float64], edges: NDArray[np.float64], gaps: NDArray[np.float64]) -> tuple[float, ...]:
    """Return `Numeric.cuts`; that of a gap is near its upper end, where the numbers above it begin."""
    first = np.searchsorted(different, edges)
    before, after = different[first - 1], different[np.minimum(first + 1, len(different) - 1)]
    near = edges - np.minimum(after / 2 - edges / 2, edges / 2 - before / 2)
    cuts = np.where(np.isin(edges, gaps) & (after > edges), near, before / 2 + edges / 2)
    return tuple(np.maximum(cuts, np.nextafter(before, np.inf)).tolist())


def _outwards(numbers: NDArray[np.float64], edges: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the distances of numbers in the first and in the last bin from their inner edges."""
    return [edges[0] - numbers[numbers < edges[0]], numbers[numbers >= edges[-1]] - edges[-1]]


def _without_far_numbers(
    observed: NDArray[np.float64], different: NDArray[np.float64], edges: NDArray[np.float64], gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return numbers, [M], without those that lie very far out: they count as what training has not seen does.

    The different numbers of an outermost bin say what is far, as an error that recurs may be most of its values. The
    nearest one stays, and so does a bin beyond a gap.
    """
    kept = np.ones(len(observed), dtype=np.bool_)
    with np.errstate(over="ignore"):
        width = np.median(np.diff(edges, prepend=different[0], append=different[-1]))
        away = edges[0] - observed, observed - edges[-1]
        most = FARTHEST_RANGES * (edges[-1] - edges[0]) or np.inf  # a single edge has no range
        for edge, distances, some in zip(edges[[0, -1]], away, _outwards(different, edges), strict=True):
            far = min(max(FARTHEST * width, FARTHEST_QUARTILES * float(np.quantile(some, 0.25))), most)
            kept &= (distances <= max(far, some.min())) | (edge in gaps)
    return observed[kept]


def _decimals(different: NDArray[np.float64]) -> int | None:
    """Return the number of decimals; None for many, or for huge numbers."""
    largest = float(np.abs(different).max())
    with np.errstate(over="ignore"):
        single = bool((different.astype(np.float32) == different).all())  # 0.1 came as 0.10000000149
    held, most = (np.float32, LARGEST_EXACT_SINGLE) if single else (np.float64, LARGEST_EXACT)
    error = 0.0 if single else ERRORS * float(np.spacing(largest))
    for digits in range(1, MOST_DECIMALS + 1):
        if largest * 10**digits >= most:
            return None
        rounded = np.round(different, digits).astype(held).astype(np.float64)
        if np.abs(rounded - different).max() <= (error if 1000 * error < 10.0**-digits else 0):
            return digits
    return None


def _grid(different: NDArray[np.float64], digits: int) -> int | None:
    """Return `Numeric.grid`, by the greatest common divisor of all distances."""
    units = np.round(different * 10**digits)
    if max(-units[0], units[-1]) >= LARGEST_EXACT:
        return None
    divisor = int(np.gcd.reduce(np.diff(units).astype(np.int64)))
    return divisor if divisor > 1 else None


def _without_typing_errors(observed: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Return numbers, [M], with the nearest others in place of what may be typing errors.

    These are rare, all together, and farther from the frequent numbers than `FAR` times the range of those. Beside more
    numbers than bins they are left: a long tail looks alike, and `_without_far_numbers` ends it.
    """
    different, times = np.unique(observed, return_counts=True)
    few = max(1, OUTERMOST * len(observed))
    frequent = different[times > few]
    if len(frequent) < 2:
        return observed
    with np.errstate(over="ignore"):
        most = FAR * (frequent[-1] - frequent[0])
        is_far = (different < frequent[0] - most) | (different > frequent[-1] + most)
    near = different[~is_far]
    if times[is_far].sum() > few or len(near) > n_bins:
        return observed
    return np.clip(observed, near[0], near[-1])


def _frequent(different: NDArray[np.float64], times: NDArray[np.intp], n_bins: int) -> NDArray[np.bool_]:
    """Return True for numbers that get bins to themselves: of more than two bins' share, or that stand out.

    Only 0 stands out, and an end of the range, such as a cap: elsewhere people round.
    """
    frequent = times * n_bins > 2 * times.sum()
    for i in {0, len(times) - 1, *np.flatnonzero(different == 0).tolist()} if n_bins >= STAND_OUT_FROM else ():
        nearby = np.delete(times[max(0, i - NEARBY) : i + NEARBY + 1], min(i, NEARBY))
        least = max(NEARBY, LEAST_SHARE * times.sum(), OUTSTANDING * float(np.median(nearby)))
        frequent[i] |= times[i] >= least
    return frequent


def _gaps(different: NDArray[np.float64], times: NDArray[np.intp], n_bins: int, step: float) -> NDArray[np.float64]:
    """Return the first numbers above gaps: wider than a bin, and `GAP` times as wide as distances on either side.

    A bin is an even part of the range; distances of a side are the `BESIDE` nearest ones, on average. A side has
    `NEARBY` different numbers or `LEAST_SHARE` of the values: fewer may be errors, or a code for what is missing.
    """
    scale, least = max(-different[0], different[-1]), max(NEARBY, LEAST_SHARE * times.sum())
    width = np.diff(different / scale)
    is_side = [(n >= least) | (np.arange(len(n)) + 1 >= NEARBY) for n in (times.cumsum(), times[::-1].cumsum())]
    nearby = np.lib.stride_tricks.sliding_window_view(np.pad(width, BESIDE, constant_values=np.nan), BESIDE)
    distances = np.nansum(nearby, axis=1) / np.maximum((~np.isnan(nearby)).sum(axis=1), 1)
    beside = np.maximum(distances[: len(width)], distances[BESIDE + 1 :]).clip(
        max(step / scale, width.sum() / n_bins / GAP)
    )
    is_gap = is_side[0][:-1] & is_side[1][-2::-1] & (width > GAP * beside)
    widest = np.argsort(np.where(is_gap, -width, 0), kind="stable")[: min(is_gap.sum(), n_bins // BINS_A_GAP)]
    return different[np.sort(widest) + 1]


def _edges(
    different: NDArray[np.float64], times: NDArray[np.intp], n_bins: int, step: float, gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return inner edges, for bins of few values and little width.

    Frequent values get their own bins, and others where the step leaves room for no second one. A bin ends at a gap.
    Edges are quantiles of an even mixture of the values and of numbers that are uniform in their range, without the
    outermost ones.
    """
    frequent = _frequent(different, times, n_bins)
    alone = np.flatnonzero(frequent)
    rest, counts = different[~frequent], times[~frequent].cumsum()
    n = max(1, n_bins - 2 * len(alone) - len(gaps))
    wanted = rest[:0]
    if len(rest):
        outermost = max(OUTERMOST * counts[-1], 1.5)  # at least one value at either end
        scaled = rest / max(-rest[0], rest[-1])  # neither overflows nor vanishes
        for above in np.searchsorted(rest, gaps[(gaps > rest[0]) & (gaps <= rest[-1])]).tolist():
            scaled[above:] -= scaled[above] - scaled[above - 1]  # no number lies there
        low, high = scaled[np.searchsorted(counts, [outermost, counts[-1] - outermost])]
        if low == high:  # of nearly all values
            low, high = scaled[[0, -1]]
        along = (np.clip(scaled, low, high) - low) / (high - low)
        wanted = rest[np.searchsorted(counts / counts[-1] + along, 2 * np.arange(1, n) / n)]
    fixed = np.concatenate((different[alone], different[alone[alone < len(different) - 1] + 1], gaps))
    edges = np.setdiff1d(np.concatenate((wanted, fixed)), different[:1])
    may_share = ~frequent & np.append(different[1:] > different[:-1] + 1.5 * step, True)
    return different[_shared(np.searchsorted(different, edges), np.isin(different, fixed), may_share)]


def _shared(edges: NDArray[np.intp], is_fixed: NDArray[np.bool_], may_share: NDArray[np.bool_]) -> list[int]:
    """Return edges, as places of values, without those that give one value that may share its bin a bin to itself.

    It shares the bin above, or the one below where the edge above is fixed; none where both are.
    """
    first, b = [0, *edges.tolist()], 0
    while b < len(first):
        is_alone = np.diff([*first, len(may_share)]) == 1
        if not (is_alone[b] and may_share[first[b]]):
            b += 1
        elif b + 1 < len(first) and not is_fixed[first[b + 1]]:
            del first[b + 1]
        elif b > 0 and not is_fixed[first[b]]:
            del first[b]
        else:
            b += 1
    return first[1:]
