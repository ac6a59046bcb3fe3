"""Any number of steps at test time, as a study: a training with extra steps beside the usual one."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference import summarise
from nadek.models import IterativeNADE
from nadek.runs.data import Split
from nadek.training import Phase, Recipe
from nadek_paper.markdown import number
from nadek_paper.scoring import TEST_SEED
from nadek_paper.steps_at_test import log_probs_by_steps
from nadek_paper.studies import Job, Record, Study, write_whole
from nadek_paper.trainings import Training
from nadek_paper.workspace import Workspace, read_config, some_rows

NAME = "any-steps"
SPLITS: tuple[Split, ...] = ("valid", "test")


@dataclass(frozen=True, kw_only=True)
class AnySteps:
    """The options of ``any-steps.toml``."""

    title: str  # shown above the table
    data: str  # name of a known data set
    recipe: Recipe  # the usual training
    extra: tuple[Phase, ...]  # phases of the training with extra steps
    steps: tuple[int, ...]  # numbers of steps in the tables
    masks: int  # masks of the unbiased estimate for each row, the same for all numbers of steps
    rows: int  # rows of each split, a fixed random choice


def any_steps_study(workspace: Workspace) -> Study:
    """Return the study: log-likelihoods of both trainings by the number of steps."""
    options = read_config(AnySteps, workspace.recipes / f"{NAME}.toml")
    training = replace(options.recipe.training, phases=options.extra)
    recipes = {"extra": replace(options.recipe, training=training), "usual": options.recipe}

    def job(name: str, recipe: Recipe) -> Job:
        one = Training(name=f"{NAME}-{name}", data=options.data, recipe=recipe, workspace=workspace)

        def score(saved: SavedModel) -> Record:
            assert isinstance(saved.model, IterativeNADE)
            metrics = {key: saved.metrics[key] for key in ("best_validation", "epochs", "seconds", "config")}
            rows = {split: some_rows(one.open(split).x, options.rows) for split in SPLITS}
            return {**metrics, **{split: _by_steps(saved.model, x, options) for split, x in rows.items()}}

        return Job(
            name=name,
            train=lambda force, on_epoch: one.trained(force=force, on_epoch=on_epoch),
            score=lambda saved, force, progress: score(saved),
            settings=recipe.training,
        )

    def finish(results: Record) -> Record:
        about = {"title": options.title, "data": options.data, "rows": options.rows, "masks": options.masks}
        tables = {split: _table([result.pop(split) for result in results.values()], options) for split in SPLITS}
        return write_whole(workspace, NAME, {**about, "trainings": results, "splits": tables}, lines="splits")

    return Study(
        title=f"{options.title}: changes of the validation log-likelihood in nats a row",
        columns=("steps", "extra", "±", "usual", "±"),
        lines=lambda record: [
            [str(line["steps"]), *(number(line[key]) for key in list(line) if "change" in key)]
            for line in record["splits"]["valid"]
        ],
        jobs=[job(name, recipe) for name, recipe in recipes.items()],
        finish=finish,
    )


def _by_steps(model: IterativeNADE, x: Tensor, options: AnySteps) -> Float[Tensor, "steps B"]:
    """Return log-likelihoods, those of the model's own number of steps last."""
    generator, most = torch.Generator(model.b.device).manual_seed(TEST_SEED), max(*options.steps, model.steps)
    values = log_probs_by_steps(model, x.to(model.b.device), steps=most, masks=options.masks, generator=generator)
    return values[[steps - 1 for steps in (*options.steps, model.steps)]]


def _table(both: list[Tensor], options: AnySteps) -> list[Record]:
    """Return log-likelihoods by the number of steps, and their changes from the usual number, row by row."""
    lines: list[Record] = [{"steps": steps} for steps in options.steps]
    for name, values in zip(("extra", "usual"), both, strict=True):
        for line, one in zip(lines, values, strict=False):
            summary, change = summarise(one.unsqueeze(0)), summarise((one - values[-1]).unsqueeze(0))
            line |= {name: summary.mean, f"{name}_error": summary.standard_error}
            line |= {f"{name}_change": change.mean, f"{name}_change_error": change.standard_error}
    return lines
