"""The page of results: it is what the report makes of the records, and its claims are differences of rows."""

import json
import re
import shutil
from pathlib import Path

import pytest

from nadek_paper.claims import claims_table, read_claims
from nadek_paper.extras import notes_of, pictures_of
from nadek_paper.figures import read_pictures
from nadek_paper.grids import grids
from nadek_paper.report import write_report
from nadek_paper.rows import read_table, tables
from nadek_paper.table3 import read_variability

ROOT = Path(__file__).parents[2]
EXPERIMENTS, PAGE = ROOT / "experiments", ROOT / "docs" / "results.md"


@pytest.fixture
def copied(tmp_path):
    """The records and the page where they may be written to."""
    shutil.copytree(EXPERIMENTS, tmp_path / "experiments")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    return tmp_path


def test_the_page_is_what_the_report_makes_of_the_records(copied):
    before = PAGE.read_text()
    write_report(copied / "experiments", copied / "docs" / "results.md")
    assert (copied / "docs" / "results.md").read_text() == before, "give nadek report"
    summary = EXPERIMENTS / "results" / "summary.json"
    assert (copied / "experiments" / "results" / "summary.json").read_text() == summary.read_text(), "give nadek report"


def test_the_page_has_a_place_for_everything():
    places = re.findall(r"<!-- generated: (.*?) -->", PAGE.read_text())
    expected = {
        *tables(EXPERIMENTS),
        *grids(EXPERIMENTS),
        "table3",
        "meanfield",
        "claims",
        "notes table1",
        "notes table2",
    }
    assert {f"figure {picture.name}" for picture in read_pictures(EXPERIMENTS)} | expected <= set(places)
    assert len(places) == len(set(places))


def test_a_study_that_was_not_run_is_said_to_be(copied):
    page, empty = copied / "page.md", "# Page\n\n<!-- generated: ksweep -->\n\n<!-- /generated -->\n"
    page.write_text(empty)
    write_report(copied / "experiments", page)
    assert "*Not run yet.*" not in page.read_text().split("<!-- /generated -->")[0]
    for study in ("grid-ksweep", "meanfield"):
        (copied / "experiments" / "results" / f"{study}.json").unlink(missing_ok=True)
    page.write_text(empty)  # what was run is added to a page that has no place for it
    write_report(copied / "experiments", page)
    assert "<!-- generated: ksweep -->\n\n*Not run yet.*\n\n<!-- /generated -->" in page.read_text()
    assert "meanfield" not in page.read_text()  # the page has no place for it


def test_one_ordering_is_no_ensemble():
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith("| NADE 1HL (fixed order)"))
    assert "1 ordering" in line
    assert line.endswith("| – | – | – | – |")


def test_what_is_shown_is_there():
    for file in re.findall(r"!\[.*?\]\((.*?)\)", PAGE.read_text()):
        assert (PAGE.parent / file).is_file()


def entry(*recipes):
    """A row of the summary with these results, by recipe."""
    told = dict(recipes)
    return {"recipes": {kind: {"best_validation": 90.0, **result} for kind, result in told.items()}}


def test_claims_are_differences():
    claims = read_claims(EXPERIMENTS / "claims.toml")
    five = {"test_log_likelihood": -89.0, "ensemble": -84.0, "ensemble_mean": -87.0}  # on easier rows
    summary = {
        "table1": {
            "nade-5-1hl": entry(
                ("modern", five),
                ("paper", {"test_log_likelihood": -70.0, "best_validation": 95.0}),  # validates worse
                ("taught", {"test_log_likelihood": -60.0, "best_validation": 80.0}),  # had a teacher
            ),
            "nade-mask-1hl": entry(("modern", {"test_log_likelihood": -88.0, "ensemble": -87.0})),
            "nade-5-2hl": entry(("taught", five)),
        },
        "table2": {"nade-5-4000h": entry(("modern", {"test_log_likelihood": -100.0}))},
    }
    lines = {line.split(" | ")[0][2:]: line for line in claims_table(EXPERIMENTS, claims, summary).splitlines()[2:]}
    assert lines["with one hidden layer, NADE-5 is better than NADE-mask"].endswith("| +2.15 | -1.00 | no |")
    mixed = "as ensembles of 128 orderings, with one hidden layer, NADE-5 is better than NADE-mask"
    assert lines[mixed].endswith("| +1.48 | +3.00 | yes |")
    machine = "as an ensemble of 128 orderings, NADE-5 with one hidden layer is better than the RBM"  # quoted as -86.34
    assert lines[machine].endswith("| +0.11 | +0.34 | level (against the value cited) |")
    assert lines["NADE with a fixed order is better than NADE-5 with one hidden layer"].endswith("| +1.16 | – | – |")
    assert lines["a second hidden layer helps NADE-5"].endswith("| +2.88 | – | – |")
    rbm = "on Caltech, NADE-5 is better than the best RBM"  # quoted as -107.78
    assert lines[rbm].endswith("| +0.50 | +7.78 | yes (against the value cited) |")
    assert len(lines) == 16
    summary["table1"]["nade-5-1hl"]["recipes"]["modern"]["ensemble_orderings"] = 10
    told = claims_table(EXPERIMENTS, claims, summary)
    assert f"{mixed} | +1.48 | – | – (ensembles of different orderings or rows) |" in told
    for ours, line in ((-110.0, "+7.78 | yes (against the value cited)"), (-104.0, "+4.00 | yes")):
        summary["table2"]["rbm-4000h"] = entry(("modern", {"test_log_likelihood": ours}))
        assert f"{rbm} | +0.50 | {line} |" in claims_table(EXPERIMENTS, claims, summary)
    assert "with one hidden layer, NADE-5 is better than NADE-mask | +2.15 | -1.00 | no |" in told


def test_notes_are_told_once():
    rows = read_table(EXPERIMENTS / "table1")
    told = notes_of(rows)
    assert len(set(told.splitlines())) == len(told.splitlines())
    assert all(note in told for row in rows for note in row.notes)
    assert "*All networks of the paper*: both recipes: the data mean" in told


def test_a_picture_is_shown_when_it_was_made(copied):
    page = copied / "docs" / "results.md"
    (picture, *_) = read_pictures(copied / "experiments")
    record = copied / "experiments" / "results" / f"figures-{picture.name}.json"
    file = copied / "docs" / "pictures" / f"{picture.name}.png"
    record.unlink(missing_ok=True)
    assert picture.name not in pictures_of(copied / "experiments", page)
    record.write_text(json.dumps({}))
    file.write_bytes(b"")
    shown = pictures_of(copied / "experiments", page)[picture.name]
    assert shown.startswith(f"![{picture.title}](pictures/{picture.name}.png)")


@pytest.mark.parametrize("read", [read_claims, read_variability])
def test_a_file_that_is_no_toml_is_named_once(tmp_path, read):
    path = tmp_path / "bad.toml"
    path.write_text("rows = [")
    with pytest.raises(ValueError, match="is not valid TOML") as caught:
        read(path)
    assert str(caught.value).count("bad.toml") == 1
