"""The job of a row whose likelihood can only be estimated: an RBM, a DBN or a DARN."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from nadek.runs.provenance import provenance
from nadek.utils.configs import encode
from nadek_paper.rows import DARNRecipe, DBNRecipe, RBMRecipe, Row
from nadek_paper.studies import Job, OnEpoch, Progress, Record, digest_of, same_result, write_changed
from nadek_paper.workspace import Workspace


def estimated_job(
    row: Row,
    workspace: Workspace,
    recipe: RBMRecipe | DBNRecipe | DARNRecipe,
    *,
    train: Callable[..., Any],
    settings: bytes,
    tensors: Callable[[Any], Sequence[Tensor]],
    estimate: Callable[[Any, Progress], Record],
) -> Job:
    """Return the job of a row.

    Args:
        row: the row.
        workspace: its folders and device.
        recipe: the training, for the record.
        train: returns the trained model, which has a ``curve``; takes ``force`` and ``on_epoch``.
        settings: those of the estimate.
        tensors: what the estimate depends on, of the trained model: its weights and the test rows.
        estimate: returns the figures of the trained model.
    """
    path = workspace.record(row.run_name("modern"))

    def score(trained: Any, force: bool, progress: Progress) -> Record:  # noqa: ANN401, FBT001 - a Job's
        about, digest = row.about("modern", quick=workspace.quick), digest_of(settings, *tensors(trained))
        earlier = None if force else same_result(path, digest)
        if earlier is not None:
            return {**earlier, **about}
        return {
            **about,
            **estimate(trained, progress),
            "epochs": recipe.training.epochs,
            "seconds": sum(point["seconds"] for point in trained.curve),
            "config": encode(recipe),
            "digest": digest,
            "evaluation": provenance(workspace.device),
            "curve": trained.curve,
        }

    def trained(force: bool, on_epoch: OnEpoch) -> Any:  # noqa: ANN401, FBT001 - a Job's
        return train(force=force, on_epoch=on_epoch)

    return Job(name=row.name, train=trained, score=score, write=lambda record: write_changed(path, record))
