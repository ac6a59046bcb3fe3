"""Grids of small trainings: every cell can be run, what a run leaves, and the tables it makes."""

import fcntl
import json
import os
from dataclasses import replace

import pytest
import torch

from nadek.inference.likelihood import estimate_log_prob, log_prob
from nadek.models import IterativeNADE
from nadek.runs.provenance import provenance
from nadek.training import TrainingDivergedError, fit, prepare
from nadek.utils.atomic import read_record
from nadek_paper.grids.grid import grids, n_parameters, read_grid, widest
from nadek_paper.grids.study import current, grid_study, is_current, score, training_of_cell
from nadek_paper.grids.table import grid_tables, mean_over_seeds
from nadek_paper.report import write_report
from nadek_paper.studies import run_study, write_record
from nadek_paper.workspace import RECIPES, RESULTS, some_rows
from support.paper_rows import StopError, forbidden, recipe_text, stop, workspace_in, write_recipe

TOML = recipe_text("grid")


def write_grid(folder, text=TOML):
    return read_grid(write_recipe(folder, "grids/which.toml", text))


def run_grid(grid, workspace, *, only=None):
    return run_study(grid_study(grid, workspace, only=only))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A grid of which one core was run: folder, grid and record; read only."""
    folder = tmp_path_factory.mktemp("grid")
    grid = write_grid(folder)
    return folder, grid, run_grid(grid, workspace_in(folder), only="digits-deep-*")


SHIPPED = [read_grid(RECIPES / "grids" / f"{name}.toml") for name in grids(RECIPES)]
ONE_SEED = [(grid, cell) for grid in SHIPPED for cell in grid.cells if cell.recipe.seed == grid.cells[0].recipe.seed]


@pytest.mark.slow
def test_every_cell_trains(generator):
    models = {(repr(cell.recipe.model), repr(cell.recipe.training)): cell.recipe for _, cell in ONE_SEED}
    structures = {repr(recipe.model): recipe for recipe in models.values()}
    for recipe in structures.values():
        phases = tuple(replace(phase, epochs=1) for phase in recipe.training.phases)
        x = (torch.rand(4, recipe.model.n_variables, generator=generator) < 0.3).float()
        model = IterativeNADE(recipe.model, x.mean(0), generator=generator)
        fit(model, prepare(x), config=replace(recipe.training, phases=phases))
        assert estimate_log_prob(model, x[:1], generator=generator).isfinite().all()


@pytest.mark.parametrize("grid", SHIPPED, ids=lambda grid: grid.name)
def test_cells_share_the_budget(grid):
    for cell in grid.cells:
        longer = max(getattr(grid.axes[axis][name], "longer", 1) for axis, name in cell.where.items())
        assert cell.recipe.training.epochs == longer * cell.part.epochs
        if cell.part.parameters is not None:
            assert 0.97 * cell.part.parameters < n_parameters(cell.recipe.model) <= cell.part.parameters


def test_cells_are_the_product_once(tmp_path):
    grid = write_grid(tmp_path)
    assert [cell.name for cell in grid.cells] == [
        f"digits-{core}-{k}-s{seed}" for core in ("deep", "block") for k in ("k1", "long", "k2") for seed in (0, 1)
    ]
    by_name = {cell.name: cell.recipe for cell in grid.cells}
    assert by_name["digits-deep-k2-s1"].seed == by_name["digits-deep-k2-s1"].training.seed == 1
    assert [phase.epochs for phase in by_name["digits-deep-long-s0"].training.phases] == [2]
    assert by_name["digits-deep-k2-s0"].training.ema_decay == 0.9


def test_widest_uses_all_parameters(tmp_path):
    recipe = write_grid(tmp_path).cells[0].recipe
    (width,) = widest(recipe, 1500).model.core.hidden
    assert n_parameters(widest(recipe, 1500).model) <= 1500
    assert n_parameters(replace(recipe.model, core=replace(recipe.model.core, hidden=(width + 1,)))) > 1500
    with_levels = replace(recipe.model, levels=(9,) * recipe.model.n_variables)
    model = IterativeNADE(widest(replace(recipe, model=with_levels), 20_000).model)
    assert 19_000 < sum(p.numel() for p in model.parameters()) <= 20_000
    with pytest.raises(ValueError, match="parameters: 100 are too few"):
        widest(recipe, 100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('label = "digits"\n', ""), "option sets.digits.label is missing"),
        (("longer = 2", "loger = 2"), "unknown option axes.k.long.loger; did you mean longer"),
        (('k = ["k2"]', 'k = ["k3"]'), "cells.k: unknown variant 'k3'; known are: k1, long, k2"),
        (('k = ["k2"]', 'q = ["k2"]'), "cells: unknown axis 'q'; known are: set, core, k"),
        (("title =", "titel ="), "unknown option titel"),
        (("ema_decay", "ema"), "digits-deep-k1-s0: unknown option training.ema"),
    ],
)
def test_grid_errors_name_the_file(change, message, tmp_path):
    with pytest.raises(ValueError, match=rf"which\.toml.*{message}"):
        write_grid(tmp_path, TOML.replace(*change))


@pytest.mark.slow
def test_record_has_lines_for_cells(done):
    folder, grid, record = done
    path = folder / "results" / "grid-which.json"
    assert record == json.loads(path.read_text())
    assert list(record["cells"]) == [cell.name for cell in grid.cells if "deep" in cell.name]
    assert sum(line.startswith('    "digits-') for line in path.read_text().splitlines()) == 6
    cell = record["cells"]["digits-deep-long-s1"]
    assert (cell["set"], cell["core"], cell["k"], cell["seed"], cell["steps"]) == ("digits", "deep", "long", 1, 1)
    assert (cell["epochs"], len(cell["train"]), len(cell["validation"])) == (2, 2, 2)
    assert len(record["origins"]) == 1


def test_cell_scores_are_exact_likelihoods(done):
    folder, grid, record = done
    cell = grid.cells[0]
    job = training_of_cell(grid, cell, workspace_in(folder))
    saved, x = job.finished(), job.open("test").x
    rows = some_rows(x, 50)
    expected = log_prob(saved.model, rows, orderings=2, generator=torch.Generator().manual_seed(0)).mean()
    assert record["cells"][cell.name]["test_log_likelihood"] == pytest.approx(expected.item())
    few = replace(cell.part, scored="estimate", masks=60)
    mean, error = score(saved, x, few)
    plain = torch.stack([log_prob(saved.model, rows, ordering=torch.randperm(64)) for _ in range(20)]).mean()
    assert mean == pytest.approx(plain.item(), abs=0.5)
    assert error > 0


def test_finished_cells_are_not_rerun(done, monkeypatch):
    folder, grid, record = done
    monkeypatch.setattr("nadek_paper.trainings.train", forbidden)
    monkeypatch.setattr("nadek_paper.grids.study.score", forbidden)
    assert run_grid(grid, workspace_in(folder), only="digits-deep-*") == record
    with pytest.raises(AssertionError):
        run_grid(grid, workspace_in(folder))


@pytest.mark.slow
def test_two_processes_share_a_record(tmp_path, monkeypatch):
    """Where the other one writes while this one asks where it runs, and neither while the other is at the record."""
    grid, workspace, alone = replace(write_grid(tmp_path), keep=False), workspace_in(tmp_path), []
    names = [cell.name for cell in grid.cells if "-k1-" in cell.name]

    def slow(device):
        monkeypatch.setattr("nadek_paper.grids.study.provenance", provenance)
        run_grid(grid, workspace, only="digits-block-k1-*")
        return provenance(device)

    def watched(path, record, **options):
        descriptor = os.open(path.parent, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
        alone.append(path)
        write_record(path, record, **options)

    monkeypatch.setattr("nadek_paper.grids.study.provenance", slow)
    monkeypatch.setattr("nadek_paper.grids.study.write_record", watched)
    assert list(run_grid(grid, workspace, only="digits-deep-k1-*")["cells"]) == names
    assert len(alone) == 4
    assert os.listdir(tmp_path / "results") == ["grid-which.json"]


@pytest.mark.parametrize("stage", ["writing", "removing"])
def test_interrupted_cell_is_completed(stage, tmp_path, monkeypatch):
    grid, workspace = replace(write_grid(tmp_path), keep=False), workspace_in(tmp_path)
    folder = training_of_cell(grid, grid.cells[0], workspace).folder

    def half(folder, **_):
        (folder / "metrics.json").unlink()
        raise StopError

    with monkeypatch.context() as stopped:
        replaced = ("nadek_paper.grids.study.write_record", stop) if stage == "writing" else ("shutil.rmtree", half)
        stopped.setattr(*replaced)
        with pytest.raises(StopError):
            run_grid(grid, workspace, only=grid.cells[0].name)
    assert folder.is_dir()
    with monkeypatch.context() as again:
        again.setattr("nadek_paper.trainings.train", forbidden)  # what was trained is not lost
        assert list(run_grid(grid, workspace, only=grid.cells[0].name)["cells"]) == [grid.cells[0].name]
    workspace.record("grid-which").unlink()
    run_grid(grid, workspace, only=grid.cells[0].name)  # what was left is no model, and in nobody's way
    assert not folder.exists()


def test_two_processes_share_a_cell(tmp_path, monkeypatch):
    grid, workspace = replace(write_grid(tmp_path), keep=False), workspace_in(tmp_path)
    only, folder = grid.cells[0].name, training_of_cell(grid, grid.cells[0], workspace).folder

    def other(*scored):
        monkeypatch.setattr("nadek_paper.grids.study.score", score)
        run_grid(grid, workspace, only=only)
        assert not folder.exists()
        return score(*scored)

    monkeypatch.setattr("nadek_paper.grids.study.score", other)
    assert list(run_grid(grid, workspace, only=only)["cells"]) == [only]
    assert not folder.exists()


@pytest.mark.parametrize("change", [{"train_rows": 60}, {"train_rows": None}, {"data": "other digits"}])
def test_model_of_other_rows_is_refused(change, tmp_path):
    grid = write_grid(tmp_path)
    grid = replace(grid, cells=grid.cells[:1])
    run_grid(grid, workspace_in(tmp_path))
    (cell,) = grid.cells
    other = replace(grid, cells=(replace(cell, part=replace(cell.part, **change)),))
    message = "which-digits-deep-k1-s0 holds a model of other training rows; use --force to train anew"
    with pytest.raises(ValueError, match=message):
        run_grid(other, workspace_in(tmp_path))
    path = tmp_path / "runs" / "which-digits-deep-k1-s0" / "metrics.json"
    metrics = json.loads(path.read_text())
    del metrics["trained_on"]  # as all models were kept before
    path.write_text(json.dumps(metrics))
    assert training_of_cell(other, other.cells[0], workspace_in(tmp_path)).finished() is not None


def test_models_go_unless_kept(tmp_path):
    grid = replace(write_grid(tmp_path), keep=False)
    run_grid(grid, workspace_in(tmp_path, quick=True), only="digits-deep-k1-s0")
    assert not list((tmp_path / "runs").rglob("model.safetensors"))
    assert (tmp_path / "runs" / "quick" / "grid-which" / "record.json").is_file()
    assert not (tmp_path / "results").exists()
    with pytest.raises(ValueError, match="which has no cell 'x'; one is called digits-deep-k1-s0"):
        run_grid(grid, workspace_in(tmp_path), only="x")


def test_divergence_is_recorded(tmp_path, monkeypatch):
    grid = write_grid(tmp_path)

    def diverge(*_, **__):
        raise TrainingDivergedError("too fast", [])

    monkeypatch.setattr("nadek_paper.trainings.train", diverge)
    record = run_grid(grid, workspace_in(tmp_path), only="*-k1-s0")
    assert record["cells"]["digits-deep-k1-s0"]["diverged"] is True
    assert mean_over_seeds(record["cells"], {"core": "deep", "k": "k1"}) is None
    assert "| 1 layer | – | – | – |" in grid_tables(grid, record)


@pytest.mark.slow
def test_changed_cells_are_left_out(tmp_path):
    workspace, only = workspace_in(tmp_path, quick=True), "digits-deep-k[12]-s*"
    run_grid(write_grid(tmp_path), workspace, only=only)
    grid = write_grid(tmp_path, TOML.replace("orderings = 2", "orderings = 3"))
    record = run_grid(grid, workspace, only="digits-deep-k1-s1")
    assert list(record["cells"]) == ["digits-deep-k1-s1"]
    kept = read_record(workspace.record("grid-which"))
    assert len(kept["cells"]) == 4
    table = grid_tables(grid, kept).splitlines()
    assert "; one seed, ± over rows)" in table[0]
    mean = record["cells"]["digits-deep-k1-s1"]["test_log_likelihood"]
    assert table[4].startswith(f"| 1 layer | {mean:.2f} ± ")
    assert table[4].endswith(" | – | – |")
    left = "*Left out, as changed since: digits-deep-k1-s0, digits-deep-k2-s0, digits-deep-k2-s1.*"
    assert table[-1] == left


@pytest.mark.parametrize("grid", SHIPPED, ids=lambda grid: grid.name)
def test_shipped_grid_records_are_current(grid):
    """Options that come later are None by default, which is no part of a digest: records stay good."""
    cells = read_record(RESULTS / f"grid-{grid.name}.json")["cells"]
    assert list(current(grid, cells)) == list(cells)
    cell = next(cell for cell in grid.cells if cell.name in cells)
    used = replace(cell, recipe=replace(cell.recipe, training=replace(cell.recipe.training, tilt=0.5)))
    assert not is_current(used, cells[cell.name])


def test_means_are_over_seeds():
    cells = {
        str(seed): {"k": "a", "test_log_likelihood": value, "test_standard_error": 9.0}
        for seed, value in enumerate((-1.0, -2.0, -3.0))
    }
    mean = mean_over_seeds(cells, {"k": "a"})
    assert (mean.value, mean.seeds) == (-2.0, 3)
    assert mean.error == pytest.approx(1 / 3**0.5)
    one = mean_over_seeds({"0": cells["0"]}, {"k": "a"})
    assert (one.value, one.error, one.seeds) == (-1.0, 9.0, 1)
    assert mean_over_seeds(cells, {"k": "b"}) is None


def test_report_has_grid_tables(done, tmp_path):
    folder, grid, record = done
    table = grid_tables(grid, record)
    lines = table.splitlines()
    about = "exact, 2 orderings; 1 epochs, 100 training rows, at most 1,500 parameters"
    assert lines[0] == f"**digits** ({about}; ± over 2 seeds)"
    assert lines[2] == "| core | k = 1 | k = 1, twice as long | k = 2 |"
    mean = mean_over_seeds(record["cells"], {"core": "deep", "k": "long"})
    assert lines[4].startswith("| 1 layer | ")
    assert f" {mean.value:.2f} ± {mean.error:.2f} " in lines[4]
    assert lines[5] == "| 1 block | – | – | – |"
    one = {**record, "cells": {name: cell for name, cell in record["cells"].items() if name.endswith("s0")}}
    assert grid_tables(grid, one).splitlines()[0] == f"**digits** ({about}; one seed, ± over rows)"
    some = {**record, "cells": {name: cell for name, cell in record["cells"].items() if name != "digits-deep-k1-s1"}}
    assert "1 to 2 seeds, ± over them, or over rows for one" in grid_tables(grid, some).splitlines()[0]
    assert grid_tables(grid, {**record, "cells": {}}).splitlines() == [f"**digits** ({about})", "", "*Not run yet.*"]
    row = folder / "recipes" / "table9" / "a.toml"
    row.parent.mkdir(exist_ok=True)
    row.write_text('title = "RBM"\ndata = "digits"\npaper = -30\ncited = true\n')
    write_report(workspace_in(folder), tmp_path / "results.md")
    assert table in (tmp_path / "results.md").read_text()
