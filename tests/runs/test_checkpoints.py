"""Models and unfinished trainings on disk: what comes back, what is refused, and what a crash leaves."""

import errno
import hashlib
import json
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from nadek import checkpoints
from nadek.checkpoints import (
    SavedModel,
    forget_state,
    holds_model,
    holds_state,
    load,
    load_saved,
    load_state,
    save,
    save_state,
)
from nadek.models import IterativeNADE, ModelConfig, nade_k
from nadek.models.cores import Deep, DeepConfig
from nadek.tabular.columns import Categorical
from nadek.tabular.schema import Schema
from nadek.training import TrainingState
from support.damage import edit, seal
from zoo import ZOO, build

SCHEMA = Schema(columns=("a", "b", "ü, quoted", "d"), image_shape=(2, 2))
METRICS = {"epochs": 3, "best_validation": 1.25, "commit": None, "history": [{"epoch": 1, "train": [2.5, 2.0]}]}


def model(seed=0, **options):
    return nade_k(4, **{"hidden": (5, 3), "steps": 2, "generator": torch.Generator().manual_seed(seed)} | options)


@pytest.fixture
def folder(tmp_path):
    """A saved model."""
    save(tmp_path / "model", SavedModel(model(), SCHEMA, METRICS))
    return tmp_path / "model"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(folder, kind=ValueError):
    with pytest.raises(kind) as error:
        load(folder)
    return str(error.value)


# What comes back


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", list(ZOO))
def test_saved_model_returns_bitwise(name, dtype, tmp_path):
    original = build(name, 5).to(dtype)
    save(tmp_path, SavedModel(original, Schema()))
    loaded = load(tmp_path)
    assert loaded.config == original.config
    assert not loaded.training
    state, expected = loaded.state_dict(), original.state_dict()
    assert state.keys() == expected.keys()
    for key, value in expected.items():
        assert state[key].dtype == (dtype if value.is_floating_point() else value.dtype)  # remembered rows are bytes
        assert torch.equal(state[key], value)


def test_columns_and_metrics_come_back(folder, tmp_path):
    before = torch.random.get_rng_state()
    saved = load_saved(folder)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert saved.schema == SCHEMA
    assert saved.metrics == METRICS
    save(tmp_path / "again", SavedModel(model(), SCHEMA, METRICS))
    assert content(tmp_path / "again") == content(folder)


def test_saved_state_returns_bitwise(tmp_path):
    state = TrainingState({"model.W": torch.randn(3, 2), "step": torch.tensor(4.0)}, {"seconds": 0.1, "best": None})
    save_state(tmp_path, state, rows=[1, 2], recipe={"seed": 0})
    actual, kept = load_state(tmp_path)
    assert actual.info == state.info
    assert kept == {"rows": [1, 2], "recipe": {"seed": 0}}
    assert actual.tensors.keys() == state.tensors.keys()
    assert all(torch.equal(actual.tensors[name], value) for name, value in state.tensors.items())


def test_state_replaced_while_read(monkeypatch, tmp_path):
    def replace_and_read(content):
        save_state(tmp_path, TrainingState({"a": torch.zeros(5)}, {"epoch": 2}))
        return deserialise(content)

    deserialise = checkpoints.deserialise
    monkeypatch.setattr(checkpoints, "deserialise", replace_and_read)
    save_state(tmp_path, TrainingState({"a": torch.ones(3)}, {"epoch": 1}))
    actual, _ = load_state(tmp_path)
    assert actual.info == {"epoch": 1}
    assert actual.tensors["a"].tolist() == [1, 1, 1]


def test_state_is_found_and_forgotten(tmp_path):
    assert load_state(tmp_path) is None
    save_state(tmp_path / "gone", TrainingState({"a": torch.ones(1)}))
    assert holds_state(tmp_path / "gone")
    forget_state(tmp_path / "gone")
    forget_state(tmp_path / "gone")
    assert not holds_state(tmp_path / "gone")
    (tmp_path / "file").touch()
    assert load_state(tmp_path / "file") is None


# What is refused


def flipped(data, place):
    """Bytes with one other bit."""
    return bytes(byte ^ (place % len(data) == j) for j, byte in enumerate(data))


@pytest.mark.parametrize("damage", [lambda d: d[:-10], lambda d: flipped(d, 12), lambda d: flipped(d, -1)])
def test_damaged_weights_are_noticed(folder, damage):
    path = folder / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    assert refused(folder) == f"{path} was damaged or changed since it was saved: its sha256 differs"


def test_weights_of_other_shapes(folder):
    path = folder / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        tensors, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    save_file({**tensors, "W": torch.zeros(7, 4)}, path, metadata)
    seal(folder)
    assert refused(folder).endswith("expected weights of shape (5, 4) as W, found weights of shape (7, 4)")
    save_file({**tensors, "W": torch.zeros(5, 4, dtype=torch.int64)}, path, metadata)
    seal(folder)
    assert refused(folder).endswith("model.safetensors: expected floats as W, found torch.int64")
    del tensors["b"]
    save_file(tensors, path, metadata)
    seal(folder)
    assert refused(folder).endswith("expected weights of shape (4,) as b, found nothing")


@pytest.mark.parametrize(
    ("width", "error"), [(40_000, "model.safetensors: .*: expected weights of shape "), (10**12, "config.json: exp")]
)
def test_huge_config_takes_no_memory(width, error, folder, monkeypatch):
    structure = json.loads((folder / "config.json").read_text())["model"]
    structure["core"]["hidden"] = [width, width]
    path = folder / "model.safetensors"
    digest = hashlib.sha256(json.dumps(structure, sort_keys=True).encode()).hexdigest()
    save_file(load_file(path), path, {"config_sha256": digest})
    edit(folder / "config.json", lambda config: config.update(model=structure))
    seal(folder)
    monkeypatch.setattr(checkpoints, "build", None)
    assert re.match(f"{folder}/{error}", refused(folder))


def test_changed_columns_are_refused(tmp_path):
    answers = Categorical(levels=("no", "yes"))
    save(tmp_path, SavedModel(nade_k(2, hidden=(4,)), Schema(columns=("a", "b"), kinds=(answers, answers))))
    edit(tmp_path / "schema.json", lambda schema: schema["kinds"][0].update(levels=["yes", "no"]))
    assert refused(tmp_path).startswith(f"{tmp_path / 'schema.json'} was changed since it was saved")


def test_weights_of_another_model(folder, tmp_path):
    """The weights file says which structure it was trained as."""
    save(tmp_path / "other", SavedModel(model(steps=3), SCHEMA, METRICS))
    weights = (folder / "model.safetensors").read_bytes()
    error = f"{folder / 'config.json'} was changed since it was saved: it is not what the weights were trained as"
    (folder / "model.safetensors").write_bytes((tmp_path / "other" / "model.safetensors").read_bytes())
    seal(folder)
    assert refused(folder) == error
    (folder / "model.safetensors").write_bytes(weights)
    seal(folder)
    edit(folder / "config.json", lambda config: config["model"].update(steps=3))
    assert refused(folder) == error


def kinds_for(n, levels=(0, 1)):
    """Columns of 0 and 1, but for the last."""
    binary = [{"levels": [0, 1], "kind": "binary"}] * (n - 1)
    return [*binary, {"levels": list(levels), "kind": "categorical"}]


EDITS = {  # of a model's JSON, and what is said
    "config.json": [
        ({"model": {}}, "that this version can read: option model.n_variables is missing"),
        ({"model": {"n_variables": 4, "stepz": 3}}, "unknown option model.stepz; did you mean steps?"),
        *[({"model": value}, f"model: expected a table of options, found {value!r}") for value in ([], 5, "deep")],
        *[({"format": value}, f"expected a nadek model of format 1, found {value!r}") for value in (None, "1")],
        ({"format": 2}, "expected a nadek model of format 1, found 2; a newer nadek reads it"),
        ({"weights_sha256": ...}, "expected the key 'weights_sha256' of a nadek model, found none"),
    ],
    "schema.json": [
        ({"colums": ["a"]}, "unknown option schema.colums; did you mean columns?"),
        ({"columns": ["a", "b"]}, "schema.json: expected 4 columns as in the model, found 2"),
        ({"image_shape": [-2, -2]}, "schema.json: expected images of 4 pixels, found image_shape (-2, -2)"),
        ({"image_shape": [2, 3]}, "schema.json: expected images of 4 pixels, found image_shape (2, 3)"),
        ({"kinds": kinds_for(3)}, "schema.json: expected 4 kinds of columns as in the model, found 3"),
        ({"kinds": kinds_for(4, ["a"])}, "schema.json: kinds[3]: expected 2 levels as in the model, found 1"),
    ],
    "metrics.json": [
        (
            {"more": json.loads("[" * 120 + "]" * 120)},
            "expected at most 100 tables or lists within each other, found more",
        )
    ],
}


@pytest.mark.parametrize(("name", "change", "message"), [(n, *case) for n, cases in EDITS.items() for case in cases])
def test_edited_files_are_refused(folder, name, change, message):
    def apply(values):
        values.update(change)
        if ... in change.values():
            del values[next(iter(change))]

    edit(folder / name, apply)
    assert refused(folder).endswith(message)


@pytest.mark.parametrize("name", ["model.safetensors", "schema.json", "metrics.json"])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    assert refused(folder) == f"{folder} is not a whole model: {name} is missing"


# What a crash leaves


@pytest.fixture
def no_room_for(monkeypatch):
    """Call it with the name of a file: from then on there is no space for that one."""
    real = checkpoints.replacing

    def fill(name):
        @contextmanager
        def replacing(path):
            with real(path) as stream:
                yield stream
                if path.name == name:
                    raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(checkpoints, "replacing", replacing)

    return fill


FILES = ["model.safetensors", "schema.json", "metrics.json", "config.json"]


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_crash_leaves_no_half_model(name, replaces, tmp_path, no_room_for, monkeypatch):
    if replaces:
        save(tmp_path, SavedModel(model(), SCHEMA, METRICS))
    no_room_for(name)
    with pytest.raises(OSError, match="No space left on device") as error:
        save(tmp_path, SavedModel(model(seed=1), SCHEMA, METRICS))
    assert error.value.filename == str(tmp_path / name)
    assert not holds_model(tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]
    monkeypatch.undo()
    save(tmp_path, SavedModel(model(seed=1), SCHEMA, METRICS))
    assert torch.equal(load(tmp_path).W, model(seed=1).W)


def test_full_disk_at_last_file(folder, full_disk):
    before = content(folder)
    full_disk(after=3)
    with pytest.raises(OSError, match="No space left") as error:
        save(folder, SavedModel(model(seed=1), SCHEMA, METRICS))
    assert error.value.filename == str(folder / "model.safetensors")
    assert content(folder) == before


@pytest.mark.parametrize("late", FILES)
def test_two_writers_leave_no_mixture(late, tmp_path, monkeypatch):
    """Another process saves all of its model between two files of ours."""
    names = {0: tuple("abcd"), 1: tuple("dcba")}
    saved = [SavedModel(model(seed=seed), Schema(columns=columns), METRICS) for seed, columns in names.items()]
    real = checkpoints.replacing

    @contextmanager
    def replacing(path):
        with real(path) as stream:
            yield stream
            if path.name == late:
                with monkeypatch.context() as other:
                    other.setattr(checkpoints, "replacing", real)
                    other.setattr(os, "getpid", os.getppid)
                    save(tmp_path, saved[1])

    monkeypatch.setattr(checkpoints, "replacing", replacing)
    save(tmp_path, saved[0])
    if late == "model.safetensors":  # all of ours came after all of theirs
        actual = load_saved(tmp_path)
        assert torch.equal(actual.model.W, model(seed=0).W)
        assert actual.schema.columns == names[0]
    else:
        assert "model.safetensors was damaged or changed since it was saved" in refused(tmp_path)


def test_crash_keeps_the_older_state(tmp_path, no_room_for):
    save_state(tmp_path, TrainingState({"a": torch.ones(1)}, {"epoch": 1}))
    no_room_for("training.safetensors")
    with pytest.raises(OSError, match="No space left"):
        save_state(tmp_path, TrainingState({"a": torch.zeros(1)}, {"epoch": 2}))
    assert [path.name for path in tmp_path.iterdir()] == ["training.safetensors"]
    no_room_for("config.json")
    with pytest.raises(OSError, match="No space left"):
        save(tmp_path, SavedModel(model(), SCHEMA, METRICS))
    assert load_state(tmp_path)[0].info == {"epoch": 1}


@pytest.mark.parametrize(
    ("of", "option", "value"), [("core", "dropout", 0), ("", "init_std", 1), ("", "ordering", tuple(np.arange(4)))]
)
def test_numbers_of_other_kinds_come_back(of, option, value, tmp_path):
    """A whole number for a real one, a number of NumPy's; the types are only checked in tests, so it is put in late."""
    config = ModelConfig(n_variables=4, core=DeepConfig(hidden=(3,)), steps=1, ordering=(0, 1, 2, 3))
    object.__setattr__(config.core if of else config, option, value)
    made = IterativeNADE(config, generator=torch.Generator().manual_seed(0))
    save(tmp_path, SavedModel(made, Schema(), {"loss": np.float32(0.5), "epochs": np.int64(3)}))
    loaded = load_saved(tmp_path)
    assert loaded.model.config == config
    assert loaded.metrics == {"loss": 0.5, "epochs": 3}


def test_unsavable_model_keeps_old_one(folder):
    with pytest.raises(TypeError, match="not JSON serializable"):
        save(folder, SavedModel(model(seed=1), SCHEMA, {"when": object()}))
    assert torch.equal(load(folder).W, model().W)


class OwnCore(Deep):
    """What a user may put in a core's place."""


class OwnNetwork(IterativeNADE):
    """A user's own network, made from the paper's."""


class OwnStructure(ModelConfig):
    """The structure of a network from scratch."""


@dataclass(frozen=True, kw_only=True)
class OwnCoreConfig(DeepConfig):
    """The structure of a core from scratch."""

    kind: str = "own"


def own_network():
    return OwnNetwork(model().config)


def own_structure():
    made = model(seed=1)
    made.config = OwnStructure(n_variables=4)
    return made


def own_core():
    made = model(seed=1)
    made.core = OwnCore(made.config.core)
    return made


def of_own_config():
    config = ModelConfig(n_variables=4, core=OwnCoreConfig(hidden=(5,)))
    return IterativeNADE(config, generator=torch.Generator().manual_seed(0))


def more_weights():
    made = model(seed=1)
    made.scale = torch.nn.Parameter(torch.ones(2))
    return made


def compiled_core():
    made = model(seed=1)
    made.core = torch.compile(made.core, backend="eager")
    return made


UNSAVEABLE = {
    own_core: "found OwnCore as core, which would come back as Deep",
    of_own_config: "found another structure: model.core.kind: expected one of deep, alternating, residual, found 'own'",
    own_structure: "found IterativeNADE with a config of class OwnStructure",
    own_network: "found OwnNetwork as the model, which would come back as IterativeNADE",
    more_weights: r"found weights of shape \(2,\) as scale, which would come back as nothing",
    compiled_core: "found OptimizedModule as core, which would come back as Deep",
}


@pytest.mark.parametrize(("make", "message"), UNSAVEABLE.items(), ids=[make.__name__ for make in UNSAVEABLE])
def test_unreadable_model_keeps_old_one(make, message, folder, tmp_path):
    before = content(folder)
    for where in (folder, tmp_path / "new"):
        with pytest.raises(TypeError, match=rf"^only what its config says can be saved: .*; {message}$"):
            save(where, SavedModel(make(), SCHEMA))
    assert content(folder) == before
    assert not (tmp_path / "new").exists()


def test_compiled_model_is_saved_uncompiled(folder):
    saved = SavedModel(model(seed=1), SCHEMA, METRICS)
    object.__setattr__(saved, "model", torch.compile(saved.model, backend="eager"))  # behind the type hook
    save(folder, saved)
    assert torch.equal(load(folder).W, model(seed=1).W)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_infinite_weights_are_refused(value, folder):
    made, before = model(seed=1), content(folder)
    made.b.data[2] = value
    with pytest.raises(ValueError, match=f"^the model: expected finite weights, found {value} in b$"):
        save(folder, SavedModel(made, SCHEMA))
    assert content(folder) == before
    path = folder / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        tensors, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    tensors["b"][2] = value
    save_file(tensors, path, metadata)
    seal(folder)
    assert refused(folder) == f"{path}: expected finite weights, found {value} in b"


def test_a_file_is_no_place_for_a_model(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileExistsError, match="file is a file; a model is a folder"):
        save(tmp_path / "file", SavedModel(model=nade_k(2, hidden=(3,)), schema=Schema()))


@pytest.mark.parametrize("text", ['{"my": "app settings"}', "[1]", "window = 3", '{"model": {}, "format": 1}'])
def test_foreign_config_is_not_replaced(text, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(FileExistsError, match=r"config\.json is not of a nadek model, and would be replaced; "):
        save(tmp_path, SavedModel(model(), SCHEMA, METRICS))
    assert content(tmp_path) == {"config.json": text.encode()}


# Rounded


@pytest.mark.parametrize("name", ZOO)
def test_rounded_matrices_load_in_the_dtype_of_vectors(name, tmp_path):
    model = build(name, 4)
    dtypes = {key: value.dtype for key, value in model.state_dict().items()}
    for value in model.state_dict(keep_vars=True).values():
        if value.ndim >= 2 and value.is_floating_point():
            value.data = value.data.bfloat16()
    save(tmp_path, SavedModel(model, Schema()))
    assert torch.bfloat16 in {value.dtype for value in load_file(tmp_path / "model.safetensors").values()}
    loaded = load(tmp_path).state_dict()
    for key, value in model.state_dict().items():
        assert torch.equal(loaded[key], value.to(dtypes[key]))
        assert loaded[key].dtype == dtypes[key]
