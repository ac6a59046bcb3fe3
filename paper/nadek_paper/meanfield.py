"""RBMs turned into NADE-k by mean field, as a study: before training, fine-tuned, and trained from scratch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nadek.checkpoints import SavedModel
from nadek.models import IterativeNADE, ModelConfig, from_rbm
from nadek.models.base import ConditionalModel
from nadek.models.cores import DeepConfig
from nadek.runs.provenance import provenance
from nadek.runs.recipe import make_recipe, read_recipe
from nadek.runs.resume import Beginning
from nadek.training import Recipe
from nadek.utils.atomic import read_record, write_record
from nadek.utils.configs import decode, naming
from nadek_paper.markdown import markdown, number
from nadek_paper.rbm import RBM
from nadek_paper.rbm_study import RBMTraining, rbm_row
from nadek_paper.scoring import TEST_SEED
from nadek_paper.steps_at_test import summaries_by_steps
from nadek_paper.studies import Job, Record, Study
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
        about = {"title": options.title, "quick": workspace.quick, "masks": options.masks}
        about["evaluation"] = provenance(workspace.device)
        path = workspace.record(NAME)
        write_record(path, {**about, "lines": [line for lines in results.values() for line in lines]}, lines="lines")
        return read_record(path)

    return Study(
        title=f"{options.title}: log-likelihoods in nats a row",
        columns=("RBM", "as", "test", "±"),
        lines=lambda record: [[line["machine"], line["as"], *_values(line)] for line in record["lines"]],
        jobs=[job for name in options.rbms for job in _Case.of(name, options, workspace).jobs(recipe)],
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
    """Return a line of Markdown for each model of the record."""
    rows = [(rbm_row(workspace.recipes, line["machine"]).title, line["as"], *_values(line)) for line in record["lines"]]
    return markdown(("machine", "as", "test log-likelihood", "±"), rows, words=2)


def _values(line: Mapping[str, Any]) -> tuple[str, str]:
    return number(line["test_log_likelihood"]), number(line["standard_error"])


@dataclass(frozen=True)
class _Case:
    """One trained RBM of the study, with its record."""

    name: str
    options: MeanField
    training: RBMTraining
    rbm: RBM
    record: Record

    @classmethod
    def of(cls, name: str, options: MeanField, workspace: Workspace) -> "_Case":
        row = rbm_row(workspace.recipes, name)
        training = RBMTraining.of(row, workspace)
        rbm, path = training.finished(), workspace.record(training.name)
        if rbm is None or not path.is_file():
            command = workspace.command(f"{row.table} --row {row.name}")
            raise FileNotFoundError(f"there is no trained RBM in {training.folder}: give {command} first")
        return cls(name, options, training, rbm, read_record(path))

    def jobs(self, options: Mapping[str, Any]) -> list[Job]:
        """Return the jobs: the RBM as it is, and two trainings that differ by where they start."""
        recipe, workspace = recipe_for(options, *self.rbm.W.shape), self.training.workspace
        weights = self.network(recipe.model.steps).state_dict()

        def begin(model: ConditionalModel) -> None:
            model.load_state_dict(weights)

        name, digest = f"{NAME}-{self.name.replace('/', '-')}", str(self.record["digest"])
        scratch = Training(name=f"{name}-scratch", data=self.training.data, recipe=recipe, workspace=workspace)
        # another RBM is another start, which the recipe does not say: the folder's name does
        tuned = replace(scratch, name=f"{name}-tuned-{digest[:8]}", begin=Beginning(begin, lambda: digest))
        return [
            Job(
                name=f"{self.name}, before training",
                train=lambda force, on_epoch: self.network(1),
                score=lambda model, force, progress: self.untrained(model),
            ),
            self.training_job("fine-tuned from the RBM", tuned),
            self.training_job("trained from scratch", scratch),
        ]

    def training_job(self, words: str, training: Training) -> Job:
        """Return the job of a network that is trained."""
        return Job(
            name=f"{self.name}, {words}",
            train=lambda force, on_epoch: training.trained(force=force, on_epoch=on_epoch),
            score=lambda saved, force, progress: self.trained(words, saved),
            settings=training.recipe.training,
        )

    def untrained(self, model: IterativeNADE) -> list[Record]:
        """Return the lines of the RBM by itself, and as a network of several numbers of steps."""
        own = {key: self.record[key] for key in ("test_log_likelihood", "standard_error")}
        scores = self.scores(model, max(self.options.steps))
        lines = [{"as": f"mean field, k = {k}", "steps": k, **scores[k - 1]} for k in self.options.steps]
        return [{"machine": self.name, **line} for line in ({"as": "the RBM itself (an estimate)", **own}, *lines)]

    def trained(self, words: str, saved: SavedModel) -> list[Record]:
        """Return the line of a trained network."""
        assert isinstance(saved.model, IterativeNADE)
        steps = saved.model.steps
        about = {"machine": self.name, "as": f"{words}, k = {steps}", "steps": steps}
        metrics = {key: saved.metrics[key] for key in ("best_validation", "epochs", "seconds", "config")}
        return [{**about, **self.scores(saved.model, steps)[-1], **metrics}]

    def network(self, steps: int) -> IterativeNADE:
        """Return the RBM as a network of mean-field updates."""
        mean = self.training.open("train").mean(0).to(self.rbm.W)
        return from_rbm(self.rbm.W, self.rbm.b, self.rbm.c, steps=steps, fill=mean)

    def scores(self, model: IterativeNADE, steps: int) -> list[dict[str, float]]:
        """Return the test log-likelihoods of 1 to ``steps`` steps."""
        x, masks = self.training.open("test"), self.options.masks
        summaries = summaries_by_steps(model, x, steps=steps, masks=masks, seed=TEST_SEED)
        return [{"test_log_likelihood": one.mean, "standard_error": one.standard_error} for one in summaries]
