"""Shared by all tests: shapes in signatures are checked, one thread, real data where it is at hand."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from jaxtyping import install_import_hook

# The hook must stand before the first import of nadek: every annotated shape is then checked at every call.
HOOK = install_import_hook(["nadek", "nadek_paper"], "beartype.beartype")

KILLED = """
import os, runpy, sys
writer = runpy.run_path(sys.argv[1])["replacing"](sys.argv[2])
writer.__enter__().write(b"half")
os._exit(9)
"""


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets; tests that need it are skipped where it is not."""
    folder = Path(os.environ.get("NADEK_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("needs the real data sets: set NADEK_DATA to their folder")
    return folder


@pytest.fixture
def killed_while_writing() -> Callable[[Path], str]:
    """Has a process begin to write a file and die at it; gives the name of what it leaves behind."""

    def kill(path: Path) -> str:
        before, spec = set(os.listdir(path.parent)), find_spec("nadek.utils.files")
        assert spec is not None
        assert spec.origin is not None
        done = subprocess.run([sys.executable, "-c", KILLED, spec.origin, str(path)], check=False)
        assert done.returncode == 9
        (left,) = set(os.listdir(path.parent)) - before
        return left

    return kill
