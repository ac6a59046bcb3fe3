"""Rows that are RBMs: train one, estimate its normalising constant, leave a record like that of any row. Resumable.

Other rows may begin as such a machine.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from nadek.checkpoints import load_state, save_state
from nadek.inference.decoders import Progress
from nadek.models import IterativeNADE, begin_as_rbm
from nadek.models.base import ConditionalModel
from nadek.runs.data import Split, open_data
from nadek.runs.provenance import provenance
from nadek.runs.records import brought_up_to_date, read_record, write_record
from nadek.training import Epoch, TrainingState, data_mean
from nadek.utils.configs import encode
from nadek_paper.jobs import QUICK_ROWS, Workplace
from nadek_paper.rbm import Machine, MachineState, fit_machine, log_partition
from nadek_paper.rows import MachineRecipe, Row, read_table

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
            recipe = MachineRecipe(training=short[0], annealing=short[1])  # no choice: the one epoch
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
        kept = self._kept()
        return None if kept is None or kept.state.epochs < self.recipe.training.epochs else kept.machine

    def trained(
        self, *, force: bool = False, on_epoch: Callable[[Epoch], None] | None = None
    ) -> tuple[Machine, list[dict[str, Any]]]:
        """The trained machine and the curve of its training; trained first, or further, where there is none.

        Raises:
            ValueError: if the folder holds an RBM of another recipe.
        """
        config, kept = self.recipe.training, None if force else self._kept()
        if kept is not None and kept.state.epochs == config.epochs:
            return kept.machine, kept.curve
        curve, best = ([], None) if kept is None else (kept.curve, kept.best)
        train, valid = self.open("train"), self.open("valid")
        mean = train.mean(0)
        self.folder.mkdir(parents=True, exist_ok=True)

        def keep(state: MachineState, moved: float) -> None:
            nonlocal best
            point, cost, lowest = {"epoch": state.epochs, "moved": round(moved, 5)}, None, _lowest(curve)
            if self._due(state.epochs):
                cost = point["validation"] = self._cost(state.average, mean, valid)
                best = state.average.copy() if lowest is None or cost < lowest else best
            curve.append(point)
            self._keep(_Kept(state, curve, best))
            if on_epoch is not None:
                told = None if cost is None else [cost]
                on_epoch(Epoch(state.epochs, config.epochs, "rbm", [moved], told, _lowest(curve), 0.0))

        state = fit_machine(train, config, resume=None if kept is None else kept.state, on_epoch=keep)
        return _Kept(state, curve, best).machine, curve

    def _due(self, epochs: int) -> bool:
        """Whether validation rows are to be looked at after so many epochs."""
        choice = self.recipe.choice
        return choice is not None and (epochs % choice.every == 0 or epochs == self.recipe.training.epochs)

    def _cost(self, machine: Machine, mean: Tensor, valid: Tensor) -> float:
        """Minus the estimated log-likelihood of the validation rows."""
        assert self.recipe.choice is not None
        constant = log_partition(machine, mean, self.recipe.choice.annealing).value
        return constant - machine.log_weight(valid).mean().item()

    def _keep(self, kept: "_Kept") -> None:
        state = kept.state
        machines = {"machine": state.machine, "average": state.average, "velocity": state.velocity, "best": kept.best}
        tensors = {f"{name}.{key}": value for name, one in machines.items() if one for key, value in vars(one).items()}
        told = TrainingState({**tensors, "chains": state.chains}, {"epochs": state.epochs, "curve": kept.curve})
        save_state(self.folder, told, **self._identity())

    def _identity(self) -> dict[str, Any]:
        """What a kept training has to agree in."""
        choice = self.recipe.choice
        return {"config": encode(self.recipe.training), "choice": None if choice is None else encode(choice)}

    def _kept(self) -> "_Kept | None":
        found = load_state(self.folder)
        if found is None:
            return None
        kept, info = found
        if {key: info.get(key) for key in ("config", "choice")} != self._identity():
            raise ValueError(f"{self.folder} holds an RBM of another recipe; use --force to train anew")
        tensors = {name: value.to(self.place.device) for name, value in kept.tensors.items()}

        def machine(name: str) -> Machine:
            return Machine(*(tensors[f"{name}.{key}"] for key in ("W", "b", "c")))

        state = MachineState(
            machine("machine"), machine("average"), machine("velocity"), tensors["chains"], kept.info["epochs"]
        )
        return _Kept(state, kept.info["curve"], machine("best") if "best.W" in tensors else None)


def _lowest(curve: Iterable[Mapping[str, Any]]) -> float | None:
    """The best validation cost so far."""
    return min((point["validation"] for point in curve if "validation" in point), default=None)


@dataclass(frozen=True)
class _Kept:
    """A training as it is kept: its state, what happened, and the best machine where one is chosen."""

    state: MachineState
    curve: list[dict[str, Any]]
    best: Machine | None

    @property
    def machine(self) -> Machine:
        """The result, once it is finished."""
        return self.state.average if self.best is None else self.best


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
        return brought_up_to_date(path, done, told_of_row, lines="curve")
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


def machine_row(experiments: Path, name: str) -> Row:
    """The row of a machine.

    Args:
        experiments: the folder of the tables.
        name: its table and row, "TABLE/ROW".

    Raises:
        FileNotFoundError: if there is no such table.
        ValueError: if it has no such row.
    """
    table, _, row = name.partition("/")
    return read_table(experiments / table, only=row)[0]


def begin_as_machine(
    model: ConditionalModel,
    name: str,
    data: str,
    place: Workplace,
    *,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> None:
    """Let a network begin as an RBM of the tables, which is trained first where it is not yet.

    Args:
        model: the network.
        name: the RBM, "TABLE/ROW".
        data: what the network will be trained on.
        place: folders and device.
        on_epoch: told of the RBM's training.

    Raises:
        FileNotFoundError: if there is no such table.
        ValueError: if it is no RBM of these data, or the network cannot begin as one.
    """
    row = machine_row(place.experiments, name)
    if row.data != data:
        raise ValueError(f"start: expected an RBM of {data}, found {name}, which is one of {row.data}")
    if not isinstance(model, IterativeNADE):
        raise ValueError(f"start: expected a network with columns, found a {type(model).__name__}")
    job = MachineJob.of(row, place)
    machine, _ = job.trained(on_epoch=on_epoch)
    begin_as_rbm(model, machine.W, machine.b, machine.c, mean=data_mean(job.open("train")))


def machine_digest(name: str, place: Workplace) -> str | None:
    """The digest of an RBM of the tables; None where it is not trained.

    Args:
        name: its table and row, "TABLE/ROW".
        place: folders and device.

    Raises:
        FileNotFoundError: if there is no such table.
        ValueError: if it has no such row or the row is no RBM, or if the RBM was trained by another recipe.
    """
    machine = MachineJob.of(machine_row(place.experiments, name), place).finished()
    if machine is None:
        return None
    return _digest_of(b"", machine.W, machine.b, machine.c)


def _digest(machine: Machine, x: Tensor, recipe: MachineRecipe) -> str:
    """Changes with anything that the numbers depend on."""
    config = json.dumps(encode(recipe.annealing), sort_keys=True).encode()
    return _digest_of(config, machine.W, machine.b, machine.c, x)


def _digest_of(config: bytes, *tensors: Tensor) -> str:
    digest = hashlib.sha256(config)
    for tensor in tensors:
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
