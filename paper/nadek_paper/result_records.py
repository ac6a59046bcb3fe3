"""Records of a row."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nadek.runs.recipe import is_recipe
from nadek.utils.atomic import read_record
from nadek.utils.configs import encode
from nadek_paper.rows import KINDS, Kind, Row
from nadek_paper.workspace import Workspace

ENSEMBLE = ("ensemble", "ensemble_standard_error", "ensemble_orderings", "ensemble_rows")
SHARED = ("test_log_likelihood", "standard_error", "orderings", "rows", *ENSEMBLE)
"""Numbers that every record has, null where there is none; the summary takes them as they are."""


@dataclass(frozen=True)
class RowRecord:
    """The record of a row by one recipe; stale if the row's file has another recipe by now."""

    kind: Kind
    path: Path
    content: dict[str, Any]
    stale: bool


def records_of(workspace: Workspace, row: Row) -> list[RowRecord]:
    """Return the records of a row, the one with the lowest validation cost first."""
    records = []
    for kind in row.kinds:
        path = workspace.record(row.run_name(kind))
        if path.is_file():
            content = read_record(path)
            config, baseline = content["config"], row.baseline
            current = is_recipe(row.recipe(kind), config) if baseline is None else config == encode(baseline)
            records.append(RowRecord(kind, path, content, stale=not current))
    return sorted(records, key=lambda one: (one.content["best_validation"], KINDS.index(one.kind)))
