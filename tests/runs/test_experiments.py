"""Recipes, where rows come from, and what a run leaves in its folder."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nadek.checkpoints import SavedModel, holds_model, holds_state, load, load_saved
from nadek.datasets import load as load_set
from nadek.figures.model_card import draw_model
from nadek.inference.likelihood import log_prob
from nadek.runs.data import CodedTable, open_data, open_training
from nadek.runs.evaluate import evaluate
from nadek.runs.provenance import provenance
from nadek.runs.recipe import is_recipe, make_recipe, merge, parse_settings, phases, read_recipe
from nadek.runs.resume import check_output
from nadek.runs.train import train
from nadek.tabular.schema import Schema
from nadek.training import TrainingDivergedError, loop
from nadek.utils.configs import encode
from support.paper_rows import StopError, stop

EXPERIMENTS = Path(__file__).parents[2] / "paper" / "nadek_paper" / "recipes"
SHIPPED = [path for path in sorted(EXPERIMENTS.glob("*.toml")) if "model" in read_recipe(path)]
SMALL = {
    "model": {"steps": 2, "core": {"hidden": [6]}},
    "training": {"phases": [{"epochs": 3}], "batch_size": 20, "ema_decay": 0.0},
}


def rows(n=60, seed=0):
    return (torch.rand(n, 5, generator=torch.Generator().manual_seed(seed)) < 0.4).float()


def recipe(**training):
    return make_recipe(merge(SMALL, {"training": training}), n_variables=5)


def run(folder, recipe_=None, x=None, validation=None, **options):
    return train(
        recipe() if recipe_ is None else recipe_,
        folder,
        CodedTable(rows() if x is None else x, Schema()),
        None if validation is None else CodedTable(validation, Schema()),
        **options,
    )


def interrupted(folder, **options):
    """A training that broke off after two epochs, whose state is in its folder."""

    def stop_later(epoch):
        if epoch.epoch > 2:
            raise StopError

    with pytest.raises(StopError):
        run(folder, on_epoch=stop_later, save_every=0.0, **options)
    assert holds_state(folder)


# Recipes


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_recipe_can_be_read(path):
    options = read_recipe(path)
    made = make_recipe(options, n_variables=options["model"]["n_variables"], where=str(path))
    assert made.notes


def test_a_recipe_that_is_not_toml(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: .*none.toml"):
        read_recipe(tmp_path / "none.toml")
    for content in (b"steps = = 3", b"\xff\xfe"):
        (tmp_path / "bad.toml").write_bytes(content)
        with pytest.raises(ValueError, match=r"bad.toml is not valid TOML: "):
            read_recipe(tmp_path / "bad.toml")


def test_merging_another_kind_replaces_its_table():
    old = {"optimizer": {"kind": "adamw", "warmup": 0.1}}
    assert merge(old, {"optimizer": {"kind": "muon"}}) == {"optimizer": {"kind": "muon"}}
    assert merge(old, {"optimizer": {"kind": "adamw", "lr": 1}})["optimizer"]["warmup"] == 0.1
    assert old == {"optimizer": {"kind": "adamw", "warmup": 0.1}}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("a=3", 3), ("a=0.5", 0.5), ("a=true", True), ("a=[1, 2]", [1, 2]), ("a=relu", "relu"), ("a='x y'", "x y")],
)
def test_settings_have_toml_values(setting, value):
    assert parse_settings([setting]) == {"a": value}


@pytest.mark.parametrize("setting", ["model.steps", "=3", ""])
def test_settings_of_another_form_are_refused(setting):
    with pytest.raises(ValueError, match=f"expected path.to.option=value, found '{setting}'"):
        parse_settings([setting])


def test_the_usual_schedule():
    assert phases(7, 5) == [{"objective": "all_steps", "epochs": 3}, {"objective": "last_step", "epochs": 4}]
    assert phases(7, 1) == [{"objective": "last_step", "epochs": 7}]
    assert phases(1, 5) == [{"objective": "last_step", "epochs": 1}]
    assert phases(7, 1, fixed_order=True) == [{"objective": "fixed_order", "epochs": 7}]


# Sources


def write(path, x, columns=None):
    header = [] if columns is None else [",".join(columns)]
    lines = [",".join("" if np.isnan(v) else str(int(v)) for v in row) for row in np.asarray(x)]
    path.write_text("\n".join([*header, *lines]) + "\n")
    return str(path)


def test_known_set_is_opened():
    digits = load_set("digits")
    for split in ("train", "valid", "test"):
        source = open_data("digits", split=split)
        np.testing.assert_array_equal(source.x.numpy(), getattr(digits, split))
        assert source.schema == Schema(columns=digits.columns, image_shape=(8, 8))
    source, held_out = open_training("digits")
    assert (len(source.x), len(held_out.x)) == (1197, 300)


def test_real_set_is_opened(data_dir):
    assert open_data("nltcs", split="valid", data_dir=data_dir).x.shape == (2157, 16)


def test_part_of_table_is_held_out(tmp_path):
    x = torch.cat([rows(40), torch.eye(5)])
    path = write(tmp_path / "t.csv", x)
    source, held_out = open_training(path, fraction=0.2, seed=3)
    assert (len(source.x), len(held_out.x)) == (36, 9)
    together = sorted(map(tuple, torch.cat([source.x, held_out.x]).tolist()))
    assert together == sorted(map(tuple, x.tolist()))
    again = open_training(path, fraction=0.2, seed=3)[1]
    other = open_training(path, fraction=0.2, seed=4)[1]
    assert torch.equal(held_out.x, again.x)
    assert not torch.equal(held_out.x, other.x)


@pytest.mark.parametrize("only", range(20))
@pytest.mark.parametrize("fraction", [0.05, 0.1])
def test_only_value_of_column_is_trained(only, fraction, tmp_path):
    numbers = (torch.arange(20)[:, None] >> torch.arange(5)) & 1

    def parts(column):
        path = write(tmp_path / "t.csv", torch.column_stack([numbers, column]))
        opened = open_training(path, fraction=fraction, seed=36)
        return [[] if part is None else (part.x[:, :5] @ 2.0 ** torch.arange(5)).tolist() for part in opened]

    train, held_out = parts(torch.ones(20))
    actual = parts(torch.where(torch.arange(20) == only, 1.0, torch.nan))
    if held_out == [only]:
        assert actual == [list(range(20)), []]
    elif only in held_out:
        assert actual == [[*train, only], [row for row in held_out if row != only]]
    else:
        assert actual == [train, held_out]


def test_empty_rows_do_not_validate(tmp_path):
    x = torch.ones(20, 2)
    _, held_out = open_training(write(tmp_path / "t.csv", x), fraction=0.1, seed=36)
    assert len(held_out.x) == 2
    order = torch.randperm(20, generator=torch.Generator().manual_seed(36))
    x[order[:2]] = torch.nan
    train, held_out = open_training(write(tmp_path / "t.csv", x), fraction=0.1, seed=36)
    assert len(train.x) == 20
    assert held_out is None


@pytest.mark.parametrize("fraction", [-0.1, 1.0])
def test_an_impossible_fraction_is_refused(fraction, tmp_path):
    with pytest.raises(ValueError, match=f"validation fraction: expected at least 0 and below 1, found {fraction}"):
        open_training(write(tmp_path / "t.csv", rows()), fraction=fraction)


def test_unnamed_rows_keep_their_order(tmp_path):
    named, nameless = write(tmp_path / "a.csv", rows(), "abcde"), write(tmp_path / "b.csv", rows(seed=1))
    turned = write(tmp_path / "t.csv", rows(seed=1).flip(1), "edcba")
    for validation in (nameless, turned):  # names stand in the order of the training table
        assert torch.equal(open_training(named, validation=validation)[1].x, rows(seed=1))
    assert torch.equal(open_training(nameless, validation=named)[1].x, rows())
    four = write(tmp_path / "c.csv", rows()[:, :4])
    with pytest.raises(ValueError, match=r"c\.csv: expected 5 columns as in the model, found 4"):
        open_training(nameless, validation=four)


# Runs


def test_run_saves_model_and_metrics(tmp_path):
    x, before = torch.cat([rows(), torch.full((2, 5), torch.nan)]), torch.random.get_rng_state()
    saved = run(tmp_path / "a" / "model", x=x, validation=rows(20, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    loaded = load_saved(tmp_path / "a" / "model")
    assert torch.equal(loaded.model.W, saved.model.W)
    metrics = json.loads(json.dumps(loaded.metrics))
    assert (metrics["epochs"], metrics["rows"], metrics["skipped_rows"], metrics["diverged"]) == (3, 60, 2, False)
    assert metrics["best_validation"] == min(epoch["validation"][-1] for epoch in metrics["history"])
    assert set(metrics["versions"]) == {"python", "nade-k", "torch", "numpy"}
    assert metrics["config"]["model"]["core"]["hidden"] == [6]
    assert not holds_state(tmp_path / "a" / "model")


def test_untrained_model_holds_data_means(tmp_path):
    x = rows()
    saved = run(tmp_path, recipe(optimizer={"lr": 0.0}), x=x)
    torch.testing.assert_close(saved.model.fill, x.mean(0))
    torch.testing.assert_close(saved.model.b.sigmoid(), x.mean(0))


def test_recipe_seed_sets_initial_weights(tmp_path):
    still = merge(SMALL, {"training": {"optimizer": {"lr": 0.0}}})
    made = [make_recipe(merge(still, {"seed": seed}), n_variables=5) for seed in (1, 1, 2)]
    a, b, c = (run(tmp_path / str(i), r).model.W for i, r in enumerate(made))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_commit_is_of_the_package(tmp_path, monkeypatch):
    def git(*what):
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *who, *what], cwd=tmp_path, capture_output=True, check=True).stdout.decode()

    installed, own = tmp_path / "venv" / "nadek" / "provenance.py", tmp_path / "own.txt"
    installed.parent.mkdir(parents=True)
    for path in (installed, own):
        path.write_text("")
    monkeypatch.setattr(sys.modules["nadek.runs.provenance"], "__file__", str(installed))
    git("init")
    git("add", own.name)
    git("commit", "-m", "a")
    assert provenance()["commit"] is None
    git("add", ".")
    git("commit", "-m", "b")
    assert provenance()["commit"] == git("rev-parse", "HEAD").strip()
    installed.write_text("changed")
    assert provenance()["commit"] == git("rev-parse", "HEAD").strip() + "+"


def test_old_record_matches_its_recipe():
    kept = encode(recipe())
    del kept["training"]["recompute"]
    assert is_recipe(recipe(), kept)
    assert not is_recipe(recipe(batch_size=30), kept)
    for other in (None, {}, {**kept, "mystery": 1}):
        assert not is_recipe(recipe(), other)


def test_notes_make_no_other_recipe(tmp_path):
    """They are for people: a training goes on, and a record stays, when more is told of it."""
    noted = replace(recipe(), notes="why it is so")
    assert is_recipe(recipe(), encode(noted))
    assert is_recipe(noted, encode(recipe()))
    assert not is_recipe(replace(noted, seed=1), encode(recipe()))
    interrupted(tmp_path)
    assert run(tmp_path, noted, resume=True).metrics["config"]["notes"] == "why it is so"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"recipe_": recipe(batch_size=30)}, "another recipe"),
        ({"x": rows(seed=9)}, "other rows"),
        ({"x": rows().flip(0)}, "other rows"),
        ({"validation": rows(20, 9)}, "other validation rows"),
    ],
)
def test_other_run_is_not_resumed(change, error, tmp_path):
    interrupted(tmp_path, validation=rows(20, 1))
    with pytest.raises(
        ValueError, match=f"unfinished training in .* is of {error}; use --force without --resume to begin anew"
    ):
        run(tmp_path, **{"validation": rows(20, 1), "resume": True} | change)
    assert holds_state(tmp_path)


# A run that diverges


def test_immediate_divergence_leaves_nothing(tmp_path):
    with pytest.raises(TrainingDivergedError, match=r"Lower the learning rate.*\. Nothing was learnt before that$"):
        run(tmp_path, recipe(optimizer={"lr": 1e30}))
    check_output(tmp_path, force=False, resume=False)
    before = run(tmp_path)
    assert before.metrics["diverged"] is False
    with pytest.raises(TrainingDivergedError, match="Nothing was learnt"):
        run(tmp_path, recipe(optimizer={"lr": 1e30}))
    assert torch.equal(load(tmp_path).W, before.model.W)  # the old model stays


def diverge_in_epoch(number, monkeypatch):
    """Costs that are not numbers, from an epoch on."""
    usual = loop._Run._train_epoch

    def broken(self, plan, epoch):
        costs = usual(self, plan, epoch)
        return costs if epoch + 1 < number else [float("nan")] * len(costs)

    monkeypatch.setattr(loop._Run, "_train_epoch", broken)


def test_later_divergence_keeps_best_model(tmp_path, monkeypatch):
    short = run(tmp_path / "short", recipe(phases=[{"epochs": 2}], optimizer={"kind": "adadelta", "lr": 0.0}))
    diverge_in_epoch(3, monkeypatch)
    error = rf"cost is nan in epoch 3.*The best model before that is kept in {tmp_path / 'model'}$"
    with pytest.raises(TrainingDivergedError, match=error):
        run(tmp_path / "model", recipe(optimizer={"kind": "adadelta", "lr": 0.0}))
    kept = load_saved(tmp_path / "model")
    # without validation rows the weights of the second epoch have not shown their cost when the third goes wrong
    assert (kept.metrics["epochs"], kept.metrics["diverged"]) == (1, True)
    assert torch.equal(kept.model.W, short.model.W)
    assert not holds_state(tmp_path / "model")  # to resume would be to diverge again
    with pytest.raises(FileExistsError, match="use --force to replace it"):
        check_output(tmp_path / "model", force=False, resume=False)


# Outputs


@pytest.mark.parametrize("resume", [False, True])
def test_model_is_kept_without_force(resume, tmp_path):
    before = run(tmp_path, x=rows(seed=1), resume=resume).model  # begins, as there is nothing to resume
    with pytest.raises(FileExistsError, match="already holds a model; use --force to replace it"):
        check_output(tmp_path, force=False, resume=resume)
    check_output(tmp_path, force=True, resume=resume)
    assert not torch.equal(run(tmp_path).model.W, before.W)  # one that was there from the beginning


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["model.safetensors", "schema.json", "metrics.json"])
def test_files_are_kept_without_force(name, resume, tmp_path):
    (tmp_path / name).write_text("my own")
    error = f"holds a file {name}, which a model would replace; use another folder, or --force to replace it"
    with pytest.raises(FileExistsError, match=error):
        check_output(tmp_path, force=False, resume=resume)
    check_output(tmp_path, force=True, resume=resume)


def test_stop_after_saving_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr("nadek.runs.train.forget_state", stop)
    with pytest.raises(StopError):
        run(tmp_path)
    monkeypatch.undo()
    assert holds_model(tmp_path)
    assert holds_state(tmp_path)
    before = load(tmp_path)
    with pytest.raises(FileExistsError):
        check_output(tmp_path, force=False, resume=False)
    check_output(tmp_path, force=False, resume=True)
    assert torch.equal(run(tmp_path, resume=True).model.W, before.W)
    assert not holds_state(tmp_path)


def test_unfinished_training_is_kept_without_force(tmp_path):
    interrupted(tmp_path)
    with pytest.raises(FileExistsError, match="unfinished training; use --resume to go on or --force to begin anew"):
        check_output(tmp_path, force=False, resume=False)
    check_output(tmp_path, force=False, resume=True)
    check_output(tmp_path, force=True, resume=False)
    assert holds_state(tmp_path)  # it is lost when a new training begins, not when one is asked for
    (tmp_path / "model.safetensors").write_text("weights")  # it stopped while it saved its model
    check_output(tmp_path, force=False, resume=True)


def test_force_begins_anew(tmp_path):
    interrupted(tmp_path)
    epochs = []
    run(tmp_path, on_epoch=lambda epoch: epochs.append(epoch.epoch))
    assert epochs == [1, 2, 3]
    assert not holds_state(tmp_path)


def test_impossible_run_keeps_the_folder(tmp_path):
    interrupted(tmp_path)
    with pytest.raises(ValueError, match="no rows to learn from"):
        run(tmp_path, x=torch.full((3, 5), torch.nan))
    assert holds_state(tmp_path)


# Evaluation, pictures, provenance


def test_evaluation_counts_orderings(tmp_path):
    saved, x, estimates = run(tmp_path), rows(30, 2), []
    table = log_prob(saved.model, x, orderings=6, generator=torch.Generator().manual_seed(0))
    record = evaluate(saved, x, orderings=6, on_estimate=estimates.append)
    assert record["test_log_likelihood"] == pytest.approx(table.mean().item())
    assert record["ordering_error"] == pytest.approx(table.mean(1).std().item() / 6**0.5)
    assert [estimate.n_orderings for estimate in estimates] == list(range(1, 7))


def test_interrupted_evaluation_keeps_its_scores(tmp_path, monkeypatch):
    saved, x = run(tmp_path), rows(30, 2)

    def stop(now):
        if now.n_orderings == 3:
            raise KeyboardInterrupt

    def stop_at_once(*_):
        raise KeyboardInterrupt

    record = evaluate(saved, x, orderings=9, on_estimate=stop)
    assert record["orderings"] == 3
    assert record["ensemble"] == evaluate(saved, x, orderings=9, on_estimate=stop)["ensemble"]
    with pytest.raises(KeyboardInterrupt):
        evaluate(saved, x, orderings=9, progress=stop_at_once)
    monkeypatch.setattr("nadek.runs.evaluate.summarise", stop_at_once)
    with pytest.raises(KeyboardInterrupt):
        evaluate(saved, x, orderings=9)


def test_model_draws_permitted_pictures(tmp_path):
    saved = run(tmp_path / "model")
    assert [path.name for path in draw_model(saved, tmp_path / "a")] == ["curves.png"]
    bare = SavedModel(saved.model, Schema())
    assert draw_model(bare, tmp_path / "b") == []
    images = SavedModel(saved.model, Schema(image_shape=(1, 5)))
    names = [path.name for path in draw_model(images, tmp_path / "c", rows(8))]
    assert names == ["samples.png", "filters.png", "inpainting.png"]
