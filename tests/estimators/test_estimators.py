"""The estimators do what they say: on tables of every kind, with holes, saved, copied, and on bad input."""

import copy
import inspect
import io
import pickle
import re
import warnings
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import joblib
import narwhals
import narwhals.stable.v1
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy.sparse import coo_array, csc_matrix, csr_array, dok_array
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import nadek
from nadek.checkpoints import load_saved
from nadek.estimators.fitting import fit_codes, recipe_for
from nadek.estimators.options import TRAINING, options_of, own_options
from nadek.inference import beam, greedy, level_probabilities
from nadek.models.cores import ResidualConfig
from nadek.tabular.columns import Binary, Categorical, Numeric, expected, n_levels
from nadek.tabular.encode import encode_table
from nadek.tabular.frames import read_frame
from nadek.training import fit
from nadek.training.defaults import defaults

ALL = (nadek.NADEk, nadek.NADEkImputer, nadek.NADEkOutlierDetector)
QUICK = {"max_iter": 3, "training": {"width": 16}, "random_state": 0}
NARROW = {"width": 16, "blocks": 1}


def people(n=120):
    """A table with a column of every kind; the first two of each pair hang together, and there are holes."""
    rng = np.random.default_rng(0)
    smoker, age = rng.integers(0, 2, n), rng.integers(20, 60, n).astype(float)
    table = pd.DataFrame(
        {
            "smoker": np.where(smoker, "yes", "no"),
            "cough": smoker ^ (rng.random(n) < 0.1),
            "city": rng.choice(["Bern", "Genf", "Ulm"], n),
            "age": age,
            "height": rng.normal(170, 9, n),
            "member": smoker == 1,
            "class": pd.Categorical(rng.choice(["a", "b", "c"], n), categories=["a", "b", "c", "z"]),
        }
    )
    table.loc[::7, "age"] = np.nan
    table.loc[1::5, "city"] = None
    table.loc[2::9, "class"] = np.nan
    table["visits"] = pd.array(rng.integers(0, 2, n), dtype="Int64")
    table.loc[3::4, "visits"] = pd.NA
    return table


def quick(**training):
    """`QUICK` with other options of the training."""
    return QUICK | {"training": {"width": 16} | training}


def as_(container, table):
    """The table in another container."""
    if container == "pandas":
        return table
    if container == "polars":
        return pl.from_pandas(table).with_columns(pl.col(pl.Categorical).cast(pl.Enum(["a", "b", "c", "z"])))
    if container == "numpy":
        return table.to_numpy(dtype=object)
    return pa.Table.from_pandas(table, preserve_index=False)


CONTAINERS = ("pandas", "polars", "pyarrow")


def holes(table):
    """Where a frame has no value."""
    frame = nw.from_native(table)
    return np.column_stack([frame[name].is_null().to_numpy() for name in frame.columns])


@pytest.fixture(scope="module")
def density():
    return nadek.NADEk(**QUICK, n_orderings=4).fit(people())


@pytest.fixture(scope="module")
def copies():
    """Two columns that agree, and a third by itself; enough of it to be learnt."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 400)
    return np.column_stack([first, first, rng.integers(0, 2, 400)]).astype(float)


@pytest.fixture
def holed(copies):
    """The same table, without every third cell of the second column."""
    table = copies.copy()
    table[::3, 1] = np.nan
    return table


@pytest.fixture(scope="module")
def learnt(copies):
    return nadek.NADEk(max_iter=40, random_state=0, n_orderings=6).fit(copies)


@pytest.fixture(scope="module")
def imputer(copies):
    return nadek.NADEkImputer(max_iter=40, random_state=0).fit(copies)


@pytest.fixture(scope="module")
def detector(copies):
    return nadek.NADEkOutlierDetector(max_iter=40, random_state=0).fit(copies)


def reloaded(estimator, folder):
    """What is read from where an estimator was saved."""
    estimator.save(folder)
    return type(estimator).load(folder)


def changed(estimator, **options):
    """A copy of a fitted estimator with other options for its answers."""
    return copy.deepcopy(estimator).set_params(**options)


def test_the_estimators_share_their_options():
    ours, imputer, detector = (set(estimator().get_params()) for estimator in ALL)
    assert imputer - ours == {"strategy", "n_imputations", "add_indicator", "keep_empty_features"}
    assert ours - imputer == {"n_orderings"}
    assert detector - ours == {"contamination"}
    for estimator in ALL:
        assert {one.kind for one in inspect.signature(estimator).parameters.values()} == {
            inspect.Parameter.KEYWORD_ONLY
        }


# --- construction ---------------------------------------------------------------------------------------------------


class Modes(nadek.NADEkImputer):
    """A subclass whose constructor takes few options, and one of its own."""

    def __init__(self, *, max_iter=2, random_state=0, digits=3):
        super().__init__(strategy="mode", n_bins=4, max_iter=max_iter, random_state=random_state, device="cpu")
        self.digits = digits


def test_subclass_with_preset_options_is_saved(holed, tmp_path):
    imputer = clone(Modes()).fit(holed)
    expected = nadek.NADEkImputer(strategy="mode", n_bins=4, max_iter=2, random_state=0, device="cpu").fit(holed)
    assert own_options(imputer) == {**expected.get_params(), "digits": 3}
    imputer.save(tmp_path / "model")
    copied = pickle.loads(pickle.dumps(imputer))
    for one in (imputer, copied, Modes.load(tmp_path / "model"), nadek.NADEkImputer.load(tmp_path / "model")):
        np.testing.assert_array_equal(one.transform(holed), expected.transform(holed))
        assert (one.n_bins, one.strategy) == (4, "mode")


def test_subclass_with_preset_options_is_loaded(holed, tmp_path):
    imputer = nadek.NADEkImputer(**QUICK, strategy="mode", n_bins=4).fit(holed)
    imputer.save(tmp_path / "model")
    loaded = Modes.load(tmp_path / "model")
    assert (loaded.device, loaded.max_iter, loaded.n_bins) == ("auto", imputer.max_iter, 4)
    np.testing.assert_array_equal(loaded.transform(holed), imputer.transform(holed))


def test_missing_cells_are_completed_in_training(copies, holed):
    used, completed = (
        [nadek.NADEk(**QUICK, missing=missing).fit(table).score_samples(copies) for table in (copies, holed)]
        for missing in ("use", "complete")
    )
    np.testing.assert_array_equal(used[0], completed[0])
    assert (used[1] != completed[1]).any()


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("max_iter", 0, "max_iter: expected a whole number of at least 1 or 'auto', found 0"),
        ("steps", 2.5, "steps: expected a whole number of at least 1 or 'auto', found 2.5"),
        ("width", "wide", "width: expected a whole number of at least 1 or 'auto', found 'wide'"),
        ("blocks", True, "blocks: expected a whole number of at least 1 or 'auto', found True"),
        ("batch_size", -1, "batch_size: expected a whole number"),
        ("learning_rate", 0, "learning_rate: expected a number above 0 or 'auto', found 0"),
        ("weight_decay", -0.1, "weight_decay: expected a number of at least 0"),
        ("dropout", 1, "dropout: expected a number of at least 0 and below 1 or 'auto', found 1"),
        ("validation_fraction", 1.0, "validation_fraction: expected a number above 0 and below 1, found 1.0"),
        ("n_iter_no_change", 0, "n_iter_no_change: expected a whole number of at least 1 or 'auto' or None"),
        ("training", [3], "training: expected a dictionary of options, found [3]"),
        ("training", {"depth": 3}, "training: expected options among steps, width, blocks, dropout, learning_rate"),
        ("missing", "guess", "missing: expected one of 'auto', 'use', 'complete', found 'guess'"),
        ("n_bins", 1, "n_bins: expected a whole number of at least 2"),
        ("n_orderings", 0, "n_orderings: expected a whole number of at least 1"),
        ("verbose", -1, "verbose: expected a whole number"),
        ("random_state", "a", "random_state: 'a' cannot be used to seed"),
        ("early_stopping", "yes", "early_stopping: expected one of True, False, found 'yes'"),
        ("warm_start", 1, "warm_start: expected one of True, False, found 1"),
        ("device", "abacus", "device: expected 'auto', 'cpu' or another device that this machine has, found 'abacus'"),
        ("categorical_features", ["age"], "categorical_features: found the column name 'age'"),
        ("categorical_features", [3], "categorical_features: expected indices from 0 to 2, found 3"),
        ("categorical_features", [True, False], "categorical_features: expected a mask of 3 booleans, found 2"),
        ("categorical_features", 1.5, "categorical_features: expected column names or indices, found 1.5"),
    ],
)
def test_wrong_options_are_named_in_fit(copies, option, value, expected):
    with pytest.raises(ValueError, match=r"^" + re.escape(expected)):
        nadek.NADEk(**(quick(**{option: value}) if option in TRAINING else {**QUICK, option: value})).fit(copies)


@pytest.mark.parametrize(
    ("estimator", "option", "value", "message"),
    [
        (nadek.NADEkImputer, "strategy", "most", "strategy: expected one of 'mean', 'median', 'mode', 'sample', found"),
        (nadek.NADEkImputer, "n_imputations", 0, "n_imputations: expected a whole number of at least 1, found 0"),
        (nadek.NADEkImputer, "add_indicator", "no", "add_indicator: expected one of True, False"),
        (nadek.NADEkOutlierDetector, "contamination", 0.6, "contamination: expected a number above 0 and at most 0.5"),
        (nadek.NADEkOutlierDetector, "contamination", 0, "contamination: expected a number above 0"),
    ],
)
def test_wrong_own_options_are_named(copies, imputer, estimator, option, value, message):
    uses = [lambda: estimator(**{option: value}).fit(copies)]
    if estimator is nadek.NADEkImputer:  # whose options may change after the fit
        wrong = changed(imputer, **{option: value})
        uses += [lambda: wrong.transform(copies), lambda: wrong.transform_multiple(copies)]
    for use in uses:
        with pytest.raises(ValueError, match=f"^{message}"):
            use()


# --- what columns are -----------------------------------------------------------------------------------------------


def test_columns_follow_type_and_values(density):
    kinds = [type(column) for column in density.columns_]
    assert kinds == [Binary, Binary, Categorical, Numeric, Numeric, Binary, Categorical, Binary]
    assert list(density.levels_["city"]) == ["Bern", "Genf", "Ulm"]
    assert list(density.levels_["smoker"]) == ["no", "yes"]
    assert 8 < len(density.levels_["height"]) <= 16


@pytest.mark.parametrize("which", [["grade"], [1], [False, True]])
def test_numbers_can_be_declared_categories(which):
    table = pd.DataFrame({"yes": [0, 1] * 10, "grade": [1, 2, 3, 1] * 5})
    plain, declared = (nadek.NADEk(**QUICK, categorical_features=told).fit(table) for told in (None, which))
    assert isinstance(plain.columns_[1], Numeric)
    assert plain.levels_["grade"].tolist() == [1.0, 2.0, 3.0]  # few different ones: each has a bin of its own
    assert declared.columns_[1] == Categorical(levels=(1, 2, 3))


def test_listed_categories_are_known_unseen():
    table = people()
    assert "z" not in set(table["class"])
    for container in ("pandas", "polars"):  # whose types list them
        model = nadek.NADEk(**QUICK, n_orderings=2).fit(as_(container, table))
        assert list(model.levels_["class"]) == ["a", "b", "c", "z"]
        assert np.isfinite(model.score_samples(as_(container, table.assign(**{"class": "z"})))).all()


def test_scores_ignore_the_number_type():
    rating = np.arange(120) % 11 / 10
    table = pd.DataFrame({"rating": rating, "b": (rating > 0.5).astype(int)})
    detector = nadek.NADEkOutlierDetector(**QUICK, n_orderings=2).fit(table)
    expected = detector.score_samples(table)
    decimals = pa.array([Decimal(n % 11) / 10 for n in range(120)], pa.decimal128(18, 1))
    for dtype in ("float32", "Float32", "float[pyarrow]", "float16", pd.ArrowDtype(decimals.type)):
        rating = pd.Series(decimals if isinstance(dtype, pd.ArrowDtype) else rating, dtype=dtype)
        arrow = pa.table({"rating": pa.array(rating), "b": table["b"]})
        for frame in (table.assign(rating=rating), arrow, pl.from_arrow(arrow)):
            np.testing.assert_array_equal(detector.score_samples(frame), expected)
    again = nadek.NADEkOutlierDetector(**QUICK, n_orderings=2).fit(table.astype({"rating": "float32"}))
    np.testing.assert_array_equal(again.score_samples(table), expected)


def test_decimals_are_numbers():
    """Some of these Arrow casts to floats that are not the nearest ones."""
    prices = [Decimal(cents) / 100 for cents in (115, 235, 435, 735, 995, 1999, 57, 29)] * 8
    floats = [float(price) for price in prices]
    for given in (prices, pd.array(prices, pd.ArrowDtype(pa.decimal128(18, 2)))):
        table = pd.DataFrame({"price": given, "b": [0, 1] * 32})
        column = nadek.NADEk(**QUICK).fit(table).columns_[0]
        assert (column.low, *column.edges) == tuple(sorted(set(floats)))
        table.loc[::5, "price"] = None
        filled = nadek.NADEkImputer(**QUICK, strategy="mode").fit_transform(table)
        assert filled["price"].dtype == table["price"].dtype
        assert filled["price"][1:5].tolist() == prices[1:5]
        assert {float(price) for price in filled["price"]} <= set(floats)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2] * 9 + ["unknown", 1], r'^row 19, column "c": expected numbers or missing, found \'unknown\'$'),
        ([1.5, 2.0] * 9 + [np.inf], r'^row 19, column "c": expected a finite number or missing, found inf$'),
        (
            pd.Categorical(["a", "b"] * 9, categories=["a", "b", 3]),
            r'^categories of the type of column "c": row 3, column "c": expected text or missing, found 3$',
        ),
    ],
)
def test_wrong_category_is_named_by_row(values, message):
    with pytest.raises(ValueError, match=message):
        nadek.NADEk(**QUICK).fit(pd.DataFrame({"c": pd.Categorical(values)}))


@pytest.mark.parametrize(
    "wrap",
    [
        narwhals.from_native,
        narwhals.stable.v1.from_native,
        nw.from_native,
        lambda table: pa.RecordBatch.from_pandas(table, preserve_index=False),
    ],
    ids=["narwhals", "narwhals 1", "narwhals 2", "batch of Arrow"],
)
def test_other_frames_are_tables(wrap):
    table = people()
    imputer = nadek.NADEkImputer(**QUICK).fit(wrap(table))
    assert list(imputer.feature_names_in_) == list(table.columns)
    filled = imputer.transform(wrap(table))
    assert isinstance(filled, pd.DataFrame | pa.Table)
    assert nw.from_native(filled).rows() == nw.from_native(nadek.NADEkImputer(**QUICK).fit_transform(table)).rows()


@pytest.mark.parametrize(("named", "example"), [(True, "['name', 'town', ...]"), (False, "[0, 2, ...]")])
def test_many_texts_need_a_declaration(named, example):
    table = pd.DataFrame({"name": [f"person {i}" for i in range(40)], "yes": [0, 1] * 20})
    table = table.assign(town=table["name"].str.replace("person", "town"))
    table = table if named else table.to_numpy(dtype=object)
    with pytest.raises(ValueError, match=r'^column ".*" has 40 .*; column ".*" has 40 ') as error:
        nadek.NADEk(**QUICK).fit(table)
    assert str(error.value).endswith(f"(categorical_features={example} says so)")
    model = nadek.NADEk(**QUICK, categorical_features=["name", "town"] if named else [0, 2]).fit(table)
    assert len(model.columns_[0].levels) == 40


def test_intervals_are_ordered_and_come_back(tmp_path):
    age = np.arange(90)
    table = pd.DataFrame({"age": pd.cut(age, [-1, 30, 60, 100]), "third": pd.qcut(age, 3), "old": age > 60})
    holes = table.mask(np.eye(3, dtype=bool)[age % 9 % 3] & (age % 9 < 2)[:, None]).astype(table.dtypes[:2].to_dict())
    model = nadek.NADEk(**QUICK).fit(holes)
    assert [column.kind for column in model.columns_] == ["ordinal", "ordinal", "binary"]
    whole = nadek.NADEkImputer(**QUICK).fit_transform(holes)
    assert (whole[["age", "third"]].dtypes == table.dtypes[:2]).all()
    assert ((whole == table) | holes.isna()).all(axis=None)
    assert (model.sample(5).dtypes == table.dtypes).all()
    loaded = reloaded(model, tmp_path / "model")
    np.testing.assert_array_equal(loaded.score_samples(holes), model.score_samples(holes))
    assert list(loaded.sample(5)["age"].cat.categories) == ["(-1, 30]", "(30, 60]", "(60, 100]"]
    alike = holes.assign(age=pd.Series(pd.cut(age, [-1.0, 30, 60, 100])).where(holes["age"].notna()))
    np.testing.assert_array_equal(model.score_samples(alike), model.score_samples(holes))  # 30 and 30.0 are one number
    others = table.assign(age=pd.cut(np.where(age % 2, age, np.nan), [30, 60]))
    filled = nadek.NADEkImputer(**QUICK, handle_unknown="missing").fit(holes).transform(others)["age"]
    assert {type(one) for one in filled.cat.categories} == {str}  # its type holds no other intervals


def test_columns_may_have_more_levels_than_a_byte_holds(tmp_path):
    city = pd.Categorical([f"city {i % 300}" for i in range(900)])
    table = pd.DataFrame({"city": city, "again": city, "late": np.arange(900) % 300 > 255})
    model = nadek.NADEk(max_iter=15, memory=True, n_orderings=2, random_state=0).fit(table)
    hidden = table.assign(again=None)
    assert (model.predict_missing_proba(hidden)["again"].argmax(1) == city.codes).mean() > 0.9
    drawn = model.sample(200)
    assert ((drawn["again"] == drawn["city"]) & drawn["late"]).sum() > 10
    np.testing.assert_array_equal(reloaded(model, tmp_path / "model").score_samples(table), model.score_samples(table))


# --- containers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
def test_frames_answer_alike_and_keep_type(container, density):
    table = as_(container, people())
    model = nadek.NADEk(**QUICK, n_orderings=4).fit(table)
    np.testing.assert_array_equal(model.score_samples(table), density.score_samples(people()))
    drawn = model.sample(5, random_state=0)
    assert type(drawn) is type(table)
    frame, old = nw.from_native(drawn), nw.from_native(table)
    assert frame.schema == old.schema
    assert frame["smoker"].to_list() == density.sample(5, random_state=0)["smoker"].tolist()


@pytest.mark.parametrize("strategy", ["mean", "median", "mode", "sample"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_imputed_frames_keep_observed_cells(container, strategy):
    table = as_(container, people())
    filled = nadek.NADEkImputer(**QUICK, strategy=strategy).fit(table).transform(table)
    assert type(filled) is type(table)
    assert not holes(filled).any()
    new, old = nw.from_native(filled), nw.from_native(table)
    for name, hole in zip(old.columns, holes(table).T, strict=True):
        for was, now, missing in zip(old[name].to_list(), new[name].to_list(), hole, strict=True):
            assert missing or was == now
        averaged = strategy == "mean" and name == "visits"  # a probability: no whole number any more
        assert new.schema[name] == (nw.Float64 if averaged else old.schema[name])
    if container == "pandas":
        assert filled.index.equals(table.index)


def test_intervals_hold_numbers():
    first = np.random.default_rng(0).normal(size=(800, 1))
    X = np.hstack([first, first + 0.5 * np.random.default_rng(1).normal(size=(800, 2)), first > 0])
    imputer = nadek.NADEkImputer(random_state=0, categorical_features=[3], max_iter=40).fit(X[:500])
    hidden = np.where(np.arange(4) == 1, np.nan, X[500:])
    quantiles = imputer.predict_missing_quantiles(hidden, [0.0, 0.05, 0.5, 0.95, 1.0])
    assert list(quantiles) == [0, 1, 2]  # the fourth has categories
    np.testing.assert_allclose(quantiles[2], np.repeat(X[500:, [2]], 5, axis=1))
    lowest, low, median, high, highest = quantiles[1].T
    assert (lowest == X[:500, 1].min()).all()
    assert ((high <= highest) & (highest <= X[:500, 1].max())).all()
    assert ((low < X[500:, 1]) & (X[500:, 1] < high)).mean() == pytest.approx(0.9, abs=0.08)
    np.testing.assert_array_equal(imputer.set_params(strategy="median").transform(hidden)[:, 1], median)
    draws = imputer.set_params(n_imputations=40).transform_multiple(hidden[:100], random_state=0)
    below = np.mean([one[:, 1] < low[:100] for one in draws])
    assert below == pytest.approx(0.05, abs=0.015)
    hidden[:, 3] = np.nan  # the numbers are known: these are their own quantiles
    hidden[:, 1] = X[500:, 1]
    np.testing.assert_allclose(imputer.predict_missing_quantiles(hidden, [0.5])[1][:, 0], X[500:, 1])
    with pytest.raises(ValueError, match=r"quantiles: expected a number from 0 to 1, found 50\.0"):
        imputer.predict_missing_quantiles(hidden, [50.0])
    with pytest.raises(ValueError, match=r"quantiles: expected a list of numbers from 0 to 1, found \[\]"):
        imputer.predict_missing_quantiles(hidden, [])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.bool_, object])
def test_arrays_keep_their_type(copies, dtype):
    table = copies.astype(dtype)
    if dtype in (np.float32, np.float64):
        table[::3, 0] = np.nan
    if dtype is object:
        table[::3, 0] = None
    filled = nadek.NADEkImputer(**QUICK).fit_transform(table)
    assert filled.dtype == table.dtype
    assert not pd.isna(filled).any()
    assert nadek.NADEk(**QUICK).fit(table).sample(4).dtype == table.dtype


@pytest.mark.parametrize("sparse", [csr_array, coo_array, csc_matrix, dok_array])
def test_sparse_matrices_are_read_as_dense_ones(copies, holed, sparse):
    dense, stored = (nadek.NADEk(**QUICK).fit(kind(copies), X_val=kind(copies)) for kind in (np.array, sparse))
    np.testing.assert_array_equal(stored.score_samples(sparse(holed)), dense.score_samples(holed))
    imputer = nadek.NADEkImputer(**QUICK).fit(sparse(holed))
    np.testing.assert_array_equal(imputer.transform(sparse(holed)), imputer.transform(holed))


def test_lists_keep_numbers_and_words_apart(copies):
    rows = [["yes", 1.5], ["no", 2.5], [None, 3.5]] * 5
    model = nadek.NADEk(**QUICK).fit(rows)
    assert [type(column) for column in model.columns_] == [Binary, Numeric]
    assert model.sample(3).dtype == object
    model = nadek.NADEk(**QUICK).fit([[5.0, 0], [5.0, 1], [5.0, 1]])  # a constant is a number
    assert model.score_samples([[7.0, 1]]) < model.score_samples([[5.0, 1]])
    model = nadek.NADEk(**QUICK).fit(pd.DataFrame(copies))  # whose columns have positions for names
    assert not hasattr(model, "feature_names_in_")
    assert list(model.levels_) == list(model.sample(2).columns) == [0, 1, 2]


def test_columns_in_another_order_come_with_advice():
    table = pd.DataFrame({"a": [0, 1] * 20, "b": [0, 1, 1, 0] * 10})
    model = nadek.NADEk(**QUICK).fit(table)
    with pytest.raises(ValueError, match="feature names should match") as error:
        model.score_samples(table[["b", "a"]])
    assert "reindex(columns=model.feature_names_in_)" in error.value.__notes__[0]


def test_integers_are_positions_never_names():
    table = pd.DataFrame({10: [0, 1] * 10, 1: [1, 2, 3, 1] * 5, 0: [5, 7, 9, 7] * 5})
    model = nadek.NADEk(**QUICK, categorical_features=[1]).fit(table)
    assert [type(column) for column in model.columns_] == [Binary, Categorical, Numeric]
    message = r"^categorical_features: expected indices from 0 to 2, found 10 \(integers are positions, from 0\)$"
    with pytest.raises(ValueError, match=message):
        nadek.NADEk(**QUICK, categorical_features=[10]).fit(table)


def test_masked_cells_are_missing():
    rng = np.random.default_rng(0)
    plain, mask = rng.integers(0, 5, (60, 3)).astype(float), rng.random((60, 3)) < 0.2
    holes = np.where(mask, np.nan, plain)
    expected = nadek.NADEkImputer(**QUICK).fit_transform(holes)
    for dtype in (np.float64, np.int64, np.uint8):
        masked = np.ma.masked_array(np.where(mask, 77, plain).astype(dtype), mask=mask)
        np.testing.assert_array_equal(nadek.NADEkImputer(**QUICK).fit_transform(masked), expected)
    density = nadek.NADEk(**QUICK, n_orderings=2).fit(holes)
    np.testing.assert_array_equal(density.score_samples(masked), density.score_samples(holes))
    words = np.array(["a", "b", "c", "d", "e"])[plain.astype(int)]
    for values in (words, words.astype(object), plain > 2, plain.astype(np.int64) + 2**60):
        filled = nadek.NADEkImputer(**QUICK).fit_transform(np.ma.masked_array(values, mask=mask))
        assert filled.dtype == object
        assert (filled == values)[~mask].all()
        assert not pd.isna(filled).any()
    assert nadek.NADEkImputer(**QUICK).fit_transform(np.ma.masked_array(words)).dtype == words.dtype


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("given", ["numbers", "text", *CONTAINERS])
def test_set_output_applies_to_every_completion(library, given):
    array = np.array([["a", 1.0], ["b", None], ["c", 0.0]] * 20, dtype=object)
    array[1::6, 1], array[1::5, 1] = 1.0, None
    table = {"numbers": array[:, 1:].astype(float), "text": array}.get(given)
    table = as_(given, people()) if table is None else table
    imputer = nadek.NADEkImputer(**QUICK, strategy="sample", n_imputations=2, add_indicator=True)
    imputer.set_output(transform=library).fit(table)
    one, several = imputer.transform(table), imputer.transform_multiple(table)
    assert isinstance(one, pd.DataFrame if library == "pandas" else pl.DataFrame)
    for other in several:
        assert list(other.columns) == list(one.columns) == list(imputer.get_feature_names_out())
        assert nw.from_native(other).schema == nw.from_native(one).schema


def kind_of(column):
    """The type of a column, as its library says it."""
    kind = getattr(column, "dtype", None)
    return column.type if kind is None else kind


def labelled(column):
    """A short name for a column of any library."""
    return f"{type(column).__module__.split('.')[0]}-{kind_of(column)}"


def beside(column, name, other):
    """A frame of this column, called so, and a binary column ``u`` that repeats some values."""
    frame = nw.from_native(column, series_only=True).alias(name).to_frame()
    values = [other[row % len(other)] for row in range(len(frame))]
    return frame.with_columns(nw.new_series("u", values, backend=frame.implementation)).to_native()


# --- density --------------------------------------------------------------------------------------------------------


def test_it_learns_that_columns_agree(learnt, copies):
    agree, differ = learnt.score_samples([[1, 1, 0], [1, 0, 0]])
    assert np.exp(agree) == pytest.approx((copies == [1, 1, 0]).all(1).mean(), abs=0.03)
    assert differ < -4
    assert learnt.score(copies) == pytest.approx(learnt.score_samples(copies).mean(), abs=1e-12)


def test_mixture_is_scored_and_sampled(learnt):
    every = np.array(list(product([0.0, 1.0], repeat=3)))
    single = np.stack([learnt.log_prob(every, ordering=ordering) for ordering in learnt.orderings_])
    np.testing.assert_allclose(learnt.score_samples(every), np.log(np.exp(single).mean(0)), atol=1e-12)
    np.testing.assert_allclose(learnt.ordering_spread(every), single.std(0, ddof=1), atol=1e-12)
    drawn = learnt.sample(4000, random_state=0)
    counts = np.bincount((drawn @ [4, 2, 1]).astype(int), minlength=8)
    assert chisquare(counts, 4000 * np.exp(learnt.score_samples(every))).pvalue > 0.001


def test_samples_follow_the_scored_orderings(tmp_path):
    config = nadek.ModelConfig(n_variables=3, core=ResidualConfig(width=8), steps=1, init_std=2.0)
    network = nadek.IterativeNADE(config, generator=torch.Generator().manual_seed(1))  # whose orderings disagree
    nadek.save(tmp_path / "model", nadek.SavedModel(network, nadek.Schema()))
    model = nadek.NADEk.load(tmp_path / "model", device="cpu")
    model.orderings_ = model.orderings_[:1]
    every = np.array(list(product([0.0, 1.0], repeat=3)))
    expected = np.exp(model.log_prob(every, ordering=model.orderings_[0]))
    other = np.exp(model.log_prob(every, ordering=model.orderings_[0][::-1]))
    assert np.abs(expected - other).max() > 0.1
    counts = np.bincount((model.sample(4000, random_state=0) @ [4, 2, 1]).astype(int), minlength=8)
    assert chisquare(counts + 1e-9, 4000 * expected / expected.sum() + 1e-9).pvalue > 0.001


def test_marginals_and_conditions_are_distributions(learnt):
    row, zero, one = [[1, np.nan, 0]], [[1, 0, 0]], [[1, 1, 0]]
    either = np.logaddexp(learnt.log_prob(zero, ordering=[2, 0, 1]), learnt.log_prob(one, ordering=[2, 0, 1]))
    np.testing.assert_allclose(learnt.log_prob(row, ordering=[2, 0, 1]), either, atol=1e-12)
    assert learnt.score_samples([[np.nan] * 3]) == 0
    conditions = learnt.conditional_log_prob([[1, value, np.nan] for value in (0, 1)], given=[0, 2])
    assert np.exp(conditions).sum() == pytest.approx(1, abs=1e-12)
    assert conditions[1] > np.log(0.9)
    np.testing.assert_allclose(learnt.conditional_log_prob(one, given=[]), learnt.score_samples(one), atol=1e-12)


def test_missing_probabilities_match_the_conditions(learnt):
    found = learnt.predict_missing_proba([[1, np.nan, 0]])
    assert set(found) == {0, 1, 2}
    np.testing.assert_array_equal(found[0], [[0, 1]])
    one = learnt.log_prob([[1, 1, 0]], ordering=[0, 2, 1]) - learnt.log_prob([[1, np.nan, 0]], ordering=[0, 2, 1])
    np.testing.assert_allclose(found[1][0, 1], np.exp(one), atol=1e-12)


def test_probabilities_have_levels_of_column(density, monkeypatch):
    whole = density.predict_missing_proba(people())
    monkeypatch.setattr("nadek.inference.sampling.PROBABILITIES", 1)  # one row at a time
    by_row = density.predict_missing_proba(people())
    for name, levels in density.levels_.items():
        assert whole[name].shape == (120, len(levels))
        np.testing.assert_allclose(whole[name].sum(1), 1, atol=1e-12)
        np.testing.assert_allclose(by_row[name], whole[name], rtol=0, atol=1e-12)


def test_completions_are_joint_draws(learnt):
    unknown = np.tile([[np.nan, np.nan, 1.0]], (300, 1))
    first, second = learnt.sample_conditional(unknown, 2, random_state=0)
    assert (first[:, 2] == 1).all()
    assert (first[:, 0] == first[:, 1]).mean() > 0.95  # drawn from each cell's own probabilities, half would agree
    assert 0.4 < first[:, 0].mean() < 0.6
    assert (first != second).any()
    known = np.column_stack([np.arange(60) % 3 > 0, np.full((60, 2), np.nan)]).astype(float)
    (whole,) = learnt.sample_conditional(known, random_state=0)
    assert (whole[:, 0] == whole[:, 1]).mean() > 0.95  # each row gets its own draw


def test_draws_do_not_depend_on_cutting(density, tmp_path):
    """Numbers neither, of which a code leaves half of an outer bin open."""
    table = people()
    table.loc[::2, "height"] = np.nan
    table = table.drop_duplicates(ignore_index=True)[:30]
    density.save(tmp_path / "model")
    imputer = nadek.NADEkImputer.load(tmp_path / "model").set_params(strategy="sample")
    for draw in (imputer.transform, lambda table: density.sample_conditional(table, random_state=3)[0]):
        whole = draw(table)
        cut = pd.concat([draw(table[:11]), draw(table[11:])])
        pd.testing.assert_frame_equal(cut, whole, check_dtype=False)
        pd.testing.assert_frame_equal(draw(table.iloc[::-1]).iloc[::-1], whole)
    pd.testing.assert_frame_equal(density.sample(30, random_state=0).iloc[:7], density.sample(7, random_state=0))


@pytest.mark.parametrize("method", ["beam", "greedy", "certain"])
def test_completions_tell_how_probable_they_are(learnt, method):
    whole, reached = learnt.complete([[1, np.nan, np.nan], [0, 0, 1]], method=method)
    assert whole[0, 1] == 1
    assert reached[1] == 0
    best = max(learnt.conditional_log_prob([[1, 1, last]], given=[0])[0] for last in (0, 1))
    assert reached[0] == pytest.approx(best, abs=0.1)


@pytest.mark.parametrize("method", ["beam", "greedy", "certain"])
def test_completions_follow_the_options(density, method):
    table = people()
    table[["cough", "age", "class"]] = None
    codes = density._read(table)[1]
    visited = [7, 3, 0, 6, 1, 5, 2, 4]
    network, ordering = density.network_, torch.tensor(visited)
    expected = {
        "beam": lambda: beam(network, codes, width=3, ordering=ordering),
        "greedy": lambda: greedy(network, codes, ordering=ordering),
        "certain": lambda: greedy(network, codes, most_certain_first=True),
    }[method]()
    along = None if method == "certain" else [table.columns[j] for j in visited]
    whole, reached = density.complete(table, method=method, n_tries=3, ordering=along)
    assert isinstance(whole, pd.DataFrame)
    assert not whole.isna().any(axis=None)
    assert reached.tolist() == expected.log_prob.tolist()


def test_most_informative_question_comes_next(learnt):
    gain = learnt.suggest_next([[np.nan, np.nan, np.nan], [1, np.nan, np.nan]], target=[1])
    np.testing.assert_array_equal(gain, learnt.suggest_next([[np.nan] * 3, [1, np.nan, np.nan]], target=1))
    assert gain[0, 0] > 0.4 > 0.05 > gain[0, 2]
    assert np.isnan(gain[0, 1])  # a target is no question
    assert np.isnan(gain[1, 0])
    everything = learnt.suggest_next([[np.nan, np.nan, 1]])
    assert everything[0, 0] == pytest.approx(everything[0, 1], abs=0.1)
    with pytest.raises(ValueError, match=r"^target: expected an unknown cell of it in every row, found none in row 2$"):
        learnt.suggest_next([[np.nan, 1, 1], [1, np.nan, 1]], target=[0])
    with pytest.raises(ValueError, match=r"^target: expected an unknown cell of it in every row, found none in row 1$"):
        learnt.suggest_next([[np.nan, 1, 1]], target=[])


LARGE = [9007199254740993, -(2**60) - 1, 5, None] * 15
EXTREME = [2**63 - 1, -(2**63), 5, None] * 15
DECIMAL = [Decimal("12345678901234567.89"), Decimal("0.10"), Decimal("7.35"), None] * 15


@pytest.mark.slow
@pytest.mark.parametrize(
    "column",
    [
        pd.Series(LARGE, dtype="Int64"),
        pd.Series(LARGE, dtype="int64[pyarrow]"),
        pd.Series(EXTREME, dtype="Int64"),
        pd.Series([3, 2**64 - 1, 2**63 + 1, None] * 15, dtype="UInt64"),
        pd.Series([3, 2**53 + 1, -(2**53) - 1, None] * 15, dtype="object"),
        pl.Series(LARGE),
        pl.Series(DECIMAL, dtype=pl.Decimal(20, 2)),
        pa.chunked_array([LARGE]),
        pa.chunked_array([pa.array(DECIMAL, pa.decimal128(20, 2))]),
        pd.Series(pd.array(DECIMAL, pd.ArrowDtype(pa.decimal128(20, 2))), index=range(60, 0, -1)),
    ],
    ids=labelled,
)
@pytest.mark.parametrize("options", [{}, {"categorical_features": ["id"]}], ids=["numbers", "categories"])
def test_observed_large_integers_are_unchanged(column, options):
    table = beside(column, "id", [0, 1, 1, 0, 1])
    old = nw.from_native(table)["id"]
    given = old.drop_nulls().to_list()
    a_level = bool(options) and old.dtype != nw.UInt64 and not old.dtype.is_decimal()
    for strategy in ("mode", "sample", "mean"):
        filled = nadek.NADEkImputer(**QUICK, **options, strategy=strategy).fit_transform(table)
        new = nw.from_native(filled)["id"]
        assert new.dtype == old.dtype
        for was, now in zip(old.to_list(), new.to_list(), strict=True):
            assert not pd.isna(now)
            assert pd.isna(was) or now == was
            assert now in given or not a_level


@pytest.mark.parametrize(
    "missing",
    [
        pd.Series([None, None], dtype="Int64"),
        pl.Series([None, None], dtype=pl.Int64),
        pa.chunked_array([pa.array([None, None], pa.int64())]),
        pd.Series([None, 5.0], dtype="Float32"),
        pl.Series([None, 5.0], dtype=pl.Float64),
        pl.Series([None, None]),
        pa.chunked_array([pa.nulls(2)]),
    ],
    ids=labelled,
)
def test_large_integer_of_a_frame_is_filled_exactly(missing):
    imputer = nadek.NADEkImputer(**QUICK, categorical_features=["id"])
    imputer.fit(pd.DataFrame({"id": LARGE[:3] * 20, "u": [0, 1, 1, 0, 1] * 12}))
    asked = beside(missing, "id", [0, 1])
    old, filled = (nw.from_native(frame)["id"] for frame in (asked, imputer.transform(asked)))
    assert old.dtype in (nw.Unknown, filled.dtype)
    known = nw.new_series("id", LARGE[:3], nw.Int64, backend="polars").cast(filled.dtype)
    assert set(filled.to_list()) <= set(known.to_list())


EMPTY = (
    pd.Series([np.nan] * 4),
    pd.Series([np.nan] * 4, dtype="float32"),
    *(pd.Series([None] * 4, dtype=dtype) for dtype in ("Int64", "Int8", "boolean", "double[pyarrow]", "object")),
    *(pl.Series([None] * 4, dtype=dtype) for dtype in (pl.Float64, pl.Int64, pl.Boolean, pl.Null, pl.String)),
    *(pa.chunked_array([pa.nulls(4, kind)]) for kind in (pa.float64(), pa.int8(), pa.bool_(), pa.null())),
)


@pytest.mark.slow
@pytest.mark.parametrize("empty", EMPTY, ids=labelled)
def test_empty_column_is_filled(empty):
    """As `pandas.read_csv` makes one of floats out of a column of text without any."""
    train = pd.DataFrame(
        {
            "e": ["x", "y", "z"] * 20,
            "n": [30_000, 5, 1000] * 20,
            "t": [True, False, False] * 20,
            "u": [0, 1, 1] * 20,
        }
    )
    imputer, density = nadek.NADEkImputer(**QUICK, strategy="mode").fit(train), nadek.NADEk(**QUICK).fit(train)
    for name in ("e", "n", "t"):
        old = nw.from_native(empty, series_only=True)
        asked = nw.from_dict({other: train[other][:4].tolist() for other in train}, backend=old.implementation)
        asked = asked.with_columns(old.alias(name)).to_native()
        for whole in (imputer.transform(asked), density.complete(asked)[0]):
            assert set(nw.from_native(whole)[name].to_list()) <= set(train[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        pd.Series([None, 5], dtype="Int8"),
        pd.Series([None, 5], dtype="int8[pyarrow]"),
        pd.Series([np.nan, 5], dtype="float16"),
        pd.Series([None, Decimal("5.00")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
        pl.Series([None, 5], dtype=pl.Int8),
        pl.Series([None, Decimal("5.00")], dtype=pl.Decimal(5, 2)),
        pa.chunked_array([pa.array([None, 5], pa.uint8())]),
        pa.chunked_array([pa.array([None, Decimal("5.00")], pa.decimal128(5, 2))]),
    ],
    ids=labelled,
)
@pytest.mark.parametrize("strategy", ["mode", "mean", "sample"])
def test_too_narrow_type_is_widened(asked, strategy):
    values = np.where(np.arange(90) % 3, 90_000, 89_000) + np.arange(90)
    train = pd.DataFrame({"n": values, "u": [0, 1, 1] * 30})
    imputer = nadek.NADEkImputer(**QUICK, strategy=strategy).fit(train)
    filled = imputer.transform(beside(asked, "n", [0, 1]))
    first, second = nw.from_native(filled)["n"].to_list()
    assert 89_000 <= first <= 90_090
    assert second == 5


def test_too_narrow_array_is_widened():
    imputer = nadek.NADEkImputer(**QUICK).fit(np.column_stack([np.arange(89_000, 89_060) // 2 * 2, np.arange(60) % 2]))
    filled = imputer.transform(np.array([[np.nan, 0], [0.1, 1]], dtype=np.float16))
    assert filled.dtype == np.float64
    assert 89_000 <= filled[0, 0] <= 89_060
    assert filled[1, 0] == np.float16(0.1)
    assert imputer.transform(np.array([[np.nan, 0]], dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_textless_array_is_filled_with_text(dtype):
    rows = np.array([["x", 1.5], ["y", 2.5], ["z", 3.5]] * 20, dtype=object)
    asked = np.array([[np.nan, 1.5], [np.nan, 2.5]]).astype(dtype)
    filled = nadek.NADEkImputer(**QUICK).fit(rows).transform(asked)
    assert set(filled[:, 0]) <= {"x", "y", "z"}
    assert filled[:, 1].tolist() == [1.5, 2.5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([Decimal(n % 9) for n in range(60)], pa.decimal128(10, 2)),
        ([Decimal(n % 9) for n in range(60)], pa.decimal256(40, 2)),
        ([float(2**25 + 1024 * n) for n in range(60)], pa.float32()),
        ([2**64 - 1 - 2**50 * (n % 2) for n in range(60)], pa.uint64()),
        ([2**63 - 1 - 2**50 * (n % 2) for n in range(60)], pa.int64()),
    ],
    ids=lambda value: str(value) if isinstance(value, pa.DataType) else "",
)
@pytest.mark.parametrize("container", CONTAINERS)
def test_samples_have_type_of_column(container, values, kind):
    table = pa.table({"n": pa.array(values, kind), "b": [0, 1, 1, 1, 0] * 12})
    if container == "polars":
        table = pl.from_arrow(table) if kind != pa.decimal256(40, 2) else table
    elif container == "pandas":
        table = table.to_pandas(types_mapper=pd.ArrowDtype)
    drawn = nadek.NADEk(**QUICK).fit(table).sample(50, random_state=0)
    assert kind_of(drawn["n"]) == kind_of(table["n"])
    numbers = nw.from_native(drawn)["n"].to_list()
    assert min(values) <= min(numbers)
    assert max(numbers) <= max(values)


LABELS = [1, 2, None, 3] * 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([pa.array(LABELS).dictionary_encode()]),
        pa.chunked_array([pa.array(LABELS).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.int16()))]),
        pa.chunked_array([pa.array([1.5, 2.0, None, 3.0] * 10).dictionary_encode()]),
        pd.Series(LABELS, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.int64()))),
        pd.Series(LABELS, dtype="category"),
        pd.Series(["a", "b", None] * 20, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
        pa.chunked_array([pa.array(["a", "b", None] * 20).dictionary_encode()]),
        pl.Series(LABELS, dtype=pl.Int128),
    ],
    ids=labelled,
)
def test_numbers_as_labels_keep_their_type(column):
    table = beside(column, "label", [0, 1])
    old = nw.from_native(table)["label"]
    given = old.drop_nulls().to_list()
    drawn = nadek.NADEk(**QUICK).fit(table).sample(9)
    filled = nadek.NADEkImputer(**QUICK, strategy="mode").fit_transform(table)
    for made in (drawn, filled):
        assert kind_of(made["label"]) == kind_of(table["label"])
        new = nw.from_native(made)["label"].to_list()
        assert set(new) <= set(given)
    assert [now for was, now in zip(old.to_list(), new, strict=True) if not pd.isna(was)] == given


def listing(container, values, categories, *, ordered=False):
    """A column of a type that lists these categories."""
    if container == "polars":
        return pl.Series(values, dtype=pl.Enum(categories))
    return pd.Series(pd.Categorical(values, categories=categories, ordered=ordered))


@pytest.mark.slow
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_unlisted_categories_are_filled_in(container):
    train = beside(listing(container, ["a", "b", "b", None] * 60, ["a", "b"]), "e", [1, 0, 0, 1])
    asked = beside(listing(container, ["b", "b", None], ["b"], ordered=True), "e", [0, 0, 1])
    density = nadek.NADEk(max_iter=60, training=NARROW, random_state=0).fit(train)
    imputer = nadek.NADEkImputer(max_iter=60, training=NARROW, random_state=0).fit(train)
    for whole in (imputer.transform(asked), density.complete(asked)[0]):
        assert whole["e"].to_list() == ["b", "b", "a"]
        assert list(nw.from_native(whole)["e"].cat.get_categories()) == ["b", "a"]
        assert container == "polars" or whole["e"].cat.ordered
    assert not any(holes(whole).any() for whole in density.sample_conditional(asked, 3, random_state=0))


@pytest.mark.parametrize(
    ("container", "categories", "value"),
    [
        *((container, ["low", "high"], "missing_value") for container in ("pandas", "polars")),
        *((container, [], "missing_value") for container in ("pandas", "polars")),
        ("pandas", [3, 5], 0),
    ],
)
def test_empty_columns_of_categories_are_kept(container, categories, value):
    table = beside(listing(container, [None] * 12, categories), "e", [0, 1, 1])
    filled = nadek.NADEkImputer(**QUICK, keep_empty_features=True).fit_transform(table)
    assert filled["e"].to_list() == [value] * 12
    assert list(nw.from_native(filled)["e"].cat.get_categories()) == [*categories, value]


# --- imputer --------------------------------------------------------------------------------------------------------


def test_strategies(imputer):
    row = np.array([[1, np.nan, np.nan]])
    mean = imputer.transform(row)
    assert 0.95 < mean[0, 1] < 1
    assert 0.3 < mean[0, 2] < 0.7
    mode = changed(imputer, strategy="mode").transform(row)
    assert mode[0, 1] == 1
    assert mode[0, 2] == (mean[0, 2] > 0.5)
    sample = changed(imputer, strategy="sample")
    drawn = sample.transform(np.tile(row, (200, 1)))
    assert set(np.unique(drawn)) == {0, 1}
    np.testing.assert_array_equal(drawn, sample.transform(np.tile(row, (200, 1))))


def test_mean_strategy_uses_modes_for_words(tmp_path):
    table = people()
    density = nadek.NADEk(**QUICK).fit(table)
    density.save(tmp_path / "model")
    filled = nadek.NADEkImputer.load(tmp_path / "model").transform(table)  # the same network
    proba = density.predict_missing_proba(table)
    codes = torch.from_numpy(encode_table(read_frame(table), density.columns_)[1]).to(density.network_.b)
    of_knots = level_probabilities(density.network_, codes[:1])[:, 3, : n_levels(density.columns_[3])]
    np.testing.assert_allclose(filled["age"][0], expected(density.columns_[3], of_knots.numpy())[0], rtol=1e-12)
    assert filled["city"][1] == ["Bern", "Genf", "Ulm"][proba["city"][1].argmax()]


def test_multiple_imputations_are_joint_draws(imputer):
    unknown = np.tile([[np.nan, np.nan, 1.0]], (100, 1))
    five = changed(imputer, n_imputations=5)
    tables = five.transform_multiple(unknown)
    assert len(tables) == 5
    assert (np.concatenate(tables)[:, 0] == np.concatenate(tables)[:, 1]).mean() > 0.95
    assert not np.array_equal(tables[0], tables[1])
    np.testing.assert_array_equal(tables[4], five.transform_multiple(unknown)[4])
    assert not np.array_equal(tables[0], five.transform_multiple(unknown, random_state=7)[0])


@pytest.mark.slow
def test_an_answer_is_drawn_before_the_questions_that_follow_from_it():
    """Only smokers are asked how much; drawn first, that would make smokers of all, in every second table."""
    rng = np.random.default_rng(1)
    smokes = (rng.random(800) < 0.27).astype(float)
    daily = np.where(smokes == 1, rng.poisson(11, 800) + 1.0, np.nan)
    table = np.column_stack([np.where(rng.random(800) < 0.15, np.nan, smokes), daily, rng.normal(size=800)])
    imputer = nadek.NADEkImputer(n_imputations=10, max_iter=100, random_state=0)
    with pytest.warns(UserWarning, match="stated only beside some answers"):
        imputer.fit(table)
    asked = np.isnan(table[:, 0]) & np.isnan(daily)
    expected = imputer.predict_missing_proba(table)[0][asked, 1].mean()
    shares = [whole[asked, 0].mean() for whole in imputer.transform_multiple(table)]
    assert max(shares) < expected + 0.1
    assert {tuple(imputer._order_of_draws(seed).tolist()) for seed in range(9)} == {(2, 0, 1)}
    imputer._missing_parts = np.full(3, 0.15)
    assert len({tuple(imputer._order_of_draws(seed).tolist()) for seed in range(99)}) == 6
    assert max(whole[asked, 0].mean() for whole in imputer.transform_multiple(table)) > expected + 0.3


def test_numbers_are_drawn_within_bins(monkeypatch):
    """Where two completions have the same bins, the numbers are not the same."""
    table = np.random.default_rng(0).normal(size=(100, 2))
    several = nadek.NADEkImputer(**QUICK, n_imputations=2).fit(table)
    monkeypatch.setattr("nadek.estimators.base.impute", lambda network, x, **options: x.nan_to_num(0))
    first, second = several.transform_multiple(np.full((20, 2), np.nan))
    assert (first != second).all()


def test_modes_do_not_depend_on_cutting(monkeypatch):
    table = np.random.default_rng(0).normal(size=(60, 2))
    table[:5, 0] = table[5:10, 1] = np.nan
    imputer = nadek.NADEkImputer(**QUICK, strategy="mode").fit(table)
    whole = imputer.transform(table)
    monkeypatch.setattr("nadek.inference.sampling.PROBABILITIES", 1)  # one row at a time, which misses one number only
    np.testing.assert_allclose(imputer.transform(table), whole, rtol=1e-12)


@pytest.mark.slow
def test_imputations_match_exact_pairwise_frequencies():
    """Four answers that hang together; which are missing differs from row to row. Joint draws, or this fails."""
    states = np.array(list(product([0, 1], repeat=4)))
    same = (states[:, 1:] == states[:, :-1]).sum(1)  # a chain: each answer is likely to be that of its neighbour
    p = 8.0**same
    p /= p.sum()
    rng = np.random.default_rng(0)
    rows = states[rng.choice(16, 16_000, p=p)]
    imputer = nadek.NADEkImputer(n_imputations=5, max_iter=30, training={"width": 64}, random_state=0).fit(rows)
    asked = states[rng.choice(16, 1200, p=p)].astype(float)
    asked[0::3, [0, 1]], asked[1::3, [1, 2]], asked[2::3, :] = np.nan, np.nan, np.nan
    drawn = np.stack(imputer.transform_multiple(asked))
    for pattern, pairs in enumerate([[(0, 1)], [(1, 2)], [(0, 1), (0, 3), (1, 2)]]):
        for pair in pairs:
            counts, expected = np.zeros(4), np.zeros(4)
            for row, of_row in zip(asked[pattern::3], drawn[:, pattern::3].swapaxes(0, 1), strict=True):
                fits = p * (np.isnan(row) | (states == row)).all(1)
                places = states[:, pair] @ [2, 1]
                expected += 5 * np.bincount(places, fits / fits.sum(), minlength=4)
                counts += np.bincount((of_row[:, pair] @ [2, 1]).astype(int), minlength=4)
            assert chisquare(counts, expected).pvalue > 1e-3, (pattern, pair, counts, expected)


def test_indicators_are_those_of_scikit_learn(copies, holed):
    imputer = nadek.NADEkImputer(**QUICK, add_indicator=True).fit(holed)
    filled = imputer.transform(np.where(copies == 0, np.nan, copies))
    assert list(imputer.get_feature_names_out()) == ["x0", "x1", "x2", "missingindicator_x1"]
    np.testing.assert_array_equal(filled[:, 3], copies[:, 1] == 0)
    frame = pd.DataFrame(holed, columns=["a", "b", "c"])
    named = nadek.NADEkImputer(**QUICK, add_indicator=True).fit(frame)
    assert list(named.transform(frame).columns) == ["a", "b", "c", "missingindicator_b"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        named.get_feature_names_out(["a", "b", "d"])


@pytest.mark.parametrize("dtype", [np.str_, object])
def test_indicators_beside_text_are_numbers(dtype):
    table = np.array([["a", "b"], ["b", "a"], ["a", "a"]] * 20, dtype=object)
    table[::4, 1] = None
    imputer = nadek.NADEkImputer(**QUICK, add_indicator=True).fit(table)
    asked = np.array([["a", "b"], ["b", "b"]], dtype=dtype)
    whole = imputer.transform(asked)
    assert whole.tolist() == [["a", "b", 0], ["b", "b", 0]]
    assert [type(flag) for flag in whole[:, 2]] == [int, int]
    assert set(imputer.transform(table)[:, 2].tolist()) == {0, 1}
    frame = imputer.set_output(transform="polars").transform(asked)
    assert frame["missingindicator_x1"].to_list() == [0, 0]


@pytest.mark.parametrize("columns", [range(3), pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])])
def test_indicators_name_columns_without_names(copies, columns):
    table = pd.DataFrame(copies, columns=columns, index=[5] * len(copies))
    table.iloc[::4, 1] = np.nan
    imputer = nadek.NADEkImputer(**QUICK, add_indicator=True)
    whole = imputer.fit_transform(table)
    assert list(whole.columns) == list(imputer.get_feature_names_out()) == ["x0", "x1", "x2", "missingindicator_x1"]
    assert list(whole.index) == list(table.index)
    make_pipeline(imputer, LogisticRegression()).fit(table, copies[:, 0] == 1)
    assert list(imputer.set_params(add_indicator=False).fit_transform(table).columns) == list(columns)
    frame = imputer.set_output(transform="polars").transform(table)
    assert frame.columns == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    "names", [pd.MultiIndex.from_product([["a"], [1, 2, 3]]), pd.date_range("2024", periods=3), range(2019, 2022)]
)
def test_names_that_are_no_text_keep_their_places(copies, names, tmp_path):
    table = pd.DataFrame(copies, columns=names)
    model = nadek.NADEk(**QUICK).fit(table)
    model.save(tmp_path / "model")
    counted = nadek.NADEk(**QUICK).fit(table.set_axis(range(3), axis=1))
    for one in (model, nadek.NADEk.load(tmp_path / "model"), counted):
        table = table if one is not counted else table.set_axis(range(3), axis=1)
        assert len(one.score_samples(one.sample(2))) == len(one.score_samples(table[:2])) == 2
        with pytest.raises(ValueError, match=r'^column 1: expected ".*" as in training, found "'):
            one.score_samples(table.iloc[:, [2, 0, 1]])
    model.fit(copies).score_samples(table.iloc[:, [2, 0, 1]])


def test_column_called_none_keeps_its_name(copies):
    table = pd.DataFrame(copies, columns=pd.Index([None, 5, 2.5], dtype=object))
    table.iloc[::4, 0] = np.nan
    filled, model = nadek.NADEkImputer(**QUICK).fit_transform(table), nadek.NADEk(**QUICK).fit(table)
    for whole in (filled, model.sample(2), model.explain(table), model.sample_conditional(table)[0]):
        assert whole.columns.tolist() == [None, 5, 2.5]


@pytest.mark.parametrize("hole", ["a", "missingindicator_a"])
def test_column_named_like_indicator_is_refused(copies, hole):
    table = pd.DataFrame(copies, columns=["a", "missingindicator_a", "c"])
    table.loc[::4, hole] = np.nan
    imputer = nadek.NADEkImputer(**QUICK, add_indicator=True)
    if hole == "missingindicator_a":  # of "a" there is no indicator
        assert imputer.fit_transform(table).shape == (400, 4)
        return
    without = nadek.NADEkImputer(**QUICK).fit(table).set_params(add_indicator=True)
    for use in (imputer.fit, without.transform):
        message = r'^add_indicator: expected no column "missingindicator_a", .* of "a"; rename'
        with pytest.raises(ValueError, match=message):
            use(table)


def test_extreme_floats_are_scored():
    rng = np.random.default_rng(0)
    table = np.column_stack([1e308 * rng.uniform(-1, 1, 200), np.arange(200) % 2])
    detector = nadek.NADEkOutlierDetector(**QUICK).fit(table)
    assert np.isfinite(detector.score_samples(table)).all()
    assert np.isfinite(detector.explain(table)).all()
    drawn = rng.exponential(size=(200, 2)) * (rng.random((200, 2)) < 0.5)
    inflated = nadek.NADEkOutlierDetector(**QUICK).fit(drawn)
    far = [[1e308, 0], [1e308, 1e308], [1.7e308, 1.7e308], [np.nan, 1.7e308]]
    assert (inflated.score_samples(far) < -1000).all()
    assert inflated.predict(far).tolist() == [-1] * 4
    assert not np.isnan(inflated.explain(far)[:3]).any()


def test_far_number_is_an_outlier():
    """The probability of its bin alone would not tell: it is that of any other number there."""
    rng = np.random.default_rng(0)
    height = rng.normal(170, 10, 600)
    people = np.column_stack([height, height + rng.normal(0, 5, 600)])
    detector = nadek.NADEkOutlierDetector(max_iter=15, random_state=0).fit(people)
    usual, far, apart = detector.score_samples([[171, 170], [171, 900], [155, 185]])
    assert usual > apart > far
    assert detector.predict([[171, 170], [171, 900]]).tolist() == [1, -1]
    assert detector.explain([[171, 900]])[0].argmax() == 1


def test_empty_columns_are_dropped_or_kept(copies):
    table = np.insert(copies, 1, np.nan, axis=1)
    with pytest.warns(UserWarning, match=r"^columns without any value are left out: 1$"):
        imputer = nadek.NADEkImputer(**QUICK).fit(table)
    assert imputer.transform(table).shape == (400, 3)
    assert list(imputer.get_feature_names_out()) == ["x0", "x2", "x3"]
    kept = nadek.NADEkImputer(**QUICK, keep_empty_features=True, strategy="sample").fit(table)
    np.testing.assert_array_equal(kept.transform(table)[:, 1], 0)
    table[0, 1] = 4.5
    assert kept.transform(table)[0, 1] == 4.5  # a value that is there stays


@pytest.mark.parametrize("keep", [False, True])
def test_warm_start_warns_about_empty_columns(copies, keep):
    table = np.insert(copies, 1, np.nan, axis=1)
    imputer = nadek.NADEkImputer(**QUICK, warm_start=True, keep_empty_features=keep)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imputer.fit(table)
    table[5:, 1] = 4.5
    with pytest.warns(UserWarning, match="in the first fit") as told:
        imputer.fit(table)
    assert [str(one.message) for one in told] == [
        "columns without any value in the first fit are not learnt by warm_start: 1"
    ]


def test_imputed_large_numbers_stay_in_range():
    rng = np.random.default_rng(0)
    seconds = 1_700_000_000 + rng.integers(0, 60, 200)
    table = np.column_stack([seconds, rng.integers(0, 2, (200, 11))]).astype(float)
    imputer = nadek.NADEkImputer(**quick(width=384), categorical_features=[1]).fit(table)
    assert imputer.network_.b.dtype == torch.float32  # as wide ones are: their probabilities sum to 1 +- 1e-7
    holes = table.copy()
    holes[:, 0] = np.nan
    filled = imputer.transform(holes)[:, 0]
    assert ((filled >= seconds.min()) & (filled <= seconds.max())).all()
    chances = nadek.NADEk(**quick(width=384), categorical_features=[1]).fit(table).predict_missing_proba(holes)
    np.testing.assert_allclose(chances[0].sum(1), 1, rtol=0, atol=1e-14)
    np.random.default_rng(0).choice(len(chances[0][0]), p=chances[0][0])  # NumPy refuses what does not sum to 1


def test_booleans_and_categories_keep_their_type(copies):
    imputer = nadek.NADEkImputer(**QUICK).fit(pd.DataFrame(copies))
    rest = pd.DataFrame(copies[:3, 1:])
    for first in (pd.Series([None, True, False], dtype=object), pd.Series(pd.Categorical([None, 1, 0]))):
        filled = imputer.transform(pd.concat([first, rest], axis=1, ignore_index=True))[0]
        assert filled.dtype == first.dtype
        assert filled[0] in (0, 1)
    assert 0 < imputer.transform(pd.DataFrame([[np.nan, 1, 1]]))[0][0] < 1


def test_rare_counts_can_be_declared_numbers():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"children": rng.integers(0, 2, 60), "yes": rng.integers(0, 2, 60)})
    with pytest.raises(ValueError, match=r'column "children": expected 0, 1 or missing, found 2$'):
        nadek.NADEk(**QUICK, handle_unknown="error").fit(table).score_samples(table.assign(children=2))
    for which in (["children"], [0], [True, False]):
        model = nadek.NADEk(**QUICK, numeric_features=which).fit(table)
        assert [type(column) for column in model.columns_] == [Numeric, Binary]
        assert np.isfinite(model.score_samples(table[:9].assign(children=2))).all()
    with pytest.raises(ValueError, match="numeric_features: found 'child', expected one of the columns"):
        nadek.NADEk(**QUICK, numeric_features=["child"]).fit(table)
    told = r'^column "children": expected one kind, found it in categorical_features and in numeric_features$'
    with pytest.raises(ValueError, match=told):
        nadek.NADEk(**QUICK, numeric_features=["children"], categorical_features=[0]).fit(table)
    listed = table.assign(children=table["children"].astype("category"))
    assert isinstance(nadek.NADEk(**QUICK, numeric_features=["children"]).fit(listed).columns_[0], Numeric)
    with pytest.raises(ValueError, match='column "town"'):
        nadek.NADEk(**QUICK, numeric_features=["town"]).fit(table.assign(town="Ulm"))


def test_fit_ignores_the_default_dtype(copies):
    models = []
    for dtype in (torch.float32, torch.float64):
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            models.append(nadek.NADEk(**QUICK).fit(copies))
            assert torch.get_default_dtype() == dtype
        finally:
            torch.set_default_dtype(before)
    one, other = (model.score_samples(copies) for model in models)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("container", CONTAINERS)
def test_empty_columns_of_frames_are_kept(container):
    table = pl.DataFrame(
        {
            "yes": [0, 1, None] * 5,
            "text": pl.Series([None] * 15, dtype=pl.String),
            "float": pl.Series([None] * 15, dtype=pl.Float64),
            "null": [None] * 15,
        }
    )
    table = {"polars": table, "pyarrow": table.to_arrow(), "pandas": table.to_pandas()}[container]
    filled = nadek.NADEkImputer(**QUICK, keep_empty_features=True).fit_transform(table)
    assert not holes(filled).any()
    frame = nw.from_native(filled)
    assert frame["float"].to_list()[0] == 0
    assert frame["text"].to_list()[0] == "missing_value"
    assert frame["null"].to_list()[0] == ("missing_value" if container == "pandas" else 0)  # None alone may be text


@pytest.mark.slow
def test_single_rows_get_own_draws():
    rng = np.random.default_rng(0)
    imputer = nadek.NADEkImputer(**{**QUICK, "max_iter": 20}, strategy="sample", n_imputations=1)
    imputer.fit(np.column_stack([rng.integers(0, 2, 400), rng.normal(size=400)]))
    asked = np.column_stack([np.full(80, np.nan), rng.normal(size=80)])
    for answer in (imputer.transform, lambda row: imputer.transform_multiple(row)[0]):
        drawn = np.array([answer(row[None])[0, 0] for row in asked])
        assert 0.3 < drawn.mean() < 0.7  # a fair coin
        assert [answer(row[None])[0, 0] for row in asked[:9]] == drawn[:9].tolist()  # the same row, the same draw
    halves = [imputer.transform(half)[:, 0] for half in np.split(asked, 2)]
    assert 0.3 < (halves[0] == halves[1]).mean() < 0.7


def test_incomplete_columns_are_of_all_fits():
    table = people()
    imputer = nadek.NADEkImputer(**QUICK, strategy="mode", add_indicator=True, warm_start=True).fit(table)
    names = list(imputer.get_feature_names_out())
    whole = imputer.transform(table).iloc[:, : table.shape[1]]
    assert list(imputer.fit(whole).get_feature_names_out()) == names


def test_other_models_flag_all_columns(tmp_path):
    nadek.NADEk(**QUICK).fit(people()).save(tmp_path / "density")
    imputer = nadek.NADEkImputer.load(tmp_path / "density")
    assert not holes(imputer.transform(people())).any()
    flags = imputer.set_params(add_indicator=True).transform(people()).iloc[:, people().shape[1] :]
    np.testing.assert_array_equal(flags, people().isna())
    with pytest.raises(ValueError, match="found no threshold in the folder"):
        nadek.NADEkOutlierDetector.load(tmp_path / "density")
    with pytest.raises(FileNotFoundError):
        nadek.NADEk.load(tmp_path / "nothing")


# --- outliers -------------------------------------------------------------------------------------------------------


def test_rows_unlike_the_others_are_outliers(detector):
    rows = [[1, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert detector.predict(rows).tolist() == [1, 1, -1]
    assert (detector.decision_function(rows) == detector.score_samples(rows) - detector.offset_).all()
    cells = detector.explain([[1, 0, 0], [1, 1, np.nan]])
    assert (cells[0, :2] > 2).all()
    assert cells[0, 2] < 1
    assert np.isnan(cells[1, 2])


@pytest.mark.parametrize("fitted", [True, False])
def test_interrupted_fit_changes_nothing(monkeypatch, copies, fitted):
    detector = nadek.NADEkOutlierDetector(**QUICK)
    before = dict(vars(detector.fit(copies) if fitted else detector))
    monkeypatch.setattr(nadek.NADEkOutlierDetector, "_threshold", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        detector.fit(copies[:, :2])
    assert vars(detector) == before


def test_contamination_is_part_of_training_rows():
    table = np.random.default_rng(0).normal(size=(200, 3))
    detector = nadek.NADEkOutlierDetector(**QUICK, contamination=0.15).fit(table)
    assert (detector.predict(table) == -1).sum() == 30
    table[::2] = np.nan  # empty rows leave the threshold alone
    detector = nadek.NADEkOutlierDetector(**QUICK, contamination=0.2).fit(table)
    assert (detector.predict(table[1::2]) == -1).sum() == 20


def test_automatic_threshold_flags_one_in_twenty(detector, copies):
    """Of m + 1 rows of one sort each is the lowest with probability 1 / (m + 1)."""
    codes, within = torch.as_tensor(copies), np.random.default_rng(0).normal(size=copies.shape)
    scores = detector._scores(codes, within)
    for n_held_out, rank in ((9, 0), (19, 0), (39, 1), (99, 4)):
        held_out = np.random.default_rng(1).permutation(len(copies))[:n_held_out]
        assert detector._threshold(codes, within, held_out) == pytest.approx(np.sort(scores[held_out])[rank])


def test_gross_errors_leave_the_automatic_threshold_alone(detector, copies):
    codes, within = torch.as_tensor(copies), np.random.default_rng(0).normal(size=copies.shape)
    usual = detector._threshold(codes, within, np.arange(2, 40))
    within[:2, 0] -= 1000.0
    assert detector._threshold(codes, within, np.arange(40)) == usual
    within[:8, 0] -= 1000.0  # so many are no errors
    assert detector._threshold(codes, within, np.arange(40)) < usual - 500


def test_a_level_that_no_row_had_stays_possible():
    """With one more answer in all than the 270 learnt ones: 1 / (2 * 271) and 1 / (4 * 271)."""
    rng, levels = np.random.default_rng(0), list("abcd")
    kind = pd.Categorical(rng.choice(levels[:3], 300), categories=levels)
    table = pd.DataFrame({"never": np.zeros(300, bool), "first": rng.random(300) < 0.5, "kind": kind})
    odd = table[:2].assign(never=[True, False], kind=pd.Categorical(["a", "d"], categories=levels))
    surprise = nadek.NADEk(max_iter=20, random_state=0).fit(table).explain(odd)
    assert [surprise["never"][0], surprise["kind"][1]] == pytest.approx(np.log([2 * 271, 4 * 271]), abs=0.3)


@pytest.mark.parametrize("spread", [1.0, 6.0])
def test_empty_row_is_no_outlier(spread):
    table = np.exp(spread * np.random.default_rng(0).standard_normal((300, 2)))
    detector = nadek.NADEkOutlierDetector(**QUICK, contamination=0.2).fit(table)
    assert detector.predict([[np.nan, np.nan]]).tolist() == [1]


def test_threshold_uses_held_out_rows(monkeypatch):
    table, kept = np.random.default_rng(0).normal(size=(200, 3)), []
    monkeypatch.setattr(
        "nadek.estimators.base.fit_codes", lambda *a, **options: kept.append(fit_codes(*a, **options)) or kept[-1]
    )
    detector = nadek.NADEkOutlierDetector(**quick(validation_fraction=0.3)).fit(table)
    assert len(kept[0][1]) == 60
    assert (detector.predict(table[kept[0][1]]) == -1).sum() == 3


@pytest.mark.parametrize("spread", [0.2, 1.0])
def test_holes_make_no_outliers(spread):
    """One in twenty new rows is flagged, with half of the cells missing as without, whatever columns add to scores."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 2000)
    table = np.column_stack(
        [group, *(rng.normal(3 * group, spread) for _ in range(4)), rng.integers(0, 6, (3, 2000)).T]
    )
    options = quick(early_stopping=False) | {"categorical_features": [0, 5, 6, 7]}
    detector = nadek.NADEkOutlierDetector(**options, contamination=0.05).fit(table[:1000])
    new = table[1000:]
    with_holes = [np.where(rng.random((1000, 8)) < part, np.nan, new) for part in (0.2, 0.5)]
    flagged = [(detector.predict(rows) == -1).mean() for rows in (new, *with_holes)]
    assert min(flagged) > 0.02
    assert max(flagged) < 0.09
    empty = detector.score_samples(np.full((1, 8), np.nan))
    assert empty == pytest.approx((detector.expected_ * [[1], [3.5]]).sum(), abs=1e-3)
    assert empty == pytest.approx(detector.score_samples(new).mean(), rel=0.1)


@pytest.mark.parametrize("container", ["numpy", "pandas", "polars"])
def test_float32_draws_stay_in_bins(container, monkeypatch):
    rng = np.random.default_rng(0)
    number = (1e5 + rng.normal(size=200)).astype(np.float32)
    table = pd.DataFrame({"number": number, "other": number[::-1]})
    table = {"numpy": table.to_numpy(), "pandas": table, "polars": pl.from_pandas(table)}[container]
    model = nadek.NADEk(**QUICK).fit(table)
    codes = []
    drawn_by = nadek.estimators.density.decode
    monkeypatch.setattr(nadek.estimators.density, "decode", lambda *a, **k: [codes.append(a[1]), drawn_by(*a, **k)][1])
    drawn = model.sample(4000, random_state=0)
    np.testing.assert_array_equal(model._read(drawn)[1].round().numpy(), np.column_stack(codes).round())


# --- training -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["use", "complete"])
def test_fit_ignores_surrounding_torch_modes(missing):
    table, options = people(), QUICK | {"missing": missing}
    expected = nadek.NADEkImputer(**options).fit(table)
    with torch.inference_mode():
        found = nadek.NADEkImputer(**options).fit(table)
    for name, value in expected.network_.state_dict().items():
        assert torch.equal(found.network_.state_dict()[name], value)
    found.set_params(warm_start=True).fit(table)  # what was learnt is there to be learnt further


@pytest.mark.slow
def test_samples_do_not_lean_where_a_column_decides_what_is_missing():
    """Smokers alone are asked three questions more: rows of few cells taught that nobody smokes, and drew smokers."""
    rng = np.random.default_rng(0)
    smokes, health = rng.random((2, 1000)) < [[0.3], [0.5]]
    asked = np.where(smokes, rng.random((3, 1000)) < 0.5, np.nan)
    with pytest.warns(UserWarning, match='"2", "3", "4" where "0" is 1; if the rest skip these'):
        model = nadek.NADEk(max_iter=100, random_state=0).fit(np.column_stack([smokes, health, *asked]))
    assert model.sample(2000)[:, 0].mean() == pytest.approx(0.3, abs=0.08)
    shares = model.predict_missing_proba([[np.nan] * 5, [np.nan, 1, *[np.nan] * 3]])[0][:, 1]
    assert shares == pytest.approx(0.3, abs=0.12)


@pytest.mark.parametrize(
    ("kind", "missing"),
    [(nadek.NADEk, "complete"), (nadek.NADEkOutlierDetector, "complete"), (nadek.NADEkImputer, "use")],
)
def test_densities_complete_rows(kind, missing):
    estimator = kind()
    for option, chosen in (("auto", missing), ("use", "use"), ("complete", "complete")):
        options = options_of(estimator.set_params(missing=option))
        recipe = recipe_for(options, 100, (Binary(), Binary()), purpose=estimator._purpose)
        assert recipe.training.missing == chosen


def test_options_can_be_numbers_of_numpy(copies, tmp_path):
    options = {"warm_start": np.True_, "add_indicator": np.True_, "verbose": np.False_}
    options |= {"max_iter": np.int64(2), "random_state": np.int64(0)}
    options["training"] = {"early_stopping": np.False_, "width": np.int32(16), "dropout": np.float64(0.25)}
    for which in ([np.int64(1)], np.array([1])):
        imputer = nadek.NADEkImputer(**options, categorical_features=which).fit(copies)
        loaded = reloaded(imputer.fit(copies), tmp_path / "model").get_params()
        assert {name: loaded[name] for name in options} == options
        assert loaded["warm_start"] is True
        assert loaded["categorical_features"] == [1]


def test_global_random_state_is_unchanged(copies):
    before = torch.get_rng_state()
    model = nadek.NADEk(max_iter=1, training={"width": 16}).fit(copies)
    model.sample(3)
    model.sample_conditional([[1, np.nan, 1]], 2)
    assert torch.equal(before, torch.get_rng_state())


def test_warm_start_goes_on(copies):
    answers = np.array(["no", "yes", "?"])[(copies.astype(int) + np.arange(400)[:, None]) % 3]
    model = nadek.NADEk(max_iter=12, random_state=0, warm_start=True).fit(answers)
    first = model.history_
    model.set_params(max_iter=2).fit(answers)
    assert model.n_iter_ == 2
    assert model.history_[0].train[-1] < 0.8 * first[0].train[-1]
    with pytest.raises(ValueError, match=r"^warm_start goes on .*: steps is 3 in it, found steps=4$"):
        model.set_params(training={"steps": 4}).fit(answers)
    with pytest.raises(ValueError, match="X has 2 features, but NADEk is expecting 3 features"):
        model.set_params(training={"steps": 3}).fit(answers[:, :2])


def test_warm_start_keeps_the_masks(copies, monkeypatch):
    """Cells as holes are, in large tables; and a trained network uses all of its steps from the first epoch on."""
    told = []

    def watched(*arguments, config, **options):
        told.append([(phase.masks, phase.steps, phase.objective) for phase in config.phases])
        return fit(*arguments, config=config, **options)

    monkeypatch.setattr("nadek.training.defaults.SMALL_TABLE", len(copies) // 2)
    monkeypatch.setattr("nadek.training.table_training.fit", watched)
    imputer = nadek.NADEkImputer(**QUICK, warm_start=True).fit(copies).fit(copies)
    assert imputer.n_iter_ == QUICK["max_iter"]
    last = ("holes", None, "last_step")
    assert told == [[("holes", 1, "last_step"), last], [last, last]]
    told.clear()
    nadek.NADEk(**QUICK, warm_start=True).fit(copies).fit(copies)
    assert told == [[("holes", steps, "last_step"), (None, None, "last_step")] for steps in (1, None)]


def test_warm_start_keeps_the_split(copies, tmp_path):
    model = nadek.NADEk(**{**QUICK, "random_state": None}, warm_start=True)
    _, held_out = model._fit(copies)
    for fitted in (model, reloaded(model, tmp_path / "model")):
        _, again = fitted._fit(copies)
        assert again.tolist() == held_out.tolist()
    _, anew = model.set_params(warm_start=False)._fit(copies)
    assert anew.tolist() != held_out.tolist()


@pytest.mark.parametrize("container", [pd.Index, pd.Series, np.array, list, tuple])
def test_declared_names_may_be_any_sequence(container, tmp_path):
    table = pd.DataFrame({"zip": [1.0, 2.0, 3.0, 10.0] * 15, "yes": [0, 1] * 30})
    fitted = nadek.NADEk(**QUICK, categorical_features=container(["zip"])).fit(table)
    again = reloaded(fitted, tmp_path / "model")
    assert again.get_params()["categorical_features"] == ["zip"]
    assert clone(again).fit(table).columns_ == fitted.columns_
    again.set_params(warm_start=True).fit(table)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["mps", "meta", "cuda:7"])
def test_pickle_of_absent_device_opens(copies, device):
    learnt_here = nadek.NADEk(**QUICK).fit(copies).set_params(device=device)
    for opened in (pickle.loads(pickle.dumps(learnt_here)), copy.deepcopy(learnt_here)):
        np.testing.assert_array_equal(opened.score_samples(copies), learnt_here.score_samples(copies))
    with pytest.raises(ValueError, match=r"^device: expected 'auto', 'cpu' or another device that this machine has"):
        learnt_here.fit(copies)


def test_warm_start_keeps_the_columns(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"n": rng.normal(size=60), "grade": rng.integers(0, 5, 60), "yes": rng.integers(0, 2, 60)})
    model = nadek.NADEk(**QUICK, n_bins=8, categorical_features=[1], warm_start=True).fit(table)
    model.set_params(categorical_features=["grade"]).fit(table)  # the same column
    for fitted in (model, reloaded(model, tmp_path / "model")):
        with pytest.raises(ValueError, match=r"^warm_start goes on .*: n_bins is 8 in it, found n_bins=4$"):
            fitted.set_params(n_bins=4).fit(table)
        told = r"categorical_features is \['grade'\] in it, found categorical_features=\[\]$"
        with pytest.raises(ValueError, match=told):
            fitted.set_params(n_bins=8, categorical_features=None).fit(table)
        assert len(fitted.set_params(warm_start=False).fit(table).levels_["grade"]) == 5


@pytest.mark.parametrize("n_bins", [16, 32])
def test_warm_start_of_folder_keeps_bins(tmp_path, n_bins):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"n": np.linspace(0, 1, 90), "yes": rng.integers(0, 2, 90)})
    nadek.NADEk(**QUICK, n_bins=n_bins).fit(table).save(tmp_path / "model")
    saved = load_saved(tmp_path / "model")
    nadek.save(tmp_path / "plain", replace(saved, metrics={}))
    model = nadek.NADEk.load(tmp_path / "plain").set_params(warm_start=True, max_iter=2)
    assert len(model.fit(table).levels_["n"]) == n_bins
    for fitted in (model, nadek.NADEk.load(tmp_path / "plain").set_params(warm_start=True)):
        with pytest.raises(ValueError, match=rf"^warm_start goes on .*: n_bins is {n_bins} in it, found n_bins=4$"):
            fitted.set_params(n_bins=4).fit(table)
        assert len(fitted.set_params(warm_start=False, max_iter=2).fit(table).levels_["n"]) == 4


@pytest.mark.parametrize("estimator", ALL)
def test_failed_fit_changes_nothing(estimator, copies):
    model = estimator(**QUICK).fit(pd.DataFrame(copies, columns=["a", "b", "c"]))
    before = dict(vars(model))
    for wrong in (pd.DataFrame({"p": [1, "x"], "q": [0, 1]}), np.array([[np.inf]])):
        with pytest.raises(ValueError, match=r"^row "):
            model.fit(wrong)
        assert vars(model) == before


def test_early_stopping_holds_out_and_stops(copies):
    noise = np.random.default_rng(0).integers(0, 2, (40, 10))
    learning_by_heart = {"width": 64, "learning_rate": 1e-2, "weight_decay": 0, "n_iter_no_change": 1}
    model = nadek.NADEk(max_iter=100, training=learning_by_heart, random_state=0).fit(noise)
    assert model.n_iter_ < 100
    assert model.history_[-1].best is not None
    patient = nadek.NADEk(max_iter=100, training=learning_by_heart | {"n_iter_no_change": None}, random_state=0).fit(
        noise
    )
    assert patient.n_iter_ == 100
    model = nadek.NADEk(**quick(early_stopping=False) | {"max_iter": 4}).fit(copies)
    assert model.n_iter_ == 4
    assert model.history_[-1].best is None


def test_validation_rows_can_be_given(copies):
    held_out = np.random.default_rng(2).integers(0, 2, (30, 3))
    model = nadek.NADEk(**{**QUICK, "max_iter": 4}).fit(copies[:200], X_val=held_out)
    other = nadek.NADEk(**{**QUICK, "max_iter": 4}).fit(copies[:200], X_val=copies[200:])
    assert model.history_[0].train == other.history_[0].train  # none of them is learnt from
    everything = nadek.NADEk(**quick(early_stopping=False) | {"max_iter": 4}).fit(copies[:200])
    assert model.history_[0].train == everything.history_[0].train  # and none of the table is held out
    assert model.history_[-1].best > other.history_[-1].best


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[np.nan] * 3] * 4, r"^X_val: expected rows with some values, found 4 without any$"),
        ([[0, 1, 1], [0, 7, 1]], r'^X_val: row 2, column "1": expected 0, 1 or missing, found 7$'),
        ([[0, 1]], r"^X_val: X has 2 features, but NADEk is expecting 3 features"),
        (np.array([[0, 1, None], [0, b"1", 1]], dtype=object), r'^X_val: row 2, column "1": the argument must be text'),
    ],
)
def test_validation_rows_are_named_in_messages(rows, message, copies):
    with pytest.raises((ValueError, TypeError), match=message):
        nadek.NADEk(**QUICK, handle_unknown="error").fit(copies, X_val=np.asarray(rows))


def test_training_is_told_on_standard_output(copies, capsys):
    nadek.NADEk(**{**QUICK, "max_iter": 20}).fit(copies)
    assert capsys.readouterr().out == ""
    nadek.NADEk(**{**QUICK, "max_iter": 20}, verbose=1).fit(copies)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("[nadek] epoch 2/20 (last_step)  cost ")
    nadek.NADEk(**{**QUICK, "max_iter": 20}, verbose=2).fit(copies)
    assert len(capsys.readouterr().out.splitlines()) == 20


def test_each_column_keeps_a_value():
    table = np.full((60, 3), np.nan)
    table[:, 0] = np.arange(60) % 2
    table[7, 1], table[9, 2] = 1, 0
    for seed in range(8):  # some of these hold the only values out
        nadek.NADEk(max_iter=1, training={"width": 16, "validation_fraction": 0.5}, random_state=seed).fit(table)


def test_options_reach_the_network(copies):
    options = {"steps": 2, "width": 24, "blocks": 1, "dropout": 0.1, "batch_size": 50, "learning_rate": 1e-3}
    model = nadek.NADEk(max_iter=1, training=options)
    config = model.fit(copies).network_.config
    assert (config.steps, config.core.width, config.core.blocks, config.core.dropout) == (2, 24, 1, 0.1)


@pytest.mark.parametrize(("n_rows", "n_variables"), [(1, 1), (20, 3), (500, 16), (5000, 60), (500_000, 100)])
def test_defaults_fit_the_table(n_rows, n_variables):
    model, training = defaults(n_rows, (2,) * n_variables)
    minibatches = training.epochs * -(-n_rows // training.batch_size)
    assert 16 <= model.core.width <= 400
    assert training.epochs <= 400
    assert minibatches <= 40_000
    assert minibatches >= (5000 if n_rows > 3000 else 1)
    assert 0 <= training.average_decay(n_rows) <= 0.999


# --- copies of estimators -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ALL)
def test_pickles_answer_identically(estimator):
    table, fitted = people(), estimator(**QUICK).fit(people())
    answer = "transform" if estimator is nadek.NADEkImputer else "score_samples"
    stream = io.BytesIO()
    joblib.dump(fitted, stream)
    stream.seek(0)
    expected = np.asarray(getattr(fitted, answer)(table))
    for again in (pickle.loads(pickle.dumps(fitted)), joblib.load(stream)):
        np.testing.assert_array_equal(np.asarray(getattr(again, answer)(table)), expected)


def test_clones_search_and_pipelines(copies, holed):
    search = GridSearchCV(
        nadek.NADEk(**QUICK, n_orderings=2),
        {"training": [{"steps": k, "dropout": p, "width": 16} for k in (1, 2) for p in ("auto", 0.1)]},
        cv=2,
    )
    search.fit(holed)
    assert search.best_estimator_.training["steps"] in (1, 2)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert not hasattr(clone(search.best_estimator_), "network_")
    imputer = nadek.NADEkImputer(**QUICK, add_indicator=True)
    pipeline = make_pipeline(imputer, LogisticRegression()).fit(holed, copies[:, 0])
    assert pipeline.score(holed, copies[:, 0]) > 0.9
    assert list(pipeline[:-1].get_feature_names_out())[-1] == "missingindicator_x1"
    frame = people()
    columns = ColumnTransformer([("fill", nadek.NADEkImputer(**QUICK), ["age", "visits"])])
    assert columns.set_output(transform="pandas").fit_transform(frame).shape == (120, 2)


def saved_by_cli(folder, table, **schema):
    """The folder of a model as ``nadek fit`` leaves it: with a schema of its own, and no options of an estimator."""
    nadek.NADEk(**QUICK).fit(table).save(folder / "first")
    saved = load_saved(folder / "first")
    metrics = {"history": saved.metrics["history"]}
    nadek.save(folder / "model", replace(saved, schema=replace(saved.schema, **schema), metrics=metrics))
    return folder / "model"


def ages_and_towns():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.integers(18, 60, 60), "city": rng.choice(["x", "y", "z"], 60)})


@pytest.mark.parametrize("estimator", [nadek.NADEk, nadek.NADEkOutlierDetector])
def test_saved_model_keeps_its_orderings(estimator, tmp_path, copies):
    model = estimator(**QUICK, n_orderings=5).fit(copies).set_params(n_orderings=2)
    model.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}
    loaded = estimator.load(tmp_path / "model", device="cpu")
    assert (loaded.max_iter, loaded.device, loaded.n_iter_) == (3, "cpu", 3)
    np.testing.assert_array_equal(loaded.orderings_, model.orderings_)
    assert getattr(loaded, "offset_", None) == getattr(model, "offset_", None)
    np.testing.assert_array_equal(loaded.score_samples(copies), model.score_samples(copies))
    assert loaded.n_orderings == 2
    assert len(loaded.fit(copies).orderings_) == 2


TYPED = {
    "pandas": lambda: people().astype(
        {"height": "float32", "age": "Float64", "city": "string", "smoker": "category", "cough": "int8"}
    ),
    "pandas, ordered": lambda: pd.DataFrame(
        {"size": pd.Categorical([3, 1, 2] * 20, categories=[3, 1, 2, 7], ordered=True), "yes": [True, False] * 30}
    ),
    "pandas without names": lambda: pd.DataFrame(np.eye(3, dtype=np.int8).repeat(20, 0)),
    "pandas of Arrow": lambda: people().astype({"age": "double[pyarrow]", "member": "bool[pyarrow]"}),
    "polars": lambda: pl.DataFrame(
        {
            "small": pl.Series([1, 2, 3] * 20, dtype=pl.Int8),
            "wide": pl.Series([1, 2, 3] * 20, dtype=pl.UInt128),
            "single": pl.Series([0.5, 2, 3] * 20, dtype=pl.Float32),
            "listed": pl.Series(["b", "a"] * 30, dtype=pl.Enum(["b", "a", "c"])),
            "class": pl.Series(["b", "a"] * 30, dtype=pl.Categorical),
            "yes": [True, False] * 30,
        }
    ),
    "pyarrow": lambda: pa.table(
        {
            "small": pa.array([1, 2, 3] * 20, pa.int8()),
            "single": pa.array([0.5, 2, 3] * 20, pa.float32()),
            "text": pa.array(["b", "a"] * 30, pa.large_string()),
            "class": pa.array(["b", "a"] * 30).dictionary_encode(),
            "label": pa.array([1, 2, 3] * 20).dictionary_encode(),
        }
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPED)
def test_saved_model_keeps_table_types(kind, tmp_path):
    model = nadek.NADEk(**QUICK, n_orderings=2).fit(TYPED[kind]())
    for folder in ("model", "again"):  # what was loaded can be saved again
        loaded = reloaded(model, tmp_path / folder)
        np.testing.assert_array_equal(loaded.score_samples(TYPED[kind]()), model.score_samples(TYPED[kind]()))
        drawn, other = model.sample(5, random_state=0), loaded.sample(5, random_state=0)
        assert type(other) is type(drawn)
        assert nw.from_native(drawn).to_dict(as_series=False) == nw.from_native(other).to_dict(as_series=False)
        if kind == "pyarrow":
            assert other.schema == drawn.schema
        else:
            assert list(other.dtypes) == list(drawn.dtypes)
        model = loaded


def test_unknown_type_words_use_values(tmp_path):
    prices = pd.array([Decimal("0.50"), Decimal("1.75")] * 30, pd.ArrowDtype(pa.decimal128(18, 2)))
    table = pd.DataFrame({"price": prices, "yes": [0, 1] * 30})
    loaded = reloaded(nadek.NADEk(**QUICK).fit(table), tmp_path / "model")
    assert loaded.sample(3)["price"].dtype == np.float64


def test_model_of_text_array_is_saved(tmp_path):
    table = np.random.default_rng(0).choice(["no", "yes", "maybe"], (100, 3))
    model = nadek.NADEk(**QUICK).fit(table)
    loaded = reloaded(model, tmp_path / "model")
    np.testing.assert_array_equal(loaded.score_samples(table), model.score_samples(table))
    drawn = loaded.sample(4, random_state=0)
    assert drawn.dtype == model.sample(4, random_state=0).dtype
    assert drawn.tolist() == model.sample(4, random_state=0).tolist()


@pytest.mark.parametrize("empty", ["e", 1])
def test_empty_columns_need_an_imputer(empty, tmp_path, holed):
    table = np.insert(holed, 1, np.nan, axis=1)
    table = pd.DataFrame(table, columns=["a", "e", "b", "c"]) if empty == "e" else table
    imputer = nadek.NADEkImputer(**QUICK, keep_empty_features=True, add_indicator=True).fit(table)
    loaded = reloaded(imputer, tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(table), imputer.transform(table))
    message = f"expected a model that was trained with values in every column, found .* in '{empty}'; "
    for estimator in (nadek.NADEk, nadek.NADEkOutlierDetector):
        with pytest.raises(ValueError, match=message):
            estimator.load(tmp_path / "model")


@pytest.mark.slow
@pytest.mark.parametrize("container", [*CONTAINERS, "numpy"])
def test_missing_words_of_cli_are_kept(container, tmp_path):
    """The folder of ``nadek fit --missing "?,99" --drop id``."""
    table, made = ages_and_towns(), partial(as_, container)
    columns = None if container == "numpy" else ("age", "city")
    folder = saved_by_cli(tmp_path, table, columns=columns, missing=("?", "99"), dropped=("id",))
    schema = load_saved(folder).schema
    young, gaps = table["age"] < 30, table.index % 3 == 0
    holes = made(table.assign(age=table["age"].mask(young), city=table["city"].mask(gaps, None)))
    words = made(table.assign(age=table["age"].mask(young, 99), city=table["city"].mask(gaps, " ?")))
    density, imputer = (kind.load(folder) for kind in (nadek.NADEk, nadek.NADEkImputer))
    np.testing.assert_array_equal(density.score_samples(words), density.score_samples(holes))
    filled, expected = (np.asarray(imputer.transform(table)) for table in (words, holes))
    assert filled.tolist() == expected.tolist()
    density.save(tmp_path / "again")
    assert load_saved(tmp_path / "again").schema == schema
    again = nadek.NADEk.load(tmp_path / "again").set_params(max_iter=1, warm_start=True)
    again.fit(words).save(tmp_path / "third")
    assert load_saved(tmp_path / "third").schema == schema
    again.set_params(warm_start=False).fit(holes).save(tmp_path / "fourth")  # whose table has neither
    fourth = load_saved(tmp_path / "fourth").schema
    assert (fourth.missing, fourth.dropped) == (None, None)


@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS)
def test_columns_dropped_by_cli_are_ignored(container, tmp_path):
    """They are not looked at, and no others may."""
    table, made = ages_and_towns(), partial(as_, container)
    folder = saved_by_cli(tmp_path, table, dropped=("id", "remark"))
    holes = table.assign(city=table["city"].where(table.index % 3 > 0))
    whole = holes.assign(remark="none")[["remark", "age", "city"]]
    whole.insert(2, "id", [f"p{row}" for row in range(60)])
    density, imputer = (kind.load(folder) for kind in (nadek.NADEk, nadek.NADEkImputer))
    np.testing.assert_array_equal(density.score_samples(made(whole)), density.score_samples(made(holes)))
    filled, expected = (nw.from_native(imputer.transform(made(table))) for table in (whole, holes))
    assert filled.columns == ["age", "city"]
    assert filled.rows() == expected.rows()
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- other"):
        density.score_samples(made(whole.assign(other=1)))
    further = density.set_params(max_iter=1, warm_start=True).fit(made(whole), X_val=made(whole))
    assert further.n_features_in_ == 2
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- id\n- remark"):
        nadek.NADEk.load(tmp_path / "first").score_samples(made(whole))  # which dropped none


def test_dropped_unnamed_columns_are_ignored(tmp_path, copies):
    """Their numbers say which they are, of a table that has all columns of training."""
    loaded = nadek.NADEk.load(saved_by_cli(tmp_path, copies, dropped=("2", "4")))
    other = np.full(len(copies), 7.0)
    whole = np.column_stack([copies[:, 0], other, copies[:, 1], other, copies[:, 2]])
    for table in (whole, pd.DataFrame(whole), np.ma.masked_array(whole)):
        np.testing.assert_array_equal(loaded.score_samples(table), loaded.score_samples(copies))
    with pytest.raises(ValueError, match="X has 4 features, but NADEk is expecting 3 features"):
        loaded.score_samples(whole[:, :4])


def test_torch_model_is_loaded(tmp_path, copies):
    network = nadek.residual_nade_k(3, width=16, blocks=1, steps=2, generator=torch.Generator().manual_seed(0))
    nadek.save(tmp_path / "model", nadek.SavedModel(network, nadek.Schema(columns=("a", "b", "c"))))
    loaded = nadek.NADEk.load(tmp_path / "model")
    table = pd.DataFrame(copies, columns=["a", "b", "c"])
    codes = torch.from_numpy(copies)
    orderings = torch.from_numpy(loaded.orderings_)
    expected = nadek.log_prob(network.double(), codes, orderings=orderings, reduce="mixture")
    np.testing.assert_allclose(loaded.score_samples(table), expected.numpy(), atol=1e-9)
    assert isinstance(loaded.sample(2), pd.DataFrame)
    nadek.save(tmp_path / "nade", nadek.SavedModel(nadek.nade(3, hidden=4), nadek.Schema()))
    with pytest.raises(ValueError, match="expected a model of every ordering, found one that knows one ordering only"):
        nadek.NADEk.load(tmp_path / "nade")


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (np.array([[0, np.inf], [1, 2.0]]), ValueError, r'^row 1, column "1": expected a finite number'),
        (
            np.array([[0], ["a"], [1.5]], dtype=object),
            ValueError,
            r'^row 2, column "0": expected numbers or missing',
        ),
        (np.array([[0], [{}]], dtype=object), TypeError, r'^row 2, column "0": the argument must be text \(a string\)'),
        (np.full((3, 2), np.nan), ValueError, "(expected a table with some values|has no value in any row)"),
        (pd.DataFrame({"a": [1, 2]})[[]], ValueError, r"0 feature\(s\)"),
        (pd.DataFrame({"a": [1, 2]})[:0], ValueError, r"0 sample\(s\)"),
        (pd.DataFrame([[0, 1]], columns=["a", "a"]), ValueError, "^expected each column name once.*'a' 2 times"),
        (pd.DataFrame({"long": pd.to_timedelta(["3 days"])}), ValueError, '^column "long": expected text, numbers'),
        ("people.csv", TypeError, "found the path 'people.csv': read it first, as with pandas.read_csv$"),
        (Path("people.csv"), TypeError, "found the path 'people.csv'"),
        ({"a": [0, 1]}, TypeError, r"found a dictionary: pandas.DataFrame\(X\) makes one"),
        (pl.DataFrame({"a": [0, 1]}).lazy(), TypeError, r"call collect\(\) on it"),
        (narwhals.from_native(pl.DataFrame({"a": [0, 1]})).lazy(), TypeError, r"call collect\(\) on it"),
        (nw.from_native(pd.DataFrame({"a": [0, 1]})).lazy(), TypeError, r"call collect\(\) on it"),
        (
            pl.DataFrame({"a": [[0], [1]]}),
            ValueError,
            '^column "a": expected text, numbers, dates, booleans or categories',
        ),
    ],
)
def test_tables_that_cannot_be_learnt_from(estimator, table, error, message):
    with pytest.raises(error, match=message):
        estimator(**QUICK).fit(table)


def test_so_many_samples_cannot_be_drawn(learnt):
    message = "^n_samples: expected a whole number of at least 1, found 0$"
    with pytest.raises(ValueError, match=message):
        learnt.sample(0)
    with pytest.raises(ValueError, match=message):
        learnt.sample_conditional([[1, 0, np.nan]], 0)


def test_orderings_and_conditions_that_are_none(learnt, density):
    with pytest.raises(ValueError, match=r"^ordering: expected each of the 3 columns once, found"):
        learnt.log_prob([[1, 0, 1]], ordering=[0, 1])
    with pytest.raises(ValueError, match=r"^ordering: expected indices from 0 to 2, found 3"):
        learnt.log_prob([[1, 0, 1]], ordering=[0, 1, 3])
    with pytest.raises(ValueError, match=r"^ordering: expected a list of all column names or indices"):
        density.log_prob(people(), ordering="age")
    with pytest.raises(ValueError, match=r"^given: found 'weight', expected one of the columns 'smoker', 'cough'"):
        density.conditional_log_prob(people(), given=["weight"])
    with pytest.raises(ValueError, match=r"^method: expected one of 'beam', 'greedy', 'certain', found"):
        learnt.complete([[1, 0, np.nan]], method="best")
    with pytest.raises(ValueError, match=r'^ordering: expected none beside the method "certain"'):
        learnt.complete([[1, np.nan, np.nan]], method="certain", ordering=[2, 1, 0])


def test_what_was_not_fitted_tells_nothing(copies):
    for ask in (
        nadek.NADEk().sample,
        lambda: nadek.NADEk().score(copies),
        lambda: nadek.NADEk().save("model"),
        lambda: nadek.NADEkImputer().transform(copies),
        nadek.NADEkImputer().get_feature_names_out,
        lambda: nadek.NADEkOutlierDetector().explain(copies),
    ):
        with pytest.raises(NotFittedError):
            ask()
