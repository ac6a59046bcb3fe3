"""The command line: what every verb does when all goes well, where it says it, and the names of its options."""

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from importlib import import_module, metadata
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
import typer

import nadek as package
from nadek import NADEkImputer, nade_k
from nadek.checkpoints import load, load_saved, save_state
from nadek.cli.app import VERBS, make_app
from nadek.cli.console import show_line
from nadek.cli.output import target_of
from nadek.datasets import load as load_set
from nadek.inference.likelihood import log_prob
from nadek.inference.sampling import level_probabilities, sample
from nadek.inference.spread import image_distances, spread_orderings
from nadek.models.cores import DeepConfig
from nadek.runs.data import read_model_rows
from nadek.tabular.columns import Binary, Categorical
from nadek.training import Phase, TrainingConfig, fit, prepare
from nadek.training.defaults import defaults
from nadek.utils.configs import encode
from support.command import COLUMNS, FIT, answers, nadek, ok, run, write_csv
from support.tables import read_matrix, saved_model, write_table

GALLERY = import_module("nadek.figures.model_card")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A model of the digits."""
    folder = tmp_path_factory.mktemp("digits") / "model"
    ok("fit", "digits", "-o", folder, *FIT, "--quiet")
    return folder


# fit


def test_the_command_tells_its_version():
    assert ok("--version").out == f"nadek {metadata.version('nade-k')}\n"
    assert package.__version__ == metadata.version("nade-k")


def test_fit_writes_a_model(tmp_path):
    result = ok("fit", "digits", "-o", tmp_path / "model", *FIT)
    assert result.out == ""
    assert f"{tmp_path / 'model'}: 2 epochs in" in result.err
    assert "nats a row" in result.err
    saved = load_saved(tmp_path / "model")
    assert saved.model.n_variables == 64
    assert saved.model.steps == 2
    assert saved.schema.image_shape == (8, 8)
    assert saved.schema.columns[:2] == ("pixel_r0_c0", "pixel_r0_c1")
    assert not (tmp_path / "model" / "training.safetensors").exists()


def test_seed_chooses_held_out_rows(tmp_path):
    table, seeds = write_csv(tmp_path / "t.csv", answers(60)), []

    def watched(*arguments, seed, **options):
        seeds.append(seed)
        raise ValueError("enough")

    with mock.patch("nadek.cli.fit.open_training", watched):
        for options in (("--seed", "7"), ()):
            assert nadek("fit", table, "-o", tmp_path / "model", *options).error == "enough"
    assert seeds == [7, 0]


def test_fit_chooses_network_by_table(tmp_path):
    table = write_csv(tmp_path / "t.csv", answers(60))
    for name, options in (("a", ()), ("b", ("--set", "model.core.width=24")), ("c", ("--hidden", "4"))):
        ok("fit", table, "-o", tmp_path / name, "--epochs", "2", *options, "-q")
    a, b, c = (load(tmp_path / name).config for name in "abc")
    assert a == defaults(54, (2,) * 5)[0]
    assert b == replace(a, core=replace(a.core, width=24))
    assert c.core == DeepConfig(hidden=(4,))


def test_effort_is_for_the_default_training(tmp_path):
    table = write_csv(tmp_path / "t.csv", answers(60), COLUMNS)
    with mock.patch("nadek.cli.fit.train", side_effect=ValueError("enough")) as train:
        nadek("fit", table, "-o", tmp_path / "m", "--effort", "quick")
    assert train.call_args.args[0].training.epochs == 133
    for more in (["--epochs", 5], ["--hidden", "8"]):
        mistake = nadek("fit", table, "-o", tmp_path / "m", "--effort", "quick", *more).error
        assert mistake.startswith("effort: 'quick' chooses among the default trainings of a table")


def test_fit_trains_as_the_estimator(tmp_path, monkeypatch):
    monkeypatch.setattr("nadek.training.defaults.SMALL_TABLE", 50)
    ok("fit", write_csv(tmp_path / "t.csv", answers(60)), "-o", tmp_path / "model", "--epochs", "3", "-q")
    phases = load_saved(tmp_path / "model").metrics["config"]["training"]["phases"]
    assert phases == encode(defaults(54, (2,) * 5, epochs=3)[1])["phases"]
    assert [phase.get("masks") for phase in phases] == ["holes", None]


def test_fit_uses_the_bin_order(tmp_path):
    rows = [f"{j % 7}.5,{['red', 'green', 'blue'][j % 3]},{j % 2}" for j in range(60)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["age,colour,yes", *rows]) + "\n", encoding="utf-8")
    apart = ("--set", "model.ordinal=[]")
    for name, options in (("a", ()), ("b", ("--hidden", "4")), ("c", apart), ("d", ("--hidden", "4", *apart))):
        ok("fit", table, "-o", tmp_path / name, "--epochs", "2", *options, "-q")
    assert [load(tmp_path / name).config.ordinal for name in "abcd"] == [(0,), (0,), (), ()]


def test_fit_knows_answers_in_an_order(tmp_path):
    """From the option to the answers of the model, which spells and knows them as the table does."""
    levels = ["none", "mild", "severe"]
    table = tmp_path / "t.csv"
    rows = [f"{levels[j % 3]},{j % 2}" for j in range(60)]
    table.write_text("\n".join(["pain,sex", *rows, ",1"]) + "\n", encoding="utf-8")
    shown = ok("fit", table, "-o", tmp_path / "a", "--epochs", "2", "--ordinal", "pain=none,mild,severe").err
    assert "column \"pain\": ordinal, 3 levels from 'none' to 'severe'" in shown
    assert load(tmp_path / "a").config.ordinal == (0,)
    assert set(ok("sample", tmp_path / "a", "-n", "20").out.split()[1:]) <= {f"{a},{b}" for a in levels for b in (0, 1)}
    filled = ok("impute", tmp_path / "a", table).out.split()[1:]
    assert filled[:60] == rows
    assert filled[60].split(",")[0] in levels


RECIPE = """
seed = 3
[model]
steps = 3
core = { kind = "residual", width = 8, blocks = 1 }
[training]
seed = 4
ema_decay = 0.5
phases = [{ objective = "last_step", epochs = 1 }]
optimizer = { kind = "adadelta", lr = 0.5 }
"""


@pytest.fixture
def recipe(tmp_path):
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path / "recipe.toml"


def test_options_override_the_recipe(recipe, tmp_path):
    options = ("--steps", "2", "--lr", "0.25", "--seed", "9", "--epochs", "2", "--batch-size", "50")
    ok("fit", "digits", "-o", tmp_path / "model", "--config", recipe, *options, "-q")
    config = load_saved(tmp_path / "model").metrics["config"]
    assert (config["seed"], config["training"]["seed"]) == (9, 9)
    assert config["model"]["steps"] == 2
    assert config["model"]["core"]["kind"] == "residual"
    assert config["training"]["optimizer"]["kind"] == "adadelta"
    assert config["training"]["optimizer"]["lr"] == 0.25
    assert config["training"]["batch_size"] == 50
    assert [phase["epochs"] for phase in config["training"]["phases"]] == [1, 1]


def test_one_ordering_can_be_fitted(tmp_path):
    table = write_csv(tmp_path / "t.csv", answers(30))
    settings = ("--set", "model.ordering=[4,3,2,1,0]", "--set", "model.fill=zero")
    ok("fit", table, "-o", tmp_path / "model", "--hidden", "4", "--steps", "1", "--epochs", "2", *settings, "-q")
    assert {epoch["phase"] for epoch in load_saved(tmp_path / "model").metrics["history"]} == {"fixed_order"}
    worst = ok("score", tmp_path / "model", table, "--outliers", "2", "-q").out.splitlines()
    assert all(line.endswith(",,,") for line in worst[1:])  # no cell can be judged by all others


def test_image_network_serves_all_verbs(tmp_path):
    model, table = tmp_path / "model", write_csv(tmp_path / "a.csv", answers(30)[:, :4], columns=COLUMNS[:4])
    small = [word for option in ("kind=images", "channels=[3,4]", "dense=0") for word in ("--set", f"model.{option}")]
    ok("fit", table, "-o", model, *small, "--set", "model.image_shape=[2,2]", "--epochs", "1", "--quiet")
    saved = load_saved(model)
    assert (saved.model.config.channels, saved.schema.image_shape) == ((3, 4), (2, 2))
    assert "network of images" in ok("info", model).out
    record = json.loads(ok("evaluate", model, table, "--orderings", "2", "--json").out)
    assert record["rows"] == 30
    holes = write_csv(tmp_path / "b.csv", answers(10, missing=0.4)[:, :4], columns=COLUMNS[:4])
    for verb in ("impute", "complete", "score", "suggest"):
        assert ok(verb, model, holes).out
    assert len(ok("sample", model, "-n", "3").out.splitlines()) == 4


def test_image_network_needs_bits_and_shape(tmp_path):
    words = tmp_path / "words.csv"
    words.write_text("a,b,c,d\n" + "x,0,1,1\ny,1,1,0\nz,0,0,1\n" * 4)
    images = ("--set", "model.kind=images", "--epochs", "1")
    result = nadek("fit", words, "-o", tmp_path / "model", *images, "--set", "model.image_shape=[2,2]")
    assert result.error == "model.kind: a network of images needs columns of 0 and 1, found 3 levels"
    bits = write_csv(tmp_path / "bits.csv", answers(30)[:, :4], columns=COLUMNS[:4])
    assert nadek("fit", bits, "-o", tmp_path / "model", *images).error == "option model.image_shape is missing"


# evaluate and score


def test_evaluate_as_json_is_the_likelihood(digits):
    record = json.loads(
        ok("evaluate", digits, "digits", "--orderings", "2", "--rows", "7", "--json", "--quiet", "--seed", "3").out
    )
    x = torch.from_numpy(load_set("digits").test).float()
    chosen = x[torch.randperm(len(x), generator=torch.Generator().manual_seed(3))[:7]]
    expected = log_prob(load(digits), chosen, orderings=2, generator=torch.Generator().manual_seed(3)).mean().item()
    assert record["test_log_likelihood"] == pytest.approx(expected, abs=1e-6)
    assert (record["rows"], record["orderings"], record["data"], record["split"]) == (7, 2, "digits", "test")
    for key in ("standard_error", "ensemble", "epochs", "seconds", "config", "commit", "training", "evaluation"):
        assert key in record


def test_orderings_spread_out_over_images(digits, survey, tmp_path):
    options = ("--orderings", "2", "--spread", "--seed", "3", "--quiet")
    record = json.loads(ok("evaluate", digits, "digits", "--rows", "400", "--json", *options).out)
    ok("score", digits, "digits", *options, "-o", tmp_path / "scores.csv")
    x = torch.from_numpy(load_set("digits").test).float()
    along = spread_orderings(2, image_distances((8, 8)), generator=torch.Generator().manual_seed(3))
    expected = log_prob(load(digits), x, orderings=along).mean(0)
    assert (record["spread"], record["orderings"]) == (True, 2)
    assert record["test_log_likelihood"] == pytest.approx(expected.mean().item(), abs=1e-6)
    written = pd.read_csv(tmp_path / "scores.csv").mean_over_orderings
    np.testing.assert_allclose(written, expected, atol=1e-4)
    table = write_csv(tmp_path / "t.csv", answers(3))
    assert nadek("score", survey, table, *options).error == "--spread: expected a model of images, found one of a table"


def test_evaluate_of_one_row_is_json(survey, tmp_path):
    result = ok("evaluate", survey, write_csv(tmp_path / "t.csv", answers(1)), "--orderings", "1", "--json")
    record = json.loads(result.out, parse_constant=pytest.fail)
    assert (record["standard_error"], record["split"]) == (None, None)


def test_evaluate_writes_a_file(digits, tmp_path):
    arguments = ("evaluate", digits, "digits", "--orderings", "2", "--rows", "5")
    shown = ok(*arguments, "-o", tmp_path / "result.json", "--quiet").out
    assert "log-likelihood of 5 rows under 2 orderings" in shown
    for line in ("mean over orderings", "ensemble (mixture of the orderings)", "spread over orderings"):
        assert line in shown
    assert json.loads((tmp_path / "result.json").read_text())["rows"] == 5
    assert json.loads(ok(*arguments, "--json").out) == json.loads((tmp_path / "result.json").read_text())


def test_privacy_is_the_distance_to_training_rows(survey, tmp_path):
    train, unseen = answers(40, seed=1, missing=0.01), answers(12, seed=2)
    whole = train[~np.isnan(train).any(1)]
    unseen[:3] = whole[:3]
    paths = [write_csv(tmp_path / f"{name}.csv", x) for name, x in (("train", train), ("unseen", unseen))]
    command = ("evaluate", survey, paths[1], "--privacy", paths[0], "-q")
    record = json.loads(ok(*command, "--json").out)
    distances = np.abs(unseen[:, None] - whole).mean(2).min(1)
    assert (record["rows"], record["training_rows"]) == (12, len(whole))
    assert record["unseen"]["copies"] == pytest.approx((distances == 0).mean())
    assert record["unseen"]["median"] == pytest.approx(np.median(distances))
    assert record["drawn"]["closest_part"] <= record["drawn"]["median"]
    assert json.loads(ok(*command, "--json", "--rows", "5", "--orderings", "1").out)["rows"] == 5
    shown = " ".join(ok(*command, "-o", tmp_path / "result.json").out.split())
    assert f"the closest of {len(whole)} training rows; {40 - len(whole)} rows with missing cells" in shown
    assert "12 drawn rows" in shown
    assert json.loads((tmp_path / "result.json").read_text()) == record
    empty = write_csv(tmp_path / "empty.csv", np.full((2, 5), np.nan))
    mistake = nadek("evaluate", survey, paths[1], "--privacy", empty, "-q").error
    assert mistake == "privacy: expected training rows without missing cells, found none"
    warning = ok("evaluate", survey, paths[0], "--privacy", paths[0]).err
    assert f"{paths[0]}: all rows are training rows, too: expected rows that training has not seen" in warning


def test_ordered_categories_keep_their_order(tmp_path):
    pain = pd.Categorical([None, "mid", "low", "high", "low"] * 12, ["none", "low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"pain": pain, "kind": pain.copy(), "ill": [0, 1] * 30}).fillna({"kind": "mid"})
    table.to_parquet(tmp_path / "t.parquet")
    shown = ok("fit", tmp_path / "t.parquet", "-o", tmp_path / "model", *FIT).err
    assert "column \"pain\": ordinal, 4 levels from 'none' to 'high'" in shown
    for verb in (("impute", tmp_path / "t.parquet"), ("complete", tmp_path / "t.parquet"), ("sample", "-n", 20)):
        ok(verb[0], tmp_path / "model", *verb[1:], "-o", tmp_path / "out.parquet", "--force")
        assert (pd.read_parquet(tmp_path / "out.parquet").dtypes == table.dtypes).all()


def test_dates_of_parquet_are_read_again_from_csv(tmp_path):
    days = pd.date_range("2024-06-19", periods=40, freq="31h", unit="ns")
    table = pd.DataFrame({"day": days, "there": days.tz_localize("Asia/Tokyo"), "ill": [0, 1] * 20})
    table.mask(np.random.default_rng(0).random(table.shape) < 0.1).to_parquet(tmp_path / "t.parquet")
    ok("fit", tmp_path / "t.parquet", "-o", tmp_path / "model", *FIT, "-q")
    for verb in (("impute", tmp_path / "t.parquet"), ("sample", "-n", 20)):
        ok(verb[0], tmp_path / "model", *verb[1:], "-o", tmp_path / f"{verb[0]}.csv")
        ok("score", tmp_path / "model", tmp_path / f"{verb[0]}.csv", "-q")
        there = pd.read_csv(tmp_path / f"{verb[0]}.csv")["there"]
        assert there.str.fullmatch(r".*(Z|[+-]\d\d:?\d\d)").all()


def test_drawn_numbers_are_compared_as_they_are_written(tmp_path):
    ages = np.repeat(np.arange(20.0, 60), 3)[:, None]
    train = write_csv(tmp_path / "ages.csv", ages, columns=["age"])
    ok("fit", train, "-o", tmp_path / "model", *FIT, "--numeric", "age", "--quiet")
    record = json.loads(ok("evaluate", tmp_path / "model", train, "--privacy", train, "--json", "-q").out)
    assert record["drawn"] == {"copies": 1, "closest_part": 0, "median": 0}  # each age of its range is in the table


def test_score_gives_every_row_its_numbers(digits, tmp_path):
    command = ("score", digits, "digits", "--orderings", "3", "--seed", "4", "--quiet")
    printed = ok(*command, "-o", tmp_path / "scores.csv")
    assert (printed.out, printed.err) == ("", "")
    assert ok(*command).out == (tmp_path / "scores.csv").read_text()
    scores = read_matrix(tmp_path / "scores.csv", binary=False)
    assert scores.columns == ("row", "log_likelihood", "mean_over_orderings", "spread_over_orderings")
    x = torch.from_numpy(load_set("digits").test).float()
    table = log_prob(load(digits), x, orderings=3, generator=torch.Generator().manual_seed(4))
    np.testing.assert_array_equal(scores.values[:, 0], np.arange(1, 301))
    np.testing.assert_allclose(scores.values[:, 2], table.mean(0).numpy(), rtol=1e-5)
    assert (scores.values[:, 1] >= scores.values[:, 2]).all()


def test_standard_input_equals_the_file(survey, tmp_path, monkeypatch):
    def piped(*arguments, content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="ascii"))
        return nadek(*arguments)

    monkeypatch.setattr("nadek.tabular.cut_rows.CELLS", 35)  # seven rows a batch
    table = write_csv(tmp_path / "holes.csv", answers(30, missing=0.5))
    for verb in ("score", "impute", "complete", "explain"):
        result = piped(verb, survey, "-", "-o", "-", "-q", content=table.read_bytes())
        assert result.out == ok(verb, survey, table, "-q").out
    assert piped("fit", "-", "-o", tmp_path / "model", *FIT, "-q", content=table.read_bytes()).code == 0
    assert load_saved(tmp_path / "model").schema.columns == COLUMNS
    error = piped("score", survey, "-", content=b"age\n5\n").error
    assert error.startswith("standard input: expected the 5 columns of the model")


# sample


@pytest.mark.parametrize(("encoding", "newline"), [("ascii", "\n"), ("cp1252", "\r\n"), ("utf-16", "\r")])
def test_printed_table_equals_the_file(encoding, newline, survey, tmp_path):
    out, command = io.BytesIO(), ("sample", survey, "-n", "7")
    with redirect_stdout(io.TextIOWrapper(out, encoding, newline=newline)) as stream:
        run(*command)
        stream.flush()
    assert ok(*command, "-o", tmp_path / "new.csv").err == f"{tmp_path / 'new.csv'}: drew 7 rows\n"
    assert out.getvalue() == (tmp_path / "new.csv").read_bytes()


def test_terminal_escapes_unknown_characters():
    class Terminal(io.TextIOWrapper):
        def isatty(self):
            return True

    out = io.BytesIO()
    with redirect_stdout(Terminal(out, "cp1252")) as stream:
        write_table(target_of(None), [np.array(["ü", "\u0142"])])
        show_line("\u0142")
        stream.flush()
    assert out.getvalue() == b"\xfc\n\\u0142\n\\u0142\n"


def test_names_do_not_command_the_terminal(tmp_path):
    table, name = tmp_path / "t.csv", "\x1b]0;a\x07\x9bm\tb"
    table.write_text(f'"{name}",c\n' + "x,1\ny,0\nz,1\n" * 5)
    printed = [ok("fit", table, "-o", tmp_path / "model", "--epochs", "1").err]
    printed += [ok("info", tmp_path / "model", *more).out for more in ((), ("--card",))]
    assert all(r"\x1b]0;a\x07\x9bm" in text and not set(text) & set("\x1b\x07\x9b") for text in printed)


def test_help_on_a_narrow_terminal_without_unicode(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    out = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(out, "ascii")) as stream:
        run("score", "--help")
        stream.flush()
    assert b"\\u2026" in out.getvalue()


@pytest.mark.parametrize(("suffix", "magic"), [(".png", PNG), (".PNG", PNG), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_sample_draws_pictures(digits, tmp_path, suffix, magic):
    ok("sample", digits, "-n", "4", "-o", tmp_path / f"new{suffix}")
    assert (tmp_path / f"new{suffix}").read_bytes().startswith(magic)


def test_sample_follows_its_seed(survey, mixed):
    for model in (survey, mixed[0]):
        a, b, c = (ok("sample", model, "-n", "40", "--seed", seed).out for seed in (1, 1, 2))
        assert a == b != c


def test_sample_prints_csv_along_the_given_orderings(survey):
    result = ok("sample", survey, "-n", "40", "--orderings", "2", "--seed", "3")
    expected = sample(load(survey), 40, orderings=2, generator=torch.Generator().manual_seed(3))
    names, *lines = csv.reader(io.StringIO(result.out))
    assert (tuple(names), result.err) == (COLUMNS, "")
    assert lines == [list(map(str, row)) for row in expected.tolist()]


# impute


def test_impute_fills_missing_cells_only(survey, tmp_path):
    x = answers(40, seed=5, missing=0.4)
    x[0] = np.nan  # nothing known: a fresh sample
    x[1] = answers(1)[0]  # nothing to do
    assert len({tuple(row) for row in np.isnan(x)}) > 10  # another pattern in nearly every row
    table = write_csv(tmp_path / "holes.csv", x)
    result = ok("impute", survey, table, "-o", tmp_path / "whole.csv")
    assert result.out == ""
    line = (
        f"filled {np.isnan(x).sum()} of 200 cells in 40 rows, of which {np.isnan(x).all(1).sum()} had no value at all"
    )
    assert result.err.strip() == line
    assert (tmp_path / "whole.csv").read_text().splitlines()[0] == 'age,"b,c",ü,d,e'
    whole = read_matrix(tmp_path / "whole.csv").values
    np.testing.assert_array_equal(whole[~np.isnan(x)], x[~np.isnan(x)])
    assert np.isin(whole, (0, 1)).all()


@pytest.mark.parametrize("header", [True, False])
def test_impute_keeps_empty_columns(header, tmp_path):
    x = np.insert(answers(60, missing=0.2), 1, np.nan, axis=1)
    names = ["age", "empty", *COLUMNS[1:]]
    imputer = NADEkImputer(max_iter=2, random_state=0, training={"width": 16, "blocks": 1}, keep_empty_features=True)
    imputer.fit(pd.DataFrame(x, columns=names) if header else x).save(tmp_path / "model")
    table = write_csv(tmp_path / "answers.csv", x, names if header else None)
    ok("impute", tmp_path / "model", table, "-o", tmp_path / "whole.csv")
    whole = read_matrix(tmp_path / "whole.csv")
    assert whole.columns == (tuple(names) if header else None)
    assert whole.values.shape == x.shape
    assert ((whole.values == x) | np.isnan(x)).all()
    assert np.isnan(whole.values[:, 1]).all()
    assert set(np.unique(np.delete(whole.values, 1, axis=1))) == {0, 1}


@pytest.mark.parametrize("arguments", [("impute",), ("impute", "--probabilities"), ("complete",)], ids=" ".join)
def test_columns_keep_the_table_order(arguments, survey, tmp_path):
    x = answers(10, seed=6, missing=0.3)
    table = write_csv(tmp_path / "t.csv", x, COLUMNS[::-1])
    ok(*arguments, survey, table, "-o", tmp_path / "whole.csv", "-q")
    whole = read_matrix(tmp_path / "whole.csv", binary=False)
    assert whole.columns == COLUMNS[::-1]
    np.testing.assert_array_equal(whole.values[~np.isnan(x)], x[~np.isnan(x)])


# Columns of words and numbers

MIXED = ("id", "smoker", "colour", "grade", "age", "size", "ok")
KEPT = MIXED[1:]
WORDS = {
    "smoker": {"yes", "no"},
    "colour": {"red", "green, light", "blue"},
    "grade": {"1", "2", "3"},
    "age": {str(age) for age in range(18, 90)},
    "ok": {"true", "false"},
}


def people(path, n_rows, seed=0, missing=0.0, columns=MIXED):
    """A table of every kind of column, some cells missing; its cells as text, by column."""
    rng = np.random.default_rng(seed)
    draws = {
        "smoker": lambda: rng.choice(["yes", "no"]),
        "colour": lambda: rng.choice(["red", "green, light", "blue"]),
        "grade": lambda: str(rng.integers(1, 4)),
        "age": lambda: str(rng.integers(18, 90)),
        "size": lambda: str(round(rng.normal(), 3)),
        "ok": lambda: rng.choice(["true", "false"]),
    }
    cells = {
        name: ["" if rng.random() < missing else draw() for _ in range(n_rows)] for name, draw in draws.items()
    } | {"id": [f"p{i}" for i in range(n_rows)]}
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*(cells[name] for name in columns), strict=True))
    return cells


def cells_of(text):
    """The cells of CSV text, by column."""
    header, *rows = csv.reader(io.StringIO(text))
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


KINDS_TOLD = """\
columns: 2 binary, 2 categorical, 2 numeric
column "smoker": binary, 2 levels: 'no', 'yes'
column "colour": categorical, 3 levels: 'blue', 'green, light', 'red'
column "grade": categorical, 3 levels: 1, 2, 3
column "age": numeric, whole numbers from 18 to 89 in 16 bins
"""
CHOICES = ("--categorical", "grade", "--numeric", "age", "--drop", "id")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A model of every kind of column, and what was said while it was fitted."""
    folder = tmp_path_factory.mktemp("mixed")
    people(folder / "people.csv", 300, missing=0.1)
    return folder / "model", ok("fit", folder / "people.csv", "-o", folder / "model", *FIT, *CHOICES)


def test_fit_shows_column_types(mixed):
    assert mixed[1].err.startswith(KINDS_TOLD)
    assert 'dropped: "id"\n' in mixed[1].err
    assert mixed[1].out == ""
    assert load(mixed[0]).levels == (2, 3, 3, 16, 16, 2)


def test_fit_groups_binary_words(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,d\n" + "yes,maybe,no,0\nno,yes,yes,1\n" * 8)
    shown = ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT).err
    lines = """columns "a", "c": binary, 2 levels: 'no', 'yes'\ncolumn "b": binary, 2 levels: 'maybe', 'yes'\n"""
    assert shown.startswith("columns: 4 binary\n" + lines)
    assert '"d"' not in shown
    assert "binary, 2 levels: 'maybe', 'yes'" in ok("info", tmp_path / "model").out


def test_fit_shows_words_for_missing(tmp_path):
    (tmp_path / "t.csv").write_text("pain,ok\n" + "None,1\nMild,0\nSevere,1\n" * 8)
    shown = ok("fit", tmp_path / "t.csv", "-o", tmp_path / "a", *FIT).err
    assert 'taken for missing: "None" in cells: 8 of "pain" (--keep None makes it an answer)\n' in shown
    shown = ok("fit", tmp_path / "t.csv", "-o", tmp_path / "b", *FIT, "--keep", "None").err
    assert "taken for missing" not in shown
    assert load(tmp_path / "b").levels == (3, 2)


def items(path):
    """A table of whole numbers in many columns, beside two of 0 and 1."""
    names = ["sex", *(f"item_{j}" for j in range(1, 29)), "ok"]
    rows = [[i % 2, *((i + j) % 5 + 1 for j in range(28)), i // 2 % 2] for i in range(40)]
    path.write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]) + "\n")
    return path


@pytest.mark.parametrize("kind", ["categorical", "numeric"])
def test_many_columns_are_declared_at_once(kind, tmp_path):
    table, schemas = items(tmp_path / "t.csv"), []
    ways = [("--whole-numbers", kind), (f"--{kind}", "item_*"), (f"--{kind}", "item_9..item_28,item_8..item_1")]
    for options in ways:
        ok("fit", table, "-o", tmp_path / "model", *FIT, *options, "--force", "-q")
        schemas.append(load_saved(tmp_path / "model").schema)
    assert [column.kind for column in schemas[0].kinds] == ["binary", *[kind] * 28, "binary"]
    assert schemas[0] == schemas[1] == schemas[2]


def test_dry_run_gives_types_and_reasons(tmp_path):
    rows = [f"p{i},{i % 5 + 2},{['a', 'b', 'c', ''][i % 4]},{i / 8},{i % 2},," for i in range(300)]
    (tmp_path / "t.csv").write_text("\n".join(["id,grade,word,size,flag,none,gone", *rows]) + "\n")
    command = ("fit", tmp_path / "t.csv", "--dry-run", "--drop", "gone", "--n-bins", 8)
    columns = json.loads(ok(*command, "--json").out)["columns"]
    assert [column["type"] for column in columns] == [
        *("to be said", "to be said", "categorical, 3 levels: 'a', 'b', 'c'"),
        *("numeric, numbers from 0 to 37.375 in 8 bins", "binary, 2 levels: 0, 1", "empty", "left out"),
    ]
    assert [column["missing"] for column in columns] == [0, 0, 75, 0, 0, 300, None]
    reasons = [column["reason"] for column in columns]
    assert reasons[0].startswith("has 300 different texts in 300 rows")
    assert reasons[0].endswith("say that it is categorical, or leave it out")
    assert reasons[1].endswith("say whether they are categories or numbers")
    assert reasons[2:4] == ["3 different texts", "numbers, not all of them whole"]
    assert reasons[4:] == ["0 and 1", "no value in any row", "--drop"]
    assert re.search(r"│ word +│ categorical, .*│ +75 │ 3 different texts +│", ok(*command).out)
    error = nadek("fit", "digits", "--dry-run").error
    assert error == "--dry-run: 'digits' is a known data set, whose columns are all of 0 and 1"


def test_dry_run_shows_columns_with_one_reason_in_one_line(tmp_path):
    rows = [f"p{i},q{i},{i % 28 + 1}.{i // 28 + 1}.2024,{i + 5},{i + 5}" for i in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["id,mail,day,n,m", *rows]) + "\n")
    shown = ok("fit", tmp_path / "t.csv", "--dry-run").out
    assert [line.split("│")[1].strip() for line in shown.splitlines() if "to be said" in line] == [
        "id, mail",
        "day",
        "n, m",
    ]


def test_dry_run_tells_of_a_missing_header(tmp_path):
    for text, is_told in (("2019,2020\n1.5,2.5\n3.5,4.5\n", True), ("0,1\n1,1\n0,0\n", False)):
        (tmp_path / "t.csv").write_text(text)
        assert ("no header found" in ok("fit", tmp_path / "t.csv", "--dry-run").err) == is_told


@pytest.mark.filterwarnings("default")
def test_dry_run_warns_as_fit_does(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,Ja\n5,ja\n-9,Nein\n-8,Ja\n" * 5)
    warned = ok("fit", tmp_path / "t.csv", "--dry-run", "--numeric", "x").err
    assert '-9 in 5 cells, -8 in 5 cells of column "x"' in warned
    assert "'Ja' and 'ja' in column \"y\"" in warned


@pytest.mark.filterwarnings("default")
def test_missing_word_of_one_column(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("age,stage\n" + "99,99\n35,1\n40,99\n9,1\n" * 6)
    options = ("--numeric", "age", "--missing", "stage=99")
    shown = ok("fit", table, "-o", tmp_path / "model", *FIT, *options).err
    assert 'taken for missing: "99" in cells: 12 of "stage"\n' in shown
    assert 'missing, too: "99" in "stage"\n' in shown
    assert f'nadek: {table}: these may mean missing, but are learnt as numbers: 99 in 6 cells of column "age"' in shown
    assert 'missing, too │ "99" in "stage"' in re.sub(" +", " ", ok("info", tmp_path / "model").out)
    table.write_text("stage,age\n99,99\n99,40\n1,\n")
    ok("impute", tmp_path / "model", table, "-o", tmp_path / "whole.csv", "-q")
    filled = [line.split(",") for line in (tmp_path / "whole.csv").read_text().splitlines()]
    assert [row[0] for row in filled] == ["stage", "1", "1", "1"]
    assert [row[1] for row in filled[:3]] == ["age", "99", "40"]
    assert 9 <= float(filled[3][1]) <= 99


def test_dropped_unnamed_column_is_shown(tmp_path):
    (tmp_path / "t.csv").write_text(",a,id,b\n" + "7,1,x,0\n8,0,x,1\n" * 8)
    shown = ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, "--drop", "1,id").err
    assert 'dropped: a column without a name, "id"\n' in shown


@pytest.mark.parametrize("header", [True, False])
def test_fit_reports_an_absent_header(header, tmp_path):
    rows = [f"{i % 5},{i / 4}" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b"] * header + rows) + "\n")
    shown = ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, "--numeric", "a" if header else "1").err
    assert ("no header found: the first row is taken for data" in shown) != header


def test_sample_gives_words_and_numbers(mixed):
    cells = cells_of(ok("sample", mixed[0], "-n", "50").out)
    assert tuple(cells) == KEPT
    for name, allowed in WORDS.items():
        assert set(cells[name]) <= allowed
    assert len(set(cells["size"])) > 45
    assert max(map(abs, map(float, cells["size"]))) < 5


def test_impute_follows_its_seed(mixed, tmp_path, monkeypatch):
    people(tmp_path / "holes.csv", 40, seed=5, missing=0.4)

    def filled():
        return [cells_of(ok("impute", mixed[0], tmp_path / "holes.csv", "--seed", n, "-q").out) for n in (1, 1, 2)]

    a, b, c = filled()
    assert a == b
    assert all(a[name] != c[name] for name in ("smoker", "size"))
    monkeypatch.setattr("nadek.runs.fillings.impute", lambda model, x, **options: x.nan_to_num(0))
    a, b, c = filled()  # the levels are the same, the numbers within the bins are not
    assert a["size"] == b["size"] != c["size"]


@pytest.mark.parametrize("columns", [MIXED, KEPT[::-1]], ids=["with the dropped column", "in another order"])
def test_impute_fills_words_and_numbers(mixed, columns, tmp_path):
    cells = people(tmp_path / "holes.csv", 40, seed=5, missing=0.3, columns=columns)
    result = ok("impute", mixed[0], tmp_path / "holes.csv")
    n_holes = sum(cells[name].count("") for name in KEPT)
    assert result.err.strip() == f"filled {n_holes} of 240 cells in 40 rows"
    whole = cells_of(result.out)
    assert tuple(whole) == columns
    assert "id" not in columns or whole["id"] == cells["id"]
    for name in KEPT:
        assert "" not in whole[name]
        observed = [(new, old) for new, old in zip(whole[name], cells[name], strict=True) if old]
        assert all(float(new) == float(old) if name == "size" else new == old for new, old in observed)
    for name, allowed in WORDS.items():
        assert set(whole[name]) <= allowed


@pytest.mark.parametrize("strategy", ["mean", "median", "mode"])
def test_impute_fills_as_the_estimator_does(mixed, strategy, tmp_path):
    people(tmp_path / "holes.csv", 40, seed=5, missing=0.3)
    whole = cells_of(ok("impute", mixed[0], tmp_path / "holes.csv", "--strategy", strategy).out)
    frame = pd.read_csv(tmp_path / "holes.csv", dtype={"grade": "Int64"})[list(KEPT)]
    expected = NADEkImputer.load(mixed[0]).set_params(strategy=strategy).transform(frame)
    for name in KEPT:
        if name in ("age", "size"):  # as many decimals as the column
            np.testing.assert_allclose([*map(float, whole[name])], expected[name].astype(float), atol=0.51)
        else:
            assert whole[name] == [str(value).lower() if name == "ok" else str(value) for value in expected[name]]
    mistake = nadek("impute", mixed[0], tmp_path / "holes.csv", "--strategy", strategy, "--probabilities").error
    assert mistake.startswith(f"--strategy {strategy}: --probabilities writes no values to choose")


def test_pandas_index_is_kept(tmp_path):
    index = pd.Index([f"P{i:03d}" for i in range(2, 50, 2)])
    frame = pd.DataFrame({"a": [0.0, 1.0] * 12, "note": range(24), "b": [1.0, 0.0] * 12}, index=index)
    frame.to_parquet(tmp_path / "t.parquet")
    ok("fit", tmp_path / "t.parquet", "-o", tmp_path / "model", *FIT, "--drop", "note", "-q")
    frame.iloc[3, 0] = np.nan
    frame.to_parquet(tmp_path / "holes.parquet")
    ok("impute", tmp_path / "model", tmp_path / "holes.parquet", "-o", tmp_path / "whole.parquet", "-q")
    whole = pd.read_parquet(tmp_path / "whole.parquet")
    pd.testing.assert_frame_equal(whole.drop(index[3]), frame.drop(index[3]))
    ok("impute", tmp_path / "model", tmp_path / "holes.parquet", "-o", tmp_path / "whole.csv", "-q")
    assert list(pd.read_csv(tmp_path / "whole.csv").columns) == ["a", "note", "b"]


def test_words_are_written_unchanged(tmp_path):
    cells = {
        "flag": ["TRUE", "FALSE"],
        "both": ["TRUE", "0", "1", "FALSE"],
        "price": ["1.10", "-0.0", "2.250", "1e0"],
        "age": ["007", "31", " 44"],
        "grade": ["2.0", "1.0", "3.0"],
        "answer": [" no", "yes "],
        "title": ['Dr. "X", MD', "-"],
        "note": ["NA", " x, 1", "007", ""],
    }
    rows = [[column[i % len(column)] for column in cells.values()] for i in range(24)]
    holes = [row if i != 5 else ["", "NA", "", "null", "", "", "", " x, 1"] for i, row in enumerate(rows)]
    for name, written in (("t.csv", rows), ("holes.csv", holes)):
        with (tmp_path / name).open("w", newline="") as stream:
            csv.writer(stream).writerows([list(cells), *written])
    options = ("--categorical", "grade", "--numeric", "age", "--drop", "note")
    ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, *options, "-q")
    ok("impute", tmp_path / "model", tmp_path / "holes.csv", "-o", tmp_path / "whole.csv.gz", "-q")
    whole = ok("impute", tmp_path / "model", tmp_path / "holes.csv", "-q").out
    assert gzip.decompress((tmp_path / "whole.csv.gz").read_bytes()).decode() == whole
    header, *actual = csv.reader(io.StringIO(whole))
    filled = dict(zip(header, actual.pop(5), strict=True))
    assert actual == rows[:5] + rows[6:]
    assert filled["flag"] in cells["flag"]
    assert filled["grade"] in cells["grade"]
    assert filled["answer"] in ("no", "yes")
    assert filled["note"] == " x, 1"
    ok("impute", tmp_path / "model", tmp_path / "holes.csv", "-o", tmp_path / "whole.parquet", "-q")
    types = [str(kind) for kind in pq.ParquetFile(tmp_path / "whole.parquet").schema_arrow.types]
    assert types == ["bool", "int64", "double", "int64", "int64", "string", "string", "string"]


def test_booleans_keep_their_spelling(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "true,0\nfalse,1\n" * 12)
    ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, "-q")
    for false, true in (("FALSE", "TRUE"), ("False", "True"), ("false", "true"), ("0", "1"), ("0.0", "1.0")):
        (tmp_path / "holes.csv").write_text(f"a,b\n{true},{true}\n{false}, {false}\n" + ",\n" * 24)
        for column in cells_of(ok("impute", tmp_path / "model", tmp_path / "holes.csv", "-q").out).values():
            assert {cell.strip() for cell in column} == {false, true}


def test_binary_tables_are_written_unchanged(survey, tmp_path):
    (tmp_path / "t.csv").write_text('age,"b,c",ü,d,e\n1.0,0,01,+1,\n TRUE,-0.0,1e0,,0.00\n')
    whole = cells_of(ok("impute", survey, tmp_path / "t.csv", "-q").out)
    assert [whole[name] for name in COLUMNS[:3]] == [["1.0", " TRUE"], ["0", "-0.0"], ["01", "1e0"]]
    assert (whole["d"][0], whole["e"][1]) == ("+1", "0.00")
    p = cells_of(ok("impute", survey, tmp_path / "t.csv", "--probabilities", "-q").out)
    assert [list(map(float, p[name])) for name in COLUMNS[:3]] == [[1, 1], [0, 0], [1, 1]]
    assert 0 < float(p["e"][0]) < 1


def test_decimal_commas_are_written_as_points(tmp_path):
    rows = [f"{i % 4},5;{'x,1' if i % 2 else 'y'}; {i % 3},0" for i in range(24)]
    (tmp_path / "t.csv").write_text("\n".join(["a;b;c", *rows, ";;"]) + "\n")
    ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, "--numeric", "c", "-q")
    whole = cells_of(ok("impute", tmp_path / "model", tmp_path / "t.csv", "-q").out)
    assert whole["a"][:4] == ["0.5", "1.5", "2.5", "3.5"]
    assert whole["b"][:2] == ["y", "x,1"]
    assert whole["c"][:3] == [" 0.0", " 1.0", " 2.0"]
    assert float(whole["a"][-1]) in np.arange(0.5, 3.6, 0.1).round(1)


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".amat"])
def test_dropped_numbers_in_every_form(suffix, tmp_path):
    x = answers(24)
    x[:, 2] = np.arange(24) % 2 if suffix == ".amat" else np.arange(24) * 2.0**48
    if suffix != ".amat":
        x[5, 2] = np.nan
    table = write_csv(tmp_path / "t.csv", x)
    ok("fit", table, "-o", tmp_path / "model", *FIT, "--drop", "ü", "-q")
    ok("impute", tmp_path / "model", table, "-o", tmp_path / f"whole{suffix}", "-q")
    np.testing.assert_array_equal(read_matrix(tmp_path / f"whole{suffix}", binary=False).values, x)


def test_impute_writes_level_probabilities(mixed, tmp_path):
    cells = people(tmp_path / "holes.csv", 20, seed=5, missing=0.4)
    p = pd.DataFrame(cells_of(ok("impute", mixed[0], tmp_path / "holes.csv", "--probabilities", "-q").out))
    p = p.astype({"row": int, "probability": float})
    missing = [(row + 1, name) for row in range(20) for name in KEPT if cells[name][row] == ""]
    assert list(dict.fromkeys(zip(p["row"], p["column"], strict=True))) == missing
    np.testing.assert_allclose(p.groupby(["row", "column"])["probability"].sum(), 1, atol=1e-6)
    values = p.groupby("column")["value"].unique()
    assert all(set(values[name]) == WORDS[name] for name in ("smoker", "colour", "grade"))
    assert [len(values[name]) for name in ("age", "size")] == [16, 16]
    assert values["age"][0].startswith("18..")
    path = tmp_path / "p.npy"
    error = f"{path}: --probabilities of these columns have words: write .csv or .parquet"
    assert nadek("impute", mixed[0], tmp_path / "holes.csv", "--probabilities", "-o", path).error == error
    saved = load_saved(mixed[0])
    expected = level_probabilities(saved.model, read_model_rows(saved, str(tmp_path / "holes.csv")).x)
    for (row, name), some in p[p["column"].isin(["smoker", "colour"])].groupby(["row", "column"]):
        levels = expected[row - 1, KEPT.index(name), : len(WORDS[name])]
        np.testing.assert_allclose(some["probability"], levels, atol=1e-6)


def test_scores_ignore_form_and_order(mixed, tmp_path):
    people(tmp_path / "a.csv", 20, seed=3)
    people(tmp_path / "b.csv", 20, seed=3, columns=KEPT[::-1])
    a, b = (ok("score", mixed[0], tmp_path / name, "-q").out for name in ("a.csv", "b.csv"))
    assert a == b
    ok("impute", mixed[0], tmp_path / "a.csv", "-o", tmp_path / "c.parquet", "-q")  # nothing to fill in
    assert ok("score", mixed[0], tmp_path / "c.parquet", "-q").out == a
    record = json.loads(ok("evaluate", mixed[0], tmp_path / "a.csv", "--orderings", "8", "--json").out)
    rows = cells_of(a)["mean_over_orderings"]
    assert record["test_log_likelihood"] == pytest.approx(np.mean(list(map(float, rows))), abs=1e-5)


def test_unnamed_model_reads_a_matrix(tmp_path):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(0, 2, 60), rng.integers(1, 4, 60), rng.normal(size=60)])
    x[rng.random(x.shape) < 0.1] = np.nan
    np.save(tmp_path / "t.npy", x)
    ok("fit", tmp_path / "t.npy", "-o", tmp_path / "model", *FIT, "--categorical", "2", "-q")
    ok("impute", tmp_path / "model", tmp_path / "t.npy", "-o", tmp_path / "whole.npy", "-q")
    whole = np.load(tmp_path / "whole.npy")
    assert not np.isnan(whole).any()
    np.testing.assert_array_equal(whole[~np.isnan(x)], x[~np.isnan(x)])
    assert set(whole[:, 1]) == {1, 2, 3}
    p = cells_of(ok("impute", tmp_path / "model", tmp_path / "t.npy", "--probabilities", "-q").out)
    assert set(p["column"]) == {"1", "2", "3"}
    assert {value for column, value in zip(p["column"], p["value"], strict=True) if column == "2"} == {"1", "2", "3"}


def test_info_prints_a_model_card(tmp_path):
    kinds = Binary(levels=("*no*", "_yes_")), Categorical(levels=("<b>", "[u](v)", "a_b"))
    package.save(tmp_path / "*my* _model_ #", saved_model(kinds, ("a|b\n<i>", "c_d")))
    card = ok("info", tmp_path / "*my* _model_ #", "--card").out
    assert card.startswith("---\nlibrary_name: nadek\n")
    assert r"""| column "a\|b \<i>" | binary, 2 levels: '\*no\*', '\_yes\_' |""" in card
    assert r"""| column "c_d" | categorical, 3 levels: '\<b>', '\[u](v)', 'a_b' |""" in card
    assert r"# \*my\* \_model\_ \#" in card.splitlines()
    assert '    model = nadek.NADEk.load("*my* _model_ #")' in card.splitlines()
    assert '    model = nadek.load("mnist-unet")' in ok("info", "mnist-unet", "--card").out.splitlines()


def test_info_tells_the_kinds_of_columns(mixed):
    lines = " ".join(ok("info", mixed[0]).out.replace("│", " ").split())
    for text in (
        "2 binary, 2 categorical, 2 numeric",
        'column "grade" categorical, 3 levels: 1, 2, 3',
        'dropped "id"',
    ):
        assert text in lines
    kinds = json.loads(ok("info", mixed[0], "--json").out)["schema"]["kinds"]
    assert kinds[0] == {"levels": ["no", "yes"], "n_values": 270, "kind": "binary"}
    assert [kind["kind"] for kind in kinds] == ["binary", "categorical", "categorical", "numeric", "numeric", "binary"]


def test_info_shows_folder_with_brackets(survey, tmp_path):
    folder = tmp_path / "run[" / "b]"
    folder.parent.mkdir()
    folder.symlink_to(survey)
    assert "run[/b]" in "".join(ok("info", folder).out.split())


@pytest.mark.slow
def test_draw_hides_what_is_missing(digits, tmp_path, monkeypatch):
    x = load_set("digits").test[:9].astype(float)
    x[:, 5] = np.nan
    write_csv(tmp_path / "t.csv", x, None)
    drawn = {}
    usual = GALLERY.figures.inpainting

    def inpainting(x, missing, states, **options):
        drawn.update(missing=missing, states=states, completed=options["completed"])
        return usual(x, missing, states, **options)

    monkeypatch.setattr(GALLERY.figures, "inpainting", inpainting)
    ok("draw", digits, tmp_path / "t.csv", "-o", tmp_path / "pictures")
    assert drawn["missing"][:, 5].all()
    assert np.isfinite(drawn["states"]).all()
    assert np.isin(drawn["completed"], (0, 1)).all()


# info, data, draw


def test_info_as_json(digits):
    record = json.loads(ok("info", digits, "--json").out)
    assert record["parameters"] == 64 * 8 + 8 + 64 * 8 + 64
    assert record["model"]["steps"] == 2
    assert record["schema"]["image_shape"] == [8, 8]
    assert "history" not in record["metrics"]
    result = ok("info", digits)
    for text in ("variables", "64", "kind deep", "steps", "the data mean", "every one", "training: epochs"):
        assert text in result.out
    assert result.err == ""


def test_info_of_a_training_under_way(tmp_path):
    states, config = [], TrainingConfig(phases=(Phase(epochs=3),))
    rows = prepare(torch.eye(2).repeat(20, 1))
    fit(nade_k(2, hidden=(4,)), rows, rows, config=config, save_state=states.append, save_every=0.0)
    fit(nade_k(2, hidden=(4,)), rows, config=config, save_state=states.append, save_every=0.0)  # nothing validated
    for state, epoch in ((states[0], None), (states[2], 2), (states[-1], 2)):
        save_state(tmp_path, state)
        record = json.loads(ok("info", tmp_path, "--json").out)
        assert (record["unfinished"], record.get("epoch")) == (True, epoch)
        shown = ok("info", tmp_path).out
        assert "nadek fit --resume goes on" in shown
        assert ("none yet" if epoch is None else "epoch 2/3 (last_step)") in shown


def test_data_as_json(monkeypatch, tmp_path):
    monkeypatch.delenv("NADEK_DATA", raising=False)
    record = json.loads(ok("data", "--json").out)
    assert record["digits"] == {"state": "ok", "rows": [1197, 300, 300], "variables": 64, "path": None}
    assert record["mnist"]["state"] == "not there"
    shown = ok("data").out
    assert all(name in shown for name in (*record, "not there", "ok"))
    record = json.loads(ok("data", "--json", "--data-dir", tmp_path).out)
    assert record["mnist"]["path"] == str(tmp_path / "mnist_binarized.npz")
    monkeypatch.setenv("NADEK_DATA", str(tmp_path))
    assert json.loads(ok("data", "--json").out) == record


def test_draw_of_one_ordering(tmp_path):
    order = f"model.ordering={list(range(64))}"
    ok("fit", "digits", "-o", tmp_path / "model", "--set", order, "--epochs", 1, "--hidden", 8, "--steps", 1, "-q")
    result = ok("draw", tmp_path / "model", "digits", "-o", tmp_path / "pictures")
    assert not (tmp_path / "pictures" / "inpainting.png").exists()
    assert result.err == "digits: not drawn: this model knows one ordering and cannot fill in any cells\n"


def test_draw_of_table_has_curves(survey, mixed, tmp_path):
    for name, model in (("bits", survey), ("words", mixed[0])):
        ok("draw", model, "-o", tmp_path / name)
        assert [path.name for path in (tmp_path / name).iterdir()] == ["curves.png"]
    table = write_csv(tmp_path / "t.csv", answers(20))
    result = ok("draw", survey, table, "-o", tmp_path / "pictures", "--hidden", 1)
    assert result.out == f"{tmp_path / 'pictures' / 'curves.png'}\n"
    assert result.err == f"{table}: not drawn: the rows of this model are no images\n"


# All of them


def verbs():
    return dict(sorted(typer.main.get_command(make_app(VERBS)).commands.items()))


FLAGS = {
    "complete": "--log-probability --method --seed --width",
    "data": "--fetch --json",
    "draw": "--device --hidden --output --seed --split -o",
    "evaluate": "--json --orderings --privacy --rows --seed --spread",
    "explain": "--row --top",
    "export": "--force --output -o",
    "fit": "--batch-size --categorical --config --drop --dry-run --effort --epochs --hidden --json --keep --lr --memory"
    " --missing --n-bins --numeric --ordinal --resume --save-every --seed --set --steps --tensorboard --validation"
    " --validation-fraction --whole-numbers",
    "impute": "--strategy --probabilities --seed",
    "info": "--card --json",
    "play": "--port",
    "sample": "--device --force --number --orderings --output --seed -n -o",
    "score": "--orderings --outliers --seed --spread",
    "suggest": "--target --top",
}


READS_TABLE = "--decimal --delimiter --device --force --header --output -o"


def test_the_options_are_these():
    """Scripts rely on them: a change here is a change for users, and stands in the changelog."""
    assert verbs().keys() == FLAGS.keys()
    for name, verb in verbs().items():
        expected = FLAGS[name].split()
        if name not in ("data", "draw", "export", "info", "play", "sample"):
            expected += READS_TABLE.split()
        expected += [] if name in ("export", "info", "play") else ["--quiet", "-q"]
        expected += [] if name in ("export", "info", "play", "sample") else ["--data-dir"]
        if name not in ("data", "draw", "export", "fit", "info", "play", "sample"):
            expected += ["--split", "--unknown"]
        options = [option for p in verb.params if p.param_type_name == "option" for option in p.opts]
        assert sorted(options) == sorted([*expected, *({"--help"} & set(options))]), name


@pytest.mark.parametrize("verb", list(FLAGS))
def test_help_shows_an_example(verb):
    result = ok(verb, "--help")
    assert f"Example: nadek {verb}" in " ".join(result.out.split())
    assert result.err == ""
    assert verb in ok().out
    assert verbs()[verb].help.splitlines()[0] == VERBS[verb][1]


def test_help_needs_no_large_library():
    large = {"torch", "pyarrow", "sklearn", "scipy", "matplotlib", "pandas", "polars"}
    code = f"import sys, nadek.cli.app; print({large} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
