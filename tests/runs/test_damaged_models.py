"""Damaged model folders end in one error that names them, whatever is wrong inside."""

import os

import pytest
import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from nadek.checkpoints import SavedModel, _digest_of_state, load_saved, load_state, save
from nadek.models import IterativeNADE, ModelConfig, nade_k
from nadek.models.memory import MemoryModel
from nadek.tabular.columns import Binary, Categorical, Numeric
from nadek.tabular.schema import Schema
from nadek.training import AdamW, Phase, TrainingConfig, TrainingState, fit, prepare
from support.damage import JSON_FILES as NAMES
from support.damage import edit, reseal

KINDS = (
    Binary(levels=("no", "yes")),
    Categorical(levels=(1, 2, 3)),
    Numeric(edges=(0.5,), means=(0.1, 0.7), low=0.0, high=1.0, integer=False),
)
METRICS = {"epochs": 3, "rows": 9, "history": [{"epoch": 1, "train": [2.5], "seconds": 1.0}], "config": {"seed": 0}}


@pytest.fixture
def folder(tmp_path):
    """A model of three kinds of columns."""
    config = ModelConfig(n_variables=3, steps=1, levels=(2, 3, 2), knots=(None, None, ()))
    model = IterativeNADE(config, generator=torch.Generator().manual_seed(0))
    save(tmp_path / "model", SavedModel(model, Schema(columns=("a", "b", "c"), kinds=KINDS, dropped=("d",)), METRICS))
    return tmp_path / "model"


@pytest.mark.parametrize("name", [*NAMES, "model.safetensors"])
@pytest.mark.parametrize("put", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), os.mkdir])
def test_other_things_are_no_files(name, put, folder):
    (folder / name).unlink()
    put(folder / name)
    with pytest.raises((OSError, ValueError), match=rf"{folder}"):
        load_saved(folder)


@pytest.mark.parametrize("name", [*NAMES, "model.safetensors"])
def test_huge_files_are_not_read(name, folder):
    os.truncate(folder / name, 3 * 2**30)
    with pytest.raises(ValueError, match=rf"{folder / name}: expected at most [0-9,]+ bytes, found 3,221,225,472"):
        load_saved(folder)


def test_pipes_are_no_states(tmp_path):
    os.mkfifo(tmp_path / "training.safetensors")
    with pytest.raises(ValueError, match=r"training\.safetensors: expected a file"):
        load_state(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rows", torch.tensor([[0, 1], [2, 0]]), "row 2, column 1 of the memory: expected a code from 0 to 1, found 2"),
        ("rows", torch.tensor([[0, -1], [1, 0]]), "row 1, column 2 of the memory: expected a code .* found -1"),
        ("rows", torch.full((2, 2), 0.5), "expected whole numbers as rows, found torch.float32"),
        ("seen", torch.tensor([1, 0]), "seen: expected each row of the memory to be counted, found 0 times"),
        ("seen", torch.tensor([1, torch.nan]), "expected whole numbers as seen, found torch.float32"),
    ],
)
def test_forged_memories_are_refused(name, value, message, tmp_path):
    save(tmp_path, SavedModel(MemoryModel(nade_k(2, hidden=(4,)), torch.eye(2, dtype=torch.uint8)), Schema()))
    path = tmp_path / "model.safetensors"
    path.write_bytes(save_tensors(load_tensors(path.read_bytes()) | {name: value}))
    reseal(tmp_path)
    with pytest.raises(ValueError, match=rf"model\.safetensors: .*{message}"):
        load_saved(tmp_path)


@pytest.mark.parametrize(
    ("tensors", "info", "message"),
    [
        ({"optimizer.0.exp_avg": torch.ones(1)}, {}, r"expected .* as optimizer.0.exp_avg, found \(\(1,\)"),
        ({"optimizer.0.other": torch.ones(1)}, {}, "expected nothing as optimizer.0.other"),
        ({"best.b": torch.ones(1)}, {}, "expected .* as best.W, found nothing"),
        ({"model.b": torch.ones(1)}, {}, "expected .* as model.b"),
        ({}, {"history": [{"epoch": 1}]}, "history"),
        ({}, {"since_best": "x"}, "since_best: expected a whole number"),
        ({}, {"best_cost": []}, "best_cost: expected a number"),
    ],
)
def test_forged_trainings_are_errors(tensors, info, message):
    """Fused steps of an optimizer would write beyond moments that are too small."""
    x = torch.zeros(40, 3)
    model, config = nade_k(3, hidden=(4,)), TrainingConfig(phases=(Phase(epochs=2),), optimizer=AdamW(), batch_size=20)
    states = []
    fit(model, prepare(x), config=config, save_state=states.append, save_every=0.0)
    forged = TrainingState({**states[-1].tensors, **tensors}, {**states[-1].info, **info})
    with pytest.raises(ValueError, match=f"the saved training state.*{message}"):
        fit(nade_k(3, hidden=(4,)), prepare(x), config=config, resume=forged)


def test_broken_json_of_a_state(tmp_path):
    metadata = {"state": "{", "info": "{}"}
    content = save_tensors({}, metadata | {"sha256": _digest_of_state({}, metadata)})
    (tmp_path / "training.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"training\.safetensors: expected a state of an unfinished training"):
        load_state(tmp_path)


def test_checks_of_a_config_take_no_memory():
    for option in ({"ordering": (0, 1)}, {"ordinal": (0, 2**60)}):
        with pytest.raises(ValueError, match=f"{next(iter(option))}: expected"):
            ModelConfig(n_variables=2**60, **option)


def test_sizes_are_bounded_by_the_weights(folder):
    edit(folder / "config.json", lambda config: config["model"].update(n_variables=10**9))
    with pytest.raises(ValueError, match=r"config\.json: expected no number above [0-9,]+, as its weights are"):
        load_saved(folder)
