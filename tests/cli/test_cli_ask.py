"""``nadek explain``, ``suggest`` and ``complete``: what the library answers, in the words of the user's table."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
import torch

from nadek.checkpoints import SavedModel, load_saved, save
from nadek.inference import beam, expected_information, explain_cells, greedy
from nadek.runs.data import read_model_rows
from nadek.tabular.columns import level_names, log_outwards
from nadek.tabular.schema import Schema
from support.command import COLUMNS, answers, nadek, ok, write_csv
from support.tables import KINDS, NAMES, read_matrix, saved_model
from zoo import build

PEOPLE = """smoker,city,age,ill
no,Turku,4,1
yes,,12.5,
,,,0
no,"a, b",40,1
,Oslo,,
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A model of words and numbers, and a table for it."""
    folder = tmp_path_factory.mktemp("people")
    save(folder / "model", saved_model(KINDS[:4], NAMES[:4]))
    (folder / "people.csv").write_text(PEOPLE)
    return folder / "model", folder / "people.csv"


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A model of 0 and 1 with names, and a table with holes."""
    folder = tmp_path_factory.mktemp("survey")
    save(folder / "model", SavedModel(build("nade-5 1hl", 5).float(), Schema(columns=COLUMNS)))
    write_csv(folder / "holes.csv", answers(30, seed=5, missing=0.4))
    return folder / "model", folder / "holes.csv"


def lines(text):
    return list(csv.DictReader(io.StringIO(text)))


# explain


def test_explain_names_the_most_surprising_cells(people):
    saved, x = load_saved(people[0]), read_model_rows(load_saved(people[0]), str(people[1])).x
    ages = np.array([4, 12.5, 20, 40, 20])
    outwards = torch.zeros(5, 4, dtype=torch.float64)
    outwards[:, 2] = torch.from_numpy(log_outwards(KINDS[2], ages))
    cells = explain_cells(saved.model, x, outwards=outwards)
    rows = lines(ok("explain", *people, "-q").out)
    assert len(rows) == (~x.isnan()).sum()
    surprises = [float(line["surprise"]) for line in rows]
    ordered = [round(surprise, 3) for surprise in surprises]
    assert ordered == sorted(ordered, reverse=True)
    for line in rows:
        row, column = int(line["row"]) - 1, saved.schema.columns.index(line["column"])
        assert float(line["surprise"]) == pytest.approx(cells.surprise[row, column].item(), rel=1e-6)
        assert line["expected"] == level_names(KINDS[column])[int(cells.expected[row, column])]
    assert lines(ok("explain", *people, "--top", 4, "-q").out) == rows[:4]
    fourth = [line for line in rows if line["row"] == "4"]
    assert lines(ok("explain", *people, "--row", 4, "-q").out) == fourth
    error = nadek("explain", *people, "--row", 6).error
    assert error == f"--row: expected one of the rows 1 to 5 of {people[1]}, found 6"


def test_explain_uses_the_table_words(people):
    rows = lines(ok("explain", *people, "-q").out)
    values = {(int(line["row"]), line["column"]): line["value"] for line in rows}
    expected = {(1, "smoker"): "no", (1, "city"): "Turku", (1, "age"): "4", (1, "ill"): "1", (2, "smoker"): "yes"}
    expected |= {(2, "age"): "12.5", (3, "ill"): "0", (4, "smoker"): "no", (4, "city"): "a, b", (4, "age"): "40"}
    assert values == expected | {(4, "ill"): "1", (5, "city"): "Oslo"}


def test_explain_lists_answers_that_training_did_not_have(tmp_path):
    smoker, city, *others = KINDS[:4]
    save(tmp_path / "model", saved_model((smoker, replace(city, n_values=10**6 - 1), *others), NAMES[:4]))
    (tmp_path / "people.csv").write_text(PEOPLE.replace("Oslo", "Olso"))
    people = tmp_path / "model", tmp_path / "people.csv"
    (cell,) = (line for line in lines(ok("explain", *people, "-q").out) if line["value"] == "Olso")
    assert (cell["row"], cell["column"]) == ("5", "city")
    assert float(cell["surprise"]) == pytest.approx(6 * np.log(10))
    (row,) = (line for line in lines(ok("score", *people, "--outliers", 5, "-q").out) if line["row"] == "5")
    assert (row["column"], row["value"], row["expected"]) == ("city", "Olso", cell["expected"])


def test_far_numbers_come_first(people, tmp_path):
    table = tmp_path / "ages.csv"
    table.write_text("smoker,city,age,ill\n" + "no,Turku,20,1\nyes,Oslo,20,0\n" * 3 + "no,Turku,400,1\n,,-300,\n")
    rows = lines(ok("explain", people[0], table, "--top", 2, "-q").out)
    worst = lines(ok("score", people[0], table, "--outliers", 2, "-q").out)
    for some in (rows, worst):
        assert {(line["row"], line["column"], line["value"]) for line in some} == {
            ("7", "age", "400"),
            ("8", "age", "-300"),
        }
    assert float(rows[1]["surprise"]) > 15
    scores = [float(line["outlier_score"]) for line in worst]
    assert scores == sorted(scores)


# suggest


def test_suggest_asks_most_informative_cell(people):
    saved, x = load_saved(people[0]), read_model_rows(load_saved(people[0]), str(people[1])).x
    result = ok("suggest", *people)
    information = torch.full(x.shape, torch.nan, dtype=torch.float64)
    holes = x.isnan().any(1)
    information[holes] = expected_information(saved.model, x[holes])  # other rows beside these would round otherwise
    rows = lines(result.out)
    assert "2 of 5 rows are left out, as fewer than two cells are unknown in them" in result.err
    assert [int(line["row"]) for line in rows] == [2, 2, 3, 3, 3, 5, 5, 5]
    for line in rows:
        column = saved.schema.columns.index(line["ask"])
        actual = information[int(line["row"]) - 1, column].item()
        assert float(line["expected_information"]) == pytest.approx(actual, rel=1e-6)
    best = [float(line["expected_information"]) for line in rows if line["row"] == "5"]
    assert best == sorted(best, reverse=True)
    assert {line["ask"] for line in rows if line["row"] == "5"} == {"smoker", "age", "ill"}


def test_suggest_excludes_the_target(people):
    saved, x = load_saved(people[0]), read_model_rows(load_saved(people[0]), str(people[1])).x
    flags = torch.tensor([False, True, False, False])
    rows = lines(ok("suggest", *people, "--target", "city", "--top", "1", "-q").out)
    information = expected_information(saved.model, x[1:3], flags)
    assert [line["row"] for line in rows] == ["2", "3"]
    assert "city" not in {line["ask"] for line in rows}
    assert float(rows[0]["expected_information"]) == pytest.approx(information[0, 3].item(), rel=1e-6)
    assert float(rows[1]["expected_information"]) == pytest.approx(information[1, [0, 2]].max().item(), rel=1e-6)


def test_several_targets(survey):
    rows = lines(ok("suggest", *survey, "--target", "age", "--target", "b,c", "-q").out)
    assert {line["ask"] for line in rows} == {"ü", "d", "e"}
    assert lines(ok("suggest", *survey, "--target", 'age,"b,c"', "-q").out) == rows


def test_suggest_reports_nothing_to_ask(people, tmp_path):
    whole = tmp_path / "whole.csv"
    whole.write_text("smoker,city,age,ill\nno,Turku,4,1\n")
    result = nadek("suggest", people[0], whole)
    assert result.code == 1
    assert result.error == f"{whole}: there is nothing to ask: in every row fewer than two cells are unknown"
    result = nadek("suggest", people[0], whole, "--target", "city")
    assert result.error.endswith("in every row the target is known, or nothing else is unknown")


def test_unknown_target_is_refused(people):
    error = nadek("suggest", *people, "--target", "town").error
    assert error == "--target: found 'town', expected one of the columns 'smoker', 'city', 'age', 'ill'"


# complete


@pytest.mark.parametrize("method", ["greedy", "certain", "beam"])
def test_complete_follows_the_method(method, survey, tmp_path):
    saved, x = load_saved(survey[0]), read_model_rows(load_saved(survey[0]), str(survey[1])).x
    generator = torch.Generator().manual_seed(4)
    actual = {
        "greedy": lambda: greedy(saved.model, x, generator=generator),
        "certain": lambda: greedy(saved.model, x, most_certain_first=True),
        "beam": lambda: beam(saved.model, x, width=5, generator=generator),
    }[method]()
    options = ("--method", method, "--seed", "4", "--width", "5")
    result = ok("complete", *survey, *options, "-o", tmp_path / "whole.csv")
    whole = read_matrix(tmp_path / "whole.csv")
    assert whole.columns == COLUMNS
    np.testing.assert_array_equal(whole.values, actual.x.numpy())
    mean = actual.log_prob.sum() / x.isnan().any(1).sum()
    assert f"mean log-probability of a row's completion: {mean:.3f} nats" in result.err
    assert f"filled {int(x.isnan().sum())} of 150 cells in 30 rows" in result.err


def test_complete_keeps_observed_words(people):
    table = lines(ok("complete", *people, "--log-probability", "-q").out)
    for before, after in zip(lines(PEOPLE), table, strict=True):
        for name, value in before.items():
            if not value:
                allowed = {"smoker": ("no", "yes"), "city": KINDS[1].levels, "ill": ("0", "1")}
                assert after[name] in allowed.get(name, ("4.5", "13", "13.0", "25.25"))
            else:
                assert after[name] == value or float(after[name]) == float(value)
    log_probability = [float(row["log_probability"]) for row in table]
    assert log_probability[0] == log_probability[3] == 0
    assert all(log_probability[i] != 0 for i in (1, 2, 4))  # with densities of numbers it may be above 0


def test_complete_reports_exact_log_probability(survey, tmp_path):
    for suffix in (".npz", ".parquet"):
        ok("complete", *survey, "--log-probability", "-o", tmp_path / f"whole{suffix}", "-q")
        table = read_matrix(tmp_path / f"whole{suffix}", binary=False)
        assert table.columns == (*COLUMNS, "log_probability")
        saved, x = load_saved(survey[0]), read_model_rows(load_saved(survey[0]), str(survey[1])).x
        actual = beam(saved.model, x, width=16, generator=torch.Generator().manual_seed(0))
        np.testing.assert_allclose(table.values[:, -1], actual.log_prob, rtol=1e-5, atol=1e-6)
