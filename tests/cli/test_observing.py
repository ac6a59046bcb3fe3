"""Messages and progress as lines of JSON (NADEK_LOG), and curves for TensorBoard."""

import json
import sys
import warnings
from dataclasses import fields
from datetime import datetime
from types import SimpleNamespace

import pytest

from nadek.cli.console import messages
from nadek.training import Epoch
from support.command import FIT, nadek, ok


@pytest.fixture
def table(survey):
    return survey.with_name("answers.csv")


@pytest.fixture
def in_json(monkeypatch):
    monkeypatch.setenv("NADEK_LOG", "json")
    monkeypatch.setattr(messages, "_force_terminal", True)  # no bar, even there


def objects(text, event=None):
    """Parse lines, of one event; a line that is no object is an error."""
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(datetime.fromisoformat(line["time"]).tzinfo and line["message"] for line in lines)
    return [line for line in lines if event in (None, line["event"])]


@pytest.mark.usefixtures("in_json")
def test_a_training_writes_its_epochs_and_its_end(table, tmp_path):
    result = ok("fit", table, "-o", tmp_path / "model", *FIT, "--json")
    metrics = json.loads((tmp_path / "model" / "metrics.json").read_text())
    epochs = objects(result.err, "epoch")
    assert [{field.name: line[field.name] for field in fields(Epoch)} for line in epochs] == metrics["history"]
    assert objects(result.err)[-1]["event"] == "end"
    assert objects(result.err)[-1]["result"] == json.loads(result.out)
    assert {line["level"] for line in objects(result.err)} == {"info"}


@pytest.mark.parametrize(
    ("verb", "stage"),
    [("impute", "filling"), ("complete", "filling"), ("score", "scoring"), ("explain", "explaining")],
)
@pytest.mark.usefixtures("in_json")
def test_verbs_write_their_progress(verb, stage, survey, table, tmp_path, monkeypatch):
    command = (verb, survey, table, "-o", tmp_path / "out.csv", "--force")
    progress = objects(ok(*command).err, "progress")
    assert [(line["stage"], line["done"], line["total"]) for line in progress] == [(stage, 120, 120)]
    assert progress[0]["rows_per_second"] > 0
    monkeypatch.setattr("nadek.cli.progress.JSON_EVERY", 0.0)
    stages = [line["stage"] for line in objects(ok(*command).err, "progress")]
    assert stages[0] == "reading"
    assert stages[-1] == stage
    assert ok(*command, "--quiet").err == ""


@pytest.mark.usefixtures("in_json")
def test_drawn_rows_are_counted(survey, tmp_path):
    lines = objects(ok("sample", survey, "-n", 7, "-o", tmp_path / "out.csv").err)
    assert [line["event"] for line in lines] == ["progress", "message"]
    assert (lines[0]["done"], lines[0]["total"]) == (7, 7)


@pytest.mark.usefixtures("in_json")
def test_errors_and_warnings_have_their_level(survey, tmp_path, monkeypatch):
    for command in (("score", survey, tmp_path / "none.csv"), ("score", "--nothing")):
        (line,) = objects(nadek(*command).err)
        assert line["level"] == "error"
        assert line["message"].startswith("nadek: ")
    strange = tmp_path / "strange.csv"
    strange.write_text('age,"b,c",ü,d,e\n0,1,0,1,0\n0,7,0,1,0\n')
    levels = {line["event"]: line["level"] for line in objects(ok("score", survey, strange).err)}
    assert levels == {"message": "warning", "progress": "info"}
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    warnings.simplefilter("always")
    monkeypatch.setattr("nadek.datasets.names", lambda: warnings.warn("be careful", stacklevel=1) or ())
    (line,) = objects(ok("data").err)
    assert (line["level"], line["message"]) == ("warning", "be careful")


class Writer(dict):
    """A writer of TensorBoard that remembers."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def add_scalar(self, name, value, step):
        """Keep a number."""
        self[name, step] = value


def test_curves_hold_the_costs(table, tmp_path, monkeypatch):
    writers = {}
    module = SimpleNamespace(SummaryWriter=lambda folder: writers.setdefault(folder, Writer()))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    ok("fit", table, "-o", tmp_path / "model", *FIT, "--tensorboard", tmp_path / "curves", "--quiet")
    history = json.loads((tmp_path / "model" / "metrics.json").read_text())["history"]
    costs = [("training", epoch["epoch"], epoch["train"][-1]) for epoch in history]
    costs += [("validation", epoch["epoch"], epoch["validation"][-1]) for epoch in history]
    assert writers == {str(tmp_path / "curves"): {(f"cost/{name}", step): cost for name, step, cost in costs}}
    assert writers[str(tmp_path / "curves")].closed


def test_a_missing_tensorboard_is_named(table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    result = nadek("fit", table, "-o", tmp_path / "model", *FIT, "--tensorboard", tmp_path / "curves", "--quiet")
    assert (result.code, "pip install 'nade-k[tensorboard]'" in result.error) == (1, True)
    assert not (tmp_path / "model" / "config.json").exists()


def test_tensorboard_reads_the_curves(table, tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="no tensorboard")
    ok("fit", table, "-o", tmp_path / "model", *FIT, "--tensorboard", tmp_path / "curves", "--quiet")
    curves = reader.EventAccumulator(str(tmp_path / "curves")).Reload()
    assert [event.step for event in curves.Scalars("cost/validation")] == [1, 2]
