"""Spark and Ray call the functions of a batch: the benchmark compares every row with the command line."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "package", "program"), [("spark", "pyspark", "java"), ("ray", "ray", "true")])
def test_engines_answer_as_the_command_line(engine, package, program):
    if find_spec(package) is None or shutil.which(program) is None:
        pytest.skip(f"{package} or {program} is not installed: pip install 'nade-k[{engine}]'")
    command = [sys.executable, BENCHMARKS / "engines.py", engine, "--rows", "10000"]
    assert "10,000 rows" in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
