"""A test must be able to fail: mistakes that others have made, planted into a copy, break the tests named for them."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAULTS = tomllib.loads((Path(__file__).parent / "planted_faults.toml").read_text())["faults"]


def run_tests(folder, file, selection):
    """Run tests on a copy of the package, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", selection]
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    command.append(str(ROOT / "tests" / file))
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault['tests']}-{fault['fault']}")
def test_planted_fault_is_caught(fault, tmp_path):
    shutil.copytree(ROOT / "src" / "nadek", tmp_path / "nadek")
    path = tmp_path / "nadek" / fault["place"]
    path.write_text(path.read_text().replace(fault["right"], fault["wrong"]))
    done = run_tests(tmp_path, fault["tests"], fault["caught_by"])
    assert done.returncode == 1, done.stdout  # 1: tests failed; 5 would mean that none was found
    assert "FAILED" in done.stdout
    assert not re.search(r"(Name|Type|Index|Runtime|Value|Attribute)Error", done.stdout.splitlines()[-2]), done.stdout


def test_faults_fit_the_source():
    texts = {fault["fault"]: (ROOT / "src/nadek" / fault["place"]).read_text() for fault in FAULTS}
    assert [fault["fault"] for fault in FAULTS if texts[fault["fault"]].count(fault["right"]) != 1] == []


@pytest.mark.slow
def test_unchanged_copy_passes(tmp_path):
    """The runs above fail for their fault and not for the copy."""
    shutil.copytree(ROOT / "src" / "nadek", tmp_path / "nadek")
    done = run_tests(tmp_path, "models/test_contract.py", "decoders_agree")
    assert done.returncode == 0, done.stdout
