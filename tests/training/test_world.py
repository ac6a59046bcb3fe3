"""Two processes train as one does, end with the same bits, save and resume, and survive the end of one of them."""

import dataclasses
import itertools
import os
import signal
import socket
import subprocess
import sys
from subprocess import PIPE

import pytest
import torch

from nadek.checkpoints import load_saved, weights_digest
from nadek.kernels.cpu import has_fast_bfloat16
from nadek.models import ModelConfig
from nadek.models.cores import DeepConfig
from nadek.models.model_config import ImageConfig
from nadek.runs.resume import shared_state
from nadek.training import AdamW, Phase, Recipe, TrainingConfig, fit_table, loop, prepare
from nadek.training.defaults import defaults
from nadek.training.state import read_history
from nadek.training.world import World
from runs import test_resume
from support.command import ok
from support.models import same, seeded
from support.processes import together

NAN = torch.nan
N_ROWS, BATCH_SIZE, EPOCHS = 81, 20, 40  # 200 steps; the last minibatch of an epoch has one row for two processes
LEVELS, ORDINAL = (2, 3, 6, 2, 4, 5), (2, 5)
SIDES = (3, 4)


def training(**options):
    phases = Phase(objective="all_steps", epochs=EPOCHS // 2), Phase(epochs=EPOCHS // 2)
    usual = {"phases": phases, "batch_size": BATCH_SIZE, "optimizer": AdamW(lr=0.002), "validate_every": 20}
    return TrainingConfig(**usual | options)


def tables():
    """The default model for mixed columns, without dropout, and the recipe for it."""
    model, _ = defaults(N_ROWS, LEVELS, ordinal=ORDINAL, width=32)
    assert model.factors
    core = dataclasses.replace(model.core, dropout=0.0)
    return Recipe(model=dataclasses.replace(model, core=core), training=training())


RECIPES = {
    "paper": Recipe(
        model=ModelConfig(n_variables=12, core=DeepConfig(hidden=(16, 16)), steps=5), training=training(l2=1e-3)
    ),
    "default": tables(),
    "images": Recipe(model=ImageConfig(image_shape=SIDES, channels=(3, 4), dense=5), training=training(mirror=SIDES)),
}


def table(recipe, n_rows, seed):
    """Rows with something to learn; the mixed ones have holes."""
    generator, levels = seeded(seed), torch.tensor(recipe.model.levels or (2,) * recipe.model.n_variables)
    kind = torch.rand(n_rows, 1, generator=generator)
    x = ((0.8 * kind + 0.2 * torch.rand(n_rows, len(levels), generator=generator)) * levels).floor()
    holes = torch.rand(x.shape, generator=generator) < (0.2 if recipe.model.levels else 0.0)
    return prepare(x.masked_fill(holes, NAN), levels=recipe.model.levels, training=False)


def costs_of(history):
    return [cost for epoch in history for cost in (*epoch.train, *(epoch.validation or ()))]


def outcome(recipe, **options):
    """Weights, costs of each epoch, states and the number of reports of a training."""
    states, reports = [], []
    callbacks = {"save_state": states.append, "save_every": 0.0, "on_epoch": reports.append}
    fitted = fit_table(recipe, table(recipe, N_ROWS, 1), table(recipe, 33, 2), **callbacks, **options)
    costs = costs_of(fitted.history)
    return {"weights": fitted.network.state_dict(), "costs": costs, "states": states, "reports": len(reports)}


def refusals(world):
    """Messages of worlds that do not fit."""
    messages = []
    small = training(batch_size=1, phases=(Phase(),))
    for wrong in (
        lambda: outcome(dataclasses.replace(RECIPES["paper"], training=small), world=world),
        lambda: World(1 - world.rank, 2),
        lambda: shared_state(world, {"rows": world.rank}, None),
    ):
        try:
            wrong()
        except ValueError as error:
            messages.append(str(error))
    return messages


def dropout_seeds(world):
    """Seeds of the generators that dropout gets, in each of two epochs."""
    usual, seeds = loop.batch_costs, []

    def watched(*arguments, generator, **options):
        seeds.append(generator.initial_seed())
        return usual(*arguments, generator=generator, **options)

    loop.batch_costs = watched
    short = training(phases=(Phase(epochs=2),), batch_size=N_ROWS)
    outcome(dataclasses.replace(RECIPES["paper"], training=short), world=world)
    loop.batch_costs = usual
    return seeds


def quick_outcomes(world, state):
    """All that the quick tests look at, as starting two processes takes seconds."""
    results = {name: outcome(recipe, world=world) for name, recipe in RECIPES.items()}
    own = world.from_first(results["paper"]["states"][EPOCHS // 2 :][:1])
    return {
        **results,
        "resumed": outcome(RECIPES["paper"], resume=own[0], world=world),
        "resumed from one": outcome(RECIPES["paper"], resume=state, world=world),
        "refusals": refusals(world),
        "dropout": dropout_seeds(world),
    }


def runs(world):
    """The trainings of another test, with every option that there is, in float64."""
    every = {name: run for name, run in test_resume.RUNS.items() if name != "dropout and l2"}
    return {
        name: test_resume.outcome(lambda seed, build=build: build(seed).double(), 0, options, world=world)
        for name, (build, options) in every.items()
    }


@pytest.fixture(scope="module")
def alone():
    return {name: outcome(recipe) for name, recipe in RECIPES.items()}


@pytest.fixture(scope="module")
def both(alone, tmp_path_factory):
    return together(tmp_path_factory.mktemp("both"), quick_outcomes, alone["paper"]["states"][EPOCHS // 2])


def assert_close(costs, others, rtol=1e-6):
    torch.testing.assert_close(*(torch.tensor(one, dtype=torch.float64) for one in (costs, others)), rtol=rtol, atol=0)


@pytest.mark.parametrize("name", RECIPES)
def test_two_processes_train_as_one(name, alone, both):
    assert_close(both[0][name]["costs"], alone[name]["costs"])
    assert both[0][name]["costs"][-1] < alone[name]["costs"][0] - 0.2  # something was learnt


@pytest.mark.parametrize("name", [*RECIPES, "resumed", "resumed from one"])
def test_processes_end_with_the_same_bits(name, both):
    assert same(both[0][name]["weights"], both[1][name]["weights"])
    assert both[0][name]["costs"] == both[1][name]["costs"]


def test_training_resumes_on_another_number(alone, both):
    first, resumed = both[0]["paper"], both[0]["resumed"]
    assert same(resumed["weights"], first["weights"])
    assert resumed["costs"] == first["costs"]
    other = outcome(RECIPES["paper"], resume=first["states"][EPOCHS // 2])
    assert_close(other["costs"], first["costs"])
    assert_close(both[0]["resumed from one"]["costs"], first["costs"])
    assert {run["reports"] for run in (resumed, other, both[0]["resumed from one"])} == {EPOCHS // 2}


def test_process_0_alone_saves_and_reports(both):
    for name in RECIPES:
        assert [(len(one[name]["states"]), one[name]["reports"]) for one in both] == [(EPOCHS, EPOCHS), (0, 0)]


def test_dropout_differs_between_processes_and_epochs(both):
    seeds = [seed for one in both for seed in one["dropout"]]
    assert len(seeds) == len(set(seeds)) == 4


def test_parts_are_all_rows_once(monkeypatch):
    monkeypatch.setattr(World, "__post_init__", lambda world: None)
    for n_rows in (0, 1, 2, 5, 400):
        for size in (1, 2, 3, 7):
            parts = [list(range(n_rows))[World(rank, size).part(n_rows)] for rank in range(size)]
            assert list(itertools.chain(*parts)) == list(range(n_rows))
            assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_wrong_worlds_are_refused(both):
    assert both[0]["refusals"][:2] == [
        "world: expected a row of each minibatch for each of 2 processes, found minibatches of 1",
        "world: expected rank 0 of 2, as in torch.distributed, found rank 1 of 2",
    ]
    assert both[1]["refusals"][2:] == ["process 1: expected the training of process 0, found one of other rows"]
    with pytest.raises(ValueError, match="expected a rank from 0 to 1, found 2"):
        World(2, 2)
    with pytest.raises(ValueError, match=r"expected 2 joined processes, found this one alone: call torch\.distributed"):
        World(1, 2)


@pytest.mark.slow
def test_every_option_trains_alike(tmp_path):
    one, two = runs(World()), together(tmp_path, runs)
    for name, (weights, history) in two[0].items():
        assert same(weights, two[1][name][0]), name
        rounded = "muon" in name and has_fast_bfloat16("cpu")  # its products are bfloat16 there
        assert_close(costs_of(history), costs_of(one[name][1]), rtol=4e-3 if rounded else 1e-10)


FIT = ("--hidden", "8", "--steps", "2", "--epochs", "12", "--batch-size", "20", "--device", "cpu", "--save-every", "0")
DYING = """
import os, signal
from nadek.cli import main
from nadek.training import loop

def step(*arguments, usual=loop._Run._step, count=iter(range(1000))):
    if os.environ["RANK"] == {rank!r} and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and next(count) == {step}:
        os.kill(os.getpid(), signal.SIGKILL)
    return usual(*arguments)

loop._Run._step = step
main()
"""


def torchrun(*arguments):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A table and the model that two processes learn from it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    x = (torch.rand(90, 6, generator=seeded(0)) < 0.4).int().tolist()
    (folder / "x.csv").write_text("\n".join(["a,b,c,d,e,f", *(",".join(map(str, row)) for row in x)]))
    done = torchrun("-m", "nadek", "fit", folder / "x.csv", "-o", folder / "model", *FIT)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("12 epochs in") == 1  # process 0 reports
    return folder


@pytest.mark.slow
def test_command_trains_as_one_process(undisturbed, tmp_path):
    ok("fit", undisturbed / "x.csv", "-o", tmp_path / "model", *FIT)
    folders = undisturbed, tmp_path
    costs = [costs_of(read_history(load_saved(folder / "model").metrics)) for folder in folders]
    assert_close(*costs)


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "step"), [(1, 0), (0, 31)])
def test_killed_process_is_restarted_to_the_same_bits(rank, step, undisturbed, tmp_path):
    (tmp_path / "dying.py").write_text(DYING.format(rank=str(rank), step=step))
    command = ("fit", undisturbed / "x.csv", "-o", tmp_path / "model", *FIT, "--resume")
    done = torchrun("--max-restarts", "1", tmp_path / "dying.py", *command)
    assert done.returncode == 0, done.stderr
    assert "exitcode: -9" in done.stderr
    assert weights_digest(tmp_path / "model") == weights_digest(undisturbed / "model")


@pytest.mark.slow
def test_process_says_that_another_one_ended(undisturbed, tmp_path):
    """Started by hand, as torchrun may end the one that is left before it notices."""
    (tmp_path / "dying.py").write_text(DYING.format(rank="1", step=0))
    command = [sys.executable, tmp_path / "dying.py", "fit", undisturbed / "x.csv", "-o", tmp_path / "model", *FIT]
    both = [subprocess.Popen(command, env=environment, stderr=PIPE, text=True) for environment in by_hand(2)]
    messages = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [1, -signal.SIGKILL]
    assert "process 0: another process of this training ended, see its message" in messages[0]


def by_hand(n_processes):
    """Yield the variables that torchrun sets in each process."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = str(probe.getsockname()[1])
    for rank in map(str, range(n_processes)):
        names = {"RANK": rank, "WORLD_SIZE": str(n_processes), "MASTER_ADDR": "localhost", "MASTER_PORT": port}
        restarts = {"TORCHELASTIC_RUN_ID": "by hand", "TORCHELASTIC_RESTART_COUNT": "0"}
        yield {**os.environ, "OMP_NUM_THREADS": "1", **names, **restarts}


@pytest.mark.slow
def test_processes_do_not_share_standard_input(tmp_path):
    done = torchrun("-m", "nadek", "fit", "-", "-o", tmp_path / "model", *FIT)
    assert done.returncode == 1
    assert "standard input: expected a file, as several processes cannot share it" in done.stderr
