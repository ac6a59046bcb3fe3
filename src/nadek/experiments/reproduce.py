"""Run one row of a table by one of its recipes: train, score the test rows, leave a record. Resumable at any point."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nadek.checkpoints import SavedModel, holds_model, holds_state, load_saved
from nadek.experiments.provenance import provenance
from nadek.experiments.recipe import Recipe, is_recipe
from nadek.experiments.rows import Kind, Row
from nadek.experiments.run import train
from nadek.experiments.scoring import Scoring
from nadek.experiments.sources import Source, Split, open_data
from nadek.files import replacing
from nadek.likelihood import Progress
from nadek.training import Epoch

QUICK_ROWS, QUICK_ORDERINGS = 200, 2
"""How little a quick run looks at."""


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """Where things lie, and what computes.

    Attributes:
        experiments: the folder of the tables; records go to its ``results``.
        runs: where models are trained and kept.
        data_dir: where known data sets lie; the environment variable NADEK_DATA when None.
        device: where to compute.
    """

    experiments: Path = Path("experiments")
    runs: Path = Path("runs")
    data_dir: Path | None = None
    device: torch.device | str = "cpu"


def reproduce(
    row: Row,
    kind: Kind,
    place: Workplace,
    *,
    quick: bool = False,
    force: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a row's model, or go on with it, or take the finished one; score it; return its record.

    The model is trained in ``runs/TABLE-NAME-KIND``, and the record is ``experiments/results/TABLE-NAME-KIND.json``.
    What is finished is not done again: a model of the same recipe is not trained again, an ordering that was scored
    is not scored again, and a record of the same model and the same scoring is returned as it is.

    Args:
        row: what to run.
        kind: which of its recipes.
        place: folders and device.
        quick: one epoch a phase, a few rows and orderings; everything, the record too, stays in ``runs/quick``.
        force: begin anew, whatever is there.
        on_epoch: told what happened after each epoch.
        progress: told how many rows were scored.

    Raises:
        ValueError: if the row has no such recipe, the recipe does not fit the data, or the folder holds the model or
            the unfinished training of another recipe, or one that diverged.
        TrainingDivergedError: as `train`.
        OSError: on data that are not there, or a folder that cannot be written to.
    """
    run = _Run.of(row, kind, place, quick=quick)
    saved = _trained(run, force=force, on_epoch=on_epoch)
    scoring = Scoring.of(run.row, saved.model, run.open("test").x)
    if not force and run.record.is_file():
        done = read_record(run.record)
        if done.get("digest") == scoring.digest:
            return done
    record = {**run.told(), **scoring.told(run.folder, progress), **_origin(saved, place.device)}
    write_record(run.record, record)
    scoring.forget(run.folder)
    return read_record(run.record)


def record_path(experiments: Path, row: Row, kind: Kind) -> Path:
    """Where the record of a row lies."""
    return experiments / "results" / f"{row.table}-{row.name}-{kind}.json"


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a record.

    Raises:
        ValueError: if it is no JSON object.
        OSError: if it is not there.
    """
    try:
        record = json.loads(Path(path).read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(record).__name__}")
    return record


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record: a number that is none becomes null, and an epoch of the curve is one line."""
    told: dict[str, Any] = {key: None if _is_nan(value) else value for key, value in record.items()}
    curve = [f"    {json.dumps(epoch, allow_nan=False)}" for epoch in told.pop("curve")]
    text = json.dumps(told, indent=2, allow_nan=False).removesuffix("\n}")
    text += ',\n  "curve": [\n' + ",\n".join(curve) + "\n  ]\n}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as stream:
        stream.write(f"{text}\n".encode())


@dataclass(frozen=True)
class _Run:
    """A row with one recipe, and where it goes."""

    row: Row
    kind: Kind
    recipe: Recipe
    place: Workplace
    folder: Path
    record: Path
    limit: int | None

    @classmethod
    def of(cls, row: Row, kind: Kind, place: Workplace, *, quick: bool) -> "_Run":
        """The run, or a quick look at what it would be."""
        recipe, name = row.recipe(kind), f"{row.table}-{row.name}-{kind}"
        if not quick:
            return cls(row, kind, recipe, place, place.runs / name, record_path(place.experiments, row, kind), None)
        phases = tuple(replace(phase, epochs=1) for phase in recipe.training.phases)
        recipe = replace(recipe, training=replace(recipe.training, phases=phases))
        mixed = None if row.ensemble_orderings is None else min(QUICK_ORDERINGS, row.ensemble_orderings)
        row = replace(row, orderings=min(QUICK_ORDERINGS, row.orderings), ensemble_orderings=mixed)
        folder = place.runs / "quick" / name
        return cls(row, kind, recipe, place, folder, folder / "record.json", QUICK_ROWS)

    def open(self, split: Split) -> Source:
        """Rows of one part of the data."""
        source = open_data(self.row.data, split=split, data_dir=self.place.data_dir)
        if source.x.shape[1] != self.recipe.model.n_variables:
            raise ValueError(
                f"{self.row.table}/{self.row.name}: the recipe is for {self.recipe.model.n_variables} variables,"
                f" {self.row.data} has {source.x.shape[1]}"
            )
        return Source(source.x[: self.limit], source.schema)

    def told(self) -> dict[str, Any]:
        """What a record says of the row."""
        row = self.row
        return {
            "table": row.table,
            "row": row.name,
            "recipe": self.kind,
            "title": row.title,
            "data": row.data,
            "quick": self.limit is not None,
            "paper": row.paper,
            "paper_ensemble": row.paper_ensemble,
        }


def _trained(run: _Run, *, force: bool, on_epoch: Callable[[Epoch], None] | None) -> SavedModel:
    """The finished model of the run's folder; trained first where there is none."""
    folder, recipe, device = run.folder, run.recipe, run.place.device
    if holds_model(folder) and not holds_state(folder) and not force:
        saved = load_saved(folder, device=device)
        if not is_recipe(recipe, saved.metrics.get("config")):
            raise ValueError(f"{folder} holds a model of another recipe; use --force to train anew")
        if saved.metrics.get("diverged"):
            raise ValueError(f"the training of {folder} diverged; change the recipe, or use --force to train anew")
        return saved
    source, held_out = run.open("train"), run.open("valid")
    return train(
        recipe,
        folder,
        source.x,
        held_out.x,
        schema=source.schema,
        device=device,
        resume=not force,
        save_every=60.0,
        on_epoch=on_epoch,
    )


def _origin(saved: SavedModel, device: torch.device | str) -> dict[str, Any]:
    """What a record says of the training, and of what computed."""
    told = saved.metrics
    return {
        **{key: told[key] for key in ("best_validation", "epochs", "seconds", "config")},
        "seed": told["config"]["seed"],
        **{key: told[key] for key in ("commit", "versions", "hardware")},
        "evaluation": provenance(device),
        "curve": [_rounded(epoch) for epoch in told["history"]],
    }


def _rounded(epoch: dict[str, Any]) -> dict[str, Any]:
    """An epoch with four decimals: a curve is for looking at."""
    told = dict(epoch)
    for key in ("train", "validation"):
        if told[key] is not None:
            told[key] = [round(cost, 4) for cost in told[key]]
    for key in ("best", "seconds"):
        if told[key] is not None:
            told[key] = round(told[key], 4)
    return told


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
