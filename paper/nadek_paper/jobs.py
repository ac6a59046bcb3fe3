"""Models that experiments need: where each lies, on which rows it is trained, and how to get it trained. Resumable."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nadek.checkpoints import CONFIG, SavedModel, holds_model, holds_state, load_saved, weights_digest
from nadek.runs.data import Source, Split, open_data
from nadek.runs.fingerprint import DIGESTS, built_on, other
from nadek.runs.provenance import provenance
from nadek.runs.recipe import Recipe, is_recipe
from nadek.runs.train import train
from nadek.runs.warm_start import Beginning
from nadek.training import Epoch

QUICK_ROWS = 200
"""How many rows of each part a quick look takes."""

CHOICE_SEED = 0
"""Of the choice of rows, where not all of them are taken."""

TRAINED_ON = "trained_on"
"""Where the metrics of a model say which rows it learnt from."""


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """Where things lie, and what computes.

    Attributes:
        experiments: the folder of the tables; records go to its ``results``.
        runs: where models are trained and kept.
        data_dir: where known data sets lie; the environment variable NADEK_DATA when None.
        device: where to compute.
        quick: take a look only: an epoch a phase and few rows; everything, records too, stays in ``runs/quick``.
        pictures: where pictures go.
    """

    experiments: Path = Path("experiments")
    runs: Path = Path("runs")
    data_dir: Path | None = None
    device: torch.device | str = "cpu"
    quick: bool = False
    pictures: Path = Path("docs/pictures")

    def folder(self, name: str) -> Path:
        """Where a model is trained."""
        return self.runs / "quick" / name if self.quick else self.runs / name

    def record(self, name: str) -> Path:
        """Where a record goes."""
        return self.folder(name) / "record.json" if self.quick else self.experiments / "results" / f"{name}.json"

    def picture(self, name: str) -> Path:
        """Where a picture goes."""
        return self.folder(f"figures-{name}") / f"{name}.png" if self.quick else self.pictures / f"{name}.png"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A model to be trained.

    Attributes:
        name: of its folder; told in messages.
        data: a known data set.
        recipe: how to train it.
        place: folders and device.
        train_rows: how many training rows to take, a fixed random choice; None for all.
        begin: what the weights begin as; None for the model that the recipe's ``start`` names, or random ones.
    """

    name: str
    data: str
    recipe: Recipe
    place: Workplace
    train_rows: int | None = None
    begin: Beginning | None = None

    @property
    def folder(self) -> Path:
        """Where the model is trained and kept."""
        return self.place.folder(self.name)

    def open(self, split: Split) -> Source:
        """Rows of one part of the data; few of them for a quick look."""
        source = open_data(self.data, split=split, data_dir=self.place.data_dir)
        found, expected = source.x.shape[1], self.recipe.model.n_variables
        if found != expected:
            raise ValueError(f"{self.name}: the recipe is for {expected} variables, {self.data} has {found}")
        x = source.x
        if split == "train":
            x = some_rows(x, self.train_rows)
        return Source(x[:QUICK_ROWS] if self.place.quick else x, source.schema)

    def trained(self, *, force: bool = False, on_epoch: Callable[[Epoch], None] | None = None) -> SavedModel:
        """The finished model; trained first, or further, where there is none.

        Args:
            force: train anew, whatever is there.
            on_epoch: told what happened after each epoch.

        Raises:
            ValueError: if the recipe does not fit the data, or the folder holds the model or the unfinished training of
                another recipe, of other training rows, of another start or teacher, or one that diverged.
            TrainingDivergedError: as `train`.
            OSError: on data that are not there, or a folder that cannot be written to.
        """
        done = None if force else self.finished()
        if done is not None:
            return done
        source, held_out = self.open("train"), self.open("valid")
        return train(
            self._recipe,
            self.folder,
            replace(source, trained_on={TRAINED_ON: self._rows}),
            held_out,
            device=self.place.device,
            resume=not force,
            begin=self.begin,
            save_every=60.0,
            on_epoch=on_epoch,
        )

    def finished(self) -> SavedModel | None:
        """The model, if its training is finished.

        Raises:
            ValueError: if the folder holds a model of another recipe or of other training rows, one that began as
                another model or had another teacher than there is now, or one that diverged.
        """
        if not holds_model(self.folder) or holds_state(self.folder):
            return None
        saved = load_saved(self.folder, device=self.place.device)
        if not is_recipe(self._recipe, saved.metrics.get("config")):
            raise ValueError(f"{self.folder} holds a model of another recipe; use --force to train anew")
        if saved.metrics.get(TRAINED_ON, self._rows) != self._rows:  # models of the first records do not say
            raise ValueError(f"{self.folder} holds a model of other training rows; use --force to train anew")
        what = other(saved.metrics.get(DIGESTS), built_on(self._recipe, self.folder, self.begin))
        if what is not None:
            raise ValueError(f"{self.folder} holds a model of {what}; use --force to train anew")
        if saved.metrics.get("diverged"):
            raise ValueError(f"the training of {self.folder} diverged; change the recipe, or use --force to train anew")
        return saved

    def forget(self) -> None:
        """Remove the model and all that lies beside it; where this is stopped halfway, what is left is no model."""
        (self.folder / CONFIG).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)  # another process may be at it, too

    @property
    def digest(self) -> str:
        """The digest of the weights of the finished model."""
        return weights_digest(self.folder)

    @property
    def _rows(self) -> dict[str, Any]:
        """What a model says of its training rows."""
        return {"data": self.data, "train_rows": self.train_rows}

    @property
    def _recipe(self) -> Recipe:
        return shortened(self.recipe) if self.place.quick else self.recipe


def some_rows(x: Tensor, number: int | None) -> Tensor:
    """A fixed random choice of rows, or all: the first ones will not do, many sets are sorted by class."""
    if number is None:
        return x
    return x[torch.randperm(len(x), generator=torch.Generator().manual_seed(CHOICE_SEED))[:number].to(x.device)]


def shortened(recipe: Recipe) -> Recipe:
    """The recipe with one epoch a phase."""
    phases = tuple(replace(phase, epochs=1) for phase in recipe.training.phases)
    return replace(recipe, training=replace(recipe.training, phases=phases))


def origin(saved: SavedModel, device: torch.device | str) -> dict[str, Any]:
    """What a record says of a model's training, and of what computed."""
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
