"""The paper's figures and Table 3: what each shows, and that it is made from our models and records."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from nadek.checkpoints import load_saved
from nadek.inference.likelihood import estimate_log_prob, log_prob, log_probs_by_steps
from nadek.inference.order_agnostic import MaskDistribution
from nadek.models import nade_k
from nadek.runs.data import open_data
from nadek_paper.figures import draw_picture, read_pictures
from nadek_paper.figures.config import GridLines, Structures
from nadek_paper.figures.references import find
from nadek_paper.grids.grid import read_grid
from nadek_paper.grids.study import grid_study
from nadek_paper.report import summary
from nadek_paper.rows import read_row, tables
from nadek_paper.steps_at_test import damped
from nadek_paper.studies import run_study
from nadek_paper.table3 import read_spreads, spreads_table
from nadek_paper.workspace import RECIPES, Workspace
from support.paper_rows import paper, recipe_text, run_row, workspace_in, write_recipe

SHIPPED = read_pictures(RECIPES)

ROW = recipe_text("small-network")
GRID = recipe_text("small-grid")
SPREADS = recipe_text("spreads")
FIGURES = {
    "curves": 'kind = "curves"\nmodels = ["table1/one", "which/digits-k1-s0", "table1/two"]\nlabels = ["a", "b", "c"]',
    "grid": 'kind = "grid"\ngrid = "which"\nalong = ["k1", "k2", "k3"]\nlevel = ["k3"]',
    "level": 'kind = "grid"\ngrid = "which"\nalong = ["k1"]\nlevel = ["k2"]',
    "steps": 'kind = "test_steps"\nmodel = "table1/one"\nsteps = 4\nmasks = 2\nrows = 30',
    "cells": 'kind = "reconstructions"\nmodel = "table1/one"\nsteps = 3\nhidden = [0.25, 0.5]',
    "samples": 'kind = "samples"\nmodel = "which/digits-k2-s0"\nnumber = 6',
    "in": 'kind = "filters"\nmodel = "table1/one"\nside = "encoder"\nnumber = 5',
    "out": 'kind = "filters"\nmodel = "table1/one"\nside = "decoder"\nnumber = 5',
    "structures": 'kind = "structures"',
    "lacking": 'kind = "samples"\nmodel = "table1/two"',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two rows and a grid, of which one row and two cells are run, and figures of them."""
    folder = tmp_path_factory.mktemp("pictures")
    for name, text in {
        "table1/one.toml": ROW,
        "table1/two.toml": ROW.replace("NADE-2", "Two"),
        "grids/which.toml": GRID,
        "table3.toml": SPREADS,
        **{f"figures/{name}.toml": f'title = "{name}"\n[shows]\n{text}\n' for name, text in FIGURES.items()},
    }.items():
        write_recipe(folder, name, text)
    workspace = workspace_in(folder)
    run_row(read_row(workspace.recipes / "table1" / "one.toml"), "modern", workspace)
    run_study(grid_study(read_grid(workspace.recipes / "grids" / "which.toml"), workspace, only="digits-k[12]-s0"))
    return folder


def made(folder, name):
    """The record behind a picture, and its size."""
    (picture,) = read_pictures(folder / "recipes", only=name)
    path = draw_picture(picture, workspace_in(folder))
    assert path == folder / "pictures" / f"{name}.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    record = json.loads((folder / "results" / f"figures-{name}.json").read_text())
    assert (record["figure"], record["quick"], record["shows"]["kind"]) == (name, False, picture.shows.kind)
    return record


@pytest.mark.slow
@pytest.mark.parametrize("picture", SHIPPED, ids=lambda picture: picture.name)
def test_shipped_figures_name_existing_models(picture):
    workspace, shows = Workspace(), picture.shows
    if isinstance(shows, GridLines):
        grid = read_grid(RECIPES / "grids" / f"{shows.grid}.toml")
        assert {*shows.along, *shows.level} <= set(list(grid.axes.values())[-1])
        return
    if isinstance(shows, Structures):
        return
    for model in getattr(shows, "models", None) or [shows.model]:
        assert find(model, workspace).training.recipe.model.n_variables == 784


def test_curves_of_recorded_models(folder):
    record = made(folder, "curves")
    assert [point["label"] for point in record["points"]] == ["a", "b"]
    row = json.loads((folder / "results" / "table1-one-modern.json").read_text())
    assert record["points"][0]["validation"] == [epoch["validation"][-1] for epoch in row["curve"]]
    assert len(record["points"][1]["train"]) == 1


def test_grid_line_of_recorded_cells(folder):
    record = made(folder, "grid")
    (line,) = record["points"]
    assert (line["steps"], line["panel"], line["seeds"]) == ([1, 2], "digits", [1, 1])
    cells = json.loads((folder / "results" / "grid-which.json").read_text())["cells"]
    assert line["log_likelihood"][1] == cells["digits-k2-s0"]["test_log_likelihood"]
    line, level = made(folder, "level")["points"]
    assert (level["label"], level["steps"], level["beside"]) == ("k = 2", [], line["label"])
    assert "beside" not in line


def test_steps_at_test_time(folder):
    record = made(folder, "steps")
    assert [point["steps"] for point in record["points"]] == [1, 2, 3, 4]
    assert all(point["rows"] == 30 for point in record["points"])
    assert len(next(iter(record["models"].values()))) == 64


def test_own_steps_give_own_likelihood(generator):
    model = nade_k(6, hidden=(5,), steps=3, mean=torch.full((6,), 0.4), generator=generator)
    x = (torch.rand(7, 6, generator=generator) < 0.5).float()
    estimates = log_probs_by_steps(model, x, steps=5, masks=4, generator=torch.Generator().manual_seed(1))
    plain = estimate_log_prob(model, x, n_masks=4, generator=torch.Generator().manual_seed(1))
    assert estimates.shape == (5, 7)
    assert torch.allclose(estimates[2], plain)
    assert not torch.allclose(estimates[1], plain)


def test_damped_steps_average_the_answers(generator):
    model = nade_k(6, hidden=(5,), steps=2, mean=torch.full((6,), 0.4), generator=generator).double()
    model.V.data *= 5  # answers that differ
    x = (torch.rand(7, 6, generator=generator) < 0.5).double()
    options = {"steps": 5, "masks": 1, "generator": torch.Generator().manual_seed(1)}
    estimates = log_probs_by_steps(damped(model), x, **options)
    generator = torch.Generator().manual_seed(1)
    missing = MaskDistribution(stratified=True).sample(torch.ones_like(x, dtype=torch.bool), generator=generator)
    v, answers = torch.where(missing, 0.4, x), []
    for step in range(5):
        answers.append((torch.tanh(v @ model.W.T + model.c) @ model.V.T + model.b).sigmoid())
        p = torch.stack(answers[1:]).mean(0) if step else answers[0]
        v = torch.where(missing, p, x)
        log_p = torch.where(x == 1, p, 1 - p).log()
        torch.testing.assert_close(estimates[step], 6 / missing.sum(1) * (log_p * missing).sum(1))
    assert (estimates[4] - estimates[1]).abs().max() > 0.1


def test_reconstructions_hide_the_given_part(folder):
    record = made(folder, "cells")
    assert [point["hidden"] for point in record["points"]] == [16, 32]
    assert all(len(point["log_probability"]) == 4 for point in record["points"])  # v<0> to v<3>
    assert record == made(folder, "cells")


def test_samples_are_recorded(folder):
    record = made(folder, "samples")
    bits = np.array([np.unpackbits(np.frombuffer(bytes.fromhex(p["bits"]), np.uint8)) for p in record["points"]])
    assert bits.shape == (6, 64)
    assert 0 < bits.mean() < 1


@pytest.mark.parametrize("side", ["in", "out"])
def test_filters_are_weights(side, folder):
    record = made(folder, side)
    model = load_saved(folder / "runs" / "table1-one-modern").model
    weights = model.W if side == "in" else model.V.t()
    for point in record["points"]:
        assert point["largest"] == pytest.approx(weights[point["unit"]].abs().max().item(), abs=1e-4)
    assert len({point["unit"] for point in record["points"]}) == 5


def test_missing_model_names_the_command(folder):
    (picture,) = read_pictures(folder / "recipes", only="lacking")
    with pytest.raises(FileNotFoundError, match="give nadek-paper table1 --row two first"):
        draw_picture(picture, workspace_in(folder))
    (picture,) = read_pictures(folder / "recipes", only="grid")
    with pytest.raises(FileNotFoundError, match="give nadek-paper grids which --quick first"):
        draw_picture(picture, workspace_in(folder, quick=True))


def test_changed_cells_are_not_drawn(folder, tmp_path):
    for part in ("recipes", "results"):
        shutil.copytree(folder / part, tmp_path / part)
    path = tmp_path / "recipes" / "grids" / "which.toml"
    path.write_text(GRID.replace("orderings = 1", "orderings = 2"))
    (picture,) = read_pictures(tmp_path / "recipes", only="grid")
    with pytest.raises(FileNotFoundError, match="none of these cells as they are now: give nadek-paper grids which f"):
        draw_picture(picture, workspace_in(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"there is no curve of which-digits-k1-s0 .* nadek-paper grids whi"):
        find("which/digits-k1-s0", workspace_in(tmp_path)).curve()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('kind = "samples"', 'kind = "sample"'), "shows.kind: expected one of curves, grid, .*, found 'sample'"),
        (("number = 6", "numbers = 6"), "unknown option shows.numbers; did you mean number"),
    ],
)
def test_figure_errors_name_the_file(change, message, tmp_path):
    path = tmp_path / "figures" / "x.toml"
    path.parent.mkdir()
    path.write_text(f'title = "x"\n[shows]\n{FIGURES["samples"].replace(*change)}\n')
    with pytest.raises(ValueError, match=rf"x\.toml: {message}"):
        read_pictures(tmp_path)


def test_unknown_models_are_refused(folder):
    for name, message in {
        "one": "expected TABLE/ROW or GRID/CELL, found 'one'",
        "table1/none": "table1 has no row 'none'",
        "which/none": "which has no cell 'none'; one is called digits-k1-s0",
    }.items():
        with pytest.raises(ValueError, match=message):
            find(name, workspace_in(folder))


# Table 3


def test_spreads_are_of_the_ensemble(folder):
    record = json.loads((folder / "results" / "table1-one-modern.json").read_text())
    model = load_saved(folder / "runs" / "table1-one-modern").model
    x = open_data("digits", split="test").x
    chosen = x[torch.randperm(300, generator=torch.Generator().manual_seed(0))[:10]]
    scores = log_prob(model, chosen, orderings=3, generator=torch.Generator().manual_seed(0))
    assert record["ensemble_spread_over_orderings"] == pytest.approx(scores.var(0).mean().sqrt().item())
    assert record["ensemble_spread_over_rows"] == pytest.approx(scores.var(1).mean().sqrt().item())
    assert record["ensemble_mean"] == pytest.approx(scores.mean().item())
    assert tables(folder / "recipes") == ["table1"]
    entry = summary(workspace_in(folder))["table3"]["one"]
    assert entry["spread_over_orderings"] == record["ensemble_spread_over_orderings"]
    assert (entry["spread_mean"], entry["spread_orderings"], entry["spread_rows"]) == (record["ensemble_mean"], 3, 10)
    assert (entry["orderings"], entry["rows"]) == (record["orderings"], record["rows"]) != (3, 10)
    lines = spreads_table(workspace_in(folder), read_spreads(workspace_in(folder))).splitlines()
    assert lines[2].startswith(f"| NADE-2 | modern | -20.50 | {record['test_log_likelihood']:.2f} | 2.0 | ")
    assert lines[2].endswith("| 3 orderings, 10 rows |")
    assert lines[3] == "| Two | – | -19.50 | – | 1.0 | – | 4.0 | – | – |"


# The command line


def test_command_draws_available_figures(folder):
    code, out, err = paper("figures", folder=folder)
    assert code == 0
    assert sorted(Path(line).stem for line in out.splitlines()) == sorted(set(FIGURES) - {"lacking"})
    assert err.startswith("lacking: not drawn, there is no trained model in ")
    code, out, err = paper("figures", "--row", "lacking", folder=folder)
    assert (code, out) == (1, "")
    assert "give nadek-paper table1 --row two" in err


def test_command_runs_cells_and_spreads(folder):
    code, out, _ = paper("grids", "which", "--row", "*-k1-*", "--quiet", "--json", folder=folder)
    assert (code, list(json.loads(out)["cells"])) == (0, ["digits-k1-s0", "digits-k2-s0"])
    code, out, _ = paper("grids", "which", "--row", "*-k1-*", "--quiet", folder=folder)
    assert (code, "digits-k1-s0" in out) == (0, True)
    code, out, _ = paper("table3", "--json", "--quiet", folder=folder)
    assert (code, list(json.loads(out))) == (0, ["one"])
    code, out, err = paper("table3", folder=folder)
    assert (code, "NADE-2" in out) == (0, True)
    assert err == "two: there is no record, give nadek-paper table1 --row two first\n"
    code, out, err = paper("table3", "--json", "--quiet", "--row", "two", folder=folder)
    assert (code, json.loads(out)) == (0, {})
    code, out, err = paper("table3", "--quiet", "--row", "nope", folder=folder)
    assert (code, out, err) == (1, "", "nadek: table3 has no row 'nope'; known are: one, two\n")
