"""Pictures of numbers: training curves, and the effect of k in training and at test time."""

from typing import Any

from nadek import figures
from nadek.models import IterativeNADE
from nadek.utils.atomic import read_record
from nadek_paper.figures.config import Curves, GridLines, StepsAtTest
from nadek_paper.figures.panels import Line, lines
from nadek_paper.figures.references import Reference, find
from nadek_paper.grids.grid import SET, Grid, grids, read_grid
from nadek_paper.grids.study import current, record_name
from nadek_paper.grids.table import mean_over_seeds
from nadek_paper.steps_at_test import summaries_by_steps
from nadek_paper.workspace import Workspace, choose, some_rows

Points = list[dict[str, Any]]
"""The numbers behind a picture."""


def curves(shows: Curves, workspace: Workspace) -> tuple[Points, figures.Figure]:
    """Draw costs along trainings, of all models that have a record."""
    points: Points = []
    missing: list[str] = []
    for model, label in zip(shows.models, shows.labels, strict=True):
        try:
            points.append({"label": label, "model": model, **find(model, workspace).curve()})
        except FileNotFoundError as error:
            missing.append(str(error))
    if not points:
        raise FileNotFoundError(missing[0])
    panels = {
        title: {point["label"]: Line(range(1, len(point[key]) + 1), point[key]) for point in points}
        for title, key in (("training", "train"), ("validation", "validation"))
    }
    return points, lines(panels, x_label="epoch", y_label="cost of the last step (nats)", skip=0.1)


def grid_lines(shows: GridLines, workspace: Workspace) -> tuple[Points, figures.Figure]:
    """Draw test log-likelihoods of a grid against the number of steps in training."""
    choose(shows.grid, grids(workspace.recipes), "there is no grid")
    grid = read_grid(workspace.recipes / "grids" / f"{shows.grid}.toml")
    path, command = workspace.record(record_name(shows.grid)), workspace.command(f"grids {shows.grid}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no record {path}: give {command} first")
    points = _grid_points(grid, shows, current(grid, read_record(path)["cells"]))
    if not points:
        raise FileNotFoundError(f"{path} has none of these cells as they are now: give {command} first")
    panels: dict[str, dict[str, Line]] = {}
    for point in points:
        # errors over rows say nothing here: all models are scored on the same rows
        errors = [error if n > 1 else None for error, n in zip(point["standard_error"], point["seeds"], strict=True)]
        line = Line(point["steps"], point["log_likelihood"], errors, point.get("beside"))
        panels.setdefault(point["panel"], {})[point["label"]] = line
    label = "test log-likelihood (nats)"
    return points, lines(panels, x_label="steps in training (k)", y_label=label, shared=False)


def steps_at_test(shows: StepsAtTest, reference: Reference) -> tuple[Points, figures.Figure]:
    """Draw log-likelihoods of one model with other numbers of steps than it was trained with."""
    model, x = reference.model().model, some_rows(reference.training.open(shows.split).x, shows.rows)
    if not isinstance(model, IterativeNADE):
        raise ValueError(f"{shows.model}: expected a network of the paper's kind, found one of images")
    options = {"steps": shows.steps, "masks": shows.masks, "seed": shows.seed}
    points: Points = [
        {"steps": number, "log_likelihood": one.mean, "standard_error": one.standard_error, "rows": one.n_rows}
        for number, one in enumerate(summaries_by_steps(model, x.to(model.b.device), **options), 1)
    ]
    line = Line([point["steps"] for point in points], [point["log_likelihood"] for point in points])
    panels = {f"trained with k = {model.steps}": {"log-likelihood, estimated": line}}
    label = f"{shows.split} log-likelihood (nats)"
    return points, lines(panels, x_label="steps at test time", y_label=label, mark=model.steps)


def _grid_points(grid: Grid, shows: GridLines, cells: dict[str, Any]) -> Points:
    """Return a line for each combination of the axes but the last, and the level ones, in each data set."""
    *others, last = [axis for axis in grid.axes if axis != SET]
    unknown = set(shows.along + shows.level) - set(grid.axes[last])
    if unknown:
        raise ValueError(f"{grid.name} has no {last} {', '.join(sorted(unknown))}")
    points: Points = []
    for names in dict.fromkeys(tuple(cell.where[axis] for axis in (SET, *others)) for cell in grid.cells):
        where = dict(zip((SET, *others), names, strict=True))
        labels = [grid.axes[axis][where[axis]].label for axis in others]
        label = ", ".join(labels)
        points += _line(grid, where, label, shows.along, cells, level=False)
        # two level lines of one colour would look alike
        beside = {"beside": label} if len(shows.level) == 1 else {}
        for one in shows.level:
            level_label = ", ".join([*labels, grid.axes[last][one].label])
            points += [{**line, **beside} for line in _line(grid, where, level_label, (one,), cells, level=True)]
    return points


def _line(
    grid: Grid, where: dict[str, str], label: str, variants: tuple[str, ...], cells: dict[str, Any], *, level: bool
) -> Points:
    """Return a line of the variants of the last axis that were run, if there are any."""
    last = list(grid.axes)[-1]
    steps = {cell.where[last]: cell.recipe.model.steps for cell in grid.cells}
    means = {one: mean for one in variants if (mean := mean_over_seeds(cells, {**where, last: one})) is not None}
    if not means:
        return []
    line = {
        "panel": grid.axes[SET][where[SET]].label,
        "label": label,
        "steps": [] if level else [steps[one] for one in means],
        "log_likelihood": [mean.value for mean in means.values()],
        "standard_error": [mean.error for mean in means.values()],
        "seeds": [mean.seeds for mean in means.values()],
    }
    return [line]
