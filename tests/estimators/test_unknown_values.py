"""Values that a model does not know: missing, with one warning, or an error."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

import nadek

QUICK = {"max_iter": 3, "training": {"width": 16}, "random_state": 0}


def people(n=60):
    """A table with a column of words, one of 0 and 1 in words, and one of few numbers; some cells are missing."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "smoker": rng.choice(["yes", "no"], n),
            "city": rng.choice(["Bern", "Genf", "Ulm"], n),
            "visits": rng.integers(0, 2, n),
            "age": rng.normal(40, 9, n),
        }
    )
    return table.mask(rng.random(table.shape) < 0.1)


def with_strange_cells(table):
    """The same table with values that its model does not know, and with these missing."""
    strange, holed = table.copy(), table.copy()
    for column, row, value in (("city", 3, "Basel"), ("city", 8, "Oslo"), ("smoker", 0, 7), ("visits", 5, 9)):
        strange[column] = strange[column].astype(object)
        strange.loc[row, column], holed.loc[row, column] = value, None
    return strange, holed


STRANGE = "cells with values that the model does not know are taken as missing: "


@pytest.fixture(scope="module")
def density():
    return nadek.NADEk(**QUICK, n_orderings=4).fit(people())


def test_unknown_categories_are_missing(density):
    strange, holed = with_strange_cells(people())
    with pytest.warns(UserWarning, match=f"^{STRANGE}1 in column .smoker., such as 7 in row 1; 2 in column") as record:
        scores = density.score_samples(strange)
    assert len(record) == 1
    np.testing.assert_array_equal(scores, density.score_samples(holed))


@pytest.mark.filterwarnings(f"ignore:{STRANGE}")
@pytest.mark.parametrize(
    "cells", [pd.Series([1.0, 0, np.nan]), pd.Series([True, False, None], dtype="boolean"), pd.Series(["1", 0, None])]
)
def test_unknown_values_stay_what_they_are(cells):
    """Also in a column without any value that the model knows."""
    imputer = nadek.NADEkImputer(**QUICK).fit(people())
    filled = imputer.transform(people(3).assign(smoker=cells))["smoker"]
    assert list(map(type, filled)) == [*map(type, cells[:2].tolist()), str]
    assert filled[:2].tolist() == cells[:2].tolist()


def test_an_empty_column_of_dates_stays_one():
    table = people().assign(seen=pd.Series(pd.NaT, index=range(60), dtype="datetime64[us]"))
    filled = nadek.NADEkImputer(**QUICK, keep_empty_features=True).fit_transform(table)["seen"]
    assert filled.dtype == "datetime64[us]"
    assert filled.isna().all()


@pytest.mark.parametrize("listed", [["l", "h"], ["h", "l"]])
def test_lacking_categories_come_in_the_order_of_training(listed):
    """Where the table does not contradict it."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 100)
    kind = pd.CategoricalDtype(["l", "m", "h"], ordered=True)
    table = pd.DataFrame({"size": pd.Series(np.array(kind.categories)[level], dtype=kind), "x": level + 0.1})
    imputer = nadek.NADEkImputer(**QUICK | {"max_iter": 60}).fit(table)
    holed = table.assign(size=table["size"].cat.set_categories(listed))
    filled = imputer.transform(holed)["size"]
    assert filled.dtype == pd.CategoricalDtype({"l": ["l", "m", "h"], "h": ["h", "l", "m"]}[listed[0]], ordered=True)
    assert (filled.astype(str) == table["size"].astype(str)).all()


@pytest.mark.filterwarnings(f"ignore:{STRANGE}")
def test_unknown_categories_are_odd(density, tmp_path):
    strange, holed = with_strange_cells(people())
    n_values = people().notna().sum()
    new = strange.notna() & holed.isna()
    density.save(tmp_path / "model")
    for estimator in (density, nadek.NADEk.load(tmp_path / "model")):
        surprise = estimator.explain(strange)
        pd.testing.assert_frame_equal(surprise.mask(new), estimator.explain(holed))
        for column in ("smoker", "city", "visits"):
            np.testing.assert_allclose(surprise.loc[new[column], column], np.log(n_values[column] + 1))


@pytest.mark.filterwarnings(f"ignore:{STRANGE}")
def test_unknown_categories_count_against_a_row():
    strange, holed = with_strange_cells(people())
    detector = nadek.NADEkOutlierDetector(**QUICK, n_orderings=2).fit(people())
    changed = detector.score_samples(strange) < detector.score_samples(holed)
    assert np.flatnonzero(changed).tolist() == [0, 3, 5, 8]
    rare = people().assign(city="Bern").head(8)
    rare.loc[5, "city"] = "Basel"
    assert detector.score_samples(rare.assign(smoker="no", visits=0, age=40.0)).argmin() == 5


def test_plain_tables_know_how_many_values_there_were(tmp_path):
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (50, 4)), columns=list("abcd"))
    nadek.NADEk(**QUICK).fit(rows).save(tmp_path / "model")
    with pytest.warns(UserWarning, match=f"^{STRANGE}1 in column .b., such as 2 in row 1"):
        surprise = nadek.NADEk.load(tmp_path / "model").explain(rows.head(1).assign(b=2))
    assert surprise.loc[0, "b"] == pytest.approx(np.log(51))


def test_a_column_without_any_known_category_names_those_that_are(density):
    table = people()
    table["city"] = table["city"].str.upper()
    all_of_them = r"\d+ in column .city., such as .* in row .* \(all of them; known are 'Bern', 'Genf', 'Ulm'\)"
    with pytest.warns(UserWarning, match=STRANGE + all_of_them):
        density.score_samples(table)


def test_unknown_categories_stay_in_tables(density):
    strange, holed = with_strange_cells(people())
    there = strange.notna().to_numpy()
    for strategy in ("mean", "mode", "sample"):
        imputer = nadek.NADEkImputer(**QUICK, strategy=strategy, add_indicator=True).fit(people())
        with pytest.warns(UserWarning, match=f"^{STRANGE}") as record:
            filled, expected = imputer.transform(strange), imputer.transform(holed)
        assert record[0].filename == __file__  # and no line of a library
        own = filled[strange.columns]
        assert not own.isna().any(axis=None)
        own, same = own.to_numpy(dtype=object), expected[strange.columns].to_numpy(dtype=object)
        assert own[there].tolist() == strange.to_numpy(dtype=object)[there].tolist()
        assert own[~there].tolist() == same[~there].tolist()
        assert filled["missingindicator_city"].tolist() == strange["city"].isna().tolist()
    with pytest.warns(UserWarning, match=f"^{STRANGE}"):
        tables = [density.complete(strange)[0], *density.sample_conditional(strange, 2, random_state=0)]
    assert all(table["city"][3] == "Basel" and table["smoker"][0] == 7 for table in tables)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_rare_levels_never_stop_cross_validation(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "species": rng.choice(["a", "b", "c", "d", "e"], 60, p=[0.5, 0.42, 0.04, 0.02, 0.02]),
            "island": rng.choice(["x", "y"], 60, p=[0.97, 0.03]),
            "eggs": rng.choice([0, 1, 2], 60, p=[0.5, 0.47, 0.03]),
            "mass": rng.normal(size=60),
        }
    ).mask(rng.random((60, 4)) < 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(cross_val_score(nadek.NADEk(**QUICK, n_orderings=2), table, cv=5)).all()


def test_errors_name_the_unknown_value():
    strict = nadek.NADEk(**QUICK, handle_unknown="error").fit(people())
    with pytest.raises(ValueError, match=r"^row 1, column \"smoker\": expected 'no', 'yes' or missing, found 7$"):
        strict.score_samples(with_strange_cells(people())[0])
    with pytest.raises(ValueError, match=r"^handle_unknown: expected one of 'missing', 'error', found 'ignore'"):
        strict.set_params(handle_unknown="ignore").score_samples(people())


def test_codes_for_missing_cells_are_told(density):
    new = people()[:3].astype({"age": float})
    new.loc[0, "age"], new.loc[2, "age"] = -999, 999
    with pytest.warns(UserWarning, match=r"these may mean missing, .*: 2 in column .age., such as -999 in row 1; if"):
        density.score_samples(new)
    new.loc[0, "age"], new.loc[2, "age"] = -5, 250  # far, but no code
    with warnings.catch_warnings(action="error"):
        density.score_samples(new)
