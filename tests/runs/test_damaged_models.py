"""Damaged model folders end in one error that names them, whatever is wrong inside."""

import json
import os
import random

import pytest
import torch

from nadek.checkpoints import SavedModel, load_saved, load_state, save, save_state
from nadek.models import IterativeNADE, ModelConfig
from nadek.tabular.columns import Binary, Categorical, Numeric
from nadek.tabular.schema import Schema
from nadek.training import TrainingState
from support.command import nadek
from support.damage import seal

KINDS = (
    Binary(levels=("no", "yes")),
    Categorical(levels=(1, 2, 3)),
    Numeric(edges=(0.5,), means=(0.1, 0.7), low=0.0, high=1.0, integer=False),
)
METRICS = {"epochs": 3, "rows": 9, "history": [{"epoch": 1, "train": [2.5], "seconds": 1.0}], "config": {"seed": 0}}
ROUNDS = int(os.environ.get("NADEK_FUZZ", "150"))  # damaged files of each name; make fuzz sets more
NAMES = ("config.json", "schema.json", "metrics.json")
ODD = (None, True, 0, -1, 2**70, 1e308, float("nan"), "", "x", "\ud800", [], [[]], ["a", "a"], {}, {"kind": ["a"]})


@pytest.fixture
def folder(tmp_path):
    """A model of three kinds of columns."""
    config = ModelConfig(n_variables=3, steps=1, levels=(2, 3, 2), knots=(None, None, ()))
    model = IterativeNADE(config, generator=torch.Generator().manual_seed(0))
    save(tmp_path / "model", SavedModel(model, Schema(columns=("a", "b", "c"), kinds=KINDS, dropped=("d",)), METRICS))
    return tmp_path / "model"


def places_in(value, path=()):
    """All places in nested JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places_in(item, (*path, key)))]


def error_of(load, folder):
    """What is said of a folder; its name where nothing is wrong."""
    try:
        load(folder)
    except (OSError, ValueError) as error:
        return str(error)
    return str(folder / "training.safetensors")


def bitten(content, chance, most=None):
    """Bytes with some others, more or fewer, in one place."""
    cut = chance.randrange(most or len(content))
    return content[:cut] + chance.randbytes(chance.randrange(3)) + content[cut + chance.randrange(9) :]


def damaged(content, chance):
    """JSON with another value, or none, in one place; or other bytes."""
    if chance.random() < 0.2:
        return bitten(content, chance)
    values = json.loads(content)
    *parents, last = chance.choice(places_in(values)[1:])
    table = values
    for key in parents:
        table = table[key]
    if chance.random() < 0.2:
        del table[last]
    else:
        table[last] = chance.choice((*ODD, table[last] if isinstance(table[last], list) else [table[last]] * 2))
    return json.dumps(values).encode()


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_an_error_with_name(name, folder):
    chance, content = random.Random(name), (folder / name).read_bytes()
    for _ in range(ROUNDS):
        (folder / name).write_bytes(damaged(content, chance))
        error = error_of(load_saved, folder)
        assert str(folder) in error
        assert "\n" not in error


@pytest.mark.parametrize("name", NAMES)
def test_verbs_survive_damage(name, folder, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\nno,1,0.2\nyes,2,0.9\n,3,\n")
    chance, content = random.Random(name), (folder / name).read_bytes()
    for _ in range(12):
        (folder / name).write_bytes(damaged(content, chance))
        for verb in (("info", folder), ("impute", folder, tmp_path / "t.csv"), ("draw", folder, "-o", tmp_path / "p")):
            result = nadek(*verb)
            assert result.code in (0, 1)


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


def test_damaged_states_are_errors(tmp_path):
    save_state(tmp_path, TrainingState({"a": torch.ones(9)}, {"history": []}), recipe={"seed": 0})
    path, chance = tmp_path / "training.safetensors", random.Random(0)
    content = path.read_bytes()
    for _ in range(ROUNDS):
        path.write_bytes(bitten(content, chance))
        assert str(path) in error_of(load_state, tmp_path)


def test_damaged_weights_are_errors(folder):
    path, chance = folder / "model.safetensors", random.Random(0)
    content = path.read_bytes()
    for _ in range(ROUNDS):
        path.write_bytes(bitten(content, chance, most=600 if chance.random() < 0.8 else None))
        seal(folder)
        assert str(folder) in error_of(load_saved, folder)
