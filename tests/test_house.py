"""The house rules of CONTRIBUTING.md, counted: sizes, names and the first lines of docstrings."""

import ast
import re
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = sorted((ROOT / "src" / "nadek").rglob("*.py"))
PAPER = sorted((ROOT / "paper").rglob("*.py"))
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if "net" not in path.parts)
TREES = {path: ast.parse(path.read_text()) for path in (*LIBRARY, *PAPER)}
NODES = [(path, node) for path, tree in TREES.items() for node in ast.walk(tree)]
FUNCTIONS = [(path, node) for path, node in NODES if isinstance(node, ast.FunctionDef)]
RIDDLES = {"told", "found", "said", "known", "asked"}


def place(path, node):
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def body_lines(function):
    """Lines of a function without its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return function.end_lineno - body[0].lineno + 1 if body else 1


def parameters(function):
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def summaries():
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    texts = [(path, node, ast.get_docstring(node)) for path, node in NODES if isinstance(node, documented)]
    return [(path, node, text.splitlines()[0]) for path, node, text in texts if text]


@pytest.mark.parametrize(
    ("files", "most"),
    [(LIBRARY, 20_513), (PAPER, 4_144), (TESTS, 22_715)],
    ids=["nadek", "paper", "tests"],
)
def test_each_part_stays_small(files, most):
    assert sum(len(path.read_text().splitlines()) for path in files) <= most


def test_file_names_occur_once():
    names = Counter(path.stem for path in LIBRARY if path.stem not in ("__init__", "base"))
    assert [name for name, count in names.items() if count > 1] == []


def test_names_of_tests_occur_once():
    names = Counter(name for path in TESTS for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M))
    assert [name for name, count in names.items() if count > 1] == []


def test_functions_are_short():
    lengths = sorted(body_lines(function) for _, function in FUNCTIONS)
    assert median(lengths) <= 7
    assert lengths[int(0.9 * len(lengths))] <= 24
    assert sum(length > 60 for length in lengths) <= 0.005 * len(lengths)


def test_signatures_are_short():
    for path, function in FUNCTIONS:
        most = 16 if function.name == "__init__" or "cli" in str(path) else 11
        assert len(parameters(function)) <= most, place(path, function)


def test_variables_are_called_by_nouns():
    stored = {place(path, n): n.id for path, n in NODES if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    stored |= {f"{place(path, one)} {name}": name for path, one in FUNCTIONS for name in parameters(one)}
    assert {where for where, name in stored.items() if name in RIDDLES} == set()


def test_docstrings_begin_plainly():
    lines = summaries()
    assert [place(path, node) for path, node, line in lines if re.match(r"(What|Whether|How)\b", line)] == []
    assert median(len(line.split()) for _, _, line in lines) <= 9


def test_every_folder_is_a_package():
    folders = {path.parent for path in LIBRARY}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []
