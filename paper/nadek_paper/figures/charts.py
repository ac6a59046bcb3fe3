"""Pictures of numbers: training curves, the effect of k in training and at test time."""

from __future__ import annotations

from typing import Any

import torch

from nadek import figures
from nadek.inference.summary import summarise
from nadek.models import IterativeNADE
from nadek.runs.records import read_record
from nadek_paper.figures.config import Curves, GridLines, StepsAtTest
from nadek_paper.figures.references import find
from nadek_paper.grids import Grid, current, grids, mean_over_seeds, read_grid
from nadek_paper.grids.grid import SET
from nadek_paper.jobs import Workplace, some_rows
from nadek_paper.steps_at_test import log_probs_by_steps

Points = list[dict[str, Any]]
"""The numbers behind a picture."""


def curves(shows: Curves, place: Workplace) -> tuple[Points, figures.Figure]:
    """Costs along trainings, of all models that have a record.

    Raises:
        FileNotFoundError: if none has.
    """
    points: Points = []
    missing: list[str] = []
    for model, label in zip(shows.models, shows.labels, strict=True):
        try:
            points.append({"label": label, "model": model, **find(model, shows.recipe, place).curve()})
        except FileNotFoundError as error:
            missing.append(str(error))
    if not points:
        raise FileNotFoundError(missing[0])
    panels: dict[str, dict[str, figures.Line]] = {"training": {}, "validation": {}}
    for point in points:
        for title, key in (("training", "train"), ("validation", "validation")):
            panels[title][point["label"]] = figures.Line(range(1, len(point[key]) + 1), point[key])
    return points, figures.lines(panels, x_label="epoch", y_label="cost of the last step (nats)", skip=shows.skip)


def grid_lines(shows: GridLines, place: Workplace) -> tuple[Points, figures.Figure]:
    """Test log-likelihoods of a grid against the number of steps in training.

    Raises:
        FileNotFoundError: if the grid was not run as its file says now.
        ValueError: if there is no such grid.
    """
    if shows.grid not in grids(place.experiments):
        raise ValueError(f"there is no grid {shows.grid!r}; known are: {', '.join(grids(place.experiments))}")
    grid, path = read_grid(place.experiments / "grids" / f"{shows.grid}.toml"), place.record(f"grid-{shows.grid}")
    command = f"nadek reproduce {shows.grid}{' --quick' if place.quick else ''}"
    if not path.is_file():
        raise FileNotFoundError(f"there is no record {path}: give {command} first")
    points = _grid_points(grid, shows, current(grid, read_record(path)["cells"]))
    if not points:
        raise FileNotFoundError(f"{path} has none of these cells as they are now: give {command} first")
    panels: dict[str, dict[str, figures.Line]] = {}
    for point in points:
        # errors over rows say nothing here: all models are scored on the same rows
        errors = [error if n > 1 else None for error, n in zip(point["standard_error"], point["seeds"], strict=True)]
        line = figures.Line(point["steps"], point["log_likelihood"], errors, point.get("beside"))
        panels.setdefault(point["panel"], {})[point["label"]] = line
    label = "test log-likelihood (nats)"
    return points, figures.lines(panels, x_label="steps in training (k)", y_label=label, shared=False)


def steps_at_test(shows: StepsAtTest, place: Workplace) -> tuple[Points, figures.Figure]:
    """Log-likelihoods of one model with other numbers of steps than it was trained with."""
    reference = find(shows.model, shows.recipe, place)
    model, x = reference.model().model, some_rows(reference.job.open(shows.split).x, shows.rows)
    if not isinstance(model, IterativeNADE):
        raise ValueError(f"{shows.model}: expected a network of the paper's kind, found one of images")
    x = x.to(model.b.device)
    generator = torch.Generator(x.device).manual_seed(shows.seed)
    values = log_probs_by_steps(model, x, steps=shows.steps, masks=shows.masks, generator=generator)
    told = [summarise(row.unsqueeze(0)) for row in values]
    points: Points = [
        {"steps": number, "log_likelihood": one.mean, "standard_error": one.standard_error, "rows": one.n_rows}
        for number, one in enumerate(told, 1)
    ]
    line = figures.Line([p["steps"] for p in points], [p["log_likelihood"] for p in points])
    panels = {f"trained with k = {model.steps}": {"log-likelihood, estimated": line}}
    label = f"{shows.split} log-likelihood (nats)"
    return points, figures.lines(panels, x_label="steps at test time", y_label=label, mark=model.steps, skip=0.0)


def _grid_points(grid: Grid, shows: GridLines, cells: dict[str, Any]) -> Points:
    """A line for each combination of the axes but the last, and the level ones, in each data set."""
    *others, last = [axis for axis in grid.axes if axis != SET]
    unknown = set(shows.along + shows.level) - set(grid.axes[last])
    if unknown:
        raise ValueError(f"{grid.name} has no {last} {', '.join(sorted(unknown))}")
    steps = {cell.where[last]: cell.recipe.model.steps for cell in grid.cells}
    places = dict.fromkeys(tuple(cell.where[axis] for axis in (SET, *others)) for cell in grid.cells)
    points: Points = []
    for names in places:
        where = dict(zip((SET, *others), names, strict=True))
        labels = [grid.axes[axis][where[axis]].label for axis in others]
        label = ", ".join(labels)
        level_of = [(", ".join([*labels, grid.axes[last][one].label]), [one]) for one in shows.level]
        beside = {"beside": label} if len(level_of) == 1 else {}  # two level lines of one colour would look alike
        for told, along in [(label, list(shows.along)), *level_of]:
            means = {one: mean_over_seeds(cells, {**where, last: one}) for one in along}
            known = {one: mean for one, mean in means.items() if mean is not None}
            if known:
                level = told != label
                points.append(
                    {
                        "panel": grid.axes[SET][where[SET]].label,
                        "label": told,
                        "steps": [] if level else [steps[one] for one in known],
                        "log_likelihood": [mean.value for mean in known.values()],
                        "standard_error": [mean.error for mean in known.values()],
                        "seeds": [mean.seeds for mean in known.values()],
                        **(beside if level else {}),
                    }
                )
    return points
