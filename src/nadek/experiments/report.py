"""From rows and records to tables: ``summary.json`` for programs, Markdown for people. No number is typed."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nadek.experiments.recipe import is_recipe
from nadek.experiments.reproduce import read_record, record_path
from nadek.experiments.rows import KINDS, Kind, Row, read_table, tables
from nadek.files import replacing

COLUMNS = ("model", "recipe", "paper", "ours", "±", "over", "paper, ensemble", "ours, ensemble", "±", "over")
SHARED = (
    "test_log_likelihood",
    "standard_error",
    "orderings",
    "rows",
    "ensemble",
    "ensemble_standard_error",
    "ensemble_orderings",
    "ensemble_rows",
)
"""What the summary takes from a record as it is."""

NOTHING = "–"


@dataclass(frozen=True)
class Found:
    """The record of a row by one recipe.

    Attributes:
        kind: the recipe.
        path: the record's file.
        record: what is in it.
        stale: whether the row's file has another recipe by now.
    """

    kind: Kind
    path: Path
    record: dict[str, Any]
    stale: bool


def records_of(experiments: Path, row: Row) -> list[Found]:
    """The records of a row, the one with the best validation first (the validation cost is in nats: less is better)."""
    found = []
    for kind in KINDS:
        path = record_path(experiments, row, kind)
        if getattr(row.recipes, kind) is not None and path.is_file():
            record = read_record(path)
            found.append(Found(kind, path, record, not is_recipe(row.recipe(kind), record.get("config"))))
    try:
        return sorted(found, key=lambda one: (one.record["best_validation"], KINDS.index(one.kind)))
    except KeyError as error:
        raise ValueError(f"{found[0].path.parent}: a record of {row.table}-{row.name} has no {error}") from None


def summary(experiments: Path) -> dict[str, dict[str, Any]]:
    """All tables with a record: table -> row -> the paper's values beside ours, by the recipe that validates best."""
    told = {}
    for table in tables(experiments):
        found = {row.name: (row, records_of(experiments, row)) for row in read_table(experiments / table)}
        told[table] = {name: _entry(row, records) for name, (row, records) in found.items() if records}
    return told


def write_report(experiments: Path, page: Path) -> list[Found]:
    """Write ``results/summary.json`` and bring the tables of a Markdown page up to date.

    What stands between ``<!-- generated: TABLE -->`` and ``<!-- /generated -->`` is replaced; a table without such a
    place gets one at the page's end, and a page that is not there is begun.

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
    rows = {name: read_table(experiments / name) for name in names}
    text = page.read_text() if page.is_file() else "# Results\n"
    for name in names:
        text = _placed(text, name, markdown_table(experiments, rows[name]))
    results = experiments / "results"
    results.mkdir(exist_ok=True)
    _write(page, text)
    _write(results / "summary.json", json.dumps(summary(experiments), indent=2) + "\n")
    return [one for name in names for row in rows[name] for one in records_of(experiments, row) if one.stale]


def markdown_table(experiments: Path, rows: list[Row]) -> str:
    """One line a record, a dash for what is not there; values that are only cited come last."""
    lines = [COLUMNS, ("---", "---", *["---:"] * (len(COLUMNS) - 2))]
    for row in sorted(rows, key=lambda row: row.cited):
        found = records_of(experiments, row)
        lines += [_line(row, one) for one in found] or [_line(row, None)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(row: Row, found: Found | None) -> tuple[str, ...]:
    paper, paper_ensemble = _number(row.paper), _number(row.paper_ensemble)
    if found is None:
        title = f"{row.title} (cited)" if row.cited else row.title
        return title, NOTHING, paper, NOTHING, NOTHING, NOTHING, paper_ensemble, NOTHING, NOTHING, NOTHING
    of = found.record
    return (
        row.title,
        f"{found.kind} (changed since)" if found.stale else found.kind,
        paper,
        _number(of["test_log_likelihood"]),
        _number(of["standard_error"]),
        _over(of["orderings"], of["rows"]),
        paper_ensemble,
        _number(of["ensemble"]),
        _number(of["ensemble_standard_error"]),
        _over(of["ensemble_orderings"], of["ensemble_rows"]),
    )


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
        "best_validation": found.record["best_validation"],
        "record": found.path.name,
        "stale": found.stale,
    }


def _placed(text: str, name: str, table: str) -> str:
    """The page with a table in its place."""
    block = f"<!-- generated: {name} -->\n\n{table}\n\n<!-- /generated -->"
    place = re.compile(rf"<!-- generated: {re.escape(name)} -->.*?<!-- /generated -->", re.DOTALL)
    if place.search(text):
        return place.sub(lambda _: block, text)
    return f"{text.rstrip()}\n\n## {name}\n\n{block}\n"


def _write(path: Path, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode())


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _over(orderings: int, rows: int) -> str:
    return f"{orderings} orderings, {rows:,} rows" if orderings > 1 else f"1 ordering, {rows:,} rows"
