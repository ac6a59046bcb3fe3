"""RBMs turned into NADE-k by mean field: their likelihoods as models of every ordering, before and after training."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nadek.checkpoints import SavedModel
from nadek.inference.summary import summarise
from nadek.models import IterativeNADE, ModelConfig, from_rbm
from nadek.models.base import ConditionalModel
from nadek.models.cores import DeepConfig
from nadek.runs.provenance import provenance
from nadek.runs.recipe import Recipe, make_recipe, naming, read_recipe
from nadek.runs.records import read_record, write_record
from nadek.runs.warm_start import Beginning
from nadek.training import Epoch
from nadek.utils.configs import decode
from nadek_paper.jobs import Job, Workplace
from nadek_paper.markdown import markdown, number
from nadek_paper.rbm import Machine
from nadek_paper.run_rbm import MachineJob, machine_row
from nadek_paper.steps_at_test import log_probs_by_steps

NAME, TEST_SEED = "meanfield", 0


@dataclass(frozen=True, kw_only=True)
class MeanField:
    """The study: a file ``experiments/meanfield.toml``, whose ``recipe`` is taken apart from the rest.

    Attributes:
        title: what it is.
        machines: RBMs, by table and row.
        steps: numbers of mean-field updates before training.
        masks: of the unbiased estimate, for each row.
        notes: what to know about it.
    """

    title: str
    machines: tuple[str, ...]
    steps: tuple[int, ...]
    masks: int = 8
    notes: tuple[str, ...] = ()


def read_meanfield(path: str | os.PathLike[str]) -> tuple[MeanField, dict[str, Any]]:
    """Read the study, and the options of its recipe (widths follow from the machine).

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: on an unknown, missing or unfit option; names file and option.
    """
    options = read_recipe(path)
    recipe = options.pop("recipe", {})
    with naming(path):
        return decode(MeanField, options), recipe


def run_meanfield(
    study: MeanField,
    options: Mapping[str, Any],
    place: Workplace,
    *,
    force: bool = False,
    on_part: Callable[[str], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> dict[str, Any]:
    """Score the machines as they are, fine-tune them, train twins from scratch; return the record.

    Trainings that are finished are not done again.

    Args:
        study: which machines, and how many steps.
        options: of the recipe.
        place: folders and device.
        force: train anew, whatever is there.
        on_part: told what is trained next.
        on_epoch: told what happened after each epoch.

    Raises:
        FileNotFoundError: if a machine was not trained; says how to.
        ValueError: if a row is no RBM, and as `Job.trained`.
    """
    lines: list[dict[str, Any]] = []
    for case in [_Case.of(name, study, place) for name in study.machines]:
        told = case.before()
        for words, job in case.jobs(options).items():
            if on_part is not None:
                on_part(f"{case.name}, {words}")
            told.append(case.after(words, job.trained(force=force, on_epoch=on_epoch)))
        lines += [{"machine": case.name, **line} for line in told]
    about = {"title": study.title, "quick": place.quick, "masks": study.masks, "evaluation": provenance(place.device)}
    path = place.record(NAME)
    write_record(path, {**about, "lines": lines}, lines="lines")
    return read_record(path)


def recipe_for(options: Mapping[str, Any], n_hidden: int, n_variables: int) -> Recipe:
    """The recipe of a network that a machine of this size can be turned into."""
    recipe = make_recipe(options, n_variables=n_variables)
    if not isinstance(recipe.model, ModelConfig):
        raise ValueError("recipe.model: expected a network of hidden layers, found one of images")
    core = DeepConfig(hidden=(n_hidden,), activation="sigmoid")
    return replace(recipe, model=replace(recipe.model, core=core, tied=True))


def meanfield_table(experiments: Path, record: Mapping[str, Any]) -> str:
    """A line for each number of the record."""
    rows = [
        (
            machine_row(experiments, line["machine"]).title,
            line["as"],
            number(line["test_log_likelihood"]),
            number(line["standard_error"]),
        )
        for line in record["lines"]
    ]
    return markdown(("machine", "as", "test log-likelihood", "±"), rows, words=2)


@dataclass(frozen=True)
class _Case:
    """One machine of the study, trained before."""

    name: str
    study: MeanField
    place: Workplace
    job: MachineJob
    machine: Machine
    own: dict[str, Any]

    @classmethod
    def of(cls, name: str, study: MeanField, place: Workplace) -> "_Case":
        row = machine_row(place.experiments, name)
        job = MachineJob.of(row, place)
        machine, path = job.finished(), place.record(job.name)
        if machine is None or not path.is_file():
            command = f"nadek reproduce {row.table} --row {row.name}{' --quick' if place.quick else ''}"
            raise FileNotFoundError(f"there is no trained RBM in {job.folder}: give {command} first")
        return cls(name, study, place, job, machine, read_record(path))

    def before(self) -> list[dict[str, Any]]:
        """The machine by itself, and as a network of several numbers of steps."""
        own = {key: self.own[key] for key in ("test_log_likelihood", "standard_error")}
        scored = self._scored(self._network(1), max(self.study.steps))
        field = [{"as": f"mean field, k = {k}", "steps": k, **scored[k - 1]} for k in self.study.steps]
        return [{"as": "the RBM itself (an estimate)", **own}, *field]

    def jobs(self, options: Mapping[str, Any]) -> dict[str, Job]:
        """Two trainings that differ by where they start."""
        recipe = recipe_for(options, *self.machine.W.shape)
        turned = self._network(recipe.model.steps).state_dict()
        name = f"{NAME}-{self.name.replace('/', '-')}"
        # another machine is another start, which a recipe does not tell: its name does
        tuned = f"{name}-tuned-{self.own['digest'][:8]}"
        data, place = self.job.data, self.place

        def begin(model: ConditionalModel) -> None:
            model.load_state_dict(turned)

        beginning = Beginning(begin, lambda: str(self.own["digest"]))
        return {
            "fine-tuned from the RBM": Job(name=tuned, data=data, recipe=recipe, place=place, begin=beginning),
            "trained from scratch": Job(name=f"{name}-scratch", data=data, recipe=recipe, place=place),
        }

    def after(self, words: str, saved: SavedModel) -> dict[str, Any]:
        """A network that was trained."""
        assert isinstance(saved.model, IterativeNADE)
        steps = saved.model.steps
        told = {key: saved.metrics[key] for key in ("best_validation", "epochs", "seconds", "config")}
        return {"as": f"{words}, k = {steps}", "steps": steps, **self._scored(saved.model, steps)[-1], **told}

    def _network(self, steps: int) -> IterativeNADE:
        mean = self.job.open("train").mean(0).to(self.machine.W)
        return from_rbm(self.machine.W, self.machine.b, self.machine.c, steps=steps, fill=mean)

    def _scored(self, model: IterativeNADE, steps: int) -> list[dict[str, float]]:
        """Test log-likelihoods of 1 to so many steps."""
        x = self.job.open("test")
        generator = torch.Generator(x.device).manual_seed(TEST_SEED)
        values = log_probs_by_steps(model, x, steps=steps, masks=self.study.masks, generator=generator)
        told = [summarise(row.unsqueeze(0)) for row in values]
        return [{"test_log_likelihood": one.mean, "standard_error": one.standard_error} for one in told]
