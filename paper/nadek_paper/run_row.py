"""Run one row of a table by one of its recipes: train, score the test rows, leave a record. Resumable at any point."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nadek.inference.decoders import Progress
from nadek.runs.records import brought_up_to_date, read_record, write_record
from nadek.runs.warm_start import Beginning
from nadek.training import Epoch
from nadek_paper.jobs import Job, Workplace, origin
from nadek_paper.rows import Kind, Row, names_machine
from nadek_paper.run_rbm import begin_as_machine, machine_digest, reproduce_machine
from nadek_paper.scoring import Scoring

QUICK_ORDERINGS = 2
"""How many orderings a quick look takes."""


def reproduce(
    row: Row,
    kind: Kind,
    place: Workplace,
    *,
    force: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a row's model, or go on with it, or take the finished one; score it; return its record.

    The model is trained in ``runs/TABLE-NAME-KIND``, and the record is ``experiments/results/TABLE-NAME-KIND.json``.
    What is finished is not done again: a model of the same recipe is not trained again, an ordering that was scored
    is not scored again, and a record of the same model and the same scoring stays, but for what it says of the row.

    Args:
        row: what to run.
        kind: which of its recipes.
        place: folders and device.
        force: begin anew, whatever is there.
        on_epoch: told what happened after each epoch.
        progress: told how many rows were scored.

    Raises:
        ValueError: if the row has no such recipe, and as `Job.trained`.
        TrainingDivergedError: as `train`.
        OSError: on data that are not there, or a folder that cannot be written to.
    """
    about = _told(row, kind, quick=place.quick)
    if row.rbm is not None and kind in row.kinds:
        return reproduce_machine(row, place, about, force=force, on_epoch=on_epoch, progress=progress)
    job = job_of(row, kind, place, on_epoch=on_epoch)
    saved = job.trained(force=force, on_epoch=on_epoch)
    scoring = Scoring.of(_looked_at(row) if place.quick else row, saved.model, job.open("test").x)
    path = place.record(job.name)
    if not force and path.is_file():
        done = read_record(path)
        if done.get("digest") == scoring.digest:
            return brought_up_to_date(path, done, about, lines="curve")
    told = scoring.told(job.folder, progress)
    record = {**about, **told, **origin(saved, place.device)}
    write_record(path, record, lines="curve")
    scoring.forget(job.folder)
    return read_record(path)


def job_of(row: Row, kind: Kind, place: Workplace, *, on_epoch: Callable[[Epoch], None] | None = None) -> Job:
    """The training that a row asks for.

    Args:
        row: what to run.
        kind: which of its recipes.
        place: folders and device.
        on_epoch: told of the training of the RBM that it begins as, if there is one.

    Raises:
        ValueError: if the row has no such recipe.
    """
    recipe, begin = row.recipe(kind), None
    if recipe.start is not None and names_machine(recipe.start, place.experiments):
        begin = Beginning(
            partial(begin_as_machine, name=recipe.start, data=row.data, place=place, on_epoch=on_epoch),
            partial(machine_digest, recipe.start, place),
        )
    return Job(name=f"{row.table}-{row.name}-{kind}", data=row.data, recipe=recipe, place=place, begin=begin)


def record_path(experiments: Path, row: Row, kind: Kind) -> Path:
    """Where the record of a row lies."""
    return experiments / "results" / f"{row.table}-{row.name}-{kind}.json"


def _looked_at(row: Row) -> Row:
    """The row with so few orderings as a quick look takes."""
    mixed = None if row.ensemble_orderings is None else min(QUICK_ORDERINGS, row.ensemble_orderings)
    return replace(row, orderings=min(QUICK_ORDERINGS, row.orderings), ensemble_orderings=mixed)


def _told(row: Row, kind: Kind, *, quick: bool) -> dict[str, Any]:
    """What a record says of the row."""
    return {
        "table": row.table,
        "row": row.name,
        "recipe": kind,
        "title": row.title,
        "data": row.data,
        "quick": quick,
        "paper": row.paper,
        "paper_ensemble": row.paper_ensemble,
    }
