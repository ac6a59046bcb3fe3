"""How much log p(x | o) varies over orderings and over rows (the paper's Table 3), from the records of other rows."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nadek.runs.recipe import naming, read_recipe
from nadek.utils.configs import decode
from nadek_paper.markdown import NOTHING, markdown, number, over
from nadek_paper.result_records import Found, records_of, untaught
from nadek_paper.rows import Row, read_table

COLUMNS = (
    "model",
    "recipe",
    "mean, paper",
    "mean, ours",
    "√E_x Var_o, paper",
    "ours",
    "√E_o Var_x, paper",
    "ours",
    "both over",
)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """What the paper reports of one model, in nats.

    Attributes:
        row: name of the model's row.
        mean: of log p(x | o).
        over_orderings: square root of E_x Var_o log p(x | o).
        over_rows: square root of E_o Var_x log p(x | o).
    """

    row: str
    mean: float
    over_orderings: float
    over_rows: float


@dataclass(frozen=True, kw_only=True)
class Variability:
    """A table of spreads: a file ``experiments/NAME.toml``.

    Attributes:
        title: what it is.
        table: the table whose rows it is about.
        rows: what the paper reports.
        notes: where we differ from the paper, each with the reason.
    """

    title: str
    table: str
    rows: tuple[Spread, ...]
    notes: tuple[str, ...] = ()

    def read_rows(self, experiments: Path) -> list[Row]:
        """The rows that it is about.

        Raises:
            ValueError: if there is no such row.
        """
        return [read_table(experiments / self.table, only=spread.row)[0] for spread in self.rows]


def read_variability(path: str | os.PathLike[str]) -> Variability:
    """Read such a table, strictly.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: on an unknown, missing or unfit option; names file and option.
    """
    options = read_recipe(path)
    with naming(path):
        return decode(Variability, options)


def variability_summary(experiments: Path, told: Variability) -> dict[str, dict[str, Any]]:
    """Row -> the paper's values beside ours, of the recipe that validates best (but for taught ones).

    The log-likelihood is over ``orderings`` and ``rows``, as in the row's own table; the spreads are over
    ``spread_orderings`` and ``spread_rows``, on which the mean is ``spread_mean``.
    Rows without a record are left out.
    """
    rows = zip(told.rows, told.read_rows(experiments), strict=True)
    found = {spread.row: (spread, row, untaught(records_of(experiments, row))) for spread, row in rows}
    return {name: _entry(spread, row, records[0]) for name, (spread, row, records) in found.items() if records}


def variability_table(experiments: Path, told: Variability) -> str:
    """The table in Markdown; a dash for what is not there."""
    entries, rows = variability_summary(experiments, told), told.read_rows(experiments)
    return markdown(
        COLUMNS,
        [_line(spread, row, entries.get(spread.row)) for spread, row in zip(told.rows, rows, strict=True)],
        words=2,
    )


def _entry(spread: Spread, row: Row, found: Found) -> dict[str, Any]:
    of = found.record
    return {
        "title": row.title,
        "recipe": found.kind,
        "paper": spread.mean,
        "test_log_likelihood": of["test_log_likelihood"],
        "orderings": of["orderings"],
        "rows": of["rows"],
        "paper_spread_over_orderings": spread.over_orderings,
        "spread_over_orderings": of.get("ensemble_spread_over_orderings"),
        "paper_spread_over_rows": spread.over_rows,
        "spread_over_rows": of.get("ensemble_spread_over_rows"),
        "spread_mean": of.get("ensemble_mean"),
        "spread_orderings": of["ensemble_orderings"],
        "spread_rows": of["ensemble_rows"],
        "record": found.path.name,
        "stale": found.stale,
    }


def _line(spread: Spread, row: Row, entry: dict[str, Any] | None) -> tuple[str, ...]:
    ours = entry or {}
    return (
        row.title,
        ours.get("recipe", NOTHING),
        number(spread.mean),
        number(ours.get("test_log_likelihood")),
        number(spread.over_orderings, 1),
        number(ours.get("spread_over_orderings")),
        number(spread.over_rows, 1),
        number(ours.get("spread_over_rows")),
        over(ours["spread_orderings"], ours["spread_rows"]) if ours else NOTHING,
    )
