"""Columns of dates: numbers with a readable way back, in files and in data frames."""

import io
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nadek import NADEk, NADEkImputer
from nadek.tabular.columns import decode, describe, encode, infer, level_names, log_density
from nadek.tabular.columns.parsing import shown
from nadek.tabular.csv import read_csv
from nadek.tabular.text_cells import Spelling, spelt_date
from support.command import nadek, ok

FIRST = np.datetime64("2023-01-01")
EXAMPLES = {
    "D": ["2020-02-29", "1969-12-31", "NaT"],
    "h": ["2020-01-01T10", "2020-01-02T00", "NaT"],
    "m": ["2020-01-01T10:30", "2020-01-02", "NaT"],
    "s": ["2020-01-01T10:30:01", "1900-01-02", "NaT"],
    "us": ["2020-01-01T10:30:00.000001", "2020-01-02", "NaT"],
}


def read_text(text):
    """Return the table of CSV text."""
    (table,) = read_csv(lambda: io.BytesIO(text.encode()), where="t.csv")
    return table


def visits(n=300):
    """Return a table whose first two columns, dates, tell of the others, with and without holes."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 365, n)
    when = FIRST.astype("M8[s]") + day * 86400 + rng.integers(0, 86400, n)
    whole = pd.DataFrame({"day": (FIRST + day).astype("M8[ns]"), "when": when.astype("M8[ns]")})
    whole["age"] = (20 + day / 10).round(1)
    whole["half"] = np.where(day > 180, "late", "early")
    return whole, whole.mask(rng.random(whole.shape) < 0.15)


@pytest.mark.parametrize("unit", EXAMPLES)
def test_the_coarsest_unit_is_taken(unit):
    dates = np.array(EXAMPLES[unit], "M8[us]")
    column = infer(dates, name="when")
    assert (column.unit, column.integer) == (unit, True)
    codes = encode(column, dates, name="when")
    np.testing.assert_array_equal(decode(column, codes), dates)
    assert np.isnan(codes).tolist() == [False, False, True]


def test_dates_have_a_density_and_draws_in_their_unit():
    dates = FIRST + np.random.default_rng(0).integers(0, 1000, 500)
    column = infer(dates, name="day", n_bins=8)
    codes = encode(column, dates, name="day")
    drawn = decode(column, codes, uniforms=np.random.default_rng(1).random(500))
    assert drawn.dtype == "M8[D]"
    assert (np.abs(codes - encode(column, drawn, name="day")) < 1).all()
    every = np.arange(FIRST - 2000, FIRST + 3000)
    numbers = every.astype(np.int64).astype(float)
    of_bins = np.bincount(column.bin_of(dates.astype(np.int64).astype(float))) / 500
    total = (np.exp(log_density(column, numbers)) * of_bins[column.bin_of(numbers)]).sum()
    assert total == pytest.approx(1, abs=1e-3)


def test_names_of_bins_are_dates():
    column = infer(np.array(["2020-01-01", "2020-01-05", "2020-02-01", "2020-03-01"], "M8[D]"), name="d", n_bins=2)
    assert describe(column) == "numeric, dates from 2020-01-01 to 2020-03-01 in 2 bins"
    assert level_names(column) == ["2020-01-01..2020-01-31", "2020-02-01..2020-03-01"]
    assert shown(np.datetime64("2020-01-01T10:30:00.5")) == "2020-01-01 10:30:00.500000"


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        (["2020-02-29", "", "2021-01-01"], "D"),
        ([" 2020-02-29 ", "NA", "2021-01-01 10:30"], "m"),
        (["2020-02-29T10:00:05", "2021-01-01T00:00:00"], "s"),
        (["2020-02-29T10:00Z", "2021-01-01T12:00+02:00"], "h"),
        (["2020-02-29", "2021-13-01", "x"], None),
        (["29.2.2020", "1.1.2021", "2.1.2021"], None),
        (["10:30", "11:30", "12:00"], None),
    ],
)
def test_words_of_a_file_are_dates_if_all_are(words, unit):
    text = "n,when\n" + "".join(f"1,{word}\n" for word in words)
    values = read_text(text).column(1)
    assert (values.dtype.kind == "M") == (unit is not None)
    if unit:
        assert infer(values, name="when").unit == unit
        assert np.isnat(values).tolist() == [not word.strip() or word == "NA" for word in words]


@pytest.mark.parametrize(
    ("like", "expected"),
    [
        ("2020-01-01", "2024-02-29 13:30"),
        ("2020-01-01 10:00", "2024-02-29 13:30"),
        ("2020-01-01T10:00:00", "2024-02-29T13:30:00"),
        ("2020-01-01 10:00:00.5", "2024-02-29 13:30:00.000000"),
        ("2020-01-01T10:00Z", "2024-02-29T13:30Z"),
        ("2020-01-01 10:00+0200", "2024-02-29 13:30+00:00"),
    ],
)
def test_new_dates_are_spelt_like_the_others(like, expected):
    assert spelt_date(np.datetime64("2024-02-29T13:30:00"), like) == expected
    assert spelt_date(np.datetime64("2024-02-29"), "2020-01-01") == "2024-02-29"


def test_new_dates_have_as_much_time_as_the_longest():
    words, spelling = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-02-01 10:30"], Spelling()
    values = np.array(words, dtype="M8[m]")
    spelling.add(values)
    spelling.add_words(pa.chunked_array([words]), values, decimal_commas=False)
    assert spelling.spelt(np.array(["2024-03-01"], dtype="M8[s]")).to_pylist() == ["2024-03-01 00:00"]


def test_dates_without_holes_are_written_back(tmp_path):
    table = pd.DataFrame({"day": (FIRST + np.arange(60)).astype(str), "a": [0, 1] * 30}, dtype=object)
    table.loc[3, "a"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", "--epochs", "1", "-q")
    for verb in ("impute", "complete"):
        ok(verb, tmp_path / "model", tmp_path / "t.csv", "-o", tmp_path / "whole.csv", "--force")
        whole = pd.read_csv(tmp_path / "whole.csv")
        assert whole["day"].tolist() == table["day"].tolist()
        assert whole["a"].notna().all()


@pytest.mark.parametrize("wrong", ["soon", "2021-13-01"])
def test_a_slip_among_dates_is_named(tmp_path, wrong):
    days = (FIRST + np.arange(60)).astype(str)
    table = pd.DataFrame({"day": days, "a": [0, 1] * 30})
    table.to_csv(tmp_path / "t.csv", index=False)
    ok("fit", tmp_path / "t.csv", "-o", tmp_path / "model", "--epochs", "1", "-q")
    table.loc[17, "day"] = wrong
    table.to_csv(tmp_path / "slip.csv", index=False)
    message = f"row 18, column \"day\": expected dates or missing, found '{wrong}'"
    assert message in nadek("impute", tmp_path / "model", tmp_path / "slip.csv").error
    error = nadek("fit", tmp_path / "slip.csv", "-o", tmp_path / "other").error
    assert f"{message}: correct it, say that it means missing" in error
    table["day"] = [*days[:20], *(["soon", "later", "never"] * 14)[:40]]
    column = read_text(table.to_csv(index=False)).column(0)
    assert {type(value) for value in column} == {np.datetime64, str}


def libraries(frame):
    """Return a data frame in each library."""
    zones = {"ambiguous": "NaT", "nonexistent": "NaT"}
    zoned = frame.assign(when=frame["when"].dt.tz_localize("Europe/Zurich", **zones))
    objects = frame.assign(day=frame["day"].dt.date.astype(object).where(frame["day"].notna(), None))
    return {
        "pandas": zoned,
        "pandas, another zone": frame.assign(when=frame["when"].dt.tz_localize("America/New_York", **zones)),
        "pandas by Arrow": zoned.convert_dtypes(dtype_backend="pyarrow"),
        "pandas, objects": objects,
        "polars": pl.from_pandas(zoned).with_columns(pl.col("day").cast(pl.Date)),
        "pyarrow": pa.Table.from_pandas(zoned, preserve_index=False),
    }


@pytest.mark.parametrize("library", libraries(visits(3)[0]))
def test_frames_come_back_with_dates(tmp_path, library):
    whole, holes = visits()
    frame = libraries(holes)[library]
    imputer = NADEkImputer(max_iter=20, random_state=0).fit(frame)
    filled = imputer.transform(frame)
    assert type(filled) is type(frame)
    types = [list(one.schema.types) if isinstance(one, pa.Table) else list(one.dtypes) for one in (frame, filled)]
    assert types[0] == types[1]
    as_pandas = [one.to_pandas() if not isinstance(one, pd.DataFrame) else one for one in (frame, filled)]
    observed = as_pandas[0].notna()
    assert not as_pandas[1].isna().any(axis=None)
    assert (as_pandas[1][observed].astype(object) == as_pandas[0][observed].astype(object))[observed].all(axis=None)
    away = pd.to_datetime(as_pandas[1]["day"]) - whole["day"]
    told = holes["day"].isna() & holes["age"].notna()  # the age tells the day
    assert away[told].abs().mean() < pd.Timedelta(days=40)
    for strategy in ("median", "mode", "sample"):
        imputer.set_params(strategy=strategy).transform(frame)
    assert imputer.levels_["day"].dtype == "M8[D]"
    low, high = imputer.predict_missing_quantiles(frame, [0.05, 0.95])["day"].T
    assert (low <= high).all()
    density = NADEk(max_iter=2, n_orderings=1, random_state=0).fit(frame)
    density.save(tmp_path / "model")
    again = NADEk.load(tmp_path / "model")
    samples = [one.sample(5, random_state=0) for one in (density, again)]
    # pandas makes no zoned type of Arrow of its name
    assert library == "pandas by Arrow" or samples[0].equals(samples[1])
    np.testing.assert_array_equal(again.score_samples(frame), density.score_samples(frame))


def test_observed_dates_keep_their_nanoseconds():
    frame = visits()[1].assign(when=lambda table: table["when"] + pd.Timedelta(1, "ns"))
    filled = NADEkImputer(max_iter=2, random_state=0).fit_transform(frame)
    observed = frame["when"].notna()
    pd.testing.assert_series_equal(filled["when"][observed], frame["when"][observed])


@pytest.mark.parametrize(
    "kind",
    [
        date,
        datetime,
        pd.Timestamp,
        lambda *day: np.datetime64(date(*day)),
        lambda *day: pd.Timestamp(*day, 3, tz="Europe/Zurich"),
        lambda *day: datetime(*day, 3, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_date_objects_are_filled_in_kind(kind):
    cells = [*(kind(2024, 1, day) for day in range(1, 29)), None]
    frame = pd.DataFrame({"day": pd.Series(cells, dtype=object), "n": range(0, 58, 2)})
    imputer = NADEkImputer(max_iter=1, random_state=0).fit(frame)
    for days in (imputer.transform(frame)["day"], imputer.fit_transform(frame.to_numpy())[:, 0]):
        assert len({(type(day), getattr(day, "tzinfo", None)) for day in (cells[0], *days)}) == 1
        assert cells[0] <= list(days)[28] <= cells[27]
    drawn = list(NADEk(max_iter=1, random_state=0).fit(frame).sample(5, random_state=0)["day"])
    assert len({(type(day), getattr(day, "tzinfo", None)) for day in (cells[0], *drawn)}) == 1
    assert set(drawn) <= set(cells)


def test_zones_are_one_time():
    east = timezone(timedelta(hours=2))
    times = [datetime(2020, 1, 1, 12, tzinfo=east), datetime(2020, 1, 1, 10, tzinfo=UTC)]
    values = np.array([*times, None, np.datetime64("NaT"), pd.NaT], dtype=object)
    column = infer(values, name="when")
    assert encode(column, values, name="when")[:2].tolist() == [0, 0]
    assert np.isnan(encode(column, values, name="when")[2:]).all()


@pytest.mark.parametrize(
    ("trained", "asked", "message"),
    [
        ([date(2020, 1, 1), date(2020, 1, 2)], [1.5, 2], 'row 1, column "a": expected a date or missing, found 1.5'),
        ([0.5, 2], [date(2020, 1, 1), None], 'row 1, column "a": expected a number or missing, found 2020-01-01'),
        ([date(2020, 1, 1)] * 2, ["x", None], "row 1, column \"a\": expected a date or missing, found 'x'"),
    ],
)
def test_other_cells_are_refused(trained, asked, message):
    column = infer(np.array(trained, dtype=object), name="a", integers="numeric")
    with pytest.raises(ValueError, match="^" + message.replace(".", r"\.")):
        encode(column, np.array(asked, dtype=object), name="a")


def test_dates_are_no_categories():
    with pytest.raises(ValueError, match=r'^column "day": dates are no categories; make text of them'):
        NADEkImputer(categorical_features=["day"]).fit(visits(30)[1])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_come_back_with_dates(tmp_path, suffix, monkeypatch):
    holes = visits()[1]
    path, output = tmp_path / f"t{suffix}", tmp_path / f"whole{suffix}"
    if suffix == ".csv":
        holes.assign(when=holes["when"].dt.strftime("%Y-%m-%dT%H:%M")).to_csv(path, index=False)
    else:
        holes.assign(day=holes["day"].dt.date).to_parquet(path)
    shown_lines = ok("fit", path, "-o", tmp_path / "model", "--epochs", "3").err
    assert 'column "day": numeric, dates from 2023-01-01 to 2023-12-3' in shown_lines
    ok("impute", tmp_path / "model", path, "-o", output, "-q")
    monkeypatch.setattr("nadek.tabular.cut_rows.CELLS", 200)
    ok("impute", tmp_path / "model", path, "-o", tmp_path / f"parts{suffix}", "-q")
    if suffix == ".csv":
        before, after, parts = (pd.read_csv(one, dtype=str) for one in (path, output, tmp_path / "parts.csv"))
        assert after.drop(columns="when").equals(parts.drop(columns="when"))
        apart = pd.to_datetime(after["when"]) - pd.to_datetime(parts["when"])
        assert apart.abs().max() <= pd.Timedelta(minutes=1)  # of a year: what single precision tells apart
        assert after["when"].str.fullmatch(r"2023-\d\d-\d\dT\d\d:\d\d").all()
        assert after["day"].str.fullmatch(r"2023-\d\d-\d\d").all()
        assert (after[before.notna()] == before)[before.notna()].all(axis=None)
    else:
        assert pq.read_schema(output).types == pq.read_schema(path).types
        assert pq.read_table(output)["day"].null_count == 0
    rows = ok("sample", tmp_path / "model", "-n", "3").out.splitlines()
    assert rows[0] == "day,when,age,half"
    assert all(len(row.split(",")[0]) == 10 for row in rows[1:])
    odd = ok("explain", tmp_path / "model", path, "--top", "400", "-q").out.splitlines()
    assert any(",day,2023-" in line and ".." in line for line in odd)
    error = nadek("impute", tmp_path / "model", path, "-o", tmp_path / "x.npz").error.rstrip()
    assert error.endswith('this form cannot hold the column "day", which holds dates; write .csv or .parquet')
