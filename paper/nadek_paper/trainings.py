"""Trainings of networks in a folder: resumed, checked, and found by whoever needs the model."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nadek.checkpoints import CONFIG, SavedModel, holds_model, holds_state, load_saved
from nadek.runs.data import CodedTable, Split
from nadek.runs.provenance import provenance
from nadek.runs.recipe import is_recipe
from nadek.runs.resume import DIGESTS, Beginning, built_on, other
from nadek.runs.train import train
from nadek.training import Recipe
from nadek_paper.studies import OnEpoch
from nadek_paper.workspace import Workspace

TRAINED_ON = "trained_on"
"""Key of a model's metrics that names its training rows."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """A network to be trained in the folder ``name``.

    Of the training rows, ``train_rows`` are chosen at random, always the same. ``begin`` are the initial weights: None
    for the model that the recipe's ``start`` names, or random ones.
    """

    name: str
    data: str
    recipe: Recipe
    workspace: Workspace
    train_rows: int | None = None
    begin: Beginning | None = None

    @property
    def folder(self) -> Path:
        """Return the folder of the training and its model."""
        return self.workspace.folder(self.name)

    def open(self, split: Split) -> CodedTable:
        """Read one part of the data."""
        table = self.workspace.open(self.data, split, train_rows=self.train_rows)
        columns, expected = table.x.shape[1], self.recipe.model.n_variables
        if columns != expected:
            raise ValueError(f"{self.name}: the recipe is for {expected} variables, {self.data} has {columns}")
        return table

    def trained(self, *, force: bool = False, on_epoch: OnEpoch = None) -> SavedModel:
        """Return the finished model; train it first, or go on, where there is none."""
        model = None if force else self.finished()
        if model is not None:
            return model
        table, validation = self.open("train"), self.open("valid")
        return train(
            self._recipe,
            self.folder,
            replace(table, trained_on={TRAINED_ON: self._rows}),
            validation,
            device=self.workspace.device,
            resume=not force,
            begin=self.begin,
            save_every=60.0,
            on_epoch=on_epoch,
        )

    def finished(self) -> SavedModel | None:
        """Return the model, if its training is finished."""
        if not holds_model(self.folder) or holds_state(self.folder):
            return None
        saved = load_saved(self.folder, device=self.workspace.device)
        mismatch = None
        if not is_recipe(self._recipe, saved.metrics.get("config")):
            mismatch = "another recipe"
        elif saved.metrics.get(TRAINED_ON, self._rows) != self._rows:  # the first models do not name their rows
            mismatch = "other training rows"
        else:
            mismatch = other(saved.metrics.get(DIGESTS), built_on(self._recipe, self.folder, self.begin))
        if mismatch is not None:
            raise ValueError(f"{self.folder} holds a model of {mismatch}; use --force to train anew")
        if saved.metrics.get("diverged"):
            raise ValueError(f"the training of {self.folder} diverged; change the recipe, or use --force to train anew")
        return saved

    def forget(self) -> None:
        """Remove the folder; interrupted halfway, it leaves no model."""
        (self.folder / CONFIG).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)  # another process may remove it, too

    @property
    def _rows(self) -> dict[str, Any]:
        return {"data": self.data, "train_rows": self.train_rows}

    @property
    def _recipe(self) -> Recipe:
        """Return the recipe, with one epoch a phase in a quick look."""
        if not self.workspace.quick:
            return self.recipe
        phases = tuple(replace(phase, epochs=1) for phase in self.recipe.training.phases)
        return replace(self.recipe, training=replace(self.recipe.training, phases=phases))


def origin(saved: SavedModel, device: torch.device | str) -> dict[str, Any]:
    """Return a record's entries on a model's training, and on the machine that scored it."""
    metrics = saved.metrics
    return {
        **{key: metrics[key] for key in ("best_validation", "epochs", "seconds", "config")},
        "seed": metrics["config"]["seed"],
        **{key: metrics[key] for key in ("commit", "versions", "hardware")},
        "evaluation": provenance(device),
        "curve": [_rounded(epoch) for epoch in metrics["history"]],
    }


def _rounded(epoch: dict[str, Any]) -> dict[str, Any]:
    """Return an epoch with four decimals: a curve is for looking at."""
    costs = {key: epoch[key] and [round(cost, 4) for cost in epoch[key]] for key in ("train", "validation")}
    numbers = {key: None if epoch[key] is None else round(epoch[key], 4) for key in ("best", "seconds")}
    return {**epoch, **costs, **numbers}
