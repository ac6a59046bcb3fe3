"""Files of strangers in a watched process: each works or ends in our error, within limits, and touches nothing else."""

import pytest

from support.fuzzing import PROBES
from support.shapes import SHAPES
from support.watched import Watched


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    process = Watched(tmp_path_factory.mktemp("watched"))
    yield process
    process.close()


@pytest.mark.parametrize(("kind", "n_cases"), [("table", 100), ("model", 100), ("state", 20)])
def test_damaged_files_are_errors_within_limits(watched, kind, n_cases):
    outcomes = [watched.run(kind, seed) for seed in range(n_cases)]
    assert [outcome for outcome in outcomes if outcome.breaches] == []
    assert sum(bool(outcome.answer) for outcome in outcomes) > n_cases / 2


@pytest.mark.parametrize("seed", range(2 * len(SHAPES)), ids=lambda seed: f"{SHAPES[seed // 2][0]}-{seed % 2}")
def test_small_files_cost_little(watched, seed):
    assert watched.run("shape", seed).breaches == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_planted_texts_run_nothing(watched, seed):
    outcome = watched.run("planted", seed)
    assert outcome.breaches == []
    assert int(outcome.answer) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(PROBES)), ids=lambda seed: f"{PROBES[seed][0]}-{seed}")
def test_watch_notices(watched, seed):
    assert watched.run("probe", seed).breaches == [PROBES[seed][0]]
