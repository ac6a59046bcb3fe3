"""Tables of a grid, from means over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from nadek_paper.grids.grid import SET, Grid, Part
from nadek_paper.grids.study import current
from nadek_paper.markdown import NOT_RUN, NOTHING, markdown


@dataclass(frozen=True)
class Mean:
    """A mean over seeds, with its standard error over them; over rows where there is one seed only."""

    value: float
    error: float | None
    seeds: int


def mean_over_seeds(cells: Mapping[str, Mapping[str, Any]], where: Mapping[str, str]) -> Mean | None:
    """Return the mean test log-likelihood at a place of the grid; None if no cell is run or one diverged."""
    here = [cell for cell in cells.values() if all(cell.get(axis) == name for axis, name in where.items())]
    values = [cell["test_log_likelihood"] for cell in here if cell.get("test_log_likelihood") is not None]
    if not values or len(values) < len(here):
        return None
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else here[0]["test_standard_error"]
    return Mean(fmean(values), error, len(values))


def grid_tables(grid: Grid, record: Mapping[str, Any]) -> str:
    """Return a table for each data set: variants of the last axis as columns, all others as rows.

    Cells that were changed since they were run are left out and named below the table.
    """
    cells = current(grid, record["cells"])
    blocks = []
    for name, part in grid.axes[SET].items():
        assert isinstance(part, Part)
        table, means = _table(grid, name, cells)
        blocks.append(_headline(part, means))
        blocks.append(table if any(cell.get(SET) == name for cell in cells.values()) else NOT_RUN)
        changed = [one for one, cell in record["cells"].items() if cell.get(SET) == name and one not in cells]
        if changed:
            blocks.append(f"*Left out, as changed since: {', '.join(changed)}.*")
    return "\n\n".join(blocks)


def _table(grid: Grid, part: str, cells: Mapping[str, Any]) -> tuple[str, list[Mean]]:
    *axes, last = [axis for axis in grid.axes if axis != SET]
    here = [cell for cell in grid.cells if cell.where[SET] == part]
    lines, shown = [], []
    for variants in dict.fromkeys(tuple(cell.where[axis] for axis in axes) for cell in here):
        where = {SET: part, **dict(zip(axes, variants, strict=True))}
        means = [mean_over_seeds(cells, {**where, last: column}) for column in grid.axes[last]]
        shown += [mean for mean in means if mean is not None]
        lines.append([*(grid.axes[axis][where[axis]].label for axis in axes), *map(_shown, means)])
    heads = [variant.label for variant in grid.axes[last].values()]
    return markdown([*axes, *heads], lines, words=len(axes)), shown


def _headline(part: Part, means: Sequence[Mean]) -> str:
    scored = f"exact, {part.orderings} orderings" if part.scored == "exact" else f"estimate, {part.masks} masks a row"
    rows = "" if part.train_rows is None else f", {part.train_rows:,} training rows"
    size = "" if part.parameters is None else f", at most {part.parameters:,} parameters"
    return f"**{part.label}** ({scored}; {part.epochs} epochs{rows}{size}{_errors(means)})"


def _errors(means: Sequence[Mean]) -> str:
    """Return the meaning of the errors beside the means."""
    if not means:
        return ""
    fewest, most = min(mean.seeds for mean in means), max(mean.seeds for mean in means)
    if most == 1:
        return "; one seed, ± over rows"
    if fewest == most:
        return f"; ± over {most} seeds"
    return f"; {fewest} to {most} seeds, ± over them, or over rows for one"


def _shown(mean: Mean | None) -> str:
    if mean is None:
        return NOTHING
    return f"{mean.value:.2f}" if mean.error is None else f"{mean.value:.2f} ± {mean.error:.2f}"
