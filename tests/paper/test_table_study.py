"""Rows of the paper's tables: reading, running, resuming, and the numbers in their records."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from nadek.checkpoints import load_saved
from nadek.inference.likelihood import log_prob
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import DeepConfig
from nadek.models.model_config import ImageConfig
from nadek.models.registry import build
from nadek.runs.data import open_data
from nadek.runs.evaluate import evaluate
from nadek.training import AdamW, Phase, fit, prepare
from nadek.utils.atomic import read_record
from nadek.utils.configs import encode
from nadek_paper.report import summary, write_report
from nadek_paper.rows import read_row, read_table, tables
from nadek_paper.scoring import Scoring
from nadek_paper.workspace import RECIPES, RESULTS
from support.paper_rows import (
    CITED,
    RBM,
    TOML,
    StopError,
    Watched,
    forbidden,
    recipe_text,
    record_of,
    run_row,
    stop,
    workspace_in,
    write_row,
)

SHIPPED = [row for table in tables(RECIPES) for row in read_table(RECIPES / table)]
EVERY_RECIPE = [
    pytest.param(row, kind, id=f"{row.table}-{row.name}-{kind}")
    for row in SHIPPED
    for kind in row.kinds
    if row.baseline is None
]
KEYS = set(read_record(RESULTS / "table1-nade-mask-1hl-modern.json"))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A row that was run: folder, row and record; read only."""
    folder = tmp_path_factory.mktemp("done")
    row = read_row(write_row(folder))
    return folder, row, run_row(row, "modern", workspace_in(folder))


# Rows


@pytest.mark.parametrize("row", SHIPPED, ids=lambda row: f"{row.table}-{row.name}")
def test_rows_note_every_difference(row):
    assert row.notes
    assert row.paper is not None or row.name in ("dbm-like-500-500", "best-of-ours")
    for recipe in vars(row.recipes).values():
        assert recipe is None or recipe.notes


PARAMETERS = {
    "nade-2-1000h": 1.57, "nade-5-4000h": 6.28, "nade-mask-670h": 1.58, "nade-mask-2670h": 6.28,
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_match_the_paper(name):
    model = IterativeNADE(
        read_row(RECIPES / "table2" / f"{name}.toml").recipe("paper").model, generator=torch.Generator()
    )
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(PARAMETERS[name], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("row", "kind"), EVERY_RECIPE)
def test_every_recipe_trains(row, kind, generator):
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


def test_recipes_share_the_model(tmp_path):
    row = read_row(write_row(tmp_path))
    assert (row.table, row.name) == ("table9", "nade-2")
    assert row.recipe("modern").model.core.hidden == row.recipe("paper").model.core.hidden == (8,)
    assert (row.recipe("modern").model.init_std, row.recipe("paper").model.init_std) == (None, 0.01)
    assert row.recipe("modern").training.phases == (Phase(objective="all_steps", epochs=1), Phase(epochs=2))
    assert row.recipes.paper.notes == "as it was"
    assert row.recipe("paper").notes == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("title", "titel"), "unknown option titel; did you mean title"),
        (('"digits"', '"digit"'), "data: expected one of .*, found 'digit'"),
        (("-20.5", '"-20.5"'), "paper: expected a number, found '-20.5'"),
        (("orderings = 3", "orderings = 0"), "orderings: expected at least 1, found 0"),
        (("ensemble_orderings = 4", ""), "ensemble_rows: expected ensemble_orderings beside it"),
        (('notes = ["', 'cited = true\nnotes = ["'), "cited: expected a value of the paper and no recipes"),
        (('notes = ["', 'name = "x"\nnotes = ["'), "unknown option name; the place of the file says it"),
        (("init_std = 0.01", "steps = 3"), "recipes: expected one structure, found two"),
        (("recipes.paper", "recipes.papers"), "unknown option recipes.papers; did you mean paper"),
        (("hidden = [8]", "hiden = [8]"), "unknown option recipes.modern.model.core.hiden; did you mean hidden"),
        (("seed = 3", 'teacher = "mnist-unet"'), r"paper.teacher: expected none \(the recipe .taught. is for that\)"),
        (("recipes.paper", "recipes.taught"), "taught.teacher: expected a model to learn from, found none"),
        (("[model]", "[model"), "is not valid TOML"),
    ],
)
def test_row_errors_name_the_file(change, message, tmp_path):
    with pytest.raises(ValueError, match=rf"nade-2\.toml.*{message}"):
        read_row(write_row(tmp_path, text=TOML.replace(*change)))


def test_row_needs_recipe_or_citation(tmp_path):
    with pytest.raises(ValueError, match="recipes: expected at least one of modern, paper, taught, found none"):
        read_row(write_row(tmp_path, text='title = "x"\ndata = "digits"\n'))
    row = read_row(write_row(tmp_path, text=CITED))
    with pytest.raises(ValueError, match="table9: row nade-2 has no recipe 'paper': its value is only cited"):
        row.recipe("paper")


def test_table_reads_all_or_one(tmp_path):
    for name in ("b", "a"):
        write_row(tmp_path, name)
    folder = tmp_path / "recipes" / "table9"
    assert [row.name for row in read_table(folder)] == ["a", "b"]
    assert [row.name for row in read_table(folder, only="b")] == ["b"]
    with pytest.raises(ValueError, match="table9 has no row 'c'; known are: a, b"):
        read_table(folder, only="c")
    with pytest.raises(FileNotFoundError, match=r"there is no table table8 in .*; known are: table9"):
        read_table(folder.parent / "table8")


# Runs


def test_record_is_complete(done):
    folder, row, record = done
    assert set(record) == KEYS
    assert record == json.loads(record_of(folder, row).read_text())
    about = {key: record[key] for key in ("table", "row", "recipe", "paper", "paper_ensemble", "quick", "seed")}
    expected = {"table": "table9", "row": "nade-2", "recipe": "modern", "paper": -20.5, "paper_ensemble": -19.25}
    assert about == {**expected, "quick": False, "seed": 0}
    assert (record["orderings"], record["rows"], record["epochs"]) == (3, 300, 3)
    assert (record["ensemble_orderings"], record["ensemble_rows"]) == (4, 10)
    assert record["config"] == encode(row.recipe("modern"))
    assert [epoch["phase"] for epoch in record["curve"]] == ["all_steps", "last_step", "last_step"]
    assert record["best_validation"] == pytest.approx(record["curve"][-1]["best"], abs=1e-4)


def test_scores_are_exact_likelihoods(done):
    folder, _, record = done
    saved, x = load_saved(folder / "runs" / "table9-nade-2-modern"), open_data("digits", split="test").x
    plain = evaluate(saved, x, orderings=3, seed=record["test_seed"])
    for key in ("test_log_likelihood", "standard_error", "spread_over_orderings", "spread_over_rows"):
        assert record[key] == pytest.approx(plain[key])
    chosen = torch.randperm(300, generator=torch.Generator().manual_seed(0))[:10]
    mixed = log_prob(saved.model, x[chosen], orderings=4, generator=torch.Generator().manual_seed(0), reduce="mixture")
    assert record["ensemble"] == pytest.approx(mixed.mean().item())
    assert record["ensemble_standard_error"] == pytest.approx(mixed.std().item() / 10**0.5)


def test_ensemble_defaults_to_same_orderings(tmp_path):
    row = replace(read_row(write_row(tmp_path)), ensemble_orderings=None, ensemble_rows=None)
    record = run_row(row, "paper", workspace_in(tmp_path))
    assert (record["ensemble_orderings"], record["ensemble_rows"]) == (3, 300)
    assert record["ensemble"] >= record["test_log_likelihood"]


def test_finished_row_is_not_rerun(done, monkeypatch):
    folder, row, record = done
    entry = summary(workspace_in(folder))[row.table][row.name]
    assert (entry["stale"], entry["ensemble"]) == (False, record["ensemble"])
    monkeypatch.setattr("nadek_paper.trainings.train", forbidden)
    monkeypatch.setattr("nadek_paper.scoring.log_prob", forbidden)
    assert run_row(row, "modern", workspace_in(folder)) == record


@pytest.mark.slow
@pytest.mark.parametrize("text", [TOML, RBM], ids=["network", "RBM"])
def test_record_follows_the_row_description(text, tmp_path, monkeypatch):
    place = workspace_in(tmp_path)
    before = run_row(read_row(write_row(tmp_path, text=text)), "modern", place)
    path = record_of(tmp_path, read_row(write_row(tmp_path, text=text)))
    written = path.read_bytes(), path.stat().st_ino
    assert run_row(read_row(tmp_path / "recipes" / "table9" / "nade-2.toml"), "modern", place) == before
    assert (path.read_bytes(), path.stat().st_ino) == written  # not even written
    monkeypatch.setattr("nadek_paper.trainings.train", forbidden)
    described = text.replace("paper = -20.5", "").replace('title = "', 'paper = -21.5\ntitle = "New ')
    after = run_row(read_row(write_row(tmp_path, text=described)), "modern", place)
    assert (after["paper"], after["title"]) == (-21.5, f"New {before['title']}")
    assert {**after, "paper": before["paper"], "title": before["title"]} == before
    assert json.loads(path.read_text()) == after
    path.unlink()  # a lost record is made again
    run_row(read_row(write_row(tmp_path, text=text)), "modern", place)
    assert path.read_bytes() == written[0]
    assert not list((tmp_path / "runs").rglob("*.npz"))


def test_default_core_and_optimizer(tmp_path):
    text = TOML.replace('kind = "deep", ', "").replace("ema_decay = 0.9", "ema_decay = 0.9\noptimizer = { lr = 0.01 }")
    row = read_row(write_row(tmp_path, text=text))
    assert row.recipe("modern").model.core == DeepConfig(hidden=(8,))
    assert row.recipe("modern").training.optimizer == AdamW(lr=0.01)
    assert isinstance(read_row(write_row(tmp_path, text=IMAGES)).recipe("modern").model, ImageConfig)


def test_other_orderings_change_the_record(tmp_path, monkeypatch):
    row = read_row(write_row(tmp_path))
    first = run_row(row, "modern", workspace_in(tmp_path, quick=True))
    monkeypatch.setattr("nadek_paper.trainings.train", forbidden)
    second = run_row(replace(row, orderings=1), "modern", workspace_in(tmp_path, quick=True))
    assert (first["orderings"], second["orderings"]) == (2, 1)
    assert second["spread_over_orderings"] is None
    third = run_row(replace(row, orderings=1, ensemble_rows=3), "modern", workspace_in(tmp_path, quick=True))
    assert third["ensemble_rows"] == 3 < second["ensemble_rows"]


@pytest.mark.slow
def test_training_and_scoring_resume(tmp_path, monkeypatch):
    row = replace(read_row(write_row(tmp_path)), orderings=2, ensemble_orderings=2)
    whole = run_row(row, "modern", workspace_in(tmp_path / "whole"))
    calls = []

    def scored(*arguments, **options):
        if len(calls) == 3:
            raise StopError
        calls.append(arguments)
        return log_prob(*arguments, **options)

    monkeypatch.setattr("nadek_paper.scoring.log_prob", scored)
    with pytest.raises(StopError):
        run_row(row, "modern", workspace_in(tmp_path), watch=Watched(stop))
    assert (tmp_path / "runs" / "table9-nade-2-modern" / "training.safetensors").is_file()
    with pytest.raises(StopError):
        run_row(row, "modern", workspace_in(tmp_path))  # the training goes on, the scoring stops
    calls.append("so that nothing stops the next")
    monkeypatch.setattr("nadek_paper.trainings.train", forbidden)
    record = run_row(row, "modern", workspace_in(tmp_path), watch=(watched := Watched()))
    assert len(calls) == 5  # three, the word, and the one ordering that was left
    assert watched.scored == [(20, 20)]
    unlike = ("seconds", "curve")
    assert {k: v for k, v in record.items() if k not in unlike} == {k: v for k, v in whole.items() if k not in unlike}


@pytest.mark.parametrize("other", [{"seed": 1}, {"dtype": torch.bfloat16}], ids=["model", "precision"])
def test_scores_of_others_are_refused(other, tmp_path):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(20, 6, generator=generator) < 0.5).float()
    orderings = torch.stack([torch.randperm(6, generator=generator) for _ in range(2)])

    def scored(folder, *, seed=0, dtype=None):
        config = ModelConfig(n_variables=6, core=DeepConfig(hidden=(4,)), steps=2, init_std=1.0)
        model = IterativeNADE(config, generator=torch.Generator().manual_seed(seed))
        folder.mkdir(exist_ok=True)
        return Scoring(model, x, orderings, in_turn=False, ensemble=None, dtype=dtype).scores(folder, Watched().on_rows)

    first, alone = scored(tmp_path / "a"), scored(tmp_path / "b", **other)
    assert alone["test_log_likelihood"] != first["test_log_likelihood"]
    assert alone["digest"] != first["digest"]
    assert scored(tmp_path / "a", **other) == alone


IMAGES = recipe_text("images")


@pytest.mark.slow
def test_orderings_in_turn(tmp_path):
    """Each row under one of them, and the ensemble beside on the rows that were chosen for it."""
    text = TOML.replace("orderings = 3", "orderings = 3\nin_turn = true", 1)
    row = read_row(write_row(tmp_path, text=text))
    record = run_row(row, "modern", workspace_in(tmp_path))
    model = load_saved(tmp_path / "runs" / "table9-nade-2-modern").model
    x = open_data("digits", split="test").x
    scores = log_prob(model, x, orderings=3, generator=torch.Generator().manual_seed(0))
    one_each = scores[torch.arange(len(x)) % 3, torch.arange(len(x))]
    assert record["test_log_likelihood"] == pytest.approx(one_each.mean().item(), abs=1e-6)
    assert record["standard_error"] == pytest.approx(one_each.std().item() / len(x) ** 0.5, abs=1e-6)
    assert (record["orderings"], record["in_turn"], record["rows"]) == (3, True, len(x))
    assert (record["ensemble_orderings"], record["ensemble_rows"]) == (4, 10)
    page = tmp_path / "page.md"
    write_report(workspace_in(tmp_path), page)
    assert f"3 orderings in turn, {len(x)} rows" in page.read_text()
    with pytest.raises(ValueError, match="in_turn: expected ensemble_orderings beside it"):
        replace(row, ensemble_orderings=None, ensemble_rows=None)


@pytest.mark.slow
def test_images_are_scored_in_pieces(tmp_path, monkeypatch):
    row = read_row(write_row(tmp_path, text=IMAGES))
    monkeypatch.setattr("nadek_paper.scoring.PIECE", 80)
    calls = []

    def scored(model, x, *arguments, **options):
        calls.append(len(x))
        if calls[4:] == [80]:
            raise StopError
        return log_prob(model, x, *arguments, **options)

    monkeypatch.setattr("nadek_paper.scoring.log_prob", scored)
    with pytest.raises(StopError):
        run_row(row, "modern", workspace_in(tmp_path, quick=True))
    assert calls == [80, 80, 40, 80, 80]
    record = run_row(row, "modern", workspace_in(tmp_path, quick=True), watch=(watched := Watched()))
    assert calls[5:] == [80, 40, 16, 16]  # what was left, and what tells the precision
    assert watched.scored == [(360, 400), (400, 400)]
    assert record["paper"] is None
    assert record["scoring_dtype"] == "bfloat16"
    model = load_saved(tmp_path / "runs" / "quick" / "table9-nade-2-modern").model
    x = open_data("digits").x[:200]
    exact = log_prob(model, x, orderings=2, generator=torch.Generator().manual_seed(0))
    coarse = log_prob(model, x, orderings=2, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(0))
    assert record["test_log_likelihood"] == pytest.approx(coarse.mean().item(), abs=1e-9)
    away = (coarse - exact)[0, :16]
    precision = {"rows": 16, "mean_difference": away.mean().item(), "largest_difference": away.abs().max().item()}
    assert record["reduced_precision"] == pytest.approx(precision, abs=1e-9)
    assert away.abs().max() > 0


@pytest.mark.parametrize("damage", [b"nothing", b""])
def test_damaged_scores_are_recomputed(damage, tmp_path, monkeypatch):
    row = read_row(write_row(tmp_path))
    monkeypatch.setattr("nadek_paper.studies.write_record", forbidden)
    with pytest.raises(AssertionError):
        run_row(row, "modern", workspace_in(tmp_path, quick=True))
    monkeypatch.undo()
    (kept,) = (tmp_path / "runs").rglob("scores.npz")
    kept.write_bytes(damage)
    assert run_row(row, "modern", workspace_in(tmp_path, quick=True))["orderings"] == 2


def test_quick_look_leaves_no_result(tmp_path):
    row = read_row(write_row(tmp_path))
    record = run_row(row, "modern", workspace_in(tmp_path, quick=True))
    assert (record["quick"], record["epochs"], record["orderings"], record["rows"]) == (True, 2, 2, 200)
    assert (record["ensemble_orderings"], record["ensemble_rows"]) == (2, 10)
    assert not (tmp_path / "results").exists()
    assert (tmp_path / "runs" / "quick" / "table9-nade-2-modern" / "record.json").is_file()
    assert not (tmp_path / "runs" / "table9-nade-2-modern").exists()


@pytest.mark.parametrize(
    ("recipe", "key", "old", "new", "what"),
    [
        pytest.param("network", "ema_decay", 0.9, 0.8, "a model", marks=pytest.mark.slow),
        ("rbm", "hidden", 8, 6, "an RBM"),
        ("darn", "hidden", 8, 6, "a DARN"),
    ],
)
def test_other_recipe_needs_force(recipe, key, old, new, what, tmp_path):
    text, place = recipe_text(recipe), workspace_in(tmp_path, quick=True)
    run_row(read_row(write_row(tmp_path, text=text)), "modern", place)
    row = read_row(write_row(tmp_path, text=text.replace(f"{key} = {old}", f"{key} = {new}")))
    with pytest.raises(ValueError, match=f"table9-nade-2-modern holds {what} of another recipe; use --force"):
        run_row(row, "modern", place)
    assert run_row(row, "modern", place, force=True)["config"]["training"][key] == new


def test_diverged_model_is_refused(tmp_path, monkeypatch):
    first = run_row(read_row(write_row(tmp_path)), "paper", workspace_in(tmp_path, quick=True))
    row = read_row(write_row(tmp_path, text=TOML.replace("as it was", "as they did it")))  # notes are no recipe
    monkeypatch.setattr("nadek_paper.trainings.train", forbidden)
    assert run_row(row, "paper", workspace_in(tmp_path, quick=True)) == first
    (path,) = (tmp_path / "runs").rglob("metrics.json")
    path.write_text(path.read_text().replace('"diverged": false', '"diverged": true'))
    with pytest.raises(ValueError, match=r"the training of .* diverged; change the recipe, or use --force"):
        run_row(row, "paper", workspace_in(tmp_path, quick=True))


def test_recipe_of_other_width_is_refused(tmp_path):
    row = read_row(write_row(tmp_path, text=TOML.replace("n_variables = 64", "n_variables = 60")))
    with pytest.raises(ValueError, match="table9-nade-2-modern: the recipe is for 60 variables, digits has 64"):
        run_row(row, "modern", workspace_in(tmp_path))
