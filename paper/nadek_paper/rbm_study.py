"""Rows that are RBMs: train one, estimate its normalising constant; other rows may begin as one."""

import copy
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nadek.checkpoints import load_state, save_state
from nadek.models import IterativeNADE
from nadek.models.base import ConditionalModel
from nadek.training import Epoch, TrainingState, data_mean
from nadek.utils.configs import encode
from nadek_paper.estimated_job import RowTraining, estimated, estimated_job
from nadek_paper.rbm import RBM, RBMState, fit_rbm, log_partition
from nadek_paper.rbm_start import begin_as_rbm
from nadek_paper.rows import DBNRecipe, RBMChoice, RBMRecipe, Row, read_table
from nadek_paper.studies import Job, OnEpoch, Progress, Record, digest_of
from nadek_paper.workspace import Workspace


@dataclass(frozen=True)
class RBMTraining(RowTraining):
    """An RBM to be trained, perhaps over another one."""

    recipe: RBMRecipe | DBNRecipe
    below: "RBMTraining | None" = None

    @classmethod
    def of(cls, row: Row, workspace: Workspace) -> "RBMTraining":
        """Return the training of a row or DBN's top."""
        if row.rbm is None and row.dbn is None:
            raise ValueError(f"{row.table}/{row.name}: expected an RBM, found a row that is none")
        below = None if row.dbn is None else cls.named(row.dbn.first, row.data, workspace)
        return replace(super().of(row, workspace), below=below)

    @classmethod
    def named(cls, name: str, data: str, workspace: Workspace) -> "RBMTraining":
        """Return the training of "TABLE/ROW", an RBM of these data."""
        row = rbm_row(workspace.recipes, name)
        if row.data != data:
            raise ValueError(f"expected an RBM of {data}, found {name}, which is one of {row.data}")
        if row.rbm is None:
            raise ValueError(f"{name}: expected an RBM, found a row that is none")
        return cls.of(row, workspace)

    @property
    def choice(self) -> RBMChoice | None:
        """Return the choice of epoch, None for the last."""
        return self.recipe.choice if isinstance(self.recipe, RBMRecipe) else None

    def finished(self) -> RBM | None:
        """Return the RBM, if its training is finished."""
        state = self._load()
        return None if state is None or state.epochs < self.recipe.training.epochs else state.result

    def digest(self) -> str | None:
        """Return the digest of the finished RBM, or None."""
        rbm = self.finished()
        return None if rbm is None else digest_of(b"", rbm.W, rbm.b, rbm.c)

    def trained(self, *, force: bool = False, on_epoch: OnEpoch = None) -> RBMState:
        """Return the state of the finished training."""
        below = None if self.below is None else self.below.trained(on_epoch=on_epoch).result
        config, earlier = self.recipe.training, None if force else self._load()
        if earlier is not None and earlier.epochs == config.epochs:
            return earlier
        train, valid = self.open("train"), self.open("valid")
        self.folder.mkdir(parents=True, exist_ok=True)
        times = [time.perf_counter()]

        def after_epoch(state: RBMState, moved: float) -> None:
            times.append(time.perf_counter())
            point, costs = {"epoch": state.epochs, "moved": round(moved, 5), "seconds": times[-1] - times[-2]}, None
            choice = self.choice
            if choice is not None and (state.epochs % choice.every == 0 or state.epochs == config.epochs):
                constant = log_partition(state.average, train.mean(0), choice.annealing).value
                cost = point["validation"] = constant - state.average.log_weight(valid).mean().item()
                state.best = copy.deepcopy(state.average) if state.lowest is None or cost < state.lowest else state.best
                costs = [cost]
            state.curve.append(point)
            self._save(state)
            if on_epoch is not None:
                on_epoch(Epoch(state.epochs, config.epochs, "rbm", [moved], costs, state.lowest, 0.0))

        return fit_rbm(train, config, below=below, resume=earlier, on_epoch=after_epoch)

    def _save(self, state: RBMState) -> None:
        rbms = {"machine": state.rbm, "average": state.average, "velocity": state.velocity, "best": state.best}
        tensors = {f"{name}.{key}": value for name, one in rbms.items() if one for key, value in vars(one).items()}
        content = TrainingState({**tensors, "chains": state.chains}, {"epochs": state.epochs, "curve": state.curve})
        save_state(self.folder, content, **self._identity())

    def _identity(self) -> dict[str, Any]:
        """Return options that a saved training must share."""
        choice = self.choice
        return {
            "config": encode(self.recipe.training),
            "choice": None if choice is None else encode(choice),
            "below": None if self.below is None else self.below.digest(),
        }

    def _load(self) -> RBMState | None:
        content = load_state(self.folder)
        if content is None:
            return None
        saved, info = content
        if {key: info.get(key) for key in ("config", "choice", "below")} != self._identity():
            raise ValueError(f"{self.folder} holds an RBM of another recipe; use --force to train anew")
        tensors = {name: value.to(self.workspace.device) for name, value in saved.tensors.items()}
        names = [name for name in ("machine", "average", "velocity", "best") if f"{name}.W" in tensors]
        rbms = {name: RBM(*(tensors[f"{name}.{key}"] for key in ("W", "b", "c"))) for name in names}
        parts = rbms["machine"], rbms["average"], rbms["velocity"], tensors["chains"]
        return RBMState(*parts, **saved.info, best=rbms.get("best"))


def rbm_job(row: Row, workspace: Workspace) -> Job:
    """Return the job of a row that is an RBM; its likelihood is by annealed importance sampling."""
    training = RBMTraining.of(row, workspace)
    annealing = training.recipe.annealing

    def estimate(state: RBMState, progress: Progress) -> Record:
        rbm = state.result
        constant = log_partition(rbm, training.open("train").mean(0), annealing, progress=progress)
        return {
            **estimated(rbm.log_weight(training.open("test")) - constant.value, constant.error),
            "log_partition": constant.value,
            "log_partition_error": constant.error,
            "best_validation": constant.value - rbm.log_weight(training.open("valid")).mean().item(),
        }

    return estimated_job(
        row,
        training,
        settings=json.dumps(encode(annealing), sort_keys=True).encode(),
        tensors=lambda state: [*vars(state.result).values()],
        estimate=estimate,
    )


def rbm_row(recipes: Path, name: str) -> Row:
    """Return the row called "TABLE/ROW"."""
    table, _, row = name.partition("/")
    return read_table(recipes / table, only=row)[0]


def begin_as_rbm_row(
    model: ConditionalModel, name: str, data: str, workspace: Workspace, *, on_epoch: OnEpoch = None
) -> None:
    """Let a network begin as an RBM of the tables, which is trained first if need be."""
    if not isinstance(model, IterativeNADE):
        raise ValueError(f"start: expected a network with columns, found a {type(model).__name__}")
    training = RBMTraining.named(name, data, workspace)
    rbm = training.trained(on_epoch=on_epoch).result
    begin_as_rbm(model, rbm, mean=data_mean(training.open("train")))
