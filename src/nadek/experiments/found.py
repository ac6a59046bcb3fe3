"""The records that a row has."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nadek.experiments.recipe import is_recipe
from nadek.experiments.records import read_record
from nadek.experiments.reproduce import record_path
from nadek.experiments.rows import KINDS, Kind, Row


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
    for kind in row.kinds:
        path = record_path(experiments, row, kind)
        if path.is_file():
            record = read_record(path)
            found.append(Found(kind, path, record, not _is_of(row, kind, record.get("config"))))
    try:
        return sorted(found, key=lambda one: (one.record["best_validation"], KINDS.index(one.kind)))
    except KeyError as error:
        raise ValueError(f"{found[0].path.parent}: a record of {row.table}-{row.name} has no {error}") from None


def untaught(found: list[Found]) -> list[Found]:
    """Those that learnt from rows alone: what says how good a structure is, beside others that learnt so too."""
    return [one for one in found if one.kind != "taught"]


def _is_of(row: Row, kind: Kind, kept: Any) -> bool:  # noqa: ANN401 - whatever JSON held
    """Whether a record was trained as the row's file says today."""
    return kept == row.config(kind) if row.rbm is not None else is_recipe(row.recipe(kind), kept)
