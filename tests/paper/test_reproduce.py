"""The paper's tables: every row can be run, what a run leaves, and what the report makes of it."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch

from nadek.checkpoints import load_saved
from nadek.cli import main
from nadek.inference.likelihood import log_prob
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import DeepConfig
from nadek.models.registry import build
from nadek.models.unet_config import ImageConfig
from nadek.runs.data import open_data
from nadek.runs.evaluate import evaluate
from nadek.training import AdamW, Phase, fit, prepare
from nadek.utils.configs import encode
from nadek_paper.report import markdown_table, summary, write_report
from nadek_paper.rows import read_row, read_table, tables
from nadek_paper.run_row import record_path, reproduce
from nadek_paper.scoring import Scoring
from support.paper_rows import TOML, place_in, write_row

ROOT = Path(__file__).parents[2] / "experiments"
SHIPPED = [row for table in tables(ROOT) for row in read_table(ROOT / table)]
RECIPES = [
    pytest.param(row, kind, id=f"{row.table}-{row.name}-{kind}")
    for row in SHIPPED
    for kind in row.kinds
    if row.rbm is None
]
MODULE = sys.modules["nadek_paper.run_row"]
JOBS = sys.modules["nadek_paper.jobs"]
SCORING = sys.modules["nadek_paper.scoring"]

CITED = 'title = "RBM"\ndata = "digits"\npaper = -30\ncited = true\n'
MACHINE = 'title = "RBM"\ndata = "digits"\n[rbm.training]\nhidden = 4\nepochs = 1\n'
KEYS = {
    "table", "row", "recipe", "title", "data", "quick", "paper", "paper_ensemble", "test_log_likelihood",
    "standard_error", "orderings", "rows", "ensemble", "ensemble_standard_error", "ensemble_orderings",
    "ensemble_rows", "spread_over_orderings", "spread_over_rows", "ensemble_mean",
    "ensemble_spread_over_orderings", "ensemble_spread_over_rows", "test_seed", "scoring_dtype", "digest",
    "best_validation", "epochs", "seconds", "seed", "config", "commit", "versions", "hardware", "evaluation", "curve",
}  # fmt: skip


class StopError(Exception):
    """Something that happens to a process."""


def forbidden(*_, **__):
    raise AssertionError("this was to be done only once")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A row that was run: folder, row and record. Only to be looked at."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("done")
    row = read_row(write_row(folder))
    return folder, row, reproduce(row, "modern", place_in(folder))


# Rows


def test_the_rows_of_the_paper_are_there():
    assert tables(ROOT) == ["table1", "table2"]
    assert len([row for row in SHIPPED if row.cited]) == 3
    by_name = {row.name: row for row in SHIPPED}
    assert by_name["nade-5-2hl"].paper == -87.14
    assert by_name["nade-5-2hl"].paper_ensemble == -84.68
    assert by_name["nade-5-4000h"].recipes.paper.training.l2 == 0.0068


@pytest.mark.parametrize("row", SHIPPED, ids=lambda row: f"{row.table}-{row.name}")
def test_every_row_says_what_differs_and_why(row):
    assert row.notes
    assert row.paper is not None or row.name in ("dbm-like-500-500", "best-of-ours")
    for recipe in vars(row.recipes).values():
        assert recipe is None or recipe.notes


PARAMETERS = {
    "nade-2-1000h": 1.57, "nade-5-4000h": 6.28, "nade-mask-670h": 1.58, "nade-mask-2670h": 6.28,
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_as_many_as_in_the_paper(name):
    model = IterativeNADE(read_row(ROOT / "table2" / f"{name}.toml").recipe("paper").model, generator=torch.Generator())
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(PARAMETERS[name], abs=0.01)


@pytest.mark.parametrize(("row", "kind"), RECIPES)
def test_two_tiny_steps_of_every_recipe(row, kind, generator):
    recipe = row.recipe(kind)
    phases = tuple(replace(phase, epochs=1) for phase in recipe.training.phases)
    phases = phases if len(phases) > 1 else (*phases, replace(phases[0], epochs=1))
    x = (torch.rand(20, recipe.model.n_variables, generator=generator) < 0.3).float()
    model = build(recipe.model, x.mean(0), generator=generator)
    history = fit(model, prepare(x), config=replace(recipe.training, phases=phases))
    assert len(history) == 2
    assert all(np.isfinite(epoch.train).all() for epoch in history)
    ordering = None if model.config.ordering else torch.randperm(784, generator=generator)
    assert log_prob(model, x[:1], ordering=ordering).isfinite().all()


def test_the_recipes_of_a_row_share_its_model(tmp_path):
    row = read_row(write_row(tmp_path))
    assert (row.table, row.name) == ("table9", "nade-2")
    assert row.recipe("modern").model.core.hidden == row.recipe("paper").model.core.hidden == (8,)
    assert (row.recipe("modern").model.init_std, row.recipe("paper").model.init_std) == (None, 0.01)
    assert row.recipe("modern").training.phases == (Phase(objective="all_steps", epochs=1), Phase(epochs=2))
    assert row.recipes.paper.notes == "as it was"
    assert row.recipe("paper").notes == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("title", "titel"), "unknown option titel; did you mean title"),
        (('"digits"', '"digit"'), "data: expected one of .*, found 'digit'"),
        (("-20.5", '"-20.5"'), "paper: expected float, found '-20.5'"),
        (("orderings = 3", "orderings = 0"), "orderings: expected at least 1, found 0"),
        (("ensemble_orderings = 4", ""), "ensemble_rows: expected ensemble_orderings beside it"),
        (('notes = ["', 'cited = true\nnotes = ["'), "cited: expected a value of the paper and no recipes"),
        (('notes = ["', 'name = "x"\nnotes = ["'), "unknown option name; it is told by where the file lies"),
        (("init_std = 0.01", "steps = 3"), "recipes: expected one structure, found two"),
        (("recipes.paper", "recipes.papers"), "unknown option recipes.papers; did you mean paper"),
        (("hidden = [8]", "hiden = [8]"), "unknown option recipes.modern.model.core.hiden; did you mean hidden"),
        (("seed = 3", 'teacher = "mnist-unet"'), r"paper.teacher: expected none \(the recipe .taught. is for that\)"),
        (("recipes.paper", "recipes.taught"), "taught.teacher: expected a model to learn from, found none"),
        (("[model]", "[model"), "is not valid TOML"),
    ],
)
def test_a_row_that_is_wrong_is_told_by_its_file(change, told, tmp_path):
    with pytest.raises(ValueError, match=rf"nade-2\.toml.*{told}"):
        read_row(write_row(tmp_path, text=TOML.replace(*change)))


def test_a_row_needs_a_recipe_or_is_cited(tmp_path):
    with pytest.raises(ValueError, match="recipes: expected at least one of modern, paper, taught, found none"):
        read_row(write_row(tmp_path, text='title = "x"\ndata = "digits"\n'))
    row = read_row(write_row(tmp_path, text=CITED))
    with pytest.raises(ValueError, match="table9: row nade-2 has no recipe 'paper': its value is only cited"):
        row.recipe("paper")


def test_rows_come_by_name_or_one_of_them(tmp_path):
    for name in ("b", "a"):
        write_row(tmp_path, name)
    folder = tmp_path / "experiments" / "table9"
    assert [row.name for row in read_table(folder)] == ["a", "b"]
    assert [row.name for row in read_table(folder, only="b")] == ["b"]
    with pytest.raises(ValueError, match="table9 has no row 'c'; known are: a, b"):
        read_table(folder, only="c")
    with pytest.raises(FileNotFoundError, match=r"there is no table table8 in .*; known are: table9"):
        read_table(folder.parent / "table8")


# Runs


def test_a_record_says_everything(done):
    folder, row, record = done
    assert set(record) == KEYS
    assert record == json.loads(record_path(folder / "experiments", row, "modern").read_text())
    told = {key: record[key] for key in ("table", "row", "recipe", "paper", "paper_ensemble", "quick", "seed")}
    expected = {"table": "table9", "row": "nade-2", "recipe": "modern", "paper": -20.5, "paper_ensemble": -19.25}
    assert told == {**expected, "quick": False, "seed": 0}
    assert (record["orderings"], record["rows"], record["epochs"]) == (3, 300, 3)
    assert (record["ensemble_orderings"], record["ensemble_rows"]) == (4, 10)
    assert record["config"] == encode(row.recipe("modern"))
    assert [epoch["phase"] for epoch in record["curve"]] == ["all_steps", "last_step", "last_step"]
    assert record["best_validation"] == pytest.approx(record["curve"][-1]["best"], abs=1e-4)


def test_its_numbers_are_the_exact_likelihoods(done):
    folder, _, record = done
    saved, x = load_saved(folder / "runs" / "table9-nade-2-modern"), open_data("digits", split="test").x
    plain = evaluate(saved, x, orderings=3, seed=record["test_seed"])
    for key in ("test_log_likelihood", "standard_error", "spread_over_orderings", "spread_over_rows"):
        assert record[key] == pytest.approx(plain[key])
    chosen = torch.randperm(300, generator=torch.Generator().manual_seed(0))[:10]
    mixed = log_prob(saved.model, x[chosen], orderings=4, generator=torch.Generator().manual_seed(0), reduce="mixture")
    assert record["ensemble"] == pytest.approx(mixed.mean().item())
    assert record["ensemble_standard_error"] == pytest.approx(mixed.std().item() / 10**0.5)


def test_without_an_ensemble_of_its_own_the_same_orderings_are_mixed(tmp_path):
    row = replace(read_row(write_row(tmp_path)), ensemble_orderings=None, ensemble_rows=None)
    record = reproduce(row, "paper", place_in(tmp_path))
    assert (record["ensemble_orderings"], record["ensemble_rows"]) == (3, 300)
    assert record["ensemble"] >= record["test_log_likelihood"]


def test_a_number_that_is_none_is_null(tmp_path):
    row = replace(read_row(write_row(tmp_path)), orderings=1)
    assert reproduce(row, "modern", place_in(tmp_path, quick=True))["spread_over_orderings"] is None


def test_what_is_finished_is_not_done_again(done, monkeypatch):
    folder, row, record = done
    monkeypatch.setattr(JOBS, "train", forbidden)
    monkeypatch.setattr(SCORING, "log_prob", forbidden)
    assert reproduce(row, "modern", place_in(folder)) == record


@pytest.mark.parametrize("text", [TOML, MACHINE], ids=["network", "RBM"])
def test_what_a_record_says_of_its_row_is_what_the_row_says(text, tmp_path, monkeypatch):
    place = place_in(tmp_path)
    before = reproduce(read_row(write_row(tmp_path, text=text)), "modern", place)
    path = record_path(tmp_path / "experiments", read_row(write_row(tmp_path, text=text)), "modern")
    written = path.read_bytes(), path.stat().st_ino
    assert reproduce(read_row(path.parents[1] / "table9" / "nade-2.toml"), "modern", place) == before
    assert (path.read_bytes(), path.stat().st_ino) == written  # not even written
    monkeypatch.setattr(JOBS, "train", forbidden)
    told = text.replace("paper = -20.5", "").replace('title = "', 'paper = -21.5\ntitle = "New ')
    after = reproduce(read_row(write_row(tmp_path, text=told)), "modern", place)
    assert (after["paper"], after["title"]) == (-21.5, f"New {before['title']}")
    assert {**after, "paper": before["paper"], "title": before["title"]} == before
    assert json.loads(path.read_text()) == after
    reproduce(read_row(write_row(tmp_path, text=text)), "modern", place)
    assert path.read_bytes() == written[0]


def test_core_and_optimizer_are_the_usual_ones_where_no_kind_is_told(tmp_path):
    text = TOML.replace('kind = "deep", ', "").replace("ema_decay = 0.9", "ema_decay = 0.9\noptimizer = { lr = 0.01 }")
    row = read_row(write_row(tmp_path, text=text))
    assert row.recipe("modern").model.core == DeepConfig(hidden=(8,))
    assert row.recipe("modern").training.optimizer == AdamW(lr=0.01)
    assert row.recipe("paper") == read_row(write_row(tmp_path)).recipe("paper")
    image = TOML.replace('core = { kind = "deep", hidden = [8] }', 'kind = "images"\nimage_shape = [8, 8]')
    image = image.replace("model = { init_std = 0.01 }", "").replace("n_variables = 64\n", "")
    assert isinstance(read_row(write_row(tmp_path, text=image)).recipe("modern").model, ImageConfig)


def test_a_lost_record_is_made_again_from_the_model(tmp_path, monkeypatch):
    row = read_row(write_row(tmp_path))
    record = reproduce(row, "modern", place_in(tmp_path))
    path = record_path(tmp_path / "experiments", row, "modern")
    before = path.read_bytes()
    path.unlink()
    monkeypatch.setattr(JOBS, "train", forbidden)
    assert reproduce(row, "modern", place_in(tmp_path)) == record
    assert path.read_bytes() == before
    assert not list((tmp_path / "runs").rglob("*.npz"))


def test_other_orderings_make_another_record(tmp_path, monkeypatch):
    row = read_row(write_row(tmp_path))
    first = reproduce(row, "modern", place_in(tmp_path, quick=True))
    monkeypatch.setattr(JOBS, "train", forbidden)
    second = reproduce(replace(row, orderings=1), "modern", place_in(tmp_path, quick=True))
    assert (first["orderings"], second["orderings"]) == (2, 1)
    third = reproduce(replace(row, orderings=1, ensemble_rows=3), "modern", place_in(tmp_path, quick=True))
    assert third["ensemble_rows"] == 3 < second["ensemble_rows"]


def test_scoring_goes_on_where_it_was(tmp_path, monkeypatch):
    row = replace(read_row(write_row(tmp_path)), orderings=2, ensemble_orderings=2)
    whole = reproduce(row, "modern", place_in(tmp_path / "whole"))
    calls = []

    def scored(*arguments, **options):
        if len(calls) == 3:
            raise StopError
        calls.append(arguments)
        return log_prob(*arguments, **options)

    monkeypatch.setattr(SCORING, "log_prob", scored)
    with pytest.raises(StopError):
        reproduce(row, "modern", place_in(tmp_path))
    calls.append("so that nothing stops the next")
    monkeypatch.setattr(JOBS, "train", forbidden)
    told = []
    record = reproduce(row, "modern", place_in(tmp_path), progress=lambda *numbers: told.append(numbers))
    assert len(calls) == 5  # three, the word, and the one ordering that was left
    assert told == [(20, 20)]
    unlike = ("seconds", "curve")
    assert {k: v for k, v in record.items() if k not in unlike} == {k: v for k, v in whole.items() if k not in unlike}


@pytest.mark.parametrize("other", [{"seed": 1}, {"dtype": torch.bfloat16}], ids=["model", "precision"])
def test_scores_of_something_else_are_not_taken(other, tmp_path):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(20, 6, generator=generator) < 0.5).float()
    orderings = torch.stack([torch.randperm(6, generator=generator) for _ in range(2)])

    def scored(folder, *, seed=0, dtype=None):
        config = ModelConfig(n_variables=6, core=DeepConfig(hidden=(4,)), steps=2, init_std=1.0)
        model = IterativeNADE(config, generator=torch.Generator().manual_seed(seed))
        folder.mkdir(exist_ok=True)
        return Scoring(model, x, orderings, in_turn=False, mixed=None, dtype=dtype).told(folder, None)

    first, alone = scored(tmp_path / "a"), scored(tmp_path / "b", **other)
    assert alone["test_log_likelihood"] != first["test_log_likelihood"]
    assert alone["digest"] != first["digest"]
    assert scored(tmp_path / "a", **other) == alone


IMAGES = """
title = "U-Net"
data = "digits"
orderings = 2
scoring_dtype = "bfloat16"
notes = ["ours"]

[model]
kind = "images"
image_shape = [8, 8]
channels = [3, 4]
dense = 0

[recipes.modern]
notes = "quick"

[recipes.modern.training]
phases = [{ epochs = 1 }]
"""


def test_rows_may_take_orderings_in_turn(tmp_path):
    """Each row under one of them, and the ensemble beside on the rows that were chosen for it."""
    text = TOML.replace("orderings = 3", "orderings = 3\nin_turn = true", 1)
    row = read_row(write_row(tmp_path, text=text))
    record = reproduce(row, "modern", place_in(tmp_path))
    model = load_saved(tmp_path / "runs" / "table9-nade-2-modern").model
    x = open_data("digits", split="test").x
    scores = log_prob(model, x, orderings=3, generator=torch.Generator().manual_seed(0))
    one_each = scores[torch.arange(len(x)) % 3, torch.arange(len(x))]
    assert record["test_log_likelihood"] == pytest.approx(one_each.mean().item(), abs=1e-6)
    assert record["standard_error"] == pytest.approx(one_each.std().item() / len(x) ** 0.5, abs=1e-6)
    assert (record["orderings"], record["in_turn"], record["rows"]) == (3, True, len(x))
    assert (record["ensemble_orderings"], record["ensemble_rows"]) == (4, 10)
    page = tmp_path / "page.md"
    write_report(tmp_path / "experiments", page)
    assert f"3 orderings in turn, {len(x)} rows" in page.read_text()
    with pytest.raises(ValueError, match="in_turn: expected ensemble_orderings beside it"):
        replace(row, ensemble_orderings=None, ensemble_rows=None)


def test_a_network_of_images_is_scored_in_pieces_and_says_how_precisely(tmp_path, monkeypatch):
    row = read_row(write_row(tmp_path, text=IMAGES))
    monkeypatch.setattr(SCORING, "PIECE", 80)
    calls = []

    def scored(model, x, *arguments, **options):
        calls.append(len(x))
        if calls[4:] == [80]:
            raise StopError
        return log_prob(model, x, *arguments, **options)

    monkeypatch.setattr(SCORING, "log_prob", scored)
    with pytest.raises(StopError):
        reproduce(row, "modern", place_in(tmp_path, quick=True))
    assert calls == [80, 80, 40, 80, 80]
    told = []
    record = reproduce(row, "modern", place_in(tmp_path, quick=True), progress=lambda *numbers: told.append(numbers))
    assert calls[5:] == [80, 40, 16, 16]  # what was left, and what tells the precision
    assert told == [(360, 400), (400, 400)]
    assert record["paper"] is None
    assert record["scoring_dtype"] == "bfloat16"
    model = load_saved(tmp_path / "runs" / "quick" / "table9-nade-2-modern").model
    x = open_data("digits").x[:200]
    exact = log_prob(model, x, orderings=2, generator=torch.Generator().manual_seed(0))
    coarse = log_prob(model, x, orderings=2, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(0))
    assert record["test_log_likelihood"] == pytest.approx(coarse.mean().item(), abs=1e-9)
    away = (coarse - exact)[0, :16]
    told = {"rows": 16, "mean_difference": away.mean().item(), "largest_difference": away.abs().max().item()}
    assert record["reduced_precision"] == pytest.approx(told, abs=1e-9)
    assert away.abs().max() > 0


@pytest.mark.parametrize("damage", [b"nothing", b""])
def test_damaged_scores_are_made_again(damage, tmp_path, monkeypatch):
    row = read_row(write_row(tmp_path))
    monkeypatch.setattr(MODULE, "write_record", forbidden)
    with pytest.raises(AssertionError):
        reproduce(row, "modern", place_in(tmp_path, quick=True))
    monkeypatch.undo()
    (kept,) = (tmp_path / "runs").rglob("scores.npz")
    kept.write_bytes(damage)
    assert reproduce(row, "modern", place_in(tmp_path, quick=True))["orderings"] == 2


def test_an_interrupted_training_goes_on(tmp_path):
    row = read_row(write_row(tmp_path))

    def stop(epoch):
        raise StopError

    with pytest.raises(StopError):
        reproduce(row, "modern", place_in(tmp_path), on_epoch=stop)
    assert (tmp_path / "runs" / "table9-nade-2-modern" / "training.safetensors").is_file()
    assert reproduce(row, "modern", place_in(tmp_path))["epochs"] == 3


def test_a_quick_look_leaves_no_result(tmp_path):
    row = read_row(write_row(tmp_path))
    record = reproduce(row, "modern", place_in(tmp_path, quick=True))
    assert (record["quick"], record["epochs"], record["orderings"], record["rows"]) == (True, 2, 2, 200)
    assert (record["ensemble_orderings"], record["ensemble_rows"]) == (2, 10)
    assert not (tmp_path / "experiments" / "results").exists()
    assert (tmp_path / "runs" / "quick" / "table9-nade-2-modern" / "record.json").is_file()
    assert not (tmp_path / "runs" / "table9-nade-2-modern").exists()


def test_a_model_of_another_recipe_is_not_taken(tmp_path):
    reproduce(read_row(write_row(tmp_path)), "modern", place_in(tmp_path, quick=True))
    row = read_row(write_row(tmp_path, text=TOML.replace("0.9\n", "0.8\n")))
    with pytest.raises(ValueError, match="table9-nade-2-modern holds a model of another recipe; use --force"):
        reproduce(row, "modern", place_in(tmp_path, quick=True))
    record = reproduce(row, "modern", place_in(tmp_path, quick=True), force=True)
    assert record["config"]["training"]["ema_decay"] == 0.8


def test_other_words_are_no_other_recipe(tmp_path, monkeypatch):
    first = reproduce(read_row(write_row(tmp_path)), "paper", place_in(tmp_path, quick=True))
    row = read_row(write_row(tmp_path, text=TOML.replace("as it was", "as they did it")))
    monkeypatch.setattr(JOBS, "train", forbidden)
    assert reproduce(row, "paper", place_in(tmp_path, quick=True)) == first


def test_a_model_that_diverged_is_no_result(tmp_path):
    row = read_row(write_row(tmp_path))
    reproduce(row, "modern", place_in(tmp_path, quick=True))
    (path,) = (tmp_path / "runs").rglob("metrics.json")
    path.write_text(path.read_text().replace('"diverged": false', '"diverged": true'))
    with pytest.raises(ValueError, match=r"the training of .* diverged; change the recipe, or use --force"):
        reproduce(row, "modern", place_in(tmp_path, quick=True))


def test_a_recipe_for_other_data_is_refused(tmp_path):
    row = read_row(write_row(tmp_path, text=TOML.replace("n_variables = 64", "n_variables = 60")))
    with pytest.raises(ValueError, match="table9-nade-2-modern: the recipe is for 60 variables, digits has 64"):
        reproduce(row, "modern", place_in(tmp_path))


# The report


def made_up(folder, row, kind, /, **changes):
    """A record with what a report reads."""
    record = {
        "table": row.table, "row": row.name, "recipe": kind,
        "test_log_likelihood": -21.125, "standard_error": 0.25, "orderings": 3, "rows": 1300, "ensemble": -20.0,
        "ensemble_standard_error": None, "ensemble_orderings": 1, "ensemble_rows": 10, "best_validation": 22.0,
        "config": encode(row.recipe(kind)), **changes,
    }  # fmt: skip
    path = record_path(folder / "experiments", row, kind)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record))


def test_the_summary_takes_the_recipe_that_validates_best(tmp_path):
    row = read_row(write_row(tmp_path))
    write_row(tmp_path, "rbm", CITED)
    made_up(tmp_path, row, "modern", best_validation=22.0, test_log_likelihood=-21.0)
    made_up(tmp_path, row, "paper", best_validation=21.0, test_log_likelihood=-23.0)
    told = summary(tmp_path / "experiments")
    assert list(told) == ["table9"]
    assert list(told["table9"]) == ["nade-2"]
    entry = told["table9"]["nade-2"]
    assert (entry["recipe"], entry["test_log_likelihood"], entry["paper"]) == ("paper", -23.0, -20.5)
    assert (entry["record"], entry["stale"]) == ("table9-nade-2-paper.json", False)
    assert {"standard_error", "orderings", "rows", "ensemble"} <= set(entry)
    assert {kind: one["test_log_likelihood"] for kind, one in entry["recipes"].items()} == {
        "modern": -21.0,
        "paper": -23.0,
    }


def test_a_row_is_taught_by_another_model(tmp_path):
    rows = {"nade-2": TOML, "pupil": taught_by(tmp_path / "runs" / "table9-nade-2-modern")}
    rows = {name: read_row(write_row(tmp_path, name, text)) for name, text in rows.items()}
    with pytest.raises(FileNotFoundError, match="there is no model at"):
        reproduce(rows["pupil"], "taught", place_in(tmp_path))
    reproduce(rows["nade-2"], "modern", place_in(tmp_path))
    alone, taught = (reproduce(rows["pupil"], kind, place_in(tmp_path)) for kind in ("modern", "taught"))
    assert alone["test_log_likelihood"] != taught["test_log_likelihood"]
    assert taught["config"]["teacher"] == rows["pupil"].recipes.taught.teacher
    assert "teacher" not in alone["config"]
    assert f"| NADE-2 | taught by {taught['config']['teacher']} | -20.50" in markdown_table(
        tmp_path / "experiments", list(rows.values())
    )


def taught_by(folder):
    """A row that learns in its usual way, and so from a model."""
    modern = TOML[TOML.index("[recipes.modern.training]") : TOML.index("[recipes.paper]")]
    head = TOML[: TOML.index("[recipes.paper]")]
    return f'{head}[recipes.taught]\nteacher = "{folder}"\n{modern.replace("modern", "taught")}'


def test_spreads_are_of_what_learnt_from_rows(tmp_path):
    row = read_row(write_row(tmp_path, text=taught_by("mnist-unet")))
    spreads = {"ensemble_spread_over_orderings": 2.0, "ensemble_spread_over_rows": 20.0}
    made_up(tmp_path, row, "modern", **spreads)
    made_up(tmp_path, row, "taught", best_validation=20.0, test_log_likelihood=-19.0, **spreads)
    (tmp_path / "experiments" / "table3.toml").write_text(
        'title = "spreads"\ntable = "table9"\n[[rows]]\nrow = "nade-2"\nmean = -20.5\nover_orderings = 2.1\n'
        "over_rows = 21.0\n"
    )
    told = summary(tmp_path / "experiments")
    assert told["table9"]["nade-2"]["recipe"] == "taught"
    assert (told["table3"]["nade-2"]["recipe"], told["table3"]["nade-2"]["test_log_likelihood"]) == ("modern", -21.125)


def test_the_tables_are_these(tmp_path):
    row = read_row(write_row(tmp_path))
    rows = [read_row(write_row(tmp_path, "a-rbm", CITED)), row]
    rows.append(read_row(write_row(tmp_path, "z", TOML.replace("NADE-2", "Z").replace("paper = -20.5", ""))))
    made_up(tmp_path, row, "modern")
    assert markdown_table(tmp_path / "experiments", rows).splitlines()[2:] == [
        "| NADE-2 | modern | -20.50 | -21.12 | 0.25 | 3 orderings, 1,300 rows | -19.25 | -20.00 | – |"
        " 1 ordering, 10 rows |",
        "| Z | – | – | – | – | – | -19.25 | – | – | – |",
        "| RBM (cited) | – | -30.00 | – | – | – | – | – | – | – |",
    ]


def test_the_report_is_written_in_its_place_and_the_same_every_time(tmp_path):
    row = read_row(write_row(tmp_path))
    write_row(tmp_path, "b", table="table1")
    made_up(tmp_path, row, "modern")
    page = tmp_path / "results.md"
    page.write_text("# Ours\n\n<!-- generated: table9 -->old \\1<!-- /generated -->\n\nThe end.\n")
    assert write_report(tmp_path / "experiments", page) == []
    text, told = page.read_text(), (tmp_path / "experiments" / "results" / "summary.json").read_bytes()
    assert "old" not in text
    assert text.startswith("# Ours\n\n<!-- generated: table9 -->\n\n| model |")
    assert "<!-- /generated -->\n\nThe end.\n\n## table1\n\n<!-- generated: table1 -->\n\n| model |" in text
    assert "| NADE-2 | modern |" in text
    assert json.loads(told) == summary(tmp_path / "experiments")
    write_report(tmp_path / "experiments", page)
    assert page.read_text() == text
    assert (tmp_path / "experiments" / "results" / "summary.json").read_bytes() == told


def test_a_record_of_an_older_recipe_is_told(tmp_path):
    row = read_row(write_row(tmp_path))
    made_up(tmp_path, row, "modern", config={"model": "another"})
    (stale,) = write_report(tmp_path / "experiments", tmp_path / "results.md")
    assert stale.path.name == "table9-nade-2-modern.json"
    assert "| NADE-2 | modern (changed since) |" in (tmp_path / "results.md").read_text()
    assert summary(tmp_path / "experiments")["table9"]["nade-2"]["stale"] is True


def test_a_real_record_is_not_stale(done):
    folder, row, record = done
    entry = summary(folder / "experiments")[row.table][row.name]
    assert (entry["stale"], entry["ensemble"]) == (False, record["ensemble"])


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_record_is_told(content, tmp_path):
    row = read_row(write_row(tmp_path))
    made_up(tmp_path, row, "modern")
    path = record_path(tmp_path / "experiments", row, "modern")
    path.write_text(content)
    with pytest.raises(ValueError, match=r"table9-nade-2-modern.json"):
        summary(tmp_path / "experiments")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"row": "nade-5"}, "expected the record of table9-nade-2-modern, found one whose row is 'nade-5'"),
        ({"table": "table8"}, "expected the record of table9-nade-2-modern, found one whose table is 'table8'"),
        ({"recipe": "paper"}, "expected the record of table9-nade-2-modern, found one whose recipe is 'paper'"),
        ({"test_log_likelihood": "high"}, "test_log_likelihood: expected a number or null, found 'high'"),
        ({"best_validation": True}, "best_validation: expected a number, found True"),
        ({"best_validation": None}, "best_validation: expected a number, found None"),
        ({"config": None}, "config: expected a table of options, found None"),
    ],
)
def test_a_record_of_something_else_is_told_by_its_file(change, told, tmp_path):
    row = read_row(write_row(tmp_path))
    made_up(tmp_path, row, "paper")
    made_up(tmp_path, row, "modern", **change)
    with pytest.raises(ValueError, match=rf"table9-nade-2-modern.json: {told}"):
        summary(tmp_path / "experiments")


@pytest.mark.parametrize("key", ["row", "standard_error", "ensemble_rows", "best_validation", "config"])
def test_a_record_that_lacks_something_is_told_by_its_file(key, tmp_path):
    row = read_row(write_row(tmp_path))
    made_up(tmp_path, row, "modern")
    path = record_path(tmp_path / "experiments", row, "modern")
    path.write_text(json.dumps({k: value for k, value in json.loads(path.read_text()).items() if k != key}))
    with pytest.raises(ValueError, match=rf"table9-nade-2-modern.json: expected the key '{key}' of a record"):
        summary(tmp_path / "experiments")


def test_a_record_without_numbers_is_shown_by_dashes(tmp_path):
    row = read_row(write_row(tmp_path))
    made_up(tmp_path, row, "modern", **dict.fromkeys(("test_log_likelihood", "standard_error", "rows")))
    assert "| NADE-2 | modern | -20.50 | – | – | – | -19.25 | -20.00 |" in markdown_table(
        tmp_path / "experiments", [row]
    )


def test_a_report_of_nothing_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there are no tables in"):
        write_report(tmp_path, tmp_path / "results.md")


# The command line


def nadek(*arguments):
    """Run a command in this process: exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    argv = mock.patch.object(sys, "argv", ["nadek", *map(str, arguments)])
    with argv, redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, out.getvalue(), err.getvalue()


@pytest.fixture
def options(tmp_path):
    """A table with a row and a cited one, and the options that lead there."""
    write_row(tmp_path)
    write_row(tmp_path, "rbm", CITED)
    return "--experiments", tmp_path / "experiments"


def test_a_table_is_run_and_reported(tmp_path, options):
    code, out, err = nadek("reproduce", "table9", *options, "--runs", tmp_path / "runs", "--json")
    assert (code, err.strip()) == (0, "rbm: only cited, not run")
    told = json.loads(out)
    assert list(told) == ["nade-2"]
    assert told["nade-2"]["orderings"] == 3
    code, out, err = nadek("report", *options, "--docs", tmp_path / "results.md")
    assert (code, err) == (0, "")
    assert out.splitlines() == [str(options[1] / "results" / "summary.json"), str(tmp_path / "results.md")]
    assert f"{told['nade-2']['test_log_likelihood']:.2f}" in (tmp_path / "results.md").read_text()


def test_rows_without_the_recipe_are_passed_over(tmp_path, options):
    write_row(tmp_path, "a", TOML[: TOML.index("[recipes.paper]")])
    write_row(tmp_path, "b", MACHINE)
    arguments = ("reproduce", "table9", *options, "--recipe", "paper", "--runs", tmp_path / "runs", "--json")
    code, out, err = nadek(*arguments)
    assert (code, list(json.loads(out))) == (0, ["nade-2"])
    assert err.splitlines() == [
        "a: no recipe 'paper', not run", "b: no recipe 'paper', not run", "rbm: only cited, not run",
    ]  # fmt: skip
    for row, why in (("a", "its file has none"), ("b", "it is an RBM")):
        code, out, err = nadek(*arguments, "--row", row)
        assert (code, out, err) == (1, "", f"nadek: table9: row {row} has no recipe 'paper': {why}\n")


def test_a_row_in_bfloat16_says_where_the_processor_is_slow_before_it_is_trained(tmp_path, options, monkeypatch):
    monkeypatch.setattr("nadek.cli.progress.has_fast_bfloat16", lambda _: False)
    path = options[1] / "table9" / "nade-2.toml"
    arguments = ("reproduce", "table9", *options, "--row", "nade-2", "--runs", tmp_path / "runs")
    assert "bfloat16" not in nadek(*arguments)[2]
    path.write_text(
        path.read_text().replace("[recipes.modern.training]", '[recipes.modern.training]\nprecision = "bfloat16"')
    )
    assert nadek(*arguments, "--force")[2].count("no bfloat16 products of its own") == 1
    assert "bfloat16" not in nadek(*arguments)[2]  # it is there


def test_a_quick_look_is_called_so(tmp_path, options):
    arguments = ("--row", "nade-2", "--recipe", "paper", "--quick", "--quiet", "--runs", tmp_path / "runs")
    code, out, err = nadek("reproduce", "table9", *options, *arguments)
    assert (code, err) == (0, "")
    assert "(a quick look, no result)" in " ".join(out.split())
    assert "-20.50" in out


def test_an_interruption_says_how_to_go_on(tmp_path, options):
    with mock.patch.object(JOBS, "train", side_effect=KeyboardInterrupt):
        code, out, err = nadek("reproduce", "table9", *options, "--runs", tmp_path / "runs", "--quiet")
    assert (code, out) == (130, "")
    assert err == f"nadek: stopped; what was done is kept in {tmp_path / 'runs'}: give the same command to go on\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("table8",), "there is no table table8 in"),
        (("table8",), ", nor a study; known are: table9, meanfield, which"),
        (("meanfield", "--row", "x"), "--row: expected none, as meanfield is run as a whole; found 'x'"),
        (("table9", "--row", "x"), "table9 has no row 'x'; known are: nade-2, rbm"),
        (("table9", "--row", "rbm"), "row rbm has no recipe 'modern': its value is only cited"),
    ],
)
def test_mistakes_end_in_one_line(arguments, told, options):
    for name in ("meanfield.toml", "grids/which.toml"):
        path = options[1] / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    code, out, err = nadek("reproduce", *arguments, *options)
    assert (code, out) == (1, "")
    (line,) = err.splitlines()
    assert line.startswith("nadek: ")
    assert told in line
