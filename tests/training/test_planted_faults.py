"""A test must be able to fail: mistakes that others have made, planted into a copy, break the tests named for them."""

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from support import shape_checks
from support.processes import exit_code

ROOT = Path(__file__).parents[2]
FAULTS = tomllib.loads((Path(__file__).parent / "planted_faults.toml").read_text())["faults"]


def run_tests(folder, file, selection):
    """Run tests on a copy of the package, in a process that has not imported it; checks of shapes would take longer."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    shape_checks.check_shapes = lambda *_: None
    output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.path.insert(0, str(folder))
    file = str(ROOT / "tests" / file)
    sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-k", selection, file]))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault['tests']}-{fault['fault']}")
def test_planted_fault_is_caught(fault, tmp_path):
    shutil.copytree(ROOT / "src" / "nadek", tmp_path / "nadek")
    path = tmp_path / "nadek" / fault["place"]
    path.write_text(path.read_text().replace(fault["right"], fault["wrong"]))
    code = exit_code(run_tests, tmp_path, fault["tests"], fault["caught_by"])
    output = (tmp_path / "output").read_text()
    assert code == 1, output  # 1: tests failed; 5 would mean that none was found
    assert "FAILED" in output
    assert not re.search(r"(Name|Type|Index|Runtime|Value|Attribute)Error", output.splitlines()[-2]), output
