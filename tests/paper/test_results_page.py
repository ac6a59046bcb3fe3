"""The page of results: it is what the report makes of the records, and its claims are differences of rows."""

import json
import re
import shutil

import pytest

from nadek_paper.claims import Claims, claims_table
from nadek_paper.figures import read_pictures
from nadek_paper.grids.grid import grids
from nadek_paper.report import notes_of, pictures_of, write_report
from nadek_paper.rows import read_table, tables
from nadek_paper.table3 import Spreads
from nadek_paper.workspace import PAGE, RECIPES, RESULTS, Workspace, read_config


@pytest.fixture
def copied(tmp_path):
    """The records and the page where they may be written to."""
    shutil.copytree(RESULTS, tmp_path / "results")
    shutil.copytree(PAGE.parent, tmp_path / "docs")
    return Workspace(results=tmp_path / "results")


@pytest.mark.slow
def test_page_is_up_to_date(copied):
    before, page = PAGE.read_text(), copied.results.parent / "docs" / "results.md"
    write_report(copied, page)
    assert page.read_text() == before, "give nadek-paper report"
    summary = (copied.results / "summary.json").read_text()
    assert summary == (RESULTS / "summary.json").read_text(), "give nadek-paper report"


def test_page_has_every_place():
    places = re.findall(r"<!-- generated: (.*?) -->", PAGE.read_text())
    expected = {
        *tables(RECIPES),
        *grids(RECIPES),
        "table3",
        "meanfield",
        "claims",
        "notes table1",
        "notes table2",
    }
    assert {f"figure {picture.name}" for picture in read_pictures(RECIPES)} | expected <= set(places)
    assert len(places) == len(set(places))


@pytest.mark.slow
def test_missing_study_is_announced(copied):
    page = copied.results / "page.md"
    page.write_text("# Page\n\n<!-- generated: ksweep -->\n\n<!-- /generated -->\n")
    for study in ("grid-ksweep", "meanfield"):
        (copied.results / f"{study}.json").unlink()
    write_report(copied, page)
    assert "<!-- generated: ksweep -->\n\n*Not run yet.*\n\n<!-- /generated -->" in page.read_text()
    assert "meanfield" not in page.read_text()  # the page has no place for it


def entry(*recipes):
    """A row of the summary with these results, by recipe."""
    results = dict(recipes)
    return {"recipes": {kind: {"best_validation": 90.0, **result} for kind, result in results.items()}}


def test_claims_are_differences():
    claims = read_config(Claims, RECIPES / "claims.toml")
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
    lines = {line.split(" | ")[0][2:]: line for line in claims_table(RECIPES, claims, summary).splitlines()[2:]}
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
    table = claims_table(RECIPES, claims, summary)
    assert f"{mixed} | +1.48 | – | – (ensembles of different orderings or rows) |" in table
    for ours, line in ((-110.0, "+7.78 | yes (against the value cited)"), (-104.0, "+4.00 | yes")):
        summary["table2"]["rbm-4000h"] = entry(("modern", {"test_log_likelihood": ours}))
        assert f"{rbm} | +0.50 | {line} |" in claims_table(RECIPES, claims, summary)
    assert "with one hidden layer, NADE-5 is better than NADE-mask | +2.15 | -1.00 | no |" in table


def test_notes_appear_once():
    rows = read_table(RECIPES / "table1")
    notes = notes_of(rows)
    assert len(set(notes.splitlines())) == len(notes.splitlines())
    assert all(note in notes for row in rows for note in row.notes)
    assert "*All networks of the paper*: both recipes: the data mean" in notes


def test_drawn_pictures_are_shown(copied):
    page = copied.results.parent / "docs" / "results.md"
    (picture, *_) = read_pictures(RECIPES)
    record = copied.results / f"figures-{picture.name}.json"
    file = page.parent / "pictures" / f"{picture.name}.png"
    record.unlink(missing_ok=True)
    assert picture.name not in pictures_of(copied, page)
    record.write_text(json.dumps({}))
    file.write_bytes(b"")
    shown = pictures_of(copied, page)[picture.name]
    assert shown.startswith(f"![{picture.title}](pictures/{picture.name}.png)")


@pytest.mark.parametrize("cls", [Claims, Spreads])
def test_broken_toml_is_named_once(tmp_path, cls):
    path = tmp_path / "bad.toml"
    path.write_text("rows = [")
    with pytest.raises(ValueError, match="is not valid TOML") as caught:
        read_config(cls, path)
    assert str(caught.value).count("bad.toml") == 1
