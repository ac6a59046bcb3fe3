"""Training for any number of steps, as a study."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference import summarise
from nadek.inference.likelihood import log_probs_by_steps
from nadek.models import IterativeNADE
from nadek.runs.data import Split
from nadek.training import Phase, Recipe
from nadek_paper.markdown import number
from nadek_paper.scoring import TEST_SEED
from nadek_paper.steps_at_test import damped
from nadek_paper.studies import Job, Record, Study, write_whole
from nadek_paper.trainings import Training
from nadek_paper.workspace import Workspace, read_config, some_rows

NAME = "any-steps"
SPLITS: tuple[Split, ...] = ("valid", "test")
SHOWN = ("log_likelihood", "change", "change_error", "damped", "damped_error")


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A training of the study."""

    name: str  # shown in the table
    phases: tuple[Phase, ...]  # those of the recipe


@dataclass(frozen=True, kw_only=True)
class AnySteps:
    """The options of ``any-steps.toml``."""

    title: str  # shown above the table
    data: str  # name of a known data set
    recipe: Recipe  # all but the phases of each training
    variants: tuple[Variant, ...]  # the trainings
    steps: int  # the largest number of steps to score, from 1
    masks: int  # masks of the unbiased estimate for each row, the same for all numbers of steps
    rows: int  # validation and test rows to score, a fixed random choice


def any_steps_study(workspace: Workspace) -> Study:
    """Return the study: each training, by number of steps."""
    options = read_config(AnySteps, workspace.recipes / f"{NAME}.toml")

    def job(variant: Variant) -> Job:
        training = replace(options.recipe.training, phases=variant.phases)
        recipe = replace(options.recipe, training=training)
        one = Training(name=f"{NAME}-{variant.name}", data=options.data, recipe=recipe, workspace=workspace)

        def entry(saved: SavedModel) -> Record:
            assert isinstance(saved.model, IterativeNADE)
            metrics = {key: saved.metrics[key] for key in ("best_validation", "epochs", "seconds", "config")}
            valid, test = (_by_steps(saved.model, one.open(split).x, options) for split in SPLITS)
            return {**metrics, "valid": valid, "test": test}

        return Job(
            name=variant.name,
            train=one.trained,
            score=lambda saved, force, progress: entry(saved),
        )

    about = {"title": options.title, "data": options.data, "rows": options.rows, "masks": options.masks}
    return Study(
        title=f"{options.title}: validation log-likelihoods in nats a row, and their changes",
        columns=("training", "steps", *(key.replace("_", " ") for key in SHOWN)),
        lines=lambda record: [
            [name, str(line["steps"]), *(number(line[key]) for key in SHOWN)]
            for name, entry in record["trainings"].items()
            for line in entry["valid"]
        ],
        jobs=[job(variant) for variant in options.variants],
        finish=lambda results: write_whole(workspace, NAME, {**about, "trainings": results}, lines="trainings"),
    )


def _by_steps(model: IterativeNADE, x: Tensor, options: AnySteps) -> list[Record]:
    """Return a line for each number of steps, with changes from the usual one."""
    x = some_rows(x, options.rows).to(model.b.device)
    source, given = torch.Generator(x.device), {"steps": options.steps, "masks": options.masks}
    plain, slow = (
        log_probs_by_steps(one, x, **given, generator=source.manual_seed(TEST_SEED)) for one in (model, damped(model))
    )
    lines: list[Record] = [{"steps": steps} for steps in range(1, options.steps + 1)]
    for line, one, other in zip(lines, plain, slow, strict=True):
        line["log_likelihood"] = one.mean().item()
        for key, values in (("change", one), ("damped", other)):
            change = summarise((values - plain[model.steps - 1]).unsqueeze(0))
            line |= {key: change.mean, f"{key}_error": change.standard_error}
    return lines
