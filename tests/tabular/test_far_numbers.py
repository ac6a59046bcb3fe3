"""Errors in cells surface: in the scores of rows, in the detector and in the list of cells."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import nadek
from nadek.inference import explain_cells
from nadek.models import IterativeNADE, ModelConfig
from nadek.tabular import columns
from nadek.tabular.columns import infer, knots, log_density, log_outwards, n_levels
from nadek.tabular.columns.densities import TAIL, log_fall
from support.command import ok
from support.models import seeded


@pytest.mark.parametrize("numbers", [np.arange(18.0, 90), np.random.default_rng(0).normal(size=300)])
def test_density_falls_outside_only(numbers):
    column = infer(numbers, name="n", kind="numeric")
    assert (log_fall(column, numbers) == 0).all()
    spread = numbers.std() + 1
    beyond = log_fall(column, numbers.max() + spread * np.array([0.5, 1, 2, 100, 1e6, 1e9, 1e300]))
    assert (np.diff(beyond) < 0).all()
    assert beyond[0] < 0
    assert beyond[-3] - beyond[-2] == pytest.approx((TAIL + 1) * np.log(1e3), rel=1e-4)  # a power of the distance
    assert log_fall(column, np.array([numbers.min() - 100 * spread]))[0] < -10


@pytest.mark.parametrize("values", [np.random.default_rng(0).normal(size=400), np.arange(300.0) ** 1.5])
def test_draws_are_as_surprising_as_promised(values):
    """Of numbers that have the model's density, both tails included, exp(-s) have a surprise of s or more."""
    column = infer(values, name="n", kind="numeric")
    model = IterativeNADE(
        ModelConfig(n_variables=1, levels=(n_levels(column),), knots=knots([column])), generator=seeded()
    )
    spread = 3 * np.ptp(values)
    x = np.linspace(values.min() - spread, values.max() + spread, 200_000)  # weighed by their density
    codes = torch.from_numpy(columns.encode(column, x, name="n"))[:, None]
    outwards = torch.from_numpy(log_outwards(column, x))[:, None]
    cells = explain_cells(model, codes.float(), outwards=outwards)
    weights = np.exp(cells.log_prob[:, 0].numpy() + log_density(column, x))
    surprise = cells.surprise[:, 0].numpy()
    for s in (0.5, 1, 2, 3, 4):
        assert weights[surprise >= s].sum() / weights.sum() == pytest.approx(np.exp(-s), rel=0.03, abs=1e-3)


@pytest.fixture(scope="module")
def survey():
    """2,800 rows of six items from 1 to 6 and an age, with three errors."""
    rng = np.random.default_rng(0)
    mood = rng.normal(size=2800)
    items = {f"i{j}": (mood + rng.normal(size=2800) + 3.5).round().clip(1, 6) for j in range(6)}
    table = pd.DataFrame(items | {"age": rng.integers(18, 91, 2800), "smoker": rng.choice(["yes", "no"], 2800)})
    wrong = table.astype({"age": int})
    wrong.loc[7, "age"], wrong.loc[9, "age"], wrong.loc[11, "i2"] = 330, 157, 9
    return table, wrong


QUICK = {
    "max_iter": 3,
    "training": {"width": 16},
    "random_state": 0,
    "numeric_features": list(map("i{}".format, range(6))),
}
ERRORS = [(7, "age", 330), (9, "age", 157), (11, "i2", 9)]


@pytest.mark.parametrize("seen", [False, True])
def test_errors_in_cells_come_first(survey, seen):
    """Also where they were among the training rows."""
    table, wrong = survey
    model = nadek.NADEk(**QUICK, n_orderings=2).fit(wrong if seen else table)
    cells = model.explain(wrong)
    assert list(cells.columns) == list(wrong.columns)
    ranked = cells.stack().nlargest(3).index.tolist()
    assert set(ranked) == {(row, column) for row, column, _ in ERRORS}
    assert ranked[0] == (7, "age")
    assert set(model.score_samples(wrong).argsort()[:2]) == {7, 9}


@pytest.mark.parametrize("unit", [1, 1 / 7])
def test_surprise_of_few_numbers_adds_up_levels(unit):
    """Also of the largest one, which has a bin to itself."""
    counts = unit * np.random.default_rng(0).choice(6, 200, p=[0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
    table = pd.DataFrame({"count": counts, "group": list("ab") * 100})
    model = nadek.NADEk(**QUICK | {"numeric_features": ["count"]}).fit(table)
    levels = np.unique(counts)
    asked = pd.DataFrame({"count": np.tile(levels, 200), "group": np.repeat(table["group"].to_numpy(), 6)})
    of_bins = model.conditional_log_prob(asked, given=["group"]) - np.tile(
        log_density(model.columns_[0], levels * 1.0), 200
    )
    p = np.exp(of_bins).reshape(200, 6)
    own = p[np.arange(200), np.searchsorted(levels, counts)][:, None]
    expected = -np.log(np.where(p <= own + 1e-9, p, 0).sum(1))
    np.testing.assert_allclose(model.explain(table)["count"], expected, atol=1e-5)


def test_surprise_of_a_day_is_at_most_that_of_the_day_itself():
    """A number in steps may lie where the density is lowest, between all others."""
    table = pd.DataFrame({"day": np.random.default_rng(8).permutation(201)[:200], "group": list("ab") * 100})
    model = nadek.NADEk(**QUICK | {"max_iter": 30, "numeric_features": ["day"]}).fit(table)
    assert (model.explain(table)["day"] <= 1e-6 - model.conditional_log_prob(table, given=["group"])).all()


def test_impossible_ages_are_outliers(survey, tmp_path):
    table, wrong = survey
    detector = nadek.NADEkOutlierDetector(**QUICK, n_orderings=2).fit(table)
    assert (detector.predict(wrong)[[7, 9, 11]] == -1).all()
    assert detector.score_samples(wrong).argsort()[:2].tolist() == [7, 9]
    detector.save(tmp_path / "model")
    wrong.to_csv(tmp_path / "t.csv", index=False)
    ok("score", tmp_path / "model", tmp_path / "t.csv", "--outliers", 2, "-o", tmp_path / "s.csv", "-q")
    written = pd.read_csv(tmp_path / "s.csv")
    assert written["row"].tolist() == [8, 10]
    np.testing.assert_allclose(written["outlier_score"], detector.score_samples(wrong)[[7, 9]], rtol=0.05)
    ok("explain", tmp_path / "model", tmp_path / "t.csv", "--top", 3, "-o", tmp_path / "e.csv", "-q")
    listed = pd.read_csv(tmp_path / "e.csv")
    assert set(zip(listed["row"] - 1, listed["column"], listed["value"], strict=True)) == set(ERRORS)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_next_question_is_named(survey, container):
    model = nadek.NADEk(**QUICK).fit(survey[0])
    asked = survey[0].iloc[3:5].assign(age=np.nan, smoker=None)
    gain = model.suggest_next(asked if container == "pandas" else pl.from_pandas(asked))
    assert isinstance(gain, pd.DataFrame if container == "pandas" else pl.DataFrame)
    assert list(gain.columns) == list(asked.columns)
    if container == "pandas":
        assert gain.index.tolist() == [3, 4]
        assert gain.notna().equals(asked.isna())
