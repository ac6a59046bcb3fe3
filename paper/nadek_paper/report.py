"""From rows and records to tables: ``summary.json`` for programs, Markdown for people. No number is typed."""

import json
from pathlib import Path
from typing import Any

from nadek.runs.records import read_record
from nadek.utils.atomic import replacing
from nadek_paper.claims import claims_table, read_claims
from nadek_paper.extras import notes_of, pictures_of
from nadek_paper.grids import grid_tables, grids, read_grid
from nadek_paper.markdown import NOT_RUN, NOTHING, markdown, number, over, placed
from nadek_paper.result_records import SHARED, Found, records_of
from nadek_paper.rows import KINDS, Row, names_machine, read_table, tables
from nadek_paper.run_meanfield import NAME as MEANFIELD
from nadek_paper.run_meanfield import meanfield_table
from nadek_paper.table3 import read_variability, variability_summary, variability_table

COLUMNS = ("model", "recipe", "paper", "ours", "±", "over", "paper, ensemble", "ours, ensemble", "±", "over")
NO_ENSEMBLE = dict.fromkeys(("ensemble", "ensemble_standard_error", "ensemble_orderings", "ensemble_rows"))
"""What is told of the ensemble of a model that has one ordering only."""

SPREADS = "table3"
"""The paper's table that is made from the records of another one."""


def summary(experiments: Path) -> dict[str, dict[str, Any]]:
    """All tables with a record: table -> row -> the paper's values beside ours, by the recipe that validates best."""
    told = {}
    for table in tables(experiments):
        found = {row.name: (row, records_of(experiments, row)) for row in read_table(experiments / table)}
        told[table] = {name: _entry(row, records) for name, (row, records) in found.items() if records}
    if (experiments / f"{SPREADS}.toml").is_file():
        told[SPREADS] = variability_summary(experiments, read_variability(experiments / f"{SPREADS}.toml"))
    return told


def write_report(experiments: Path, page: Path) -> list[Found]:
    """Write ``results/summary.json`` and bring the tables of a Markdown page up to date.

    What stands between ``<!-- generated: TABLE -->`` and ``<!-- /generated -->`` is replaced; a table without such a
    place gets one at the page's end, and a page that is not there is begun. Claims, notes (``notes TABLE``) and
    pictures (``figure NAME``) are shown where the page has a place for them.

    Args:
        experiments: the folder of the tables.
        page: the Markdown page.

    Returns:
        The records whose recipe has been changed since.

    Raises:
        FileNotFoundError: if there are no tables, or the page's folder does not exist.
        ValueError: on a row or a record that cannot be read.
    """
    names = tables(experiments)
    if not names:
        raise FileNotFoundError(f"there are no tables in {experiments}: expected folders table* with rows in TOML")
    text = page.read_text(encoding="utf-8") if page.is_file() else "# Results\n"
    for name, block in _blocks(experiments).items():
        text = placed(text, name, block)
    for name, block in _extras(experiments, page).items():
        text = placed(text, name, block, append=False)
    results = experiments / "results"
    results.mkdir(exist_ok=True)
    _write(page, text)
    _write(results / "summary.json", json.dumps(summary(experiments), indent=2) + "\n")
    rows = [row for name in names for row in read_table(experiments / name)]
    return [one for row in rows for one in records_of(experiments, row) if one.stale]


def markdown_table(experiments: Path, rows: list[Row]) -> str:
    """One line a record, a dash for what is not there; values that are only cited come last."""
    lines: list[tuple[str, ...]] = []
    for row in sorted(rows, key=lambda row: row.cited):
        found = records_of(experiments, row)
        lines += [_line(row, one, experiments) for one in found] or [_line(row, None, experiments)]
    return markdown(COLUMNS, lines, words=2)


def _blocks(experiments: Path) -> dict[str, str]:
    """All tables of the page by their names: rows, the spreads made from them, and the grids that were run."""
    blocks = {name: markdown_table(experiments, read_table(experiments / name)) for name in tables(experiments)}
    if (experiments / f"{SPREADS}.toml").is_file():
        blocks[SPREADS] = variability_table(experiments, read_variability(experiments / f"{SPREADS}.toml"))
    for name in grids(experiments):
        path = _record_of(experiments, name)
        if path.is_file():
            blocks[name] = grid_tables(read_grid(experiments / "grids" / f"{name}.toml"), read_record(path))
    path = _record_of(experiments, MEANFIELD)
    if path.is_file():
        blocks[MEANFIELD] = meanfield_table(experiments, read_record(path))
    return blocks


def _record_of(experiments: Path, study: str) -> Path:
    """Where the record of a grid, or of the mean field of RBMs, would be."""
    return experiments / "results" / (f"{MEANFIELD}.json" if study == MEANFIELD else f"grid-{study}.json")


def _extras(experiments: Path, page: Path) -> dict[str, str]:
    """What is shown only where the page has a place for it: claims, notes and pictures."""
    shown = {name: NOT_RUN for name in (*grids(experiments), MEANFIELD) if not _record_of(experiments, name).is_file()}
    shown |= {f"figure {name}": block for name, block in pictures_of(experiments, page).items()}
    for name in tables(experiments):
        shown[f"notes {name}"] = notes_of(read_table(experiments / name))
    if (experiments / "claims.toml").is_file():
        claims = read_claims(experiments / "claims.toml")
        shown["claims"] = claims_table(experiments, claims, summary(experiments))
    return shown


def _line(row: Row, found: Found | None, experiments: Path) -> tuple[str, ...]:
    paper, paper_ensemble = number(row.paper), number(row.paper_ensemble)
    if found is None:
        title = f"{row.title} (cited)" if row.cited else row.title
        return title, NOTHING, paper, NOTHING, NOTHING, NOTHING, paper_ensemble, NOTHING, NOTHING, NOTHING
    of = found.record
    ensemble = NO_ENSEMBLE if of["orderings"] == of["ensemble_orderings"] == 1 else of
    return (
        row.title,
        _recipe(found, experiments),
        paper,
        number(of["test_log_likelihood"]),
        number(of["standard_error"]),
        over(of["orderings"], of["rows"], in_turn=of.get("in_turn", False)),
        paper_ensemble,
        number(ensemble["ensemble"]),
        number(ensemble["ensemble_standard_error"]),
        over(ensemble["ensemble_orderings"], ensemble["ensemble_rows"]),
    )


def _recipe(found: Found, experiments: Path) -> str:
    """Which recipe, its teacher, what the weights began as, and whether it was changed since."""
    config = found.record["config"]
    teacher = f" by {config['teacher']}" if config.get("teacher") else ""
    start = config.get("start")
    began = "" if start is None else ", from an RBM" if names_machine(start, experiments) else f", from {start}"
    return f"{found.kind}{teacher}{began}{' (changed since)' if found.stale else ''}"


def _entry(row: Row, found: list[Found]) -> dict[str, Any]:
    """A row of the summary."""
    by_kind = {one.kind: _told(one) for one in sorted(found, key=lambda one: KINDS.index(one.kind))}
    best = found[0]
    return {
        "title": row.title,
        "paper": row.paper,
        "paper_ensemble": row.paper_ensemble,
        "recipe": best.kind,
        **by_kind[best.kind],
        "recipes": by_kind,
    }


def _told(found: Found) -> dict[str, Any]:
    return {
        **{key: found.record[key] for key in SHARED},
        "ensemble_mean": found.record.get("ensemble_mean"),
        **({"in_turn": True} if found.record.get("in_turn") else {}),
        "best_validation": found.record["best_validation"],
        "record": found.path.name,
        "stale": found.stale,
    }


def _write(path: Path, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode())
