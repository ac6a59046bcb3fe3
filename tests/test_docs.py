"""The README and the docs are true: code runs, commands and names exist, numbers are those of the records."""

import ast
import doctest
import importlib
import inspect
import itertools
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

import nadek
from nadek.cli.app import VERBS, make_app
from nadek.runs.recipe import make_recipe
from nadek_paper import cli as paper_cli

ROOT = Path(__file__).parents[1]
README, START, TENSORS = ROOT / "README.md", ROOT / "docs" / "start.md", ROOT / "docs" / "how-to" / "tensors.md"
STYLE = runpy.run_path(str(ROOT / "docs" / "style.py"))
PAGES = STYLE["pages"]()
PUBLIC = {
    f"{module}.{name}": getattr(importlib.import_module(module), name)
    for module, names in runpy.run_path(str(ROOT / "docs" / "reference_pages.py"))["public_names"]().items()
    for name in names
}
SLOW = {"nadek.sharing.export.export_onnx"}  # a slow test runs their examples, which others skip
QUICK = {
    r"(NADEk\w*\((?!.*max_iter).*?)random_state=0": r"\1random_state=0, max_iter=1, training={'width': 16}",
    r"max_iter=\d{2,}": "max_iter=1",
    r"epochs=\d+": "epochs=1",
    r"\b500\b(?=[,)])": "100",
    r"\[:4000\]": "[:300]",
}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


WITH_PYTHON = [page for page in PAGES if blocks(page, "python") and page.parent.name != "studies"]


def commands(page):
    """Yield the words of every command line of a page."""
    shell = "\n".join(blocks(page, "shell"))
    indented = re.findall(r"^    (.*)$", page.read_text(), re.MULTILINE)
    for line in [*shell.splitlines(), *indented]:
        if re.match(r"nadek(?:-paper)? ", line):
            yield shlex.split(line, comments=True)


def run(page):
    """Run the Python of a page in one session, with short trainings; return its names."""
    names = {}
    for code in blocks(page, "python"):
        for slow, quick in QUICK.items():
            code = re.sub(slow, quick, code)
        exec(compile(code, page.name, "exec"), names)
    return names


def check_readme(names, printed):
    assert names["people"].isna().any(axis=None)
    assert not names["whole"].isna().any(axis=None)
    assert (names["log_p"] < 0).all()
    assert set(names["odd"]) == {-1, 1}
    unknown = names["people"][names["people"]["smokes"].isna()].isna().assign(smokes=False)  # the target is no question
    assert (np.isfinite(names["gain"].to_numpy()) == unknown.to_numpy()).all()


def check_tensors(names, printed):
    assert not names["whole"].isnan().any()
    assert names["log_p"].shape == (16, 300)


def check_survey(names, printed):
    assert [line.split(":")[0] for line in printed[:4]] == ["constant", "q0", "q1", "q2"]
    assert sum(line.startswith("person") for line in printed) > 1
    assert printed[-1].startswith("to learn about q15 ask q")


def check_saving(names, printed):
    assert names["again"].score(names["people"]) == names["model"].score_samples(names["people"]).mean()


CHECKS = {
    "README.md": check_readme,
    "tensors.md": check_tensors,
    "survey.md": check_survey,
    "saving.md": check_saving,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:cells with values that the model does not know")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.stem)
def test_python_of_pages_runs(page, tmp_path, monkeypatch, request, capsys):
    monkeypatch.chdir(tmp_path)
    if 'load("nltcs")' in page.read_text():
        monkeypatch.setenv("NADEK_DATA", str(request.getfixturevalue("data_dir")))
    run(START)
    assert Path("people.csv").stat().st_size > 1000
    capsys.readouterr()
    names = run(page)
    CHECKS.get(page.name, lambda *_: None)(names, capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_of_pages_exist(page):
    for words in commands(page):
        command = typer.main.get_command(make_app(VERBS) if words[0] == "nadek" else paper_cli.make_app())
        arguments = words[1:]
        while hasattr(command, "commands"):
            command, arguments = command.commands[arguments[0]], arguments[1:]
        options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert {word for word in arguments if word.startswith("-")} <= options, shlex.join(words)


def test_commands_are_read_from_pages():
    assert sum(1 for _ in commands(README)) == 10
    assert ["nadek-paper", "report"] in list(commands(TENSORS))


def test_steps_by_hand_match_the_model():
    by_hand, of_a_table = (code for code in blocks(TENSORS, "python") if "reconstruction_probabilities" in code)
    names = {}
    exec(compile(by_hand, "tensors.md", "exec"), names)
    torch.testing.assert_close(names["v"], names["states"][-1])
    assert not torch.equal(names["v"], names["states"][0])
    exec(compile(of_a_table, "tensors.md", "exec"), names)
    of_town = names["states"][-1][:, names["town"]].numpy()
    np.testing.assert_allclose(of_town, names["model"].predict_missing_proba(names["incomplete"])["town"], atol=1e-6)


def test_recipe_of_the_docs_is_valid():
    (text,) = blocks(ROOT / "docs" / "how-to" / "recipes.md", "toml")
    recipe = make_recipe(tomllib.loads(text), n_variables=784)
    assert recipe.model.steps == 5


def test_numbers_match_the_records():
    done = subprocess.run([sys.executable, ROOT / "docs" / "numbers.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_printed_output_matches_the_code(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    examples = runpy.run_path(str(ROOT / "benchmarks" / "examples.py"))
    shown = {name: code for code, name in examples["blocks"](examples["PAGE"].read_text()) if name is not None}
    assert len(shown) == 3
    assert shown == json.loads((ROOT / "benchmarks" / "results" / "examples.json").read_text())["code"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text()):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name}: {target}"
        assert not heading or heading in anchors(linked), f"{page.name}: {target}#{heading}"


def anchors(page):
    """Return the names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_names_in_backticks_exist(page):
    for code in re.findall(r"`([^`\n]+)`", page.read_text()):
        for name in re.findall(r"(?<![\w.-])nadek(?:_paper)?(?:\.\w+)+", code):
            assert exists(name), f"{page.name}: {name}"
        for path in re.findall(r"[a-z][\w./-]*/[\w./-]+\.(?:py|toml)", code):
            assert "NAME" in path or any((root / path).exists() for root in ROOTS), f"{page.name}: {path}"


ROOTS = (ROOT, ROOT / "src" / "nadek", ROOT / "paper" / "nadek_paper" / "recipes")


def exists(name):
    """Check that a dotted name can be imported, with attributes of classes."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            if not hasattr(thing, part) and part not in getattr(thing, "__dataclass_fields__", {}):
                return False
            thing = getattr(thing, part, None)
        return True
    return False


def test_unknown_names_are_noticed():
    assert exists("nadek.NADEk.score_samples")
    assert not exists("nadek.nothing")
    assert not exists("nadek.NADEk.nothing")
    assert list(unknown_arguments("nadek.NADEk(nothing=1)")) == ["nadek.NADEk(nothing=1)"]
    assert list(unknown_arguments("nadek.nothing()")) == ["nadek.nothing()"]


def examples(thing):
    return doctest.DocTestParser().get_examples(thing.__doc__)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_an_example(name):
    """Their own, or that of a public name that their docstring names."""
    module, about = name.rpartition(".")[0], PUBLIC[name].__doc__
    named = re.findall(r"(?:(?:returned|raised) by|see the example of) `([\w.]+)`", about, re.IGNORECASE)
    things = [PUBLIC[name], *(PUBLIC[one if one in PUBLIC else f"{module}.{one}"] for one in named)]
    assert all(examples(thing) for thing in things[1:] or things)
    assert name in SLOW or not any(doctest.SKIP in example.options for example in examples(PUBLIC[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_slow_examples_run(name, tmp_path, monkeypatch):
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    shown = [doctest.Example(example.source, example.want) for example in examples(PUBLIC[name])]
    names = dict(vars(importlib.import_module(PUBLIC[name].__module__)))
    test = doctest.DocTest(shown, names, name, None, None, None)
    assert doctest.DocTestRunner().run(test) == (0, len(shown))


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if inspect.isfunction(thing)])
def test_public_functions_document_arguments_and_results(name):
    about, signature = inspect.getdoc(PUBLIC[name]), inspect.signature(PUBLIC[name])
    described = re.findall(r"^    \**(\w+): ", about, re.MULTILINE)
    assert set(signature.parameters) <= set(described) or "Arguments and errors are those of `" in about
    assert signature.return_annotation is None or re.search(r"^Return |^Returns:$", about, re.MULTILINE)


def unknown_arguments(code):
    """Yield the calls of nadek's functions with a name or a keyword that does not exist."""
    for call in ast.walk(ast.parse(code)):
        name = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        if re.fullmatch(r"nadek(?:\.\w+)+", name):
            function = nadek
            for part in name.split(".")[1:]:
                function = getattr(function, part, None)
            keywords = {keyword.arg for keyword in call.keywords}
            parameters = {} if function is None else inspect.signature(function).parameters
            open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
            if function is None or not (open_ended or keywords <= parameters.keys()):
                yield ast.unparse(call)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_calls_in_pages_have_valid_arguments(page):
    assert [call for code in blocks(page, "python") for call in unknown_arguments(code)] == []


def test_guarantees_name_tests_that_exist():
    """Every section but the last, of what is not guaranteed."""
    opening, *sections, last = re.split("^## ", (ROOT / "docs" / "guarantees.md").read_text(), flags=re.MULTILINE)
    named = [re.findall(r"^- `(tests/[\w/]+\.py)::(\w+)`$", section, re.MULTILINE) for section in sections]
    assert all(named)
    assert last.startswith("Not guaranteed")
    assert "::" not in opening + last
    for file, test in itertools.chain(*named):
        tree = ast.parse((ROOT / file).read_text())
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file}::{test}"
    assert sum(map(len, named)) == "\n".join(sections).count("::")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_style_of_pages(page):
    assert STYLE["problems"](page) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("word\n" * 41 + "end. Short. Short.", "42 words in a sentence"),
        ("word\n" * 24 + "end.", "25.0 words in a sentence on average"),
        ("x" * 101, "more than 100 characters"),
        ("Some\n<!--=record.key d-->3<!--.--> rows.", "begins with"),
    ],
)
def test_faults_of_style_are_noticed(text, fault):
    (problem,) = STYLE["faults"]("page.md", text)
    assert fault in problem
    assert STYLE["count_words"]("two <!--=record.key d-->words<!--.-->") == 2
