"""Carry out a grid: train and score every cell, one after the other; what is done is not done again."""

from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference.likelihood import estimate_log_prob, log_prob
from nadek.inference.summary import summarise
from nadek.runs.provenance import provenance
from nadek.runs.records import read_record, write_record
from nadek.training import Epoch, TrainingDivergedError
from nadek.utils.atomic import locked
from nadek_paper.grids.digest import current, digest, is_current
from nadek_paper.grids.grid import SEED, Cell, Grid, Part
from nadek_paper.jobs import Job, Workplace, some_rows

TEST_SEED = 0
"""Of the orderings or masks, the same for every cell: two cells differ by their models and nothing else."""


def run_grid(
    grid: Grid,
    place: Workplace,
    *,
    only: str | None = None,
    force: bool = False,
    on_cell: Callable[[str, int, int], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> dict[str, Any]:
    """Train and score the cells of a grid; return its record, in which a cell is a line, without those changed since.

    Several processes may do cells of a grid at a time. A model that is not kept goes once its line is written.

    Args:
        grid: what to run.
        place: folders and device.
        only: names of cells, with * for anything.
        force: train and score anew, whatever is there.
        on_cell: told (name of the cell, its number from 1, how many cells) before each that is not yet done.
        on_epoch: told what happened after each epoch.

    Raises:
        ValueError: if no cell has such a name, and as `Job.trained`.
        OSError: on data that are not there, or a folder that cannot be written to.
    """
    cells = [cell for cell in grid.cells if only is None or fnmatch(cell.name, only)]
    if not cells:
        raise ValueError(f"{grid.name} has no cell {only!r}; one is called {grid.cells[0].name}")
    path = place.record(f"grid-{grid.name}")
    for number, cell in enumerate(cells, 1):
        done = _done(grid, place)["cells"].get(cell.name)
        if not force and is_current(cell, done):
            continue
        if on_cell is not None:
            on_cell(cell.name, number, len(cells))
        told = _told(grid, cell, place, force=force, on_epoch=on_epoch)
        now = provenance(place.device)
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            record = _done(grid, place)  # read again: another process may have added cells of its own
            record["cells"][cell.name] = {**told, "origin": _origin(record["origins"], now)}
            record["cells"] = {c.name: record["cells"][c.name] for c in grid.cells if c.name in record["cells"]}
            write_record(path, record, lines="cells")
        if not grid.keep:
            job_of_cell(grid, cell, place).forget()
    record = _done(grid, place)
    return {**record, "cells": current(grid, record["cells"])}


def job_of_cell(grid: Grid, cell: Cell, place: Workplace) -> Job:
    """The training that a cell asks for."""
    part = cell.part
    name = f"{grid.name}-{cell.name}"
    return Job(name=name, data=part.data, recipe=cell.recipe, place=place, train_rows=part.train_rows)


def _done(grid: Grid, place: Workplace) -> dict[str, Any]:
    """The record as far as there is one."""
    path = place.record(f"grid-{grid.name}")
    begun = {"grid": grid.name, "title": grid.title, "quick": place.quick, "origins": [], "cells": {}}
    return {**begun, **read_record(path), "title": grid.title} if path.is_file() else begun


def _told(
    grid: Grid, cell: Cell, place: Workplace, *, force: bool, on_epoch: Callable[[Epoch], None] | None
) -> dict[str, Any]:
    """Train and score one cell; its line in the record. A training that diverges is a result, too."""
    job = job_of_cell(grid, cell, place)
    told = {**cell.where, SEED: cell.seed, "digest": digest(cell), "steps": cell.recipe.model.steps}
    try:
        saved = job.trained(force=force, on_epoch=on_epoch)
    except TrainingDivergedError:
        return {**told, "diverged": True}
    told |= {"parameters": sum(p.numel() for p in saved.model.parameters()), **_history(saved)}
    for split, prefix in (("valid", "validation"), ("test", "test")):
        mean, error = score(saved, job.open("valid" if split == "valid" else "test").x, cell.part)
        told |= {f"{prefix}_log_likelihood": mean, f"{prefix}_standard_error": error}
    return told


def score(saved: SavedModel, x: Tensor, part: Part) -> tuple[float, float]:
    """Mean log-likelihood of the rows to be scored, and its standard error over rows."""
    model, rows = saved.model, some_rows(x, part.rows).to(saved.model.b.device)
    generator = torch.Generator(rows.device).manual_seed(TEST_SEED)
    if part.scored == "estimate":
        told = summarise(estimate_log_prob(model, rows, n_masks=part.masks, generator=generator).unsqueeze(0))
    else:
        told = summarise(log_prob(model, rows, orderings=part.orderings, generator=generator))
    return told.mean, told.standard_error


def _history(saved: SavedModel) -> dict[str, Any]:
    """How the training went: the last step's costs, an epoch an entry."""
    history = saved.metrics["history"]
    told = {key: [epoch[key] and round(epoch[key][-1], 3) for epoch in history] for key in ("train", "validation")}
    return {"epochs": saved.metrics["epochs"], "seconds": round(saved.metrics["seconds"], 1), **told}


def _origin(origins: list[dict[str, Any]], now: dict[str, Any]) -> int:
    """The place of what computes now in the list of all that did; it is added where it is new."""
    if now not in origins:
        origins.append(now)
    return origins.index(now)
