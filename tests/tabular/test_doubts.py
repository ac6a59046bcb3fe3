"""Cells that may be meant otherwise are told once: codes for missing ones, and answers that are spelt alike."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from nadek.tabular.csv import read_csv
from nadek.tabular.doubtful_numbers import missing_codes, missing_dates
from nadek.tabular.encode import encode_table
from nadek.tabular.frames import read_array, read_frame
from nadek.tabular.learn_schema import learn_columns, learn_schema
from nadek.tabular.user_options import Choices

OPTIONS = {"n_bins": 16, "categorical_features": [], "numeric_features": []}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([0, 1, 2, -1, -1], {-1: 2}),
        ([20, 30, 45, 999, 999, 999], {999: 3}),
        ([20.5, 60, 80, 99, 99], {}),  # not far from the others
        ([20, 30, -99], {}),  # once: a typing error
        ([20, 30, -99, -99, -98, -98], {-99: 2, -98: 2}),
        ([1, 2, 5, -8, -8, -9, -9, -9], {-9: 3, -8: 2}),
        ([1, 2, 5, 97, 97, 98, 98, 99, 99], {97: 2, 98: 2, 99: 2}),
        ([18, 40, 85, 998, 998, 999, 999], {998: 2, 999: 2}),
        ([18, 40, -77, -77, -7, -7], {-77: 2, -7: 2}),
        ([1, 2, 3, 4, 5, -1, -1, -9, -9], {-9: 2, -1: 2}),
        ([1, 2, 3, 4, 5, -1, -1, -2, -2], {-2: 2, -1: 2}),
        ([0, 1, 2, 3, 4, 5, -1, -1, -2, -2], {}),
        ([1, 2, 3, 4, 5, -1, -1, -7, -7, -8, -8, -9, -9], {-9: 2, -8: 2, -7: 2, -1: 2}),
        ([*range(1, 10), -9, -9], {-9: 2}),
        ([1, 2, 3, 4, 5, -9, -9, 98, 98, 99, 99], {-9: 2, 98: 2, 99: 2}),
        ([1, 2, 3, 99, 99, 999, 999], {99: 2, 999: 2}),
        ([-3, -3, -2, -2, 2, 3], {}),
        ([*range(-9, 30)] * 2, {}),  # degrees
        ([-2, -1, 0, 1, 2] * 2, {}),
        ([-1, 0, 1, -1], {}),
        ([-2.5, 1, 3, -2.5], {}),
        ([1, 2, 3, 9, 9, 9], {}),  # may be an answer
        ([-99, -99, 5, 5], {}),
        ([-30, 4, -9999, -9999, 12], {-9999: 2}),
        ([2, 5, 7, 77, *20 * [88]], {77: 1, 88: 20}),
        ([1200, 3400, 999999, 999999], {999999: 2}),
        ([], {}),
    ],
)
def test_missing_code(numbers, expected):
    assert missing_codes(np.array(numbers, dtype=np.float64)) == expected


def test_all_columns_in_one_warning():
    codes = np.random.default_rng(0).integers(-1, 3, (50, 9)).astype(float)
    codes[:2, :5], codes[2:4, :5] = -1, -9
    codes[:, 5:] = np.where(codes[:, 5:] < 0, 99, codes[:, 5:])
    told = (
        'but are learnt as numbers: -9, -1 in 5 columns such as "0"; 99 in 4 columns such as "5"; if they do, put NaN'
    )
    with pytest.warns(UserWarning, match=told):
        learn_columns(read_array(codes), OPTIONS, keep_empty=False)


def test_integers_with_missing_cells_and_objects():
    ages = pd.DataFrame({"age": pd.array([33, 999, None, 999, 41], dtype="Int64"), "x": [1, None, 3, 2, 5]})
    for table in (read_frame(ages), read_array(np.array([[33, None], [999, 1], [999, 3], [41, 2]], dtype=object))):
        with pytest.warns(UserWarning, match="999 in 2 cells of column"):
            learn_columns(table, OPTIONS, keep_empty=False)


@pytest.mark.parametrize(
    ("code", "count"), [("9999-12-31", 2), ("1900-01-01", 2), ("2023-12-31", 0), ("1970-01-01", 0)]
)
def test_missing_date(code, count):
    dates = np.array([code, "1960-03-01", "1999-06-02", "2005-01-01", code], dtype="M8[s]")
    assert missing_dates(dates if count else dates[:-1]) == ({np.datetime64(code): count} if count else {})


def test_most_numbers_beyond_training_are_told():
    """Another unit; not a few numbers, or a few rows."""
    table = np.random.default_rng(0).normal(1000, 100, (50, 2))
    columns = learn_columns(read_array(table), OPTIONS, keep_empty=False)
    other = np.column_stack([table[:, 0] / 1000, np.where(np.arange(50) < 20, 9000.0, table[:, 1])])
    told = 'most numbers lie beyond all of training: 50 in column "0", such as .* in row 1; if their unit is another'
    with pytest.warns(UserWarning, match=told) as caught:
        encode_table(read_array(other), columns)
    assert [str(one.message) for one in caught if 'column "1"' in str(one.message)] == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_table(read_array(other[:9]), columns)


@pytest.mark.parametrize(("change", "told"), [(0, True), (100, False)])
def test_row_numbers_are_told(change, told):
    numbers = np.random.default_rng(0).permutation(np.arange(1000, 1040)).astype(float)
    numbers[3] += change
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn_columns(read_frame(pd.DataFrame({"id": numbers, "age": numbers % 7})), OPTIONS, keep_empty=False)
    message = 'these only count the rows, but are learnt as numbers: 1000 to 1039 in column "id"'
    assert any(message in str(one.message) for one in caught) == told


def test_lone_fractions_are_told():
    counts = np.random.default_rng(0).poisson(30, (400, 4)).astype(float)
    counts[5, 0], counts[7, 0], counts[:9, 1], counts[:, 2] = 3.2, 12.5, 0.5, counts[:, 2] + 0.5
    told = 'hardly another number of these columns has a fraction, .* ones have: 3.2, 12.5 in column "0"; if they are'
    with pytest.warns(UserWarning, match=told):
        learn_columns(read_array(counts), OPTIONS, keep_empty=False)


def test_far_dates_are_told():
    table = read_frame(
        pd.DataFrame({"end": pd.to_datetime(["2020-01-01", "2020-01-05", "2021-01-01", *2 * ["1900-01-01"]])})
    )
    with pytest.warns(UserWarning, match='learnt as numbers: 1900-01-01 in 2 cells of column "end"'):
        learn_columns(table, OPTIONS, keep_empty=False)


def test_dates_and_other_numbers_are_no_codes():
    table = read_frame(pd.DataFrame({"day": pd.to_datetime(["1969-12-31", "1969-12-31", "1970-01-01", "1970-01-05"])}))
    with warnings.catch_warnings(action="error"):
        learn_columns(table, OPTIONS, keep_empty=False)
        learn_columns(read_array(np.random.default_rng(0).normal(size=(99, 3))), OPTIONS, keep_empty=False)


def test_alike_levels_are_told_in_one_warning():
    answers = pd.DataFrame({"smokes": ["Yes", "yes", "yes ", "no"] * 3, "age": [1.5, 2.5, 3.5] * 4})
    answers = answers.assign(drinks=answers["smokes"].str.strip())
    told = "but are learnt as different answers: 'Yes' and 'yes' and 'yes ' in column \"smokes\"; 'Yes' and 'yes' in"
    with pytest.warns(UserWarning, match=told):
        learn_columns(read_frame(answers), OPTIONS, keep_empty=False)


def test_several_answers_at_once_are_told():
    table = read_frame(pd.DataFrame({"by": ["bus", "car", "bus;car"] * 9, "age": [1.5, 2.5, 3.5] * 9}))
    with pytest.warns(UserWarning, match="each is learnt as one: 'bus;car' in column \"by\"; str.get_dummies"):
        learn_columns(table, OPTIONS, keep_empty=False)


def test_different_levels_are_not_told():
    genes = pd.DataFrame({"a": ["no", "none", "n o", None] * 3, "b": [True, False] * 6, "c": [0, 1] * 6})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn_columns(read_frame(genes), OPTIONS, keep_empty=False)


def test_quotes_behind_spaces_are_told():
    (table,) = read_csv(lambda: io.BytesIO(b'town, "ill"\nBern, "yes"\nUlm, "no"\n'), where="t")
    told = """^t: these are learnt .*: '"ill"' in the header; '"no"', '"yes"' in column ""ill""; if"""
    with pytest.warns(UserWarning, match=told):
        learn_schema(table, Choices())


def lines_about(doubt, table, categorical=()):
    """The warnings of a data frame, and of the same table in a file."""
    frame, file = read_frame(table), next(read_csv(lambda: io.BytesIO(table.to_csv(index=False).encode()), where="t"))
    options, choices = {**OPTIONS, "categorical_features": list(categorical)}, Choices(categorical=categorical)
    for learn in (lambda: learn_columns(frame, options, keep_empty=False), lambda: learn_schema(file, choices)):
        with pytest.warns(UserWarning, match=doubt) as caught:
            learn()
        yield next(str(one.message) for one in caught if doubt in str(one.message))


def test_misspelt_answers_are_told():
    """Single answers that are close to frequent ones; not short or rare ones, numbers, or answers far apart."""
    cut = ["Premium", "Very Good", "Ideal"] * 20
    table = pd.DataFrame(
        {
            "cut": [*cut, "Premum", "Very God", "Fair"],
            "sex": [*["male", "female"] * 30, "fmale", "male", "mal"],
            "age": [*["18 to 24 years", "25 to 34 years"] * 30, "15 to 24 years", None, "25 to 34 years"],
            "work": [*["teacher", "farmer"] * 30, "techer", "techer", None],
            "town": [*["North", "South"] * 15, *["Noth", "Sout"] * 15, "West", "East", "Wests"],
        }
    )
    for line in lines_about("spelt nearly", table):
        assert "'Premum' (as 'Premium'), 'Very God' (as 'Very Good') in column \"cut\"" in line
        assert "'fmale' (as 'female') in column \"sex\"" in line
        assert "age" not in line
        assert "work" not in line  # where it is so short, two are a tenth of the teachers
        assert "town" not in line
    longer = pd.DataFrame({"work": [*["teacher", "farmer"] * 60, "techer", "techer", None]})
    assert all("'techer' (as 'teacher')" in line for line in lines_about("spelt nearly", longer))


def test_skipped_questions_are_told():
    """Those that follow from an answer; not those that are missing anyhow, or beside few rows."""
    rng = np.random.default_rng(0)
    smokes = np.where(rng.random(400) < 0.3, "yes", "no").astype(object)
    town = np.array(["Bern", "Ulm", "Rome", *["Oslo"] * 5] * 50, dtype=object)
    daily = rng.integers(1, 40, 400) / 2
    table = pd.DataFrame(
        {
            "smokes": np.where(rng.random(400) < 0.1, None, smokes),
            "daily": np.where((smokes == "yes") & (rng.random(400) < 0.8), daily, np.nan),
            "brand": np.where(smokes == "yes", np.where(daily > 9, "a", "b"), None),
            "clinic": np.where(town == "Oslo", None, "x"),
            "age": np.where(rng.random(400) < 0.5, daily, np.nan),
            "town": town,
            "rare": ["once", *["often"] * 399],
        }
    )
    table.loc[(smokes == "no").nonzero()[0][0], "daily"] = 9.0  # a slip
    for line in lines_about("stated only beside", table, categorical=("clinic",)):
        assert '"daily", "brand" where "smokes" is \'yes\'; ' in line
        assert "\"clinic\" where \"town\" is 'Bern', 'Rome', 'Ulm'; if the rest skip" in line
        assert "age" not in line
        assert "rare" not in line


@pytest.mark.parametrize("stated", ["1", "2"])
def test_questions_that_numbers_skip_are_told(stated):
    """Numbers ask, too, and rows in any order."""
    rng = np.random.default_rng(0)
    smokes = np.sort(rng.integers(1, 3, 5000))
    daily = np.where(smokes == int(stated), rng.integers(1, 40, 5000) / 2, np.nan)
    table = pd.DataFrame({"smokes": smokes, "daily": daily})
    with pytest.warns(UserWarning, match=f'"daily" where "smokes" is \'{stated}\'; if the rest skip'):
        learn_columns(read_frame(table), OPTIONS, keep_empty=False)


@pytest.mark.parametrize("holes", [0, 0.4])
def test_holes_by_chance_are_no_skipped_questions(holes):
    rng = np.random.default_rng(0)
    cells = np.where(rng.random((300, 12)) < holes, np.nan, rng.integers(0, 2, (300, 12)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn_columns(read_array(cells), OPTIONS, keep_empty=False)
