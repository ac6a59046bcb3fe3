"""What the README and the docs say is true: code runs, commands exist, numbers are those of the records."""

import json
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
import typer.main

from nadek.cli.app import app
from nadek.runs.recipe import make_recipe

ROOT = Path(__file__).parents[1]
README, GUIDE = ROOT / "README.md", ROOT / "docs" / "guide.md"


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _ = blocks(README, "python")
    code, phases = re.subn(r"epochs=\d+", "epochs=1", code)
    assert phases == 2
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert not names["whole"].isnan().any()
    assert names["log_p"].shape == (16, 300)


def test_the_scikit_learn_of_the_readme_runs():
    _, code = blocks(README, "python")
    names = {}
    exec(compile(code.replace("random_state=0", "random_state=0, max_iter=20"), "README.md", "exec"), names)
    assert names["people"].isna().any(axis=None)
    assert not names["whole"].isna().any(axis=None)
    assert (names["log_p"] < 0).all()
    assert set(names["odd"]) == {-1, 1}
    asked = names["people"][names["people"]["smokes"].isna()].isna().to_numpy()
    assert (np.isfinite(names["ask"]) == asked).all()


@pytest.mark.parametrize("line", [line for block in blocks(README, "shell") for line in block.splitlines()])
def test_the_commands_of_the_readme_exist(line):
    words = shlex.split(line, comments=True)
    assert words[0] == "nadek"
    verb = typer.main.get_command(app).commands[words[1]]
    known = {option for parameter in verb.params for option in parameter.opts} | {"--help"}
    assert {word for word in words[2:] if word.startswith("-")} <= known


def test_the_python_of_the_guide_runs():
    for code in blocks(GUIDE, "python"):
        exec(compile(code, "guide.md", "exec"), {})


def test_the_steps_of_the_guide_are_those_of_the_model():
    by_hand, of_a_table = (code for code in blocks(GUIDE, "python") if "reconstruction_probabilities" in code)
    names = {}
    exec(compile(by_hand, "guide.md", "exec"), names)
    torch.testing.assert_close(names["v"], names["states"][-1])
    assert not torch.equal(names["v"], names["states"][0])
    exec(compile(of_a_table, "guide.md", "exec"), names)
    of_town = names["states"][-1][:, names["town"]].numpy()
    np.testing.assert_allclose(of_town, names["model"].predict_missing_proba(names["asked"])["town"], atol=1e-6)


def test_the_recipe_of_the_guide_is_one():
    (text,) = blocks(GUIDE, "toml")
    recipe = make_recipe(tomllib.loads(text), n_variables=784)
    assert recipe.model.steps == 5


def test_numbers_in_the_docs_are_those_of_the_records():
    done = subprocess.run([sys.executable, ROOT / "docs" / "numbers.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_examples_print_was_printed_by_the_code_above_it(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    examples = runpy.run_path(str(ROOT / "benchmarks" / "examples.py"))
    shown = {name: code for code, name in examples["blocks"](examples["PAGE"].read_text()) if name is not None}
    assert len(shown) == 3
    assert shown == json.loads((ROOT / "benchmarks" / "results" / "examples.json").read_text())["code"]


def test_links_in_the_docs_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
