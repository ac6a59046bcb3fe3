"""The tables of a grid, from its record: means over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from nadek_paper.grids.digest import current
from nadek_paper.grids.grid import SET, Grid, Part
from nadek_paper.markdown import NOT_RUN, NOTHING, markdown


@dataclass(frozen=True)
class Mean:
    """A mean over seeds.

    Attributes:
        value: the mean.
        error: its standard error over seeds; over rows where there is one seed only.
        seeds: how many.
    """

    value: float
    error: float | None
    seeds: int


def mean_over_seeds(
    cells: Mapping[str, Mapping[str, Any]], where: Mapping[str, str], *, key: str = "test"
) -> Mean | None:
    """The mean log-likelihood of the cells at a place of the grid; None where there is none, or one diverged.

    Args:
        cells: of a grid's record.
        where: set and variants.
        key: "test" or "validation".
    """
    found = [cell for cell in cells.values() if all(cell.get(axis) == name for axis, name in where.items())]
    values = [cell.get(f"{key}_log_likelihood") for cell in found]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    error = stdev(known) / len(known) ** 0.5 if len(known) > 1 else found[0][f"{key}_standard_error"]
    return Mean(fmean(known), error, len(known))


def grid_tables(grid: Grid, record: Mapping[str, Any]) -> str:
    """A table for each data set: variants of the last axis as columns, all others as rows.

    Cells that were run as the grid's file says no longer are left out, which is said below the table.
    """
    cells = current(grid, record["cells"])
    *rows_axes, columns_axis = [axis for axis in grid.axes if axis != SET]
    tables = []
    for name, part in grid.axes[SET].items():
        assert isinstance(part, Part)
        columns = list(grid.axes[columns_axis])
        lines, found = [], []
        for variants in _rows(grid, rows_axes, name):
            where = {SET: name, **dict(zip(rows_axes, variants, strict=True))}
            labels = [grid.axes[axis][variant].label for axis, variant in zip(rows_axes, variants, strict=True)]
            means = [mean_over_seeds(cells, {**where, columns_axis: column}) for column in columns]
            found += [mean for mean in means if mean is not None]
            lines.append([*labels, *map(_shown, means)])
        tables.append(_headline(part, found))
        if any(cell.get(SET) == name for cell in cells.values()):
            heads = [grid.axes[columns_axis][column].label for column in columns]
            tables.append(markdown([*rows_axes, *heads], lines, words=len(rows_axes)))
        else:
            tables.append(NOT_RUN)
        changed = [one for one, cell in record["cells"].items() if cell.get(SET) == name and one not in cells]
        if changed:
            tables.append(f"*Left out, as changed since: {', '.join(changed)}.*")
    return "\n\n".join(tables)


def _rows(grid: Grid, axes: Sequence[str], part: str) -> list[tuple[str, ...]]:
    """The combinations of other variants that the grid has for a data set, in the order of the file."""
    cells = [cell for cell in grid.cells if cell.where[SET] == part]
    return list(dict.fromkeys(tuple(cell.where[axis] for axis in axes) for cell in cells))


def _headline(part: Part, means: Sequence[Mean]) -> str:
    scored = f"exact, {part.orderings} orderings" if part.scored == "exact" else f"estimate, {part.masks} masks a row"
    rows = "" if part.train_rows is None else f", {part.train_rows:,} training rows"
    size = "" if part.parameters is None else f", at most {part.parameters:,} parameters"
    return f"**{part.label}** ({scored}; {part.epochs} epochs{rows}{size}{_errors(means)})"


def _errors(means: Sequence[Mean]) -> str:
    """What the errors beside the means are."""
    if not means:
        return ""
    fewest, most = min(mean.seeds for mean in means), max(mean.seeds for mean in means)
    if most == 1:
        return "; one seed, ± over rows"
    return (
        f"; ± over {most} seeds" if fewest == most else f"; {fewest} to {most} seeds, ± over them, or over rows for one"
    )


def _shown(mean: Mean | None) -> str:
    if mean is None:
        return NOTHING
    return f"{mean.value:.2f}" if mean.error is None else f"{mean.value:.2f} ± {mean.error:.2f}"
