"""Imputation benchmark: measures by hand, the protocol, peers against enumeration."""

import json
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import imputation  # noqa: E402 - found through the line above
import imputation_data as data  # noqa: E402
import imputation_measures as m  # noqa: E402
import imputation_record as record  # noqa: E402
import outliers  # noqa: E402
from peers.bins import Bins  # noqa: E402
from peers.coding import Coding  # noqa: E402
from peers.marginals import conditionals  # noqa: E402
from peers.methods import Method, Setting  # noqa: E402
from peers.mixture import Mixture  # noqa: E402
from peers.tree import Tree  # noqa: E402

LEVELS = (2, 3, 1, 2)


def binary(p):
    """Return probabilities of both levels."""
    return np.stack([1 - np.array(p), np.array(p)], axis=-1)


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    return np.stack([first > 0, first, np.zeros(n), (first + rng.integers(0, 2, n)) % 2], axis=1).astype(float)


def test_binary_measures_by_hand():
    p = binary([[0.8, 0.4], [0.3, 0.1]])
    x, hidden = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[True, True], [True, False]])
    result = m.measures(p, x, hidden, (2, 2))
    losses = -np.log([0.8, 0.4, 0.7])
    assert result["log_loss"] == pytest.approx(losses.mean())
    assert result["brier"] == pytest.approx((0.2**2 + 0.6**2 + 0.3**2) / 3)
    assert result["accuracy"] == pytest.approx(2 / 3)
    assert result["auroc"] == 1.0
    assert result["cells"] == 3
    # Row sums less cells times the mean: two rows, so the factor 2 / (2 - 1), over three cells.
    off = np.array([losses[0] + losses[1] - 2 * losses.mean(), losses[2] - losses.mean()])
    assert result["standard_error"] == pytest.approx(np.sqrt(2 * (off**2).sum()) / 3)


def test_categorical_measures_by_hand():
    p = np.array([[[0.6, 0.4, 0.0], [0.2, 0.5, 0.3]], [[0.7, 0.3, 0.0], [0.1, 0.3, 0.6]]])
    x = np.array([[0.0, 2.0], [1.0, 1.0]])
    result = m.measures(p, x, np.ones((2, 2), bool), (2, 3))
    assert result["log_loss"] == pytest.approx(-np.log([0.6, 0.3, 0.3, 0.3]).mean())
    half = (0.4**2 * 2, 0.2**2 + 0.5**2 + 0.7**2, 0.7**2 * 2, 0.1**2 + 0.7**2 + 0.6**2)
    assert result["brier"] == pytest.approx(sum(half) / 8)
    assert result["accuracy"] == 0.25
    # One against the rest: both levels of the first column 0, levels 1 and 2 of the second 0; level 0 never occurs.
    assert result["auroc"] == 0.0


def test_reliability_by_hand():
    result = m.reliability(np.array([0.01, 0.02, 1.0]), np.array([0.0, 1.0, 1.0]))
    assert np.allclose(result["reliability"], [[0.015, 0.5, 2], [1.0, 1.0, 1]])
    assert result["calibration_error"] == pytest.approx(0.485 * 2 / 3)


def test_shrinkage():
    towards = m.frequencies(np.array([[0.0, 2.0], [0.0, np.nan], [1.0, 2.0]]), (2, 3))
    assert np.allclose(towards, [[3 / 5, 2 / 5, 0], [1 / 5, 1 / 5, 3 / 5]])
    p = np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    half = m.shrunk(p, towards, 0.5)
    assert np.allclose(half, [[[0.8, 0.2, 0], [0.1, 0.1, 0.8]]])
    none = m.shrunk(p, towards, 0.0)
    assert none[0, 0, 1] == pytest.approx(m.CLIP)
    assert none[0, 0, 2] == 0
    assert np.allclose(none.sum(2), 1)
    sure = binary(np.full((100, 1), 1.0))
    x = np.array([[1.0]] * 90 + [[0.0]] * 10)
    weight, loss = m.best_shrinkage(sure, np.array([[0.5, 0.5]]), x, np.ones((100, 1), bool))
    assert weight == 0.2  # nine in ten are right
    assert loss == pytest.approx(-0.9 * np.log(0.9) - 0.1 * np.log(0.1))


def test_hidden_cells_are_the_same():
    x = rows(2000)
    hidden = np.isnan(data.hide(x, 0.3, LEVELS, part="test"))
    assert np.array_equal(hidden, np.isnan(data.hide(x, 0.3, LEVELS, part="test")))
    assert not np.array_equal(hidden, np.isnan(data.hide(x, 0.3, LEVELS, part="valid")))
    assert not hidden[:, 2].any()
    assert hidden[:, [0, 1, 3]].mean() == pytest.approx(0.3, abs=0.02)


def test_sets_of_the_benchmark(data_dir, monkeypatch):
    monkeypatch.setenv("NADEK_DATA", str(data_dir))
    for name, columns in {"mushrooms": 21, "digits": 64}.items():
        table = data.table(name, rows=50)
        assert table.test.shape == (50, columns)
        assert (table.train < np.array(table.levels)).all()
        assert len(np.unique(table.train)) == max(table.levels)


def test_decoding_inverts_encoding():
    x = rows(5)
    x[0, 1], x[1, 0] = np.nan, np.nan
    coding = Coding(LEVELS)
    coded = coding.encode(x)
    assert coded.shape == (5, 5)
    assert np.isnan(coded[0, 1:4]).all()
    assert np.array_equal(coding.decode(coded)[2:].argmax(2), x[2:])
    values = np.array([[1.4, 0.1, -0.2, 0.3, 0.25]])
    assert np.allclose(coding.decode(values), [[[0, 1, 0], [0.25, 0, 0.75], [1, 0, 0], [0.75, 0.25, 0]]])


@pytest.mark.parametrize("peer", [Tree(), Mixture(3)], ids=["tree", "mixture"])
def test_peers_match_enumeration(peer):
    peer.fit(rows(), rows(50, seed=1), LEVELS)
    every = np.array(list(product(*map(range, LEVELS))), dtype=float)
    joint = np.exp(peer.log_prob(every))
    assert joint.sum() == pytest.approx(1, abs=1e-5)
    x = rows(30, seed=2)
    x[np.random.default_rng(3).random(x.shape) < 0.5] = np.nan
    result = peer.probabilities(x)
    for row, p in zip(x, result, strict=True):
        weight = joint * ((every == row) | np.isnan(row)).all(1)
        for column in np.isnan(row).nonzero()[0]:
            expected = np.bincount(every[:, column].astype(int), weight, minlength=3) / weight.sum()
            assert np.allclose(p[column], expected, atol=1e-5)
    assert np.allclose(conditionals(peer.log_prob, x, LEVELS)[np.isnan(x)], result[np.isnan(x)], atol=1e-5)


class Fixed:
    """Peer with one probability for every cell."""

    def __init__(self, p=0.5):
        self.p = p

    def fit(self, train, valid, levels):
        """Remember the share of missing cells."""
        self.missing = np.isnan(train).mean()
        if self.p is None:
            raise RuntimeError("no way\nat all")

    def probabilities(self, x):
        """Return the same everywhere."""
        assert not np.isnan(x).all()
        return binary(np.full(x.shape, self.p))


@pytest.fixture
def table():
    x = (np.random.default_rng(0).random((300, 4)) < 0.8).astype(float)
    return data.Table("coins", x[:100], x[100:200], x[200:], (2,) * 4)


@pytest.fixture
def method(monkeypatch):
    monkeypatch.setitem(sys.modules, "fixed", SimpleNamespace(Fixed=Fixed))
    settings = (Setting("unsure"), Setting("sure", {"p": 0.8}, holes=True), Setting("other", only="categorical"))
    return Method("fixed", "Fixed", "none", "fixed:Fixed", settings)


def test_settings_are_chosen_on_validation(table, method):
    first, second = imputation.attempted(table, method, [0.1, 0.5])
    assert (first["fraction"], second["fraction"]) == (0.1, 0.5)
    assert first["setting"] == second["setting"] == "sure"
    assert first["validation"].keys() == {"unsure", "sure"}
    hidden = np.isnan(data.hide(table.test, 0.5, table.levels, part="test"))
    assert second["cells"] == hidden.sum()
    expected = -np.log(np.where(table.test == 1, 0.8, 0.2))[hidden].mean()
    assert second["unshrunk_log_loss"] == pytest.approx(expected)
    assert first["fit_seconds"] >= 0


def test_failures_are_reported(table, method):
    broken = Method("fixed", "Fixed", "none", "fixed:Fixed", (Setting("", {"p": None}),))
    (result,) = imputation.attempted(table, broken, [0.3])
    assert result["error"] == "RuntimeError: no way"
    nan = Method("fixed", "Fixed", "none", "fixed:Fixed", (Setting("", {"p": np.nan}),))
    (result,) = imputation.attempted(table, nan, [0.3])
    assert result["error"] == "some of its probabilities are not finite"
    elsewhere = Method("far", "Far", "far-away", "far_away:Far")
    (result,) = imputation.attempted(table, elsewhere, [0.3])
    assert result["error"] == "far-away is not installed here"


def test_interrupted_run_goes_on(tmp_path):
    path, setup = tmp_path / "imputation.json", {"rows": None}
    one = {"set": "a", "fraction": 0.3, "method": "x", "title": "X", "log_loss": 0.2}
    first_run = record.Record(path, setup, {"numpy": "1"})
    for entry in (one, {**one, "method": "y", "title": "Y", "log_loss": 0.1}, {**one, "set": "b"}):
        first_run.add(entry)
    first_run.add({"set": "b", "fraction": 0.3, "method": "y", "title": "Y", "error": "no"})
    content = json.loads(path.read_text())
    assert list(content["results"]["a"]["30"]) == ["y", "x"]
    assert content["log_loss"]["30"] == [
        {"method": "y", "title": "Y", "a": 0.1},
        {"method": "x", "title": "X", "a": 0.2, "b": 0.2},
    ]
    assert [r["error"] for r in content["failed"]] == ["no"]
    again = record.Record(path, setup, {"scipy": "2"})
    assert again.libraries == {"numpy": "1", "scipy": "2"}
    assert not again.lacks(set="a", fraction=0.3, method="y")
    assert again.lacks(set="b", fraction=0.3, method="y")
    again.forget(set="a", fraction=0.3, method="y")
    assert again.lacks(set="a", fraction=0.3, method="y")
    again.add(one)
    assert [r["error"] for r in json.loads(path.read_text())["failed"]] == ["no"]  # still there
    again.add({"set": "b", "fraction": 0.3, "method": "y", "title": "Y", "log_loss": 0.1})
    assert json.loads(path.read_text())["failed"] == []
    with pytest.raises(ValueError, match="of another run"):
        record.Record(path, {"rows": 5}, {})


def test_bin_densities_integrate_to_one():
    x = np.random.default_rng(0).gamma(2.0, size=(400, 1))
    bins = Bins(x, 8)
    grid = np.linspace(-30, 60, 900_001)[:, None]
    code, density = bins.codes(grid)[:, 0], np.exp(bins.log_density(grid))
    area = [density[code == b].sum() * 1e-4 for b in range(bins.levels[0])]
    assert np.allclose(area, 1, atol=5e-3)


def test_outliers_are_of_unseen_class():
    every = list(outliers.cases("digits"))
    assert len(every) == 10
    assert all(0 < case.outlier.sum() < len(case.test) for case in every)
    assert all(len(case.train) + (~case.outlier).sum() + case.outlier.sum() == 1797 for case in every)
    result = outliers.measure("wine", "Chow-Liu tree")
    assert 0.8 < result["auroc"] < 1
    assert len(result["each"]) == 15
