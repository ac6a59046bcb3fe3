"""The command line ``nadek-paper``: rows, cells, spreads, messages and mistakes."""

import json
from unittest import mock

import pytest

from nadek_paper.cli import make_app
from nadek_paper.workspace import RECIPES
from support.paper_rows import CITED, RBM, TOML, paper, write_recipe, write_row


@pytest.fixture
def folder(tmp_path):
    """A table with a row and a cited one."""
    write_row(tmp_path)
    write_row(tmp_path, "rbm", CITED)
    return tmp_path


@pytest.mark.slow
def test_table_is_run_and_reported(folder):
    code, out, err = paper("table9", "--json", folder=folder)
    assert (code, err.strip()) == (0, "rbm: only cited, not run")
    records = json.loads(out)
    assert list(records) == ["nade-2"]
    assert records["nade-2"]["orderings"] == 3
    assert "curve" not in records["nade-2"]
    code, out, err = paper("report", "--docs", folder / "results.md", folder=folder)
    assert (code, err) == (0, "")
    assert out.splitlines() == [str(folder / "results" / "summary.json"), str(folder / "results.md")]
    assert f"{records['nade-2']['test_log_likelihood']:.2f}" in (folder / "results.md").read_text()


def test_rows_without_recipe_are_skipped(folder):
    write_row(folder, "a", TOML[: TOML.index("[recipes.paper]")])
    write_row(folder, "b", RBM)
    code, out, err = paper("table9", "--recipe", "paper", "--json", folder=folder)
    assert (code, list(json.loads(out))) == (0, ["nade-2"])
    assert err.splitlines() == [
        "a: no recipe 'paper', not run", "b: no recipe 'paper', not run", "rbm: only cited, not run",
    ]  # fmt: skip
    for row, why in (("a", "its file has none"), ("b", "it is an RBM")):
        result = paper("table9", "--recipe", "paper", "--row", row, folder=folder)
        assert result == (1, "", f"nadek: table9: row {row} has no recipe 'paper': {why}\n")


def test_quick_look_is_called_so(folder):
    code, out, err = paper("table9", "--row", "nade-2", "--recipe", "paper", "--quick", "--quiet", folder=folder)
    assert (code, err) == (0, "")
    assert "(a quick look, no result)" in " ".join(out.split())
    assert "-20.50" in out


def test_interruption_names_the_next_step(folder):
    with mock.patch("nadek_paper.trainings.train", side_effect=KeyboardInterrupt):
        code, out, err = paper("table9", "--quiet", folder=folder)
    assert (code, out) == (130, "")
    assert err == f"nadek: stopped; what was done is kept in {folder / 'runs'}: give the same command to go on\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table8",), "No such command 'table8'"),
        (("meanfield", "--row", "x"), "--row: expected none, as meanfield is run as a whole; found 'x'"),
        (("table9", "--row", "x"), "table9 has no row 'x'; known are: nade-2, rbm"),
        (("table9", "--row", "rbm"), "row rbm has no recipe 'modern': its value is only cited"),
        (("table3",), "there is no table3.toml in"),
        (("figures", "--row", "x"), "figures has no figure 'x'"),
    ],
)
def test_mistakes_end_in_one_line(arguments, message, folder):
    write_recipe(folder, "meanfield.toml", "")
    code, out, err = paper(*arguments, folder=folder)
    assert (code in (1, 2), out) == (True, "")
    (line,) = err.splitlines()
    assert line.startswith("nadek: ")
    assert message in line


def test_help_shows_every_verb():
    verbs = "table1 table2 table3 figures meanfield confidence any-steps spread report grids"
    for verb in verbs.split():
        assert verb in paper("--help", folder=RECIPES.parent)[1]
        example = "grids" if verb == "grids" else f"Example: nadek-paper {verb}"
        assert example in " ".join(paper(verb, "--help", folder=RECIPES.parent)[1].split())
    assert len(make_app().registered_commands) == 9
