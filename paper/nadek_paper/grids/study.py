"""A grid as a study: every cell is a job, and a line of one record with a digest of the cell."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from fnmatch import fnmatch
from typing import Any

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference.likelihood import estimate_log_prob, log_prob
from nadek.inference.summary import summarise
from nadek.runs.data import Split
from nadek.runs.provenance import provenance
from nadek.training import TrainingDivergedError
from nadek.utils.atomic import locked, read_record
from nadek.utils.configs import encode
from nadek_paper.grids.grid import SEED, Cell, Grid, Part
from nadek_paper.markdown import number
from nadek_paper.scoring import TEST_SEED
from nadek_paper.studies import Job, OnEpoch, Progress, Record, Study, write_record
from nadek_paper.trainings import Training
from nadek_paper.workspace import Workspace, some_rows

VALUES = ("validation_log_likelihood", "test_log_likelihood", "test_standard_error", "seconds")
SPLITS: tuple[tuple[Split, str], ...] = (("valid", "validation"), ("test", "test"))


def grid_study(grid: Grid, workspace: Workspace, *, only: str | None = None) -> Study:
    """Return the study of a grid's cells; its record leaves out cells that were changed since.

    Several processes may run cells of one grid at a time.
    """
    cells = [cell for cell in grid.cells if only is None or fnmatch(cell.name, only)]
    if not cells:
        raise ValueError(f"{grid.name} has no cell {only!r}; one is called {grid.cells[0].name}")

    def finish(results: Record) -> Record:
        record = read_grid_record(grid, workspace)
        return {**record, "cells": current(grid, record["cells"])}

    return Study(
        title=f"{grid.title}: log-likelihoods in nats a row",
        columns=("cell", "validation", "test", "±", "seconds"),
        lines=lambda record: [
            [name, *(number(cell.get(key)) for key in VALUES)] for name, cell in record["cells"].items()
        ],
        jobs=[_job(cell, grid, workspace) for cell in cells],
        finish=finish,
    )


def _job(cell: Cell, grid: Grid, workspace: Workspace) -> Job:
    """Return the job of a cell: a line of the grid's record, and a model that may go once it is scored."""
    training = training_of_cell(grid, cell, workspace)

    def train(*, force: bool, on_epoch: OnEpoch) -> SavedModel | None:
        try:
            return training.trained(force=force, on_epoch=on_epoch)
        except TrainingDivergedError:
            return None  # a result, too

    def line(saved: SavedModel | None, *, force: bool, progress: Progress) -> Record:
        about = {**cell.where, SEED: cell.recipe.seed, "digest": _digest(cell), "steps": cell.recipe.model.steps}
        if saved is None:
            return {**about, "diverged": True}
        about |= {"parameters": sum(p.numel() for p in saved.model.parameters()), **_history(saved)}
        for split, prefix in SPLITS:
            mean, error = score(saved, training.open(split).x, cell.part)
            about |= {f"{prefix}_log_likelihood": mean, f"{prefix}_standard_error": error}
        return about

    def write(line: Record) -> None:
        path, now = workspace.record(record_name(grid.name)), provenance(workspace.device)
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            record = read_grid_record(grid, workspace)  # another process may have added cells
            if now not in record["origins"]:
                record["origins"].append(now)
            cells = {**record["cells"], cell.name: {**line, "origin": record["origins"].index(now)}}
            record["cells"] = {one.name: cells[one.name] for one in grid.cells if one.name in cells}
            write_record(path, record, lines="cells")
        if not grid.keep:
            training.forget()

    return Job(
        name=cell.name,
        train=train,
        score=line,
        write=write,
        is_done=lambda: is_current(cell, read_grid_record(grid, workspace)["cells"].get(cell.name)),
    )


def record_name(grid: str) -> str:
    """Return the name of a grid's record."""
    return f"grid-{grid}"


def read_grid_record(grid: Grid, workspace: Workspace) -> Record:
    """Return the record of a grid, without cells if there is none yet."""
    path = workspace.record(record_name(grid.name))
    record = read_record(path) if path.is_file() else {}
    empty = {"grid": grid.name, "title": grid.title, "quick": workspace.quick, "origins": [], "cells": {}}
    return {**empty, **record, "title": grid.title}


def training_of_cell(grid: Grid, cell: Cell, workspace: Workspace) -> Training:
    """Return the training of a cell."""
    name, part = f"{grid.name}-{cell.name}", cell.part
    return Training(name=name, data=part.data, recipe=cell.recipe, workspace=workspace, train_rows=part.train_rows)


def score(saved: SavedModel, x: Tensor, part: Part) -> tuple[float, float]:
    """Return the mean log-likelihood of the rows to be scored, and its standard error over rows."""
    model, rows = saved.model, some_rows(x, part.rows).to(saved.model.b.device)
    generator = torch.Generator(rows.device).manual_seed(TEST_SEED)
    if part.scored == "estimate":
        summary = summarise(estimate_log_prob(model, rows, n_masks=part.masks, generator=generator).unsqueeze(0))
    else:
        summary = summarise(log_prob(model, rows, orderings=part.orderings, generator=generator))
    return summary.mean, summary.standard_error


def _history(saved: SavedModel) -> dict[str, Any]:
    """Return the course of the training: the last step's costs, an epoch an entry."""
    history = saved.metrics["history"]
    costs = {key: [epoch[key] and round(epoch[key][-1], 3) for epoch in history] for key in ("train", "validation")}
    return {"epochs": saved.metrics["epochs"], "seconds": round(saved.metrics["seconds"], 1), **costs}


def is_current(cell: Cell, line: Mapping[str, Any] | None) -> bool:
    """Return True if a line of a record is of the cell as it is today."""
    return line is not None and line.get("digest") == _digest(cell)


def current(grid: Grid, cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lines of a record that are current, in the order of the grid."""
    return {cell.name: cells[cell.name] for cell in grid.cells if is_current(cell, cells.get(cell.name))}


def _digest(cell: Cell) -> str:
    """Digest all that a cell's numbers depend on.

    The option ``memory``, which came later, counts only where there is one.
    """
    recipe = {key: value for key, value in encode(cell.recipe).items() if key != "memory" or value}
    config = {"recipe": recipe, "part": {**asdict(cell.part), "label": None}}
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
