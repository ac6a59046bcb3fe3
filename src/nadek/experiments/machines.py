"""Rows that are RBMs: train one, estimate its normalising constant, leave a record like that of any row. Resumable."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from nadek.checkpoints import load_state, save_state
from nadek.configs import encode
from nadek.experiments.jobs import QUICK_ROWS, Workplace
from nadek.experiments.provenance import provenance
from nadek.experiments.records import read_record, write_record
from nadek.experiments.rows import MachineRecipe, Row
from nadek.experiments.sources import Split, open_data
from nadek.likelihood import Progress
from nadek.rbm import Machine, MachineState, fit_machine, log_partition
from nadek.training import Epoch, TrainingState

QUICK_TEMPERATURES = 20
"""How many temperatures a quick look takes."""


@dataclass(frozen=True)
class MachineJob:
    """An RBM to be trained.

    Attributes:
        name: of its folder.
        data: a known data set.
        recipe: how to train it.
        place: folders and device.
    """

    name: str
    data: str
    recipe: MachineRecipe
    place: Workplace

    @classmethod
    def of(cls, row: Row, place: Workplace) -> "MachineJob":
        """The training that a row asks for; little of it for a quick look.

        Raises:
            ValueError: if the row is no RBM.
        """
        recipe = row.rbm
        if recipe is None:
            raise ValueError(f"{row.table}/{row.name}: expected an RBM, found a row that is none")
        if place.quick:
            short = replace(recipe.training, epochs=1), replace(recipe.annealing, temperatures=QUICK_TEMPERATURES)
            recipe = MachineRecipe(training=short[0], annealing=short[1])
        return cls(f"{row.table}-{row.name}-modern", row.data, recipe, place)

    @property
    def folder(self) -> Path:
        """Where the machine is trained and kept."""
        return self.place.folder(self.name)

    def open(self, split: Split) -> Tensor:
        """Rows of one part of the data, on the device; few of them for a quick look."""
        x = open_data(self.data, split=split, data_dir=self.place.data_dir).x.to(self.place.device)
        return x[:QUICK_ROWS] if self.place.quick else x

    def finished(self) -> Machine | None:
        """The machine, if its training is finished."""
        state = None if (found := self._kept()) is None else found[0]
        return state.average if state is not None and state.epochs == self.recipe.training.epochs else None

    def trained(
        self, *, force: bool = False, on_epoch: Callable[[Epoch], None] | None = None
    ) -> tuple[Machine, list[dict[str, Any]]]:
        """The trained machine and the curve of its training; trained first, or further, where there is none.

        Raises:
            ValueError: if the folder holds an RBM of another recipe.
        """
        config, found = self.recipe.training, None if force else self._kept()
        state, curve = (None, []) if found is None else found
        if state is not None and state.epochs == config.epochs:
            return state.average, curve
        self.folder.mkdir(parents=True, exist_ok=True)

        def keep(state: MachineState, moved: float) -> None:
            curve.append({"epoch": state.epochs, "moved": round(moved, 5)})
            self._keep(state, curve)
            if on_epoch is not None:
                on_epoch(Epoch(state.epochs, config.epochs, "rbm", [moved], None, None, 0.0))

        return fit_machine(self.open("train"), config, resume=state, on_epoch=keep).average, curve

    def _keep(self, state: MachineState, curve: list[dict[str, Any]]) -> None:
        machines = {"machine": state.machine, "average": state.average, "velocity": state.velocity}
        tensors = {f"{name}.{key}": value for name, one in machines.items() for key, value in vars(one).items()}
        told = TrainingState({**tensors, "chains": state.chains}, {"epochs": state.epochs, "curve": curve})
        save_state(self.folder, told, config=encode(self.recipe.training))

    def _kept(self) -> tuple[MachineState, list[dict[str, Any]]] | None:
        found = load_state(self.folder)
        if found is None:
            return None
        kept, info = found
        if info.get("config") != encode(self.recipe.training):
            raise ValueError(f"{self.folder} holds an RBM of another recipe; use --force to train anew")
        tensors = {name: value.to(self.place.device) for name, value in kept.tensors.items()}
        machine, average, velocity = (
            Machine(*(tensors[f"{name}.{key}"] for key in ("W", "b", "c")))
            for name in ("machine", "average", "velocity")
        )
        return MachineState(machine, average, velocity, tensors["chains"], kept.info["epochs"]), kept.info["curve"]


def reproduce_machine(
    row: Row,
    place: Workplace,
    told_of_row: dict[str, Any],
    *,
    force: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train an RBM, or go on with it, or take the finished one; estimate its likelihood; return its record.

    Args:
        row: a row with an RBM.
        place: folders and device.
        told_of_row: what the record says of the row.
        force: begin anew, whatever is there.
        on_epoch: told what happened after each epoch.
        progress: told how far the annealing is.
    """
    job = MachineJob.of(row, place)
    machine, curve = job.trained(force=force, on_epoch=on_epoch)
    test, path = job.open("test"), place.record(job.name)
    digest = _digest(machine, test, job.recipe)
    if not force and path.is_file() and (done := read_record(path)).get("digest") == digest:
        return done
    constant = log_partition(machine, job.open("train").mean(0), job.recipe.annealing, progress=progress)
    scores = machine.log_weight(test) - constant.value
    rows_error = scores.std().item() / len(scores) ** 0.5
    nothing = dict.fromkeys(("orderings", "ensemble", "ensemble_standard_error", "ensemble_orderings", "ensemble_rows"))
    record = {
        **told_of_row,
        "test_log_likelihood": scores.mean().item(),
        "standard_error": (rows_error**2 + constant.error**2) ** 0.5,
        "rows": len(scores),
        **nothing,
        "log_partition": constant.value,
        "log_partition_error": constant.error,
        "best_validation": constant.value - machine.log_weight(job.open("valid")).mean().item(),
        "epochs": job.recipe.training.epochs,
        "config": encode(job.recipe),
        "digest": digest,
        "evaluation": provenance(place.device),
        "curve": curve,
    }
    write_record(path, record, lines="curve")
    return read_record(path)


def _digest(machine: Machine, x: Tensor, recipe: MachineRecipe) -> str:
    """Changes with anything that the numbers depend on."""
    digest = hashlib.sha256(json.dumps(encode(recipe.annealing), sort_keys=True).encode())
    for tensor in (machine.W, machine.b, machine.c, x):
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
