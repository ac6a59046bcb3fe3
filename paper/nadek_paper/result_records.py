"""The records that a row has."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nadek.runs.recipe import is_recipe
from nadek.runs.records import read_record
from nadek_paper.rows import KINDS, Kind, Row
from nadek_paper.run_row import record_path

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
"""Numbers that every record has, null where there is none; the summary takes them as they are."""


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
    """The records of a row, the one with the best validation first (the validation cost is in nats: less is better).

    Raises:
        ValueError: on a record of something else, and on one that lacks what all of them have; names the file.
    """
    found = []
    for kind in row.kinds:
        path = record_path(experiments, row, kind)
        if path.is_file():
            record = read_record(path)
            _check(path, record, {"table": row.table, "row": row.name, "recipe": kind})
            found.append(Found(kind, path, record, not _is_of(row, kind, record["config"])))
    return sorted(found, key=lambda one: (one.record["best_validation"], KINDS.index(one.kind)))


def untaught(found: list[Found]) -> list[Found]:
    """Those that learnt from rows alone: what says how good a structure is, beside others that learnt so too."""
    return [one for one in found if one.kind != "taught"]


def _check(path: Path, record: Mapping[str, Any], about: Mapping[str, str]) -> None:
    for key in (*about, *SHARED, "best_validation", "config"):
        if key not in record:
            raise ValueError(f"{path}: expected the key {key!r} of a record, found none")
    for key, expected in about.items():
        if record[key] != expected:
            told = "-".join(about.values())
            raise ValueError(f"{path}: expected the record of {told}, found one whose {key} is {record[key]!r}")
    for key in (*SHARED, "best_validation"):
        value, least = record[key], "a number" if key == "best_validation" else "a number or null"
        nothing = value is None and key in SHARED
        if not nothing and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{path}: {key}: expected {least}, found {value!r}")
    if not isinstance(record["config"], Mapping):
        raise ValueError(f"{path}: config: expected a table of options, found {record['config']!r}")


def _is_of(row: Row, kind: Kind, kept: Any) -> bool:  # noqa: ANN401 - whatever JSON held
    """Whether a record was trained as the row's file says today."""
    return kept == row.config(kind) if row.rbm is not None else is_recipe(row.recipe(kind), kept)
