"""Shared by all tests: shapes in signatures are checked, one thread, real data where it is at hand."""

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

from support.shape_checks import check_shapes

check_shapes("nadek", "nadek_paper")  # must stand before the first import of nadek
pytest_plugins = ["support.survey"]
torch.set_num_threads(1)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def has_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trains in bfloat16 where asked for, also on a processor that is slow at it."""
    monkeypatch.setattr("nadek.training.costs.has_fast_bfloat16", lambda _: True)


@pytest.fixture
def bound_memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the bound on the working memory, in bytes."""
    return partial(monkeypatch.setattr, "nadek.inference.decoders.chunking.MAX_BYTES")


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Fills the disk, once so many files more were written."""

    def fill(after: int = 0) -> None:
        written: list[int] = []

        def fsync(file: int) -> None:
            written.append(file)
            if len(written) > after:
                raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", fsync)

    return fill


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data sets; tests that need it are skipped where it is not."""
    folder = Path(os.environ.get("NADEK_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("needs the real data sets: set NADEK_DATA to their folder")
    return folder
