"""Tables and pictures of a page, and ``summary.json``, made from the records."""

import json
from pathlib import Path
from typing import Any

from nadek.utils.atomic import read_record, replacing
from nadek_paper.claims import Claims, claims_table
from nadek_paper.figures import read_pictures
from nadek_paper.grids.grid import grids, read_grid
from nadek_paper.grids.study import record_name
from nadek_paper.grids.table import grid_tables
from nadek_paper.markdown import NOT_RUN, NOTHING, insert, markdown, number, over
from nadek_paper.meanfield import NAME as MEANFIELD
from nadek_paper.meanfield import meanfield_table
from nadek_paper.result_records import ENSEMBLE, SHARED, RowRecord, records_of
from nadek_paper.rows import KINDS, Row, names_rbm, read_table, tables
from nadek_paper.table3 import NAME as TABLE3
from nadek_paper.table3 import read_spreads, spreads_summary, spreads_table
from nadek_paper.workspace import Workspace, read_config

COLUMNS = ("model", "recipe", "paper", "ours", "±", "over", "paper, ensemble", "ours, ensemble", "±", "over")


def summary(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Return table -> row -> the paper's values beside ours, by the recipe that validates best."""
    content = {}
    for name in tables(workspace.recipes):
        records = {row.name: (row, records_of(workspace, row)) for row in read_table(workspace.recipes / name)}
        content[name] = {key: _entry(row, of_row) for key, (row, of_row) in records.items() if of_row}
    spreads = read_spreads(workspace)
    if spreads is not None:
        content[TABLE3] = spreads_summary(workspace, spreads)
    return content


def write_report(workspace: Workspace, page: Path) -> list[RowRecord]:
    """Write ``summary.json`` beside the records, and update the tables of a Markdown page.

    Text between ``<!-- generated: TABLE -->`` and ``<!-- /generated -->`` is replaced. A table without such a place is
    added at the page's end; claims, notes (``notes TABLE``) and pictures (``figure NAME``) need one.
    """
    names = tables(workspace.recipes)
    if not names:
        raise FileNotFoundError(f"there are no tables in {workspace.recipes}: expected folders table* with TOML files")
    text = page.read_text(encoding="utf-8") if page.is_file() else "# Results\n"
    for append, blocks in ((True, _tables(workspace)), (False, _extras(workspace, page))):
        for name, block in blocks.items():
            text = insert(text, name, block, append=append)
    workspace.results.mkdir(parents=True, exist_ok=True)
    _write(page, text)
    _write(workspace.results / "summary.json", json.dumps(summary(workspace), indent=2) + "\n")
    rows = [row for name in names for row in read_table(workspace.recipes / name)]
    return [record for row in rows for record in records_of(workspace, row) if record.stale]


def markdown_table(workspace: Workspace, rows: list[Row]) -> str:
    """Return one line for each record, a dash for a missing value; cited values come last."""
    lines: list[tuple[str, ...]] = []
    for row in sorted(rows, key=lambda row: row.cited):
        lines += [_line(row, record, workspace) for record in records_of(workspace, row) or (None,)]
    return markdown(COLUMNS, lines, words=2)


def notes_of(rows: list[Row]) -> str:
    """Return every note once, with its rows."""
    rows_of_note: dict[str, list[Row]] = {}
    for row in rows:
        for note in row.notes:
            rows_of_note.setdefault(note, []).append(row)
    networks = [row for row in rows if row.recipes.paper is not None]
    lines = []
    for note, about in rows_of_note.items():
        names = "All networks of the paper" if about == networks else ", ".join(row.title for row in about)
        lines.append(f"- *{names}*: {note}.")
    return "\n".join(lines)


def pictures_of(workspace: Workspace, page: Path) -> dict[str, str]:
    """Return the Markdown of each picture, by name."""
    shown = {}
    for picture in read_pictures(workspace.recipes):
        file = f"pictures/{picture.name}.png"
        if workspace.record(f"figures-{picture.name}").is_file() and (page.parent / file).is_file():
            notes = "".join(f" {note[0].upper()}{note[1:]}." for note in picture.notes)
            shown[picture.name] = f"![{picture.title}]({file})\n\n*{picture.title}.{notes}*"
    return shown


def _tables(workspace: Workspace) -> dict[str, str]:
    recipes, spreads = workspace.recipes, read_spreads(workspace)
    blocks = {name: markdown_table(workspace, read_table(recipes / name)) for name in tables(recipes)}
    if spreads is not None:
        blocks[TABLE3] = spreads_table(workspace, spreads)
    for name, path in _study_records(workspace).items():
        if path.is_file() and name == MEANFIELD:
            blocks[name] = meanfield_table(workspace, read_record(path))
        elif path.is_file():
            blocks[name] = grid_tables(read_grid(recipes / "grids" / f"{name}.toml"), read_record(path))
    return blocks


def _study_records(workspace: Workspace) -> dict[str, Path]:
    paths = {name: workspace.record(record_name(name)) for name in grids(workspace.recipes)}
    return {**paths, MEANFIELD: workspace.record(MEANFIELD)}


def _extras(workspace: Workspace, page: Path) -> dict[str, str]:
    """Return blocks shown only where the page has a place for them."""
    recipes = workspace.recipes
    blocks = {name: NOT_RUN for name, path in _study_records(workspace).items() if not path.is_file()}
    blocks |= {f"figure {name}": block for name, block in pictures_of(workspace, page).items()}
    blocks |= {f"notes {name}": notes_of(read_table(recipes / name)) for name in tables(recipes)}
    if (recipes / "claims.toml").is_file():
        claims = read_config(Claims, recipes / "claims.toml")
        blocks["claims"] = claims_table(recipes, claims, summary(workspace))
    return blocks


def _line(row: Row, record: RowRecord | None, workspace: Workspace) -> tuple[str, ...]:
    content = dict.fromkeys(SHARED) if record is None else record.content
    has_one_ordering = content["orderings"] == content["ensemble_orderings"] == 1
    ensemble = dict.fromkeys(ENSEMBLE) if has_one_ordering else content
    return (
        f"{row.title} (cited)" if row.cited else row.title,
        NOTHING if record is None else _recipe(record, workspace),
        number(row.paper),
        number(content["test_log_likelihood"]),
        number(content["standard_error"]),
        over(content["orderings"], content["rows"], in_turn=bool(content.get("in_turn"))),
        number(row.paper_ensemble),
        number(ensemble["ensemble"]),
        number(ensemble["ensemble_standard_error"]),
        over(ensemble["ensemble_orderings"], ensemble["ensemble_rows"]),
    )


def _recipe(record: RowRecord, workspace: Workspace) -> str:
    """Return the recipe with its teacher and its start, and a word if it was changed since."""
    config = record.content["config"]
    teacher = f" by {config['teacher']}" if config.get("teacher") else ""
    name = config.get("start")
    start = "" if name is None else ", from an RBM" if names_rbm(name, workspace.recipes) else f", from {name}"
    return f"{record.kind}{teacher}{start}{' (changed since)' if record.stale else ''}"


def _entry(row: Row, records: list[RowRecord]) -> dict[str, Any]:
    by_kind = {one.kind: _results(one) for one in sorted(records, key=lambda one: KINDS.index(one.kind))}
    about = {"title": row.title, "paper": row.paper, "paper_ensemble": row.paper_ensemble, "recipe": records[0].kind}
    return {**about, **by_kind[records[0].kind], "recipes": by_kind}


def _results(record: RowRecord) -> dict[str, Any]:
    content = record.content
    return {
        **{key: content[key] for key in SHARED},
        "ensemble_mean": content.get("ensemble_mean"),
        **({"in_turn": True} if content.get("in_turn") else {}),
        "best_validation": content["best_validation"],
        "record": record.path.name,
        "stale": record.stale,
    }


def _write(path: Path, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode())
