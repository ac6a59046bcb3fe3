"""A training that is stopped anywhere and goes on ends with the same bits as one that was never stopped."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch

from nadek.checkpoints import load_state, save_state
from nadek.models import IterativeNADE, ModelConfig, nade, nade_k, residual_nade_k
from nadek.models.cores import DeepConfig
from nadek.models.model_config import ImageConfig
from nadek.models.unet import ImageNetwork
from nadek.runs.resume import sole_training
from nadek.training import (
    AdaDelta,
    AdamW,
    Muon,
    Phase,
    TrainingConfig,
    TrainingDivergedError,
    TrainingState,
    fit,
    prepare,
)
from support.command import nadek, ok
from support.models import same, seeded
from support.optimizers import following

D = 6
PHASES = (Phase(objective="all_steps", epochs=2), Phase(epochs=2))
FRESH = (Phase(objective="all_steps", epochs=2), Phase(epochs=2, fresh=True))
FIXED = (Phase(objective="fixed_order", epochs=3),)


def deep(seed):
    return nade_k(D, hidden=(5,), steps=2, generator=seeded(seed))


def dropping(seed):
    core = DeepConfig(hidden=(5, 4), dropout=0.3)
    return IterativeNADE(ModelConfig(n_variables=D, core=core, steps=2), generator=seeded(seed))


def residual(seed):
    return residual_nade_k(D, width=5, blocks=1, steps=2, generator=seeded(seed))


def ordered(seed):
    return nade(D, hidden=5, generator=seeded(seed))


def begun(seed):
    """Whatever stands for missing cells comes with the weights that a run began with, not from its rows."""
    model = residual(seed)
    model.fill.fill_(0.9 if seed == 0 else 0.2)
    return model


def picture(seed):
    config = ImageConfig(image_shape=(2, 3), channels=(3, 4), dense=5)
    return ImageNetwork(config, generator=seeded(seed))


RUNS = {
    "adamw, average": (deep, {"ema_decay": 0.9}),
    "adamw, fresh phase": (deep, {"phases": FRESH, "ema_decay": 0.9}),
    "adadelta, fresh phase": (deep, {"optimizer": AdaDelta(), "phases": FRESH, "ema_decay": 0.0}),
    "muon, fresh phase": (deep, {"optimizer": Muon(), "phases": FRESH, "ema_decay": 0.9}),
    "muon, filters": (picture, {"optimizer": Muon(), "ema_decay": 0.9}),
    "dropout and l2": (dropping, {"l2": 1e-3}),
    "centred": (residual, {"centred": True, "ema_decay": 0.9}),
    "centred, from another model": (begun, {"centred": True, "ema_decay": 0.9}),
    "residual, bfloat16": (residual, {"precision": "bfloat16"}),
    "completing": (residual, {"missing": "complete", "ema_decay": 0.9}),
    "fewer steps at first": (deep, {"phases": (Phase(epochs=3, steps=1), Phase(epochs=4)), "ema_decay": 0.9}),
    "extra steps": (deep, {"phases": (Phase(epochs=3, extra_steps=2), Phase(epochs=4, steps=1, extra_steps=4))}),
    "fixed order": (ordered, {"phases": FIXED}),
    "rare validation, unstratified": (deep, {"validate_every": 3, "stratified": False}),
    "length": (residual, {"anneal": 1.0, "phases": (Phase(epochs=5, steps=1), Phase(epochs=5))}),
    "patience": (deep, {"patience": 2, "optimizer": AdamW(lr=0.0), "phases": (Phase(epochs=2), Phase(epochs=5))}),
}


def rows(n, seed, *, holes=False):
    generator = seeded(seed)
    x = (torch.rand(n, D, generator=generator) < 0.4).float()
    return prepare(x.masked_fill(torch.rand(n, D, generator=generator) < 0.3, torch.nan) if holes else x)


def config(**options):
    return TrainingConfig(**{"phases": PHASES, "optimizer": AdamW(lr=0.02), "batch_size": 15, "seed": 5} | options)


def outcome(build, seed, options, *, validated=True, **more):
    """Weights and history (but the seconds) at the end."""
    model, holes = build(seed), "missing" in options
    train, valid = rows(40, 1, holes=holes), rows(20, 2, holes=holes) if validated else None
    history = fit(model, train, valid, config=config(**options), **more)
    return model.state_dict(), [dataclasses.replace(epoch, seconds=0.0) for epoch in history]


def assert_same(a, b):
    assert a[1] == b[1]
    assert same(a[0], b[0])


@pytest.mark.slow
@pytest.mark.parametrize("validated", [True, False])
@pytest.mark.parametrize("name", [name for name in RUNS if name != "patience"])
@pytest.mark.usefixtures("has_bfloat16")
def test_resuming_any_epoch_is_bitwise(name, validated, tmp_path):
    check_every_epoch(name, tmp_path, validated=validated)


def test_resuming_leaves_the_state():
    states = []
    build, options = RUNS["adamw, average"]
    outcome(build, 0, options, save_state=states.append, save_every=0.0)
    first, second = (outcome(build, 1, options, resume=states[1]) for _ in range(2))
    assert_same(first, second)


def test_the_best_weights_survive_a_stop():
    """The first epoch is the best: the last state must still know it."""
    spoiling = following(lambda progress: 0.0 if progress < 0.25 else 50.0)
    options, states = {"optimizer": spoiling, "ema_decay": 0.0}, []
    whole = outcome(deep, 0, options, save_state=states.append, save_every=0.0)
    assert min(whole[1], key=lambda epoch: epoch.validation[-1]).epoch == 1
    assert_same(outcome(deep, 1, options, resume=states[-1]), whole)


@pytest.mark.parametrize("validated", [True, False])
def test_resumed_failure_equals_whole_failure(validated):
    """The weights of the last state have not shown their cost yet; without validation those before them are good."""
    ruining = following(lambda progress: 1e6 if 0.4 < progress < 0.45 else 0.0)  # ends the second of four epochs
    options = {"optimizer": ruining, "ema_decay": 0.0}
    models, states = (deep(0), deep(0)), []
    valid = rows(20, 2) if validated else None
    with pytest.raises(TrainingDivergedError):
        fit(models[0], rows(40, 1), valid, config=config(**options), save_state=states.append, save_every=0.0)
    assert len(states) == (2 if validated else 3)
    with pytest.raises(TrainingDivergedError):
        fit(models[1], rows(40, 1), valid, config=config(**options), resume=states[-1])
    assert all(map(torch.equal, models[0].state_dict().values(), models[1].state_dict().values()))


def test_resuming_keeps_the_patience(tmp_path):
    assert check_every_epoch("patience", tmp_path, validated=True) == 2 + 2


def test_resuming_keeps_the_length(tmp_path, monkeypatch):
    """Where validation chooses it: the rate falls after the same epoch."""
    for name, value in {"MINIBATCHES": 9, "EPOCHS": 3, "GAIN": 0.5}.items():
        monkeypatch.setattr(f"nadek.training.training_config.HELD_{name}", value)
    assert check_every_epoch("length", tmp_path, validated=True) == 3 + 3


@pytest.mark.parametrize("validated", [True, False])
def test_completed_rows_survive_resuming(validated, tmp_path, monkeypatch):
    """So short a run would draw them anew before every epoch."""
    monkeypatch.setattr("nadek.training.stochastic_em.COMPLETIONS", 1)
    assert check_every_epoch("completing", tmp_path, validated=validated) == 4


def check_every_epoch(name, tmp_path, *, validated):
    """Stop and go on at every epoch; tells how many there are."""
    build, options = RUNS[name]
    states = []
    whole = outcome(build, 0, options, validated=validated, save_state=states.append, save_every=0.0)
    assert len(states) == len(whole[1])  # at the beginning, and after every epoch but the last
    for state in states:
        save_state(tmp_path, state)  # through the disk, and into a model that began with other weights
        resumed = outcome(build, 1, options, validated=validated, resume=load_state(tmp_path)[0])
        assert_same(resumed, whole)
    return len(states)


def test_training_resumes_twice():
    whole, state, states = outcome(deep, 0, {}), None, []

    def stop_after_one(new):
        states.append(new)
        if len(states) % 2 == 0:
            raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            outcome(deep, 0, {}, resume=state, save_state=stop_after_one, save_every=0.0)
        state = states[-1]
    assert [len(state.info["history"]) for state in states] == [0, 1, 1, 2, 2, 3]
    assert_same(outcome(deep, 1, {}, resume=state), whole)


def test_interrupted_epoch_restarts():
    """What half an epoch did to the weights is forgotten."""
    states = []

    class Interrupted(type(rows(1, 0))):
        def select(self, index):
            """The usual minibatch, unless the user presses Ctrl-C."""
            if len(states) == 3 and isinstance(index, torch.Tensor) and len(index) < 15:  # the last of the third epoch
                raise KeyboardInterrupt
            return super().select(index)

    with pytest.raises(KeyboardInterrupt):
        fit(deep(0), Interrupted(*rows(40, 1)), rows(20, 2), config=config(), save_state=states.append, save_every=0.0)
    assert_same(outcome(deep, 1, {}, resume=states[-1]), outcome(deep, 0, {}))


def test_states_are_saved_at_intervals():
    states = []
    outcome(deep, 0, {}, save_state=states.append, save_every=3600.0)
    assert len(states) == 1
    assert states[0].info["history"] == []
    assert json.loads(json.dumps(states[0].info)) == states[0].info
    assert all(value.device.type == "cpu" for value in states[0].tensors.values())
    with pytest.raises(ValueError, match="saved training state does not fit this model"):
        outcome(residual, 0, {}, resume=states[0])


@pytest.mark.parametrize(
    ("began", "goes_on", "error"),
    [
        ({}, {"phases": (Phase(epochs=1),)}, "phases"),
        ({"optimizer": Muon()}, {}, "optimizer.kind 'adamw', found one of a run with 'muon'"),
        ({"ema_decay": 0.9}, {"ema_decay": 0.0}, "ema_decay 0.0, found one of a run with 0.9"),
        ({}, {"patience": 3}, "patience 3, found one of a run with None"),
    ],
)
def test_state_of_other_run_is_refused(began, goes_on, error):
    states = []
    outcome(deep, 0, began, save_state=states.append, save_every=0.0)
    with pytest.raises(ValueError, match=f"^resume: expected the state of a run with {error}"):
        outcome(deep, 1, goes_on, resume=states[-1])


def test_old_states_are_resumed():
    states = []
    whole = outcome(deep, 0, {}, save_state=states.append, save_every=0.0)
    tensors, info = states[-1].tensors, json.loads(json.dumps(states[-1].info))
    del info["config"]["recompute"]
    assert_same(outcome(deep, 1, {}, resume=TrainingState(tensors, info)), whole)
    del info["config"]
    assert_same(outcome(deep, 1, {}, resume=TrainingState(tensors, info)), whole)


def test_seconds_are_counted_over_resumptions():
    states = []
    outcome(deep, 0, {}, save_state=states.append, save_every=0.0)
    later = TrainingState(states[-1].tensors, {**states[-1].info, "seconds": 1000.0})
    history = fit(deep(0), rows(40, 1), rows(20, 2), config=config(), resume=later)
    assert 1000 < history[-1].seconds < 1100


# Real processes

FIT = ["fit", "digits", "--hidden", "16", "--steps", "2", "--epochs", "30", "--save-every", "0", "--device", "cpu"]
STATE = "training.safetensors"


def start(*arguments):
    command = [sys.executable, "-c", "from nadek.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_progress(process, folder, epochs):
    """Wait until the state in a folder is of at least so many epochs; tells how many."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        actual = load_state(folder)
        if actual is not None and len(actual[0].info["history"]) >= epochs:
            return len(actual[0].info["history"])
        time.sleep(0.01)
    raise AssertionError(f"no progress: {process.communicate()}")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The weights file of a training that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    ok(*FIT, "-o", folder)
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_killed_training_ends_bitwise(uninterrupted, tmp_path):
    folder, chance, done = tmp_path / "model", random.Random(0), 0
    for kill in range(3):
        process = start(*FIT, "-o", folder, *(["--resume"] if kill else []))
        done = wait_for_progress(process, folder, done + 1)
        time.sleep(chance.uniform(0, 0.06))  # anywhere in an epoch, or while the state is being written
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (folder / "config.json").exists()
    ok(*FIT, "-o", folder, "--resume")
    assert (folder / "model.safetensors").read_bytes() == uninterrupted
    assert not (folder / STATE).exists()


def test_training_holds_its_folder(tmp_path):
    folder = tmp_path / "model"
    with sole_training(folder):
        errors = [nadek(*FIT, "-o", folder, *options).error for options in ((), ("--force",), ("--resume",))]
    assert errors == [f"{folder}: another process works in this folder; wait for its end"] * 3
    assert not folder.exists()
