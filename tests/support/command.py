"""Run the command line within a test, and small tables for it."""

import csv
import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest

from nadek.cli import main

COLUMNS = ("age", "b,c", "ü", "d", "e")


@dataclass(frozen=True)
class Result:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that a mistake ends in."""
        (line,) = self.err.splitlines()
        assert self.out == ""
        assert line.startswith("nadek: ")
        return line.removeprefix("nadek: ")


def nadek(*arguments):
    """Run a command in this process, through its real entry point."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(*arguments)
    return Result(code, out.getvalue(), err.getvalue())


def run(*arguments):
    """The exit code of a command in this process, with standard output and error as they are."""
    with mock.patch.object(sys, "argv", ["nadek", *map(str, arguments)]), pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0


def ok(*arguments):
    """Run a command that must succeed."""
    result = nadek(*arguments)
    assert result.code == 0, result.err
    return result


FIT = ("--hidden", "8", "--steps", "2", "--epochs", "2")


def answers(n_rows, seed=0, missing=0.0):
    """A table with names, some cells missing."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n_rows, 5)) < [0.2, 0.4, 0.6, 0.8, 0.5]).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return x


def write_csv(path, x, columns=COLUMNS):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        if columns is not None:
            writer.writerow(columns)
        writer.writerows([["" if np.isnan(v) else int(v) for v in row] for row in x])
    return path
