"""Rows that are DBNs: the first layer of another row, the estimate, and what is not done again."""

from dataclasses import replace

import pytest
import torch

from nadek.runs.data import open_data
from nadek_paper.dbn_study import dbn_job
from nadek_paper.importance import log_bernoulli
from nadek_paper.rbm import RBM, fit_rbm
from nadek_paper.rbm_study import RBMTraining
from nadek_paper.report import markdown_table
from nadek_paper.rows import read_row, read_table, tables
from nadek_paper.workspace import RECIPES
from support.paper_rows import StopError, Watched, exact_log_partition, recipe_text, run_row, workspace_in, write_recipe

SHIPPED = [row for table in tables(RECIPES) for row in read_table(RECIPES / table) if row.dbn is not None]
ROW, FIRST = recipe_text("dbn"), recipe_text("rbm")


def write(folder, text=ROW, first=FIRST):
    write_recipe(folder, "table9/rbm.toml", first)
    return write_recipe(folder, "table9/dbn.toml", text)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A DBN that was trained: folder, row and record; read only."""
    folder = tmp_path_factory.mktemp("dbn")
    row = read_row(write(folder))
    return folder, row, run_row(row, "modern", workspace_in(folder))


@pytest.mark.parametrize("row", SHIPPED, ids=lambda row: row.name)
def test_every_top_trains(row, generator):
    below = RBMTraining.of(row, workspace_in(RECIPES.parent)).below
    hidden = below.recipe.training.hidden
    first = RBM(torch.zeros(hidden, 784), torch.zeros(784), torch.zeros(hidden))
    x = (torch.rand(4, 784, generator=generator) < 0.3).float()
    learnt = fit_rbm(x, replace(row.dbn.training, epochs=1, batch_size=2), below=first).average
    assert learnt.W.shape == (row.dbn.training.hidden, hidden)
    assert learnt.W.isfinite().all()


def test_estimate_is_near_exact_likelihood_of_a_dbn(done):
    folder, row, record = done
    training, x = RBMTraining.of(row, workspace_in(folder)), open_data("digits", split="test").x
    first, top = training.below.finished(), training.finished()
    h = (torch.arange(256)[:, None] >> torch.arange(8) & 1).float()
    log_p_h = top.log_weight(h) - exact_log_partition(top)
    assert log_p_h.logsumexp(0).item() == pytest.approx(0, abs=1e-4)
    exact, train = (
        (log_p_h[:, None] + log_bernoulli(first.visible_logits(h)[:, None], rows.float())).logsumexp(0)
        for rows in (x, training.open("train")[: len(training.open("valid"))])
    )
    error = 4 * record["log_partition_error"] + 0.1
    assert record["test_log_likelihood"] == pytest.approx(exact.mean().item(), abs=error)
    assert record["train_log_likelihood"] == pytest.approx(train.mean().item(), abs=error)
    assert [line["draws"] for line in record["by_draws"]] == [1, 10, 20]
    bounds = [line["log_likelihood"] for line in record["by_draws"]]
    assert bounds[0] < bounds[1] <= bounds[2] == pytest.approx(record["test_log_likelihood"])
    assert record["standard_error"] > max(exact.std().item() / 300**0.5 * 0.9, record["log_partition_error"])
    assert (record["rows"], record["orderings"], record["epochs"], len(record["curve"])) == (300, None, 2, 2)
    assert record["seconds"] == pytest.approx(sum(point["seconds"] for point in record["curve"]))
    assert "| estimate, 300 rows | " in markdown_table(workspace_in(folder), [row])


def test_dbn_resumes_and_trains_its_first_layer_once(done, tmp_path):
    _, _, record = done
    row, epochs = read_row(write(tmp_path)), []

    def stop_in_second_layer(epoch):
        epochs.append((epoch.epoch, epoch.epochs))
        if epoch.epochs == 2:
            raise StopError

    with pytest.raises(StopError):
        run_row(row, "modern", workspace_in(tmp_path), watch=Watched(stop_in_second_layer))
    again = run_row(row, "modern", workspace_in(tmp_path), watch=(watched := Watched()))
    assert epochs == [(1, 3), (2, 3), (3, 3), (1, 2)]
    assert [(epoch.epoch, epoch.epochs) for epoch in watched.epochs] == [(2, 2)]
    assert again["test_log_likelihood"] == record["test_log_likelihood"]


def test_top_of_another_first_layer_is_refused(tmp_path):
    row = read_row(write(tmp_path))
    run_row(row, "modern", workspace_in(tmp_path, quick=True))
    other = read_row(write(tmp_path, first=FIRST.replace("lr = 0.1", "lr = 0.2")).with_name("rbm.toml"))
    run_row(other, "modern", workspace_in(tmp_path, quick=True), force=True)
    with pytest.raises(ValueError, match="table9-dbn-modern holds an RBM of another recipe; use --force"):
        run_row(row, "modern", workspace_in(tmp_path, quick=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("draws = 20", "draws = 0"), "dbn: draws: expected at least 1, found 0"),
        (("[dbn]", "[rbm.training]\nhidden = 1\nepochs = 1\n[dbn]"), "rbm: expected no recipes beside it"),
        (("[dbn]", "[recipes.modern.model]\nn_variables = 64\n[dbn]"), "dbn: expected no recipes beside it"),
        (('"digits"', '"nltcs"'), "expected an RBM of nltcs, found table9/rbm, which is one of digits"),
    ],
)
def test_errors_in_rows_of_a_dbn_are_named(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        dbn_job(read_row(write(tmp_path, ROW.replace(*change))), workspace_in(tmp_path))
