"""Displays compute what they draw: missing cells, calibration, information about each other."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

from nadek import NADEk, NADEkImputer
from nadek.estimators.displays import CalibrationDisplay, InformationDisplay, MissingDisplay


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def people(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    smokes = rng.random(n_rows) < 0.4
    table = pd.DataFrame({"smokes": smokes, "coughs": smokes ^ (rng.random(n_rows) < 0.2)})
    table["town"] = rng.choice(["Bern", "Genf", "Ulm"], n_rows)
    return table.assign(age=rng.normal(50, 10, n_rows) + 20 * smokes).mask(rng.random((n_rows, 4)) < 0.1)


@pytest.fixture(scope="module")
def model():
    return NADEk(max_iter=60, training={"width": 32}, random_state=0).fit(people(1500))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda columns: np.stack(list(columns.values()), 1)])
def test_missing_cells_of_every_kind_of_table(make):
    display = MissingDisplay.from_data(make({"a": [1.0, None, 3.0], "b": [None, None, 0.5]}))
    assert display.missing.tolist() == [[False, True], [True, True], [False, False]]
    labels = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert [label.split()[1] for label in labels] == ["33%", "67%"]


def test_calibration_of_unseen_rows(model):
    table = people(2000, seed=1)
    curves = CalibrationDisplay.from_estimator(model, table).curves
    for predicted, observed, n in curves.values():
        assert np.average(abs(predicted - observed), weights=n) < 0.02
        assert abs(predicted - observed).max() < 0.1  # of a hundred cells or so
    predicted, _, n = curves["categories"]
    assert (np.diff(predicted) > 0).all()
    assert n.sum() == 2 * table[["smokes", "coughs"]].count().sum() + 3 * table["town"].count()


def test_frequent_numbers_are_calibrated():
    rng = np.random.default_rng(0)
    zeros = np.where(rng.random(2000) < 0.5, 0, rng.exponential(size=2000))
    table = pd.DataFrame({"visits": rng.poisson(1.2, 2000), "rain": zeros, "age": rng.integers(18, 90, 2000)})
    model = NADEk(max_iter=30, random_state=0).fit(table[:1500])
    predicted, observed, _ = CalibrationDisplay.from_estimator(model, table[1500:]).curves["numbers"]
    assert abs(predicted - observed).max() < 0.05


def test_calibration_shows_a_model_of_other_people(model):
    others = people(500, seed=2).assign(age=lambda table: table["age"] + 15, town="Bern")
    curves = CalibrationDisplay.from_estimator(model, others).curves
    assert max(abs(predicted - observed).max() for predicted, observed, _ in curves.values()) > 0.2


def test_calibration_of_one_kind_of_columns():
    numbers = people(100)[["age"]].assign(size=1.5)
    imputer = NADEkImputer(max_iter=2, random_state=0).fit(numbers)
    assert list(CalibrationDisplay.from_estimator(imputer, numbers).curves) == ["numbers"]
    with pytest.raises(ValueError, match="expected rows with some values, found all cells missing"):
        CalibrationDisplay.from_estimator(imputer, numbers.mask(numbers.notna()))


def test_information_is_that_of_suggest_next(model):
    display = InformationDisplay.from_estimator(model)
    nothing = people(1).mask(np.ones((1, 4), dtype=bool))
    for j, name in enumerate(display.names):
        expected = model.suggest_next(nothing, target=[name]).iloc[0].to_numpy(dtype=float, copy=True)
        expected[j] = np.nan
        np.testing.assert_allclose(display.information[:, j], expected)


def test_displays_draw_on_given_axes(model):
    figure, axes = plt.subplots(1, 3)
    displays = (
        MissingDisplay.from_data(people(50), ax=axes[0]),
        CalibrationDisplay.from_estimator(model, people(50), ax=axes[1]),
        InformationDisplay.from_estimator(model, ax=axes[2]),
    )
    assert all(display.figure_ is figure and display.ax_.has_data() for display in displays)
    assert displays[1].plot().figure_ is not figure
