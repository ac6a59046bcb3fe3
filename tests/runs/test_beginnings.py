"""A training that goes on from a trained model instead of random weights."""

import shutil
from dataclasses import replace

import pytest
import torch

from nadek.checkpoints import SavedModel, load, load_saved, save
from nadek.models import IterativeNADE, ModelConfig, nade_k
from nadek.models.cores import DeepConfig
from nadek.runs.data import CodedTable
from nadek.runs.resume import finished
from nadek.runs.train import begin_as_model, train
from nadek.tabular.columns import Categorical
from nadek.tabular.schema import Schema
from nadek.training import AdamW, Phase, Recipe, TrainingConfig
from nadek_paper.trainings import Training
from support.command import nadek, ok
from support.paper_rows import StopError, stop, workspace_in

D = 6
NAMES = tuple("abcdef")
STILL = TrainingConfig(phases=(Phase(epochs=1),), optimizer=AdamW(lr=1e-12), ema_decay=0.0)
OTHER = "expected a model of the recipe's structure, found another in"


def lively(seed=0, **options):
    """A network whose weights are told from new ones."""
    generator = torch.Generator().manual_seed(seed)
    model = nade_k(D, hidden=(8,), steps=2, generator=generator, **options)
    with torch.no_grad():
        for value in model.parameters():
            value += torch.randn(value.shape, generator=generator)
    return model


def kept(folder, model, **schema):
    save(folder, SavedModel(model, Schema(columns=NAMES, **schema)))
    return str(folder)


def near(model, other):
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], rtol=0, atol=1e-6)


@pytest.mark.parametrize("options", [{"core": DeepConfig(hidden=(8,), dropout=0.5)}, {"ordinal": (1, 2)}])
def test_what_matters_while_training_may_differ(options, tmp_path):
    model = IterativeNADE(ModelConfig(**({"n_variables": D, "steps": 2, "core": DeepConfig(hidden=(8,))} | options)))
    begin_as_model(model, kept(tmp_path / "first", lively()), Schema(columns=NAMES))
    near(model, lively())


@pytest.mark.parametrize(
    ("model", "schema", "error"),
    [
        (lambda: nade_k(D, hidden=(9,), steps=2), {}, f"{OTHER} .*: model.core.hidden is .8. there and .9. in"),
        (lambda: nade_k(D, hidden=(8,) * 100, steps=2), {}, rf"{OTHER} .* there and \[(8, ){{19}}8,\.\.\. in the re"),
        (lambda: nade_k(D, hidden=(8,), steps=3), {}, f"{OTHER} .*: model.steps is 2 there and 3 in the recipe"),
        (lively, {"columns": tuple("abcdeg")}, "expected a model of the same columns, found other columns"),
        (
            lively,
            {"columns": NAMES, "kinds": (Categorical(levels=("n", "y")),) * D},
            "expected a model of the same columns, found other kinds",
        ),
    ],
)
def test_a_beginning_that_does_not_fit(model, schema, error, tmp_path):
    start = kept(tmp_path / "first", lively(), kinds=(Categorical(levels=("no", "yes")),) * D)
    with pytest.raises(ValueError, match=f"start: {error}"):
        begin_as_model(model(), start, Schema(**schema))


def job_on(folder, **options):
    recipe = Recipe(model=nade_k(64, hidden=(4,), steps=1).config, training=STILL, **options)
    return Training(name="second", data="digits", recipe=recipe, workspace=workspace_in(folder, quick=True))


@pytest.mark.parametrize("option", ["start", "teacher"])
def test_changed_start_unfinishes_a_model(option, tmp_path):
    def first(seed):
        generator = torch.Generator().manual_seed(seed)
        save(tmp_path / "first", SavedModel(nade_k(64, hidden=(4,), steps=1, generator=generator), Schema()))

    first(0)
    job = job_on(tmp_path, **{option: str(tmp_path / "first")})
    error = job.trained().metrics["digests"]
    assert set(error) == {"rows", "validation", option}
    assert job.finished() is not None
    first(1)
    with pytest.raises(ValueError, match=f"second holds a model of another {option}; use --force to train anew"):
        job.finished()
    assert job.trained(force=True).metrics["digests"][option] != error[option]
    shutil.rmtree(tmp_path / "first")
    assert job.finished() is not None


@pytest.mark.parametrize("option", ["start", "teacher"])
def test_changed_start_stops_resuming(option, tmp_path):
    x = (torch.rand(30, D, generator=torch.Generator().manual_seed(1)) < 0.5).float()
    training = replace(STILL, phases=(Phase(epochs=2),))
    recipe = Recipe(model=lively().config, training=training, **{option: kept(tmp_path / "first", lively())})

    def run(**options):
        return train(recipe, tmp_path / "second", CodedTable(x, Schema(columns=NAMES)), None, resume=True, **options)

    with pytest.raises(StopError):
        run(on_epoch=stop)
    kept(tmp_path / "first", lively(1))
    with pytest.raises(ValueError, match=f"the unfinished training in .*second is of another {option}"):
        run()
    kept(tmp_path / "first", lively())
    run()


def test_model_started_from_itself_is_finished(tmp_path):
    """What it began as is there no more, and nothing is to be said of it."""
    x = (torch.rand(30, D, generator=torch.Generator().manual_seed(1)) < 0.5).float()
    recipe = Recipe(model=lively().config, training=STILL, start=kept(tmp_path / "first", lively()))
    train(recipe, tmp_path / "first", CodedTable(x, Schema(columns=NAMES)), None)
    saved = finished(recipe, tmp_path / "first", CodedTable(x, Schema(columns=NAMES)), None)
    assert set(saved.metrics["digests"]) == {"rows", "validation"}


def test_cli_starts_from_a_folder(tmp_path):
    rows = (torch.rand(60, D, generator=torch.Generator().manual_seed(1)) < 0.5).int().tolist()
    table = tmp_path / "rows.csv"
    table.write_text("\n".join(",".join(map(str, row)) for row in [NAMES, *rows]) + "\n")
    usual = (table, "--hidden", "6", "--steps", "2", "--epochs", "2", "--quiet")
    ok("fit", *usual, "-o", tmp_path / "first")
    still = ("--set", "training.optimizer.lr=1e-12", "--set", "training.ema_decay=0")
    ok("fit", *usual, "-o", tmp_path / "second", "--set", f'start="{tmp_path / "first"}"', *still)
    near(load(tmp_path / "second"), load(tmp_path / "first"))
    assert load_saved(tmp_path / "second").metrics["config"]["start"] == str(tmp_path / "first")
    for start, error in (("nobody", "there is no model at nobody"), ("mnist-nade5-2hl", "start: expected a model of")):
        result = nadek("fit", *usual, "-o", tmp_path / "third", "--set", f"start={start}")
        assert result.code == 1
        assert error in result.err
        assert not (tmp_path / "third").exists()
