"""Every mistake that a user can make ends in one clear line on standard error, a non-zero exit code, and no loss.

One section for every case of the list that the command line answers for.
"""

import io
import json
import os
import shlex
import shutil
import signal
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from nadek import checkpoints
from nadek.cli import main
from nadek.runs.recipe import choose_recipe
from support.command import COLUMNS, FIT, answers, nadek, ok, write_csv
from support.damage import edit
from support.tables import read_matrix

NAN = np.nan


def fails(*arguments, code=1):
    """Run a command that must fail; its one line."""
    result = nadek(*arguments)
    assert result.code == code
    return result.error


@pytest.fixture(scope="module")
def coloured(tmp_path_factory):
    """A model of words, codes and numbers; nobody changes it."""
    folder = tmp_path_factory.mktemp("coloured")
    rows = [f"{('red', 'green', 'blue')[i % 3]},{1 + i % 3},{i / 8}" for i in range(24)]
    (folder / "t.csv").write_text("\n".join(["colour,grade,size", *rows]) + "\n")
    ok("fit", folder / "t.csv", "-o", folder / "model", *FIT, "--categorical", "grade", "--quiet")
    return folder / "model"


@pytest.fixture
def model(survey, tmp_path):
    """A copy of the survey's, to be damaged."""
    return Path(shutil.copytree(survey, tmp_path / "model"))


@pytest.fixture
def table(tmp_path):
    """A table with the columns of the model."""
    return write_csv(tmp_path / "table.csv", answers(20, seed=1))


@pytest.fixture
def output(tmp_path):
    """Where nothing is yet, and nothing shall be after a mistake."""
    yield tmp_path / "output"
    assert not (tmp_path / "output").exists()


# Standard output that is closed


@pytest.mark.parametrize("arguments", [("info",), ("info", "--json"), ("sample", "-n", "2")], ids=" ".join)
def test_closed_standard_output(arguments, survey, monkeypatch):
    monkeypatch.setattr("sys.argv", ["nadek", *arguments, str(survey)])
    with redirect_stdout(None), redirect_stderr(io.StringIO()) as printed, pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert printed.getvalue().splitlines()[-1] == "nadek: standard output is closed: nothing can be written there"
    assert "Traceback" not in printed.getvalue()


# Columns that the user is asked about


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "a,b\n0,1\n1,yes\n",
            "row 2, column \"b\": expected numbers or missing, found 'yes': correct it, say that it means missing,"
            " or that the column is categorical; use --categorical or --drop b, or --missing with a word",
        ),
        (
            'a,"b,c"\n0,1\n2,1\n0,5\n',
            'column "a" has whole numbers from 0 to 2, 2 different ones (2 in row 2): say whether they are categories'
            ' or numbers; column "b,c" has whole numbers from 1 to 5, 2 different ones (5 in row 3): say whether they'
            " are categories or numbers; use --whole-numbers numeric (or categorical) for all of them, --categorical,"
            """ --numeric or --drop 'a,"b,c"', or --missing with a word""",
        ),
        (
            "a,id\n0,x\n1,y\n1,z\n",
            "column \"id\" has 3 different texts in 3 rows ('x', 'y', 'z'): say that it is categorical, or leave it"
            " out; use --categorical or --drop id, or --missing with a word",
        ),
    ],
)
def test_undecided_columns_are_asked_about(text, error, tmp_path, output):
    (tmp_path / "t.csv").write_text(text)
    assert fails("fit", tmp_path / "t.csv", "-o", output) == f"{tmp_path / 't.csv'}: {error}"


@pytest.mark.parametrize(
    ("n", "named", "more"),
    [
        (4, 'age,"b,c",ü,d', "1 more column"),
        (5, 'age,"b,c",ü,d,e', "2 more columns"),
        (30, ",".join(f"q{j}" for j in range(20)) + ",... (--dry-run shows all)", "27 more columns"),
    ],
)
def test_many_questions_are_counted(n, named, more, tmp_path, output):
    names = COLUMNS[:n] if n <= 5 else [f"q{j}" for j in range(n)]
    table = write_csv(tmp_path / "t.csv", np.arange(8 * n).reshape(8, n), names)
    error = fails("fit", table, "-o", output)
    assert error.count("say whether they are") == 3
    hint = "use --whole-numbers numeric (or categorical) for all of them, --categorical, --numeric or --drop"
    names, space, rest = named.partition(" ")
    assert error.endswith(f"; and {more}; {hint} {shlex.quote(names)}{space}{rest}, or --missing with a word")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--drop", "agee"), 'drop: there is no column "agee"; did you mean "age"?'),
        (("--categorical", "AGE"), 'categorical: there is no column "AGE"; did you mean "age"?'),
        (("--categorical", "age,q"), 'categorical: there is no column "q"; known are "age", "b,c", "ü", "d", "e"'),
        (("--numeric", "d", "--drop", "d,e"), 'column "d" is said to be both: numeric and drop'),
        (("--drop", 'age,"b,c"', "--drop", "ü,d,e"), "{table}: expected columns to learn from, found that all are "),
        (("--missing", "refused"), "missing: no cell of {table} holds 'refused'"),
        (("--missing", "e=refused"), "missing: no cell of {table} holds 'refused' in column \"e\""),
        (
            ("--missing", "agee=99"),
            'missing: no cell of {table} holds \'agee=99\'; there is no column "agee", did you mean "age"?',
        ),
        (("--keep", "None"), "keep: no cell of {table} holds 'None'"),
        (("--keep", "none"), "keep: expected one of "),
        (("--keep", "NA", "--missing", "NA"), "'NA' is said to be both: missing and keep"),
    ],
)
def test_names_that_are_wrong(arguments, error, table, output):
    assert fails("fit", table, "-o", output, *arguments).startswith(error.format(table=table))


def test_known_set_takes_no_declarations(output):
    error = fails("fit", "digits", "-o", output, "--drop", "pixel_r0_c0")
    assert error == "'digits' is a known data set: expected no choices, as what its columns are is known"


@pytest.mark.parametrize("verb", ["score", "impute", "draw"])
def test_table_has_no_parts(verb, survey, table):
    expected = f"split: {str(table)!r} has no parts: expected it left out, found 'test'"
    assert fails(verb, survey, table, "--split", "test") == expected


def test_all_unreadable_columns_are_named(tmp_path, output):
    table = tmp_path / "t.parquet"
    when = pa.array([1, 2, 3], pa.duration("ms"))
    pq.write_table(pa.table({"a": [0, 1, 0], "from": when, "grade": [1, 2, 3], "to": when}), table)
    error = fails("fit", table, "-o", output)
    assert error.endswith(
        "; use --drop from,to; use --categorical, --numeric or --drop grade, or --missing with a word"
    )
    wrong = "expected text, numbers, dates or booleans, found duration[ms]: leave it out"
    assert f'column "from": {wrong}; column "grade" has ' in error
    assert f'; column "to": {wrong}; use' in error
    choices = ("--drop", "from,to", "--categorical", "grade", "--validation-fraction", "0")
    ok("fit", table, "-o", tmp_path / "model", *FIT, *choices)


# Values that a model of words and numbers does not know


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("purple,1,0.5", "row 2, column \"colour\": expected 'blue', 'green', 'red' or missing, found 'purple'"),
        ("red,1,-inf", 'row 2, column "size": expected a finite number or missing, found -inf'),
    ],
)
def test_new_value_names_its_cell(line, error, coloured, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(f"colour,grade,size\nred,1,0.25\n{line}\n")
    assert fails("score", coloured, table, "--unknown", "error") == f"{table}: {error}"


def test_new_values_are_missing_once_named(coloured, tmp_path):
    table, same = tmp_path / "t.csv", tmp_path / "same.csv"
    table.write_text("colour,grade,size\nred,1,0.25\npurple,,0.5\n,x,0.5\npurple,5,\n")
    same.write_text("colour,grade,size\nred,1,0.25\n,,0.5\n,,0.5\n,,\n")
    message = (
        f'{table}: cells with values that the model does not know are taken as missing: 2 in column "colour", such as'
        " 'purple' in row 2; 2 in column \"grade\", such as 'x' in row 3"
    )
    for verb in ("score", "suggest"):
        result = nadek(verb, coloured, table)
        assert result.err.splitlines()[0] == message
        assert result.out == nadek(verb, coloured, same).out
    listed, others = (
        [line.split(",")[:3] for line in nadek("explain", coloured, one).out.splitlines()] for one in (table, same)
    )
    new = [["2", "colour", "purple"], ["3", "grade", "x"], ["4", "colour", "purple"], ["4", "grade", "5"]]
    assert sorted(listed) == sorted(others + new)
    for verb in ("impute", "complete"):
        result = nadek(verb, coloured, table)
        rows = [line.split(",") for line in result.out.splitlines()[1:]]
        assert [row[0] for row in rows] == ["red", "purple", rows[2][0], "purple"]
        assert [row[1] for row in rows] == ["1", rows[1][1], "x", "5"]
        assert all(cell for row in rows for cell in row)
        assert "filled 3 of 12 cells in 4 rows" in result.err
    same.write_text("colour,grade,size\npurple,1,0.5\n")
    assert nadek("complete", coloured, same).err.endswith("mean log-probability of a row's completion: 0.000 nats\n")
    message = 'row 2, column "colour": expected complete rows, found a value that the model does not know;'
    assert nadek("evaluate", coloured, table).err.splitlines()[-1].startswith(f"nadek: {table}: {message}")


@pytest.mark.parametrize(
    "arguments", [("sample", "{model}"), ("impute", "{model}", "{table}")], ids=["sample", "impute"]
)
@pytest.mark.parametrize("suffix", [".npz", ".npy", ".amat"])
def test_words_need_a_text_format(arguments, suffix, coloured, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("colour,grade,size\nred,1,0.25\n")
    path = tmp_path / f"new{suffix}"
    filled = [argument.format(model=coloured, table=table) for argument in arguments]
    error = f'{path}: this form cannot hold the column "colour", which holds text; write .csv or .parquet'
    assert fails(*filled, "-o", path) == error


WORK = {"impute": "runs.fillings.impute", "complete": "cli.fill.beam"}


@pytest.mark.parametrize("verb", WORK)
def test_dropped_columns_need_a_fitting_format(verb, tmp_path, monkeypatch):
    columns = {"id": ["x", "y"] * 12, "when": [[1], [2]] * 12, "a": [0, 1] * 12, "b": [1, 1, 0] * 8}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    ok("fit", tmp_path / "t.parquet", "-o", tmp_path / "model", *FIT, "--drop", "id,when", "-q")
    monkeypatch.setattr(f"nadek.{WORK[verb]}", lambda *_, **__: pytest.fail("the work was done"))
    path = tmp_path / "whole.npz"
    error = f'{path}: this form cannot hold the column "id", which holds text; write .csv or .parquet'
    assert fails(verb, tmp_path / "model", tmp_path / "t.parquet", "-o", path) == error
    path = tmp_path / "whole.csv"
    error = 'this form cannot hold the column "when" of list<element: int64>; write .parquet'
    assert fails(verb, tmp_path / "model", tmp_path / "t.parquet", "-o", path) == f"{path}: {error}"
    assert fails(verb, tmp_path / "model", tmp_path / "t.parquet") == f"standard output (CSV): {error}"


@pytest.mark.parametrize("verb", ["impute", "complete"])
@pytest.mark.parametrize(
    ("suffix", "cell", "error"),
    [
        (".npz", "007", "which holds text"),
        (".npy", "01e2", "which holds text"),
        (".npz", str(2**53 + 1), "whose whole numbers floats would round"),
        (".npy", f"-{2**60}", "whose whole numbers floats would round"),
        (".amat", "2", "which holds other cells than 0 and 1"),
        (".amat.gz", "", "which holds other cells than 0 and 1"),
    ],
)
def test_changed_dropped_columns_are_refused(verb, suffix, cell, error, tmp_path, monkeypatch):
    rows = "".join(f"{i % 2},{i // 2 % 2},{cell if i == 3 else i % 2}\n" for i in range(12))
    (tmp_path / "t.csv").write_text("a,b,id\n" + rows)
    ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, "--drop", "id", "-q")
    monkeypatch.setattr(f"nadek.{WORK[verb]}", lambda *_, **__: pytest.fail("the work was done"))
    path = tmp_path / f"whole{suffix}"
    error = f'{path}: this form cannot hold the column "id", {error}; write .csv or .parquet'
    assert fails(verb, tmp_path / "model", tmp_path / "t.csv", "-o", path) == error


# Wrong number or names of columns


@pytest.mark.parametrize("verb", ["evaluate", "score", "impute", "draw"])
def test_other_names_of_columns(verb, survey, tmp_path):
    table = write_csv(tmp_path / "t.csv", answers(4), ("age", "b,c", "u", "d", "f"))
    error = fails(verb, survey, table)
    assert error == (
        f'{table}: expected the 5 columns of the model; the table lacks 2 columns "ü", "e" '
        'and has the unexpected 2 columns "u", "f"'
    )
    headless = write_csv(tmp_path / "headless.csv", answers(4), ("1", "0", "no", "yes", "2"))
    assert fails(verb, survey, headless).endswith('"2": is its first row no header (--no-header)?')


def test_ambiguous_first_row_is_refused(tmp_path, output):
    (tmp_path / "t.csv").write_text("yes,no\nno,no\nno,yes\nyes,yes\n" * 10)
    error = fails("fit", tmp_path / "t.csv", "-o", output)
    actual = 'expected names in the first row, found "yes", "no", which stand in the rows below, too'
    what = "if they are data, write a row of names above them or say --no-header"
    assert error == f"{tmp_path / 't.csv'}: {actual}: {what}; if they are names, say --header"
    for option, columns in (("--no-header", None), ("--header", ("yes", "no"))):
        ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, option, "--force", "-q")
        assert checkpoints.load_saved(tmp_path / "model").schema.columns == columns


# Columns and rows without values


EMPTY = "has no value in any row: leave it out, or find some values"


@pytest.mark.parametrize(
    ("header", "options", "wrong"),
    [
        ("a,b,ü", (), f"column \"ü\" {EMPTY}; use --drop 'ü'"),
        ("a,b,", (), f'column "3" {EMPTY}; use --drop 3'),
        ("a,b,,", (), f'column "3" {EMPTY}; column "4" {EMPTY}; use --drop 3,4'),
        ("a,b,,", ("--drop", "a,3"), f'column "4" {EMPTY}; use --drop 4'),
    ],
)
def test_empty_columns_are_named(header, options, wrong, tmp_path, output):
    commas = "," * (header.count(",") - 1)
    (tmp_path / "t.csv").write_text(header + "\n" + f"0,1{commas}\n1,0{commas}\n" * 12)
    error = fails("fit", tmp_path / "t.csv", "-o", output, *options)
    assert error == f"{tmp_path / 't.csv'}: {wrong}"


@pytest.mark.parametrize("entry", ["", "a,", " "])
def test_an_entry_that_names_nothing(entry, tmp_path, output):
    (tmp_path / "t.csv").write_text("a,b,\n" + "0,1,\n1,0,\n" * 12)
    error = 'drop: there is no column ""; known are "a", "b", "3"'
    assert fails("fit", tmp_path / "t.csv", "-o", output, "--drop", entry) == error


def test_empty_row_is_skipped_and_imputed(tmp_path):
    x = answers(30)
    x[[1, 4, 9]] = NAN
    table = write_csv(tmp_path / "t.csv", x)
    result = ok("fit", table, "-o", tmp_path / "model", *FIT, "--validation-fraction", "0")
    assert "skipped 3 rows without any value" in result.err
    ok("impute", tmp_path / "model", table, "-o", tmp_path / "whole.csv")
    whole = read_matrix(tmp_path / "whole.csv").values
    assert np.isin(whole, (0, 1)).all()
    np.testing.assert_array_equal(whole[~np.isnan(x)], x[~np.isnan(x)])
    for verb in ("impute", "complete"):
        assert " in 30 rows, of which 3 had no value at all" in ok(verb, tmp_path / "model", table).err


# A single column


@pytest.mark.parametrize("header", [("only",), None])
def test_a_single_column_works(header, tmp_path):
    table = write_csv(tmp_path / "t.csv", answers(40)[:, :1], header)
    ok("fit", table, "-o", tmp_path / "model", *FIT)
    record = json.loads(ok("evaluate", tmp_path / "model", table, "--json").out)
    assert -1 < record["test_log_likelihood"] < 0
    assert len(ok("sample", tmp_path / "model", "-n", "3").out.split()) == 3 + (header is not None)
    (tmp_path / "holes.csv").write_text('only\n1\n""\n0\n')
    assert ok("impute", tmp_path / "model", tmp_path / "holes.csv").out.split()[-3::2] == ["1", "0"]


# Missing values where they are refused


def test_missing_values_cannot_be_evaluated(survey, tmp_path):
    x = answers(6)
    x[4, 2] = NAN
    table = write_csv(tmp_path / "t.csv", x)
    assert fails("evaluate", survey, table) == (
        f'{table}: row 5, column "ü": expected complete rows, found a missing value;'
        " nadek score sums out what is missing"
    )


def test_missing_values_name_column_numbers(tmp_path):
    x = answers(30)
    table = write_csv(tmp_path / "t.csv", x, None)
    ok("fit", table, "-o", tmp_path / "model", *FIT, "--drop", "1", "-q")
    x[2, 3] = NAN
    assert 'row 3, column "4": ' in fails("evaluate", tmp_path / "model", write_csv(tmp_path / "t.csv", x, None))


def test_empty_validation_table_is_refused(table, tmp_path, output):
    empty = write_csv(tmp_path / "v.csv", np.full((3, 5), NAN))
    error = f"{empty}: no rows to validate on: 3 rows found, all of them without any value"
    assert fails("fit", table, "-o", output, "--validation", empty) == error
    error = "no rows to learn from: 3 rows found, 3 of them without any value"
    assert fails("fit", empty, "-o", output) == error


# Unknown options and config keys


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("fit", "digits", "-o", "x", "--epoch", "3"), "No such option: --epoch"),
        (("fit", "digits"), "Invalid value for --output (-o): expected a folder for the model; see nadek fit --help"),
        (("fit", "-o", "x"), "Missing argument "),
        (("fit", "digits", "-o", "x", "--epochs", "many"), "Invalid value for '--epochs': "),
        (("fit", "digits", "-o", "x", "--epochs", "0"), "Invalid value for '--epochs': "),
        (("evaluate", "x", "digits", "--split", "all"), "Invalid value for '--split': 'all' is not one of "),
        (("evaluate", "x", "digits", "--device", "tpu"), "Invalid value for '--device': "),
        (("score", "x", "digits", "--seed", "-1"), "Invalid value for '--seed': "),
        (("fit", "digits", "-o", "x", "--seed", str(2**70)), "Invalid value for '--seed': "),
        (("fit", "digits", "-o", ""), "Invalid value for '--output' / '-o': expected the name of a folder, found no"),
        (("draw", "x", "-o", " "), "Invalid value for '--output' / '-o': expected the name of a folder, found no"),
        (("train", "digits"), "No such command 'train'; see nadek --help"),
        (("info", "a", "b"), "Got unexpected extra argument"),
    ],
)
def test_wrong_command_line_points_to_help(arguments, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where it does no harm if it is taken after all
    line = fails(*arguments, code=2)
    assert line.startswith(error)
    assert "see nadek" in line
    assert line.endswith("--help")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--set", "training.lr=2"), "unknown option training.lr; did you mean training.optimizer.lr?"),
        (("--steps", "0"), "model: steps: expected at least 1, found 0"),
        (("--hidden", "5", "--set", "model.kind=images"), "unknown option model.core"),
        (("--set", "model.levels=[2, 3]"), "model.levels: expected it left out, as the data decide it, found [2, 3]"),
        (("--set", "model.knots=[[]]"), "model.knots: expected it left out, as the data decide it, found [[]]"),
        (("--batch-size", "0"), "training: batch_size: expected at least 1, found 0"),
        (("--hidden", "8,x"), "--hidden: expected widths of layers, such as 500,500, found '8,x'"),
        (("--lr", "nan"), "training.optimizer: lr: expected a number of at least 0, found nan"),
    ],
)
def test_wrong_value_names_its_option(arguments, error, table, output):
    """The known set has a recipe of its own, the table gets one by its size."""
    for data in ("digits", table):
        assert fails("fit", data, "-o", output, *arguments).startswith(error)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("epochs = 3\n", "unknown option epochs; known are "),
        ("seed = -1\n", "seed: expected a whole number from 0 to 2**63 - 1, found -1"),
    ],
)
def test_wrong_recipe_key_names_file(text, error, tmp_path, output):
    (tmp_path / "recipe.toml").write_text(text)
    line = fails("fit", "digits", "-o", output, "--config", tmp_path / "recipe.toml")
    assert line.startswith(f"{tmp_path / 'recipe.toml'}: {error}")
    (tmp_path / "recipe.toml").write_text("[model]\nsteps = 2\n")  # whose mistake it is not
    line = fails("fit", "digits", "-o", output, "--config", tmp_path / "recipe.toml", "--steps", "0")
    assert line == "model: steps: expected at least 1, found 0"


# Folders that are no models, and damaged ones

WITH_MODEL = [("evaluate", "digits"), ("score", "digits"), ("impute", "digits"), ("sample",), ("info",), ("draw",)]
every_verb = pytest.mark.parametrize("verb", WITH_MODEL, ids=lambda verb: verb[0])


@every_verb
def test_a_folder_that_is_no_model(verb, tmp_path):
    name, *rest = verb
    others = "those that come with nadek: caltech101-unet, mnist-nade5-2hl, mnist-nade5-2hl-taught, mnist-unet"
    assert fails(name, tmp_path / "none", *rest) == f"there is no model at {tmp_path / 'none'}; {others}"
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file"):
        assert fails(name, path, *rest) == f"{path} is not a model folder: it has no config.json"
    (tmp_path / "training.safetensors").touch()
    wrong = "is not finished: go on with nadek fit ... --resume" if name != "info" else "expected a safetensors file"
    assert wrong in fails(name, tmp_path, *rest)


# Outputs that exist, or cannot be


@pytest.mark.parametrize("option", [(), ("--force",), ("--resume",)])
def test_foreign_config_is_never_replaced(option, table, tmp_path, monkeypatch):
    monkeypatch.setattr("nadek.cli.fit.train", None)  # told before the work
    (tmp_path / "config.json").write_text('{"my": "app settings"}')
    error = fails("fit", table, "-o", tmp_path, *FIT, *option)
    config = tmp_path / "config.json"
    assert error == f"{config} is not of a nadek model, and would be replaced; choose another folder for it"
    assert config.read_text() == '{"my": "app settings"}'


def writing(survey, table):
    """The commands that write a file, but for its name."""
    return {
        "evaluate": (("evaluate", survey, table, "-o"), "json"),
        "score": (("score", survey, table, "-o"), "csv"),
        "sample": (("sample", survey, "-o"), "csv"),
        "impute": (("impute", survey, table, "-o"), "csv"),
    }


every_writer = pytest.mark.parametrize("verb", ["evaluate", "score", "sample", "impute"])


@every_writer
def test_file_needs_force(verb, survey, table, tmp_path):
    command, suffix = writing(survey, table)[verb]
    path = tmp_path / f"there.{suffix}"
    path.write_text("precious")
    assert fails(*command, path) == f"{path} exists; use --force to replace it"
    assert path.read_text() == "precious"
    ok(*command, path, "--force")
    assert path.read_text() != "precious"


@every_writer
@pytest.mark.parametrize("mistake", ["a folder", "no folder", "read-only folder", "suffix"])
def test_impossible_output_is_refused_early(mistake, verb, survey, table, tmp_path, monkeypatch):
    monkeypatch.setattr(f"nadek.cli.{'fill' if verb == 'sample' else 'arguments'}.load_saved", pytest.fail)
    command, suffix = writing(survey, table)[verb]
    (tmp_path / f"folder.{suffix}").mkdir()
    path, message = {
        "a folder": (tmp_path / f"folder.{suffix}", " is a folder, expected a file to write"),
        "no folder": (tmp_path / "no" / f"x.{suffix}", f": the folder {tmp_path / 'no'} does not exist"),
        "read-only folder": (tmp_path / f"x.{suffix}", f": the folder {tmp_path} cannot be written to"),
        "suffix": (tmp_path / "x.xlsx", f": expected a file that ends in .{suffix}"),
    }[mistake]
    if mistake == "read-only folder":
        monkeypatch.setattr("os.access", lambda path, mode: (Path(path), mode) != (tmp_path, os.W_OK))
    assert fails(*command, path).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    "arguments",
    [("impute", "{model}", "{table}", "--probabilities"), ("complete", "{model}", "{table}", "--log-probability")],
    ids=["impute", "complete"],
)
def test_probabilities_need_a_number_format(arguments, survey, table, tmp_path):
    path = tmp_path / "p.amat"
    filled = [argument.format(model=survey, table=table) for argument in arguments]
    error = f"{path}: expected a file that ends in .csv, .csv.gz, .parquet, .npz, .npy, found '.amat'"
    assert fails(*filled, "-o", path) == error


@pytest.mark.parametrize("verb", ["sample", "impute", "complete"])
def test_numbers_need_a_number_format(verb, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i % 2},{i / 4}\n" for i in range(24)))
    ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, "-q")
    path, table = tmp_path / "new.amat", () if verb == "sample" else (tmp_path / "t.csv",)
    error = f'{path}: this form cannot hold the column "b", which holds other cells than 0 and 1; write .csv or'
    assert fails(verb, tmp_path / "model", *table, "-o", path).startswith(error)


def test_duplicate_names_are_refused_early(tmp_path, monkeypatch):
    rows = "".join(f"{'xyz'[i % 3]},{i % 2},{'pqr'[i % 3]}\n" for i in range(24))
    (tmp_path / "t.csv").write_text("city,city=x,log_probability\n" + rows)
    ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", *FIT, "-q")
    monkeypatch.setattr("nadek.cli.fill.beam", lambda *_, **__: pytest.fail("the work was done"))
    arguments = (tmp_path / "model", tmp_path / "t.csv")
    error = f'--log-probability: {tmp_path / "t.csv"} has a column "log_probability" already'
    assert fails("complete", *arguments, "--log-probability") == error


def test_links_that_end_nowhere(survey, table, tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "lost.csv").symlink_to(tmp_path / "gone" / "t.csv")
    ok("impute", survey, table, "-o", tmp_path / "loop.csv")
    assert (tmp_path / "loop.csv").read_text().startswith(table.read_text().splitlines()[0])
    message = fails("impute", survey, table, "-o", tmp_path / "lost.csv")
    assert message == f"{tmp_path / 'lost.csv'}: the folder {tmp_path / 'gone'} does not exist"


def test_closed_standard_input(survey, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert fails("score", survey, "-") == "standard input is closed: nothing can be read there"


def test_messages_keep_the_spaces_of_names(tmp_path):
    (tmp_path / "t.csv").write_text('"age  (years)","two\nlines"\n' + "".join(f"w{i},{i % 2}\n" for i in range(60)))
    assert 'column "age  (years)"' in fails("fit", tmp_path / "t.csv", "-o", tmp_path / "model")


def test_ctrl_c_while_importing(monkeypatch):
    def interrupted(_verbs):
        raise KeyboardInterrupt

    monkeypatch.setattr("nadek.cli.app.make_app", interrupted)
    with pytest.raises(SystemExit, match="130"):
        main()


def test_a_model_below_a_file(table, tmp_path):
    (tmp_path / "file").write_text("precious")
    assert fails("fit", table, "-o", tmp_path / "file") == f"{tmp_path / 'file'} is a file; a model is a folder"
    error = fails("fit", table, "-o", tmp_path / "file" / "model", *FIT)
    assert error == f"Not a directory: {tmp_path / 'file' / 'model'}"
    assert (tmp_path / "file").read_text() == "precious"


def test_pictures_need_images(survey, tmp_path):
    error = fails("sample", survey, "-o", tmp_path / "x.png")
    assert error == f"{tmp_path / 'x.png'}: the rows of this model are no images; write them as .csv or .parquet"


@every_writer
def test_no_space_for_a_file(verb, survey, table, tmp_path, full_disk):
    full_disk()
    command, suffix = writing(survey, table)[verb]
    path = tmp_path / f"x.{suffix}"
    quiet = () if verb == "sample" else ("--quiet",)
    assert fails(*command, path, *quiet) == f"No space left on device: {path}"
    assert not [actual for actual in tmp_path.iterdir() if "x." in actual.name]


def test_full_disk_in_training_resumes(table, tmp_path, full_disk, monkeypatch):
    folder, options = tmp_path / "model", (*FIT, "--epochs", "5", "--save-every", "0", "--quiet")
    full_disk(after=3)
    assert fails("fit", table, "-o", folder, *options) == f"No space left on device: {folder / 'training.safetensors'}"
    assert [path.name for path in folder.iterdir()] == ["training.safetensors"]
    monkeypatch.undo()
    ok("fit", table, "-o", folder, *options, "--resume")


def test_a_model_that_came_while_the_table_was_read_stays(table, survey, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    monkeypatch.setattr(
        "nadek.cli.fit.choose_recipe",
        lambda *a, **options: shutil.copytree(survey, folder) and choose_recipe(*a, **options),
    )
    error = fails("fit", table, "-o", folder, *FIT)
    assert error == f"{folder} already holds a model; use --force to replace it"
    assert (folder / "model.safetensors").read_bytes() == (survey / "model.safetensors").read_bytes()


# A training that diverges


def test_later_divergence_leaves_best_model(table, tmp_path):
    folder = tmp_path / "model"  # one minibatch an epoch, and the first is at the rate 0 of a long warm-up
    slowly = ("--set", "training.optimizer.warmup=0.9", "--validation", table)
    error = fails("fit", table, "-o", folder, *FIT, *slowly, "--lr", "1e30")
    assert error.endswith(f"The best model before that is kept in {folder}")
    assert "training: diverged" in ok("info", folder).out
    assert fails("fit", table, "-o", folder, *FIT).endswith("already holds a model; use --force to replace it")
    ok("fit", table, "-o", folder, *FIT, "--force")
    assert "diverged" not in ok("info", folder).out


# Ctrl-C


@pytest.fixture
def ctrl_c(monkeypatch):
    """Press Ctrl-C when the state of a training is saved for the third time."""
    usual, saved = checkpoints.save_state, []

    def save_state(*arguments, **options):
        saved.append(None)
        if len(saved) == 3:
            signal.raise_signal(signal.SIGINT)
        usual(*arguments, **options)

    monkeypatch.setattr("nadek.runs.train.save_state", save_state)


def test_ctrl_c_leaves_a_state(table, tmp_path, ctrl_c):
    folder, options = tmp_path / "model", (*FIT, "--epochs", "5", "--save-every", "0", "--quiet")
    ok("fit", table, "-o", tmp_path / "whole", *options, "--save-every", "3600")
    error = fails("fit", table, "-o", folder, *options, code=130)
    assert error == f"stopped; what was learnt is kept in {folder}: give the same command with --resume to go on"
    assert [path.name for path in folder.iterdir()] == ["training.safetensors"]
    ok("fit", table, "-o", folder, *options, "--resume")
    assert (folder / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()


def test_early_ctrl_c_keeps_nothing(table, tmp_path, monkeypatch):
    folder, options = tmp_path / "model", (*FIT, "--epochs", "5", "--quiet", "--force")
    monkeypatch.setattr("nadek.cli.fit.train", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    error = fails("fit", table, "-o", folder, *options, code=130)
    assert error == "stopped; nothing was kept yet, as that happens every 15 seconds (--save-every)"
    error = fails("fit", table, "-o", folder, *options, "--save-every", "0", code=130)
    assert error == "stopped; nothing was kept yet, as that happens after an epoch (--save-every)"


def test_ctrl_c_while_replacing_keeps_model(model, table, ctrl_c):
    before = (model / "model.safetensors").read_bytes()
    options = (*FIT, "--epochs", "5", "--save-every", "0", "--quiet", "--force")
    fails("fit", table, "-o", model, *options, "--lr", "0.5", code=130)
    assert (model / "model.safetensors").read_bytes() == before
    ok("info", model)
    ok("fit", table, "-o", model, *options, "--lr", "0.5", "--resume")
    assert (model / "model.safetensors").read_bytes() != before


def test_finished_training_stays(table, tmp_path):
    folder, command = tmp_path / "model", ("fit", table, "-o", tmp_path / "model", *FIT)
    first = json.loads(ok(*command, "--json").out)
    assert (first["model"], first["epochs"], first["config"]["model"]["core"]["hidden"]) == (str(folder), 2, [8])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = ok(*command, "--json", "--resume")
    finished = f"{folder}: this training is finished, nothing is left to do; -o NEW --set start={folder} goes on"
    assert again.err == f"{finished} from the model\n"
    assert json.loads(again.out) == first
    assert ok(*command, "--resume").err.splitlines()[1].startswith(f"{folder}: 2 epochs in ")
    assert ok(*command, "--resume", "-q").err == ""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "what", ["another recipe", "other rows", "other validation rows", "a training that diverged", "none"]
)
def test_other_model_is_not_finished(what, table, tmp_path):
    folder, held_out, turned = tmp_path / "model", write_csv(tmp_path / "held.csv", answers(8)), tmp_path / "turned.csv"
    header, *lines = table.read_text().splitlines(keepends=True)
    turned.write_text("".join([header, *lines[::-1]]))
    ok("fit", table, "-o", folder, *FIT, "-q", "--validation", held_out)
    before = (folder / "model.safetensors").read_bytes()
    if what == "a training that diverged":
        edit(folder / "metrics.json", lambda metrics: metrics.update(diverged=True))
    if what == "none":
        edit(folder / "metrics.json", lambda metrics: metrics.pop("digests"))
    rows = turned if what == "other rows" else table
    others = ("--lr", "0.1") if what == "another recipe" else ()
    others = ("--validation", turned if what == "other validation rows" else held_out, *others)
    command = ("fit", rows, "-o", folder, *FIT, "-q", *others, "--resume")
    expected = "other rows" if what == "none" else what
    assert fails(*command) == f"{folder} already holds a model of {expected}; use --force to replace it"
    assert (folder / "model.safetensors").read_bytes() == before


def test_ctrl_c_ends_without_traceback(survey, table, monkeypatch):
    def interrupted(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("nadek.runs.scores.log_prob", interrupted)
    result = nadek("score", survey, table, "--quiet")
    assert (result.code, result.out, result.err) == (130, "", "")


# Data that are not there, or not what they should be


@pytest.mark.parametrize("verb", ["fit", "evaluate"])
def test_unknown_data_is_refused(verb, survey, tmp_path, output):
    before, after = (("fit",), ("-o", output)) if verb == "fit" else (("evaluate", survey), ())
    assert fails(*before, "mnits", *after).startswith("'mnits' is neither a known data set (digits, mnist, ")
    assert fails(*before, tmp_path / "t.csv", *after) == f"No such file or directory: {tmp_path / 't.csv'}"


def test_fetching_needs_a_folder(monkeypatch):
    monkeypatch.delenv("NADEK_DATA", raising=False)
    error = fails("data", "--fetch", "mnist")
    assert error == "--fetch needs a folder to put the set into: --data-dir DIR (or NADEK_DATA)"


# Seeing more


def test_traceback_is_shown_on_request(tmp_path, monkeypatch):
    monkeypatch.setenv("NADEK_TRACEBACK", "1")
    monkeypatch.setattr("sys.argv", ["nadek", "info", str(tmp_path)])
    with pytest.raises(ValueError, match="is not a model folder"):
        main()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there(table, output):
    error = fails("fit", table, "-o", output, "--device", "cuda")
    assert error == "device: expected 'auto', 'cpu' or another device that this machine has, found 'cuda'"


# Too little memory


@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError])
def test_too_little_memory_is_told(error, survey, table, output, monkeypatch):
    def without(*_, **__):
        raise error

    monkeypatch.setattr("nadek.runs.scores.log_prob", without)
    assert fails("score", survey, table, "-q").startswith("there is not enough memory: ")
    told = fails("fit", table, "-o", output, "--hidden", "10000000000000")
    assert told.startswith("there is not enough memory: a training needs less with smaller --hidden")
