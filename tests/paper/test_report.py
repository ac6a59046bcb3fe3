"""The report: summary, tables in Markdown, and records that do not fit."""

import json

import pytest

from nadek.utils.configs import encode
from nadek_paper.report import markdown_table, summary, write_report
from nadek_paper.rows import read_row
from support.paper_rows import CITED, TOML, record_of, workspace_in, write_row


def made_up(folder, row, kind, /, **changes):
    """A record with what a report reads."""
    record = {
        "table": row.table, "row": row.name, "recipe": kind,
        "test_log_likelihood": -21.125, "standard_error": 0.25, "orderings": 3, "rows": 1300, "ensemble": -20.0,
        "ensemble_standard_error": None, "ensemble_orderings": 1, "ensemble_rows": 10, "best_validation": 22.0,
        "config": encode(row.recipe(kind)), **changes,
    }  # fmt: skip
    path = record_of(folder, row, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))


def test_summary_takes_best_validation(tmp_path):
    row = read_row(write_row(tmp_path))
    write_row(tmp_path, "rbm", CITED)
    made_up(tmp_path, row, "modern", best_validation=22.0, test_log_likelihood=-21.0)
    made_up(tmp_path, row, "paper", best_validation=21.0, test_log_likelihood=-23.0)
    content = summary(workspace_in(tmp_path))
    assert list(content) == ["table9"]
    assert list(content["table9"]) == ["nade-2"]
    entry = content["table9"]["nade-2"]
    assert (entry["recipe"], entry["test_log_likelihood"], entry["paper"]) == ("paper", -23.0, -20.5)
    assert (entry["record"], entry["stale"]) == ("table9-nade-2-paper.json", False)
    assert {"standard_error", "orderings", "rows", "ensemble"} <= set(entry)
    assert {kind: one["test_log_likelihood"] for kind, one in entry["recipes"].items()} == {
        "modern": -21.0,
        "paper": -23.0,
    }


def taught_by(folder):
    """A row that learns in its usual way, and so from a model."""
    modern = TOML[TOML.index("[recipes.modern.training]") : TOML.index("[recipes.paper]")]
    head = TOML[: TOML.index("[recipes.paper]")]
    return f'{head}[recipes.taught]\nteacher = "{folder}"\n{modern.replace("modern", "taught")}'


def test_spreads_leave_out_teachers(tmp_path):
    row = read_row(write_row(tmp_path, text=taught_by("mnist-unet")))
    spreads = {"ensemble_spread_over_orderings": 2.0, "ensemble_spread_over_rows": 20.0}
    made_up(tmp_path, row, "modern", **spreads)
    made_up(tmp_path, row, "taught", best_validation=20.0, test_log_likelihood=-19.0, **spreads)
    (tmp_path / "recipes" / "table3.toml").write_text(
        'title = "spreads"\ntable = "table9"\n[[rows]]\nrow = "nade-2"\nmean = -20.5\nover_orderings = 2.1\n'
        "over_rows = 21.0\n"
    )
    content = summary(workspace_in(tmp_path))
    assert content["table9"]["nade-2"]["recipe"] == "taught"
    assert (content["table3"]["nade-2"]["recipe"], content["table3"]["nade-2"]["test_log_likelihood"]) == (
        "modern",
        -21.125,
    )


def test_markdown_table_lines(tmp_path):
    row = read_row(write_row(tmp_path))
    rows = [read_row(write_row(tmp_path, "a-rbm", CITED)), row]
    rows.append(read_row(write_row(tmp_path, "z", TOML.replace("NADE-2", "Z").replace("paper = -20.5", ""))))
    made_up(tmp_path, row, "modern")
    assert markdown_table(workspace_in(tmp_path), rows).splitlines()[2:] == [
        "| NADE-2 | modern | -20.50 | -21.12 | 0.25 | 3 orderings, 1,300 rows | -19.25 | -20.00 | – |"
        " 1 ordering, 10 rows |",
        "| Z | – | – | – | – | – | -19.25 | – | – | – |",
        "| RBM (cited) | – | -30.00 | – | – | – | – | – | – | – |",
    ]


def test_report_fills_places_reproducibly(tmp_path):
    row = read_row(write_row(tmp_path))
    write_row(tmp_path, "b", table="table1")
    made_up(tmp_path, row, "modern")
    page = tmp_path / "results.md"
    page.write_text("# Ours\n\n<!-- generated: table9 -->old \\1<!-- /generated -->\n\nThe end.\n")
    assert write_report(workspace_in(tmp_path), page) == []
    text, saved = page.read_text(), (tmp_path / "results" / "summary.json").read_bytes()
    assert "old" not in text
    assert text.startswith("# Ours\n\n<!-- generated: table9 -->\n\n| model |")
    assert "<!-- /generated -->\n\nThe end.\n\n## table1\n\n<!-- generated: table1 -->\n\n| model |" in text
    assert "| NADE-2 | modern |" in text
    assert json.loads(saved) == summary(workspace_in(tmp_path))
    write_report(workspace_in(tmp_path), page)
    assert page.read_text() == text
    assert (tmp_path / "results" / "summary.json").read_bytes() == saved


def test_stale_record_is_reported(tmp_path):
    row = read_row(write_row(tmp_path))
    made_up(tmp_path, row, "modern", config={"model": "another"})
    (stale,) = write_report(workspace_in(tmp_path), tmp_path / "results.md")
    assert stale.path.name == "table9-nade-2-modern.json"
    assert "| NADE-2 | modern (changed since) |" in (tmp_path / "results.md").read_text()
    assert summary(workspace_in(tmp_path))["table9"]["nade-2"]["stale"] is True


@pytest.mark.parametrize("content", ["{", "[]"])
def test_damaged_record_is_named(content, tmp_path):
    row = read_row(write_row(tmp_path))
    made_up(tmp_path, row, "modern")
    path = record_of(tmp_path, row)
    path.write_text(content)
    with pytest.raises(ValueError, match=r"table9-nade-2-modern.json"):
        summary(workspace_in(tmp_path))


def test_empty_report_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there are no tables in"):
        write_report(workspace_in(tmp_path), tmp_path / "results.md")
