"""RBMs turned into NADE-k by mean field, as a study: before training, fine-tuned, and trained from scratch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nadek.checkpoints import SavedModel
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.base import ConditionalModel
from nadek.models.cores import DeepConfig
from nadek.runs.recipe import make_recipe, read_recipe
from nadek.runs.resume import Beginning
from nadek.training import Recipe
from nadek.utils.atomic import read_record
from nadek.utils.configs import decode, naming
from nadek_paper.markdown import markdown, number
from nadek_paper.rbm_start import from_rbm
from nadek_paper.rbm_study import RBMTraining, rbm_row
from nadek_paper.scoring import TEST_SEED
from nadek_paper.steps_at_test import summaries_by_steps
from nadek_paper.studies import Job, Record, Study, write_whole
from nadek_paper.trainings import Training
from nadek_paper.workspace import Workspace

NAME = "meanfield"


@dataclass(frozen=True, kw_only=True)
class MeanField:
    """The options of ``meanfield.toml``, but for its ``recipe``."""

    title: str  # shown above the table
    rbms: tuple[str, ...]  # RBMs, by table and row
    steps: tuple[int, ...]  # numbers of mean-field updates before training
    masks: int = 8  # masks of the unbiased estimate, for each row
    notes: tuple[str, ...] = ()  # what to know about it


def meanfield_study(workspace: Workspace) -> Study:
    """Return the study: RBMs scored as they are, fine-tuned as networks, and networks trained from scratch."""
    options, recipe = read_meanfield(workspace)

    def finish(results: Record) -> Record:
        lines = [line for lines in results.values() for line in lines]
        return write_whole(
            workspace, NAME, {"title": options.title, "masks": options.masks, "lines": lines}, lines="lines"
        )

    return Study(
        title=f"{options.title}: log-likelihoods in nats a row",
        columns=("RBM", "as", "test", "±"),
        lines=lambda record: [[line["machine"], line["as"], *_values(line)] for line in record["lines"]],
        jobs=[job for name in options.rbms for job in _jobs(name, options, recipe, workspace)],
        finish=finish,
    )


def read_meanfield(workspace: Workspace) -> tuple[MeanField, dict[str, Any]]:
    """Read the options of the study and those of its recipe, whose widths follow from the RBM."""
    path = workspace.recipes / f"{NAME}.toml"
    options = read_recipe(path)
    recipe = options.pop("recipe", {})
    with naming(path):
        return decode(MeanField, options), recipe


def recipe_for(options: Mapping[str, Any], n_hidden: int, n_variables: int) -> Recipe:
    """Return the recipe of a network that an RBM of this size can be turned into."""
    recipe = make_recipe(options, n_variables=n_variables)
    if not isinstance(recipe.model, ModelConfig):
        raise ValueError("recipe.model: expected a network of hidden layers, found one of images")
    core = DeepConfig(hidden=(n_hidden,), activation="sigmoid")
    return replace(recipe, model=replace(recipe.model, core=core, tied=True))


def meanfield_table(workspace: Workspace, record: Record) -> str:
    """Return a line of Markdown for each model."""
    rows = [(rbm_row(workspace.recipes, line["machine"]).title, line["as"], *_values(line)) for line in record["lines"]]
    return markdown(("machine", "as", "test log-likelihood", "±"), rows, words=2)


def _values(line: Mapping[str, Any]) -> tuple[str, str]:
    return number(line["test_log_likelihood"]), number(line["standard_error"])


def _jobs(name: str, options: MeanField, changes: Mapping[str, Any], workspace: Workspace) -> list[Job]:
    """Return the jobs of an RBM: as it is, and two trainings that differ by where they start."""
    row = rbm_row(workspace.recipes, name)
    machine = RBMTraining.of(row, workspace)
    rbm, path = machine.finished(), workspace.record(machine.name)
    if rbm is None or not path.is_file():
        command = workspace.command(f"{row.table} --row {row.name}")
        raise FileNotFoundError(f"there is no trained RBM in {machine.folder}: give {command} first")
    own, x = read_record(path), machine.open("test")
    network = from_rbm(rbm, steps=1, fill=machine.open("train").mean(0).to(rbm.W))

    def scored(model: IterativeNADE, steps: Sequence[int], words: str, metrics: Mapping[str, Any]) -> list[Record]:
        summaries = summaries_by_steps(model, x, steps=max(steps), masks=options.masks, seed=TEST_SEED)
        values = [{"test_log_likelihood": one.mean, "standard_error": one.standard_error} for one in summaries]
        about = [{"machine": name, "as": f"{words}, k = {k}", "steps": k} for k in steps]
        return [{**line, **values[k - 1], **metrics} for k, line in zip(steps, about, strict=True)]

    def untrained(model: IterativeNADE) -> list[Record]:
        itself = {key: own[key] for key in ("test_log_likelihood", "standard_error")}
        line = {"machine": name, "as": "the RBM itself (an estimate)", **itself}
        return [line, *scored(model, options.steps, "mean field", {})]

    def trained(saved: SavedModel, words: str) -> list[Record]:
        assert isinstance(saved.model, IterativeNADE)
        metrics = {key: saved.metrics[key] for key in ("best_validation", "epochs", "seconds", "config")}
        return scored(saved.model, [saved.model.steps], words, metrics)

    def job_of(words: str, training: Training) -> Job:
        return Job(
            name=f"{name}, {words}",
            train=training.trained,
            score=lambda saved, force, progress: trained(saved, words),
        )

    def begin(model: ConditionalModel) -> None:
        model.load_state_dict(network.state_dict())

    folder, digest = f"{NAME}-{name.replace('/', '-')}", str(own["digest"])
    recipe = recipe_for(changes, *rbm.W.shape)
    scratch = Training(name=f"{folder}-scratch", data=machine.data, recipe=recipe, workspace=workspace)
    # another RBM is another start, which the recipe does not say: the folder's name does
    tuned = replace(scratch, name=f"{folder}-tuned-{digest[:8]}", begin=Beginning(begin, lambda: digest))
    before = Job(
        name=f"{name}, before training",
        train=lambda force, on_epoch: network,
        score=lambda model, force, progress: untrained(model),
    )
    return [before, job_of("fine-tuned from the RBM", tuned), job_of("trained from scratch", scratch)]
