"""Rows whose likelihood can only be estimated, an RBM, a DBN or a DARN: their trainings and jobs."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from nadek.runs.data import Split
from nadek.runs.provenance import provenance
from nadek.utils.configs import encode
from nadek_paper.result_records import ENSEMBLE
from nadek_paper.rows import Row
from nadek_paper.studies import Job, OnEpoch, Progress, Record, digest_of, scored_once, write_changed
from nadek_paper.workspace import Workspace

T = TypeVar("T", bound="RowTraining")
QUICK: dict[str, Callable[[Any], Any]] = {
    "training": lambda training: replace(training, epochs=1),
    "choice": lambda choice: None,
    "annealing": lambda annealing: replace(annealing, temperatures=20),
    "draws": lambda draws: min(draws, 10),
}
"""Options of a quick look, from those of a recipe."""


@dataclass(frozen=True)
class RowTraining(ABC):
    """A model to be trained in the folder ``name``."""

    name: str
    data: str
    recipe: Any
    workspace: Workspace

    @classmethod
    def of(cls: type[T], row: Row, workspace: Workspace) -> T:
        """Return the training of a row, or that of a quick look."""
        recipe: Any = row.baseline
        if workspace.quick:
            recipe = replace(recipe, **{key: QUICK[key](one) for key, one in vars(recipe).items() if key in QUICK})
        return cls(row.run_name("modern"), row.data, recipe, workspace)

    @property
    def folder(self) -> Path:
        """Return the folder of the training and the model."""
        return self.workspace.folder(self.name)

    def open(self, split: Split) -> Tensor:
        """Return the rows of one part of the data, on the device."""
        return self.workspace.open(self.data, split).x.to(self.workspace.device)

    @abstractmethod
    def trained(self, *, force: bool = False, on_epoch: OnEpoch = None) -> Any:  # noqa: ANN401 - by model
        """Return the finished training, which has a ``curve``; train first, or go on, where there is none."""


def estimated(scores: Tensor, error: float = 0.0) -> dict[str, Any]:
    """Return numbers of estimates [N] that share a constant."""
    return {
        "test_log_likelihood": scores.mean().item(),
        "standard_error": math.hypot(scores.std().item() / len(scores) ** 0.5, error),
        "rows": len(scores),
        **dict.fromkeys(("orderings", *ENSEMBLE)),
    }


def estimated_job(
    row: Row,
    training: RowTraining,
    *,
    settings: bytes,
    tensors: Callable[[Any], Sequence[Tensor]],
    estimate: Callable[[Any, Progress], Record],
) -> Job:
    """Return the job of a row.

    The estimate depends on its ``settings``, the weights ``tensors`` of the trained model, and the test rows.
    """
    workspace, recipe = training.workspace, training.recipe
    path = workspace.record(training.name)

    def score(trained: Any, *, force: bool, progress: Progress) -> Record:  # noqa: ANN401 - by model
        digest = digest_of(settings, *tensors(trained), training.open("test"))

        def results() -> Record:
            return {
                **estimate(trained, progress),
                "epochs": recipe.training.epochs,
                "seconds": sum(point["seconds"] for point in trained.curve),
                "config": encode(recipe),
                "digest": digest,
                "evaluation": provenance(workspace.device),
                "curve": trained.curve,
            }

        return scored_once(path, digest, row.about("modern", quick=workspace.quick), results, force=force)

    return Job(
        name=row.name,
        train=training.trained,
        score=score,
        write=lambda record: write_changed(path, record),
    )
