"""Rows that are RBMs, and RBMs turned into networks by mean field."""

import copy
import json
import math
from dataclasses import replace

import pytest
import torch

from nadek.checkpoints import load_saved
from nadek.inference.likelihood import estimate_log_prob
from nadek.models import IterativeNADE
from nadek.models.registry import build
from nadek.runs.data import CodedTable, open_data
from nadek.runs.resume import Beginning
from nadek.runs.train import train
from nadek.tabular.schema import Schema
from nadek.training import fit, prepare
from nadek_paper.meanfield import meanfield_study, read_meanfield, recipe_for
from nadek_paper.rbm import Estimate, fit_rbm
from nadek_paper.rbm_start import from_rbm
from nadek_paper.rbm_study import RBMTraining, begin_as_rbm_row, rbm_row
from nadek_paper.report import markdown_table, write_report
from nadek_paper.rows import names_rbm, read_row, read_table, tables
from nadek_paper.studies import run_study
from nadek_paper.workspace import RECIPES, Workspace
from support.paper_rows import (
    StopError,
    Watched,
    exact_log_partition,
    forbidden,
    recipe_text,
    run_row,
    stop,
    workspace_in,
    write_recipe,
)

SHIPPED = [row for table in tables(RECIPES) for row in read_table(RECIPES / table) if row.rbm is not None]

ROW = recipe_text("rbm")
STUDY = recipe_text("meanfield")


def write(folder, text=ROW, name="table9/rbm.toml"):
    return write_recipe(folder, name, text)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """An RBM that was trained: folder, row and record; read only."""
    folder = tmp_path_factory.mktemp("machine")
    row = read_row(write(folder))
    return folder, row, run_row(row, "modern", workspace_in(folder))


@pytest.mark.parametrize("row", SHIPPED, ids=lambda row: row.name)
def test_every_rbm_trains(row, generator):
    x = (torch.rand(4, 784, generator=generator) < 0.3).float()
    learnt = fit_rbm(x, replace(row.rbm.training, epochs=1, batch_size=2)).average
    assert learnt.log_weight(x).isfinite().all()


def test_estimate_is_near_exact_likelihood_of_an_rbm(done):
    folder, row, record = done
    job = RBMTraining.of(row, workspace_in(folder))
    machine, x = job.finished(), open_data("digits", split="test").x
    exact = machine.log_weight(x) - exact_log_partition(machine)
    assert record["test_log_likelihood"] == pytest.approx(exact.mean().item(), abs=4 * record["log_partition_error"])
    rows_error = exact.std().item() / 300**0.5
    assert record["standard_error"] == pytest.approx(math.hypot(rows_error, record["log_partition_error"]))
    assert (record["rows"], record["orderings"], record["ensemble"], record["epochs"]) == (300, None, None, 3)
    assert len(record["curve"]) == 3


def test_finished_rbm_is_not_rerun(done, monkeypatch):
    folder, row, record = done
    monkeypatch.setattr("nadek_paper.rbm_study.fit_rbm", forbidden)
    monkeypatch.setattr("nadek_paper.rbm_study.log_partition", forbidden)
    assert run_row(row, "modern", workspace_in(folder)) == record


CHOOSING = ROW.replace("[rbm.annealing]", "[rbm.choice]\nevery = 2\nannealing = { temperatures = 30 }\n[rbm.annealing]")


def chosen(folder, costs, monkeypatch, on_epoch=lambda epoch: epoch):
    """A machine whose epochs' constants are made up, so that their costs are these; and its epochs."""
    row, epochs = read_row(write(folder, CHOOSING)), []
    valid, left = open_data("digits", split="valid").x, iter(costs)

    def constant(machine, *_, **__):
        return Estimate(next(left) + machine.log_weight(valid).mean().item(), 0.0)

    monkeypatch.setattr("nadek_paper.rbm_study.log_partition", constant)
    job = RBMTraining.of(row, workspace_in(folder))
    state = job.trained(on_epoch=lambda epoch: epochs.append(on_epoch(epoch)))
    return job, state.result, state.curve, epochs


@pytest.mark.parametrize(("costs", "epochs"), [((5.0, 7.0), 2), ((7.0, 5.0), 3)])
def test_best_validation_epoch_is_chosen(costs, epochs, tmp_path, monkeypatch):
    job, machine, curve, seen = chosen(tmp_path, costs, monkeypatch)
    assert [point.get("validation") for point in curve] == [None, *map(pytest.approx, costs)]
    assert [epoch.best for epoch in seen] == [None, pytest.approx(costs[0]), pytest.approx(min(costs))]
    averages = []
    fit_rbm(
        job.open("train"), job.recipe.training, on_epoch=lambda state, _: averages.append(copy.deepcopy(state.average))
    )
    assert torch.equal(machine.W, averages[epochs - 1].W)
    assert torch.equal(job.finished().W, machine.W)
    assert not torch.equal(averages[1].W, averages[2].W)


def test_resumed_training_knows_the_best(tmp_path, monkeypatch):
    def stop(epoch):
        if epoch.epoch == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        chosen(tmp_path, (5.0,), monkeypatch, on_epoch=stop)
    _, machine, curve, _ = chosen(tmp_path, (7.0,), monkeypatch)
    assert [point.get("validation") for point in curve] == [None, pytest.approx(5.0), pytest.approx(7.0)]
    _, straight, _, _ = chosen(tmp_path / "straight", (5.0, 7.0), monkeypatch)
    assert torch.equal(machine.W, straight.W)


def test_record_of_chosen_epoch(tmp_path):
    record = run_row(read_row(write(tmp_path, CHOOSING)), "modern", workspace_in(tmp_path))
    assert record["config"]["choice"] == {"every": 2, "annealing": {"chains": 100, "temperatures": 30, "seed": 0}}
    estimates = [point["validation"] for point in record["curve"] if "validation" in point]
    assert min(estimates) == pytest.approx(record["best_validation"], abs=2.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("hidden = 8", "hiden = 8"), "unknown option rbm.training.hiden; did you mean hidden"),
        (
            ("[rbm.annealing]", "[rbm.choice]\nevery = 0\n[rbm.annealing]"),
            "rbm.choice: every: expected at least 1, found 0",
        ),
    ],
)
def test_rbm_row_errors_are_named(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_row(write(tmp_path, ROW.replace(*change)))


# Rows that begin as a machine

BEGINS = recipe_text("begins-as-rbm")


@pytest.mark.slow
def test_row_begins_as_trained_rbm(tmp_path):
    machine_of = read_row(write(tmp_path))
    row = read_row(write(tmp_path, BEGINS, "table9/begins.toml"))
    record = run_row(row, "modern", workspace_in(tmp_path), watch=(watched := Watched()))
    assert [epoch.phase for epoch in watched.epochs] == ["rbm"] * 3 + ["last_step"]
    assert record["config"]["start"] == "table9/rbm"
    machine = RBMTraining.of(machine_of, workspace_in(tmp_path)).finished()
    model = load_saved(tmp_path / "runs" / "table9-begins-modern").model
    torch.testing.assert_close(model.W, machine.W / 2, atol=1e-5, rtol=0)
    torch.testing.assert_close(model.fill, open_data("digits", split="train").x.mean(0))
    assert "| Begins | modern, from an RBM | " in markdown_table(workspace_in(tmp_path), [row])
    assert not names_rbm("runs/begins", tmp_path / "recipes")  # a model in a folder, not one of the tables
    run_row(row, "modern", workspace_in(tmp_path), force=True, watch=(watched := Watched()))
    assert [epoch.phase for epoch in watched.epochs] == ["last_step"]  # the machine is there


@pytest.mark.parametrize(
    ("start", "data", "message"),
    [
        ("table9/rbm", "nltcs", "expected an RBM of nltcs, found table9/rbm, which is one of digits"),
        ("table9/begins", "digits", "expected an RBM, found a row that is none"),
        ("table9/none", "digits", "has no row 'none'"),
    ],
)
def test_unfit_start_is_refused(start, data, message, tmp_path):
    write(tmp_path)
    text = BEGINS.replace('start = "table9/rbm"', f'start = "{start}"')
    recipe = read_row(write(tmp_path, text, "table9/begins.toml")).recipe("modern")
    with pytest.raises(ValueError, match=message):
        begin_as_rbm_row(build(recipe.model), recipe.start, data, workspace_in(tmp_path))


def test_rbm_start_needs_a_row(tmp_path):
    write(tmp_path)
    recipe = read_row(write(tmp_path, BEGINS, "table9/begins.toml")).recipe("modern")
    with pytest.raises(FileNotFoundError, match="table9/rbm"):
        train(recipe, tmp_path / "model", CodedTable(torch.zeros(4, 64), Schema()), None)


def test_row_of_another_start_is_refused(tmp_path):
    write(tmp_path)
    row, place = read_row(write(tmp_path, BEGINS, "table9/begins.toml")), workspace_in(tmp_path)
    done = run_row(row, "modern", place)
    assert run_row(row, "modern", place, watch=Watched(forbidden)) == done
    other = read_row(write(tmp_path, ROW.replace("epochs = 3", "epochs = 2")))
    run_row(other, "modern", place, force=True)
    with pytest.raises(ValueError, match="table9-begins-modern holds a model of another start; use --force to train a"):
        run_row(row, "modern", place)
    assert run_row(row, "modern", place, force=True)["digest"] != done["digest"]


def test_resumed_training_keeps_its_start(tmp_path):
    write(tmp_path)
    recipe = read_row(write(tmp_path, BEGINS.replace("epochs = 1", "epochs = 2"), "table9/begins.toml")).recipe(
        "modern"
    )
    x, began = open_data("digits", split="train").x[:50], []

    def carry_on(**options):
        begin = Beginning(began.append, lambda: None)
        train(recipe, tmp_path / "model", CodedTable(x, Schema()), None, resume=True, begin=begin, **options)

    with pytest.raises(StopError):
        carry_on(on_epoch=stop)
    carry_on()
    assert len(began) == 1


# Mean field


def test_shipped_study_fits_its_rbms(generator):
    study, options = read_meanfield(Workspace())
    for name in study.rbms:
        row = rbm_row(RECIPES, name)
        recipe = recipe_for(options, row.rbm.training.hidden, 784)
        phases = tuple(replace(phase, epochs=1) for phase in recipe.training.phases)
        x = (torch.rand(2, 784, generator=generator) < 0.3).float()
        model = IterativeNADE(recipe.model, x.mean(0), generator=generator)
        assert sum(p.numel() for p in model.parameters()) == 784 * (row.rbm.training.hidden + 1) + model.c.numel()
        assert len(fit(model, prepare(x), config=replace(recipe.training, phases=phases))) == len(phases)


def test_rbm_becomes_a_network(done, tmp_path):
    folder, row, record = done
    write(folder, STUDY, "meanfield.toml")
    study = run_study(meanfield_study(workspace_in(folder)))
    lines = {line["as"]: line for line in study["lines"]}
    assert list(lines) == [
        "the RBM itself (an estimate)", "mean field, k = 1", "mean field, k = 3", "fine-tuned from the RBM, k = 2",
        "trained from scratch, k = 2",
    ]  # fmt: skip
    assert lines["the RBM itself (an estimate)"]["test_log_likelihood"] == record["test_log_likelihood"]
    job = RBMTraining.of(row, workspace_in(folder))
    machine, x = job.finished(), open_data("digits", split="test").x
    mean = open_data("digits", split="train").x.mean(0)
    model = from_rbm(machine, steps=3, fill=mean)
    plain = estimate_log_prob(model, x, n_masks=4, generator=torch.Generator().manual_seed(0)).mean().item()
    assert lines["mean field, k = 3"]["test_log_likelihood"] == pytest.approx(plain)
    (tuned,) = (folder / "runs").glob("meanfield-table9-rbm-tuned-*")
    learnt, scratch = (load_saved(path).model for path in (tuned, folder / "runs" / "meanfield-table9-rbm-scratch"))
    assert (learnt.W - machine.W).abs().mean() < 0.5 * (scratch.W - machine.W).abs().mean()
    write_report(workspace_in(folder), tmp_path / "page.md")
    assert "| RBM | mean field, k = 3 | " in (tmp_path / "page.md").read_text()
    path = folder / "results" / "meanfield.json"
    assert json.loads(path.read_text()) == study
    again = run_study(meanfield_study(workspace_in(folder)), watcher=Watched(forbidden))
    assert again["lines"] == study["lines"]


def test_study_needs_trained_rbms(tmp_path):
    write(tmp_path)
    write(tmp_path, STUDY, "meanfield.toml")
    with pytest.raises(FileNotFoundError, match="give nadek-paper table9 --row rbm first"):
        meanfield_study(workspace_in(tmp_path))
