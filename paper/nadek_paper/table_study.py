"""Rows of a table as a study: a model a row, a record each."""

from dataclasses import replace
from functools import partial

from nadek.checkpoints import SavedModel
from nadek.runs.resume import Beginning
from nadek_paper.darn_study import darn_job
from nadek_paper.dbn_study import dbn_job
from nadek_paper.markdown import number
from nadek_paper.rbm_study import RBMTraining, begin_as_rbm_row, rbm_job, rbm_row
from nadek_paper.rows import DARNRecipe, DBNRecipe, Kind, RBMRecipe, Row, names_rbm, read_table
from nadek_paper.scoring import Scoring
from nadek_paper.studies import Job, OnEpoch, Progress, Record, Study, scored_once, write_changed
from nadek_paper.trainings import Training, origin
from nadek_paper.workspace import Workspace

JOBS = {RBMRecipe: rbm_job, DBNRecipe: dbn_job, DARNRecipe: darn_job}
QUICK_ORDERINGS = 2
"""Orderings in a quick look."""

VALUES = ("paper", "test_log_likelihood", "standard_error", "paper_ensemble", "ensemble", "ensemble_standard_error")
COLUMNS = ("model", "paper", "ours", "±", "paper, ensemble", "ours, ensemble", "±")


def table_study(name: str, kind: Kind, workspace: Workspace, *, only: str | None = None) -> Study:
    """Return the study of a table's rows that have a kind of recipe; its record is row -> record."""
    rows = read_table(workspace.recipes / name, only=only)
    skipped = {} if only is not None else {row.name: row for row in rows if kind not in row.kinds}
    return Study(
        title=f"{name}, recipe {kind}: test log-likelihood in nats a row",
        columns=COLUMNS,
        lines=lambda record: [[one["title"], *(number(one[key]) for key in VALUES)] for one in record.values()],
        jobs=[row_job(row, kind, workspace) for row in rows if row.name not in skipped],
        skipped={
            key: f"{'only cited' if row.cited else f'no recipe {kind!r}'}, not run" for key, row in skipped.items()
        },
    )


def row_job(row: Row, kind: Kind, workspace: Workspace) -> Job:
    """Return the job of a row: the model is trained in ``runs/TABLE-NAME-KIND``, the record has the same name.

    A record of the same model and the same scoring stays, but for its description of the row.
    """
    if row.baseline is not None and kind in row.kinds:
        return JOBS[type(row.baseline)](row, workspace)
    training = training_of(row, kind, workspace)

    def train(*, force: bool, on_epoch: OnEpoch) -> SavedModel:
        return training_of(row, kind, workspace, on_epoch=on_epoch).trained(force=force, on_epoch=on_epoch)

    def score(saved: SavedModel, *, force: bool, progress: Progress) -> Record:
        scoring = Scoring.of(_few_orderings(row) if workspace.quick else row, saved.model, training.open("test").x)
        about = row.about(kind, quick=workspace.quick)

        def scores() -> Record:
            return {**scoring.scores(training.folder, progress), **origin(saved, workspace.device)}

        return scored_once(workspace.record(training.name), scoring.digest, about, scores, force=force)

    def write(record: Record) -> Record:
        record = write_changed(workspace.record(training.name), record)
        Scoring.forget(training.folder)
        return record

    return Job(name=row.name, train=train, score=score, write=write)


def training_of(row: Row, kind: Kind, workspace: Workspace, *, on_epoch: OnEpoch = None) -> Training:
    """Return the training of a row's network."""
    recipe, begin = row.recipe(kind), None
    if recipe.start is not None and names_rbm(recipe.start, workspace.recipes):
        begin = Beginning(
            partial(begin_as_rbm_row, name=recipe.start, data=row.data, workspace=workspace, on_epoch=on_epoch),
            RBMTraining.of(rbm_row(workspace.recipes, recipe.start), workspace).digest,
        )
    return Training(name=row.run_name(kind), data=row.data, recipe=recipe, workspace=workspace, begin=begin)


def _few_orderings(row: Row) -> Row:
    ensemble = None if row.ensemble_orderings is None else min(QUICK_ORDERINGS, row.ensemble_orderings)
    return replace(row, orderings=min(QUICK_ORDERINGS, row.orderings), ensemble_orderings=ensemble)
