"""A row of the paper's tables in a folder of its own."""

import io
import itertools
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest
import torch

from nadek_paper import rbm
from nadek_paper.cli import main
from nadek_paper.studies import Study, Watcher, run_study
from nadek_paper.table_study import row_job
from nadek_paper.workspace import Workspace

FIXTURES = Path(__file__).parents[1] / "paper" / "recipes"


def recipe_text(name):
    """The text of a recipe of the tests."""
    return (FIXTURES / f"{name}.toml").read_text()


TOML = recipe_text("network")
CITED = 'title = "RBM"\ndata = "digits"\npaper = -30\ncited = true\n'
RBM = 'title = "RBM"\ndata = "digits"\n[rbm.training]\nhidden = 4\nepochs = 1\n'


def write_recipe(folder, name, text):
    """Write a file of the folder of recipes."""
    path = folder / "recipes" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def write_row(folder, name="nade-2", text=TOML, table="table9"):
    """Write a row in the folder of tables."""
    return write_recipe(folder, f"{table}/{name}.toml", text)


def workspace_in(folder, **options):
    folders = {name: folder / name for name in ("recipes", "results", "runs", "pictures")}
    return Workspace(**folders, **options)


def run_row(row, kind, workspace, *, force=False, watch=None):
    """Train and score one row; its record."""
    study = Study(title=row.title, columns=(), lines=lambda _: [], jobs=[row_job(row, kind, workspace)])
    return run_study(study, force=force, watcher=watch)[row.name]


def states(n):
    """All states of n units."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)), dtype=torch.float64)


def machine(n_hidden, n_visible, generator, scale=1.0, dtype=torch.float64):
    shapes = ((n_hidden, n_visible), n_visible, n_hidden)
    return rbm.RBM(*(scale * torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes))


def exact_log_partition(machine):
    """The log-sum over all states of an RBM, by those of its smaller layer."""
    n_hidden, n_visible = machine.W.shape
    if n_hidden < n_visible:
        machine = rbm.RBM(machine.W.t(), machine.c, machine.b)
    n_units = min(n_hidden, n_visible)
    return machine.log_weight(torch.arange(2**n_units)[:, None] >> torch.arange(n_units) & 1).logsumexp(0).item()


def forbidden(*_, **__):
    raise AssertionError("this was to be done only once")


def record_of(folder, row, kind="modern"):
    """Return the path of a row's record."""
    return workspace_in(folder).record(row.run_name(kind))


class Watched(Watcher):
    """Keeps epochs and scored rows, and does as it is told after an epoch."""

    def __init__(self, after_epoch=lambda epoch: None):
        self.epochs, self.scored, self._after_epoch = [], [], after_epoch

    def on_epoch(self, epoch):
        """Keep an epoch."""
        self.epochs.append(epoch)
        self._after_epoch(epoch)

    def on_rows(self, done, total):
        """Keep how far the scoring is."""
        self.scored.append((done, total))


class StopError(Exception):
    """Something that happens to a process."""


def stop(*_, **__):
    raise StopError


def paper(*arguments, folder):
    """Run ``nadek-paper`` with the recipes and folders of a test: exit code, standard output, standard error."""
    words = [*map(str, arguments)]
    names = ("results",) if "report" in words else ("results", "runs", "pictures")
    if "--help" not in words:
        words += [word for name in names for word in (f"--{name}", str(folder / name))]
    out, err = io.StringIO(), io.StringIO()
    argv = mock.patch.object(sys, "argv", ["nadek-paper", *words])
    own = mock.patch.dict(os.environ, {"NADEK_PAPER_RECIPES": str(folder / "recipes")})
    with argv, own, redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0, out.getvalue(), err.getvalue()
