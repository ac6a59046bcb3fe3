"""Numbers far outside those of training make their rows unlikely, by how far."""

import numpy as np
import pandas as pd
import pytest

import nadek
from nadek.tabular.columns import infer
from nadek.tabular.columns.bins import log_fall_outside
from support.command import ok

QUICK = {"max_iter": 3, "training": {"width": 16}, "random_state": 0}


@pytest.mark.parametrize("numbers", [np.arange(18.0, 90), np.random.default_rng(0).normal(size=300), np.full(9, 5.0)])
def test_density_falls_outside_only(numbers):
    column = infer(numbers, name="n", kind="numeric")
    assert (log_fall_outside(column, numbers) == 0).all()
    spread = numbers.std() + 1
    beyond = log_fall_outside(column, numbers.max() + spread * np.array([0.5, 1, 2, 100, 1e300]))
    assert (np.diff(beyond) < 0).all()
    assert beyond[0] < 0
    np.testing.assert_allclose(2 * beyond[1], beyond[2])
    assert log_fall_outside(column, np.array([numbers.min() - 100 * spread]))[0] < -10


def test_impossible_ages_rank_first(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 91, 300), "smoker": rng.choice(["yes", "no"], 300)})
    strange = table.assign(age=np.where(np.arange(300) == 7, 330, np.where(np.arange(300) == 9, 157, table["age"])))
    model = nadek.NADEk(**QUICK, n_orderings=2).fit(table)
    scores = model.score_samples(strange)
    assert scores.argsort()[:2].tolist() == [7, 9]
    assert scores[7] < model.score_samples(table).min() - 10
    model.save(tmp_path / "model")
    strange.to_csv(tmp_path / "t.csv", index=False)
    ok("score", tmp_path / "model", tmp_path / "t.csv", "-o", tmp_path / "s.csv", "-q")
    written = pd.read_csv(tmp_path / "s.csv")
    assert written["row"][written["log_likelihood"].argsort()[:2]].tolist() == [8, 10]
