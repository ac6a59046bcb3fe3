"""Spreads of log p(x | o) over orderings and over rows (the paper's Table 3), from the records of other rows."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nadek_paper.markdown import NOTHING, markdown, number, over
from nadek_paper.result_records import records_of
from nadek_paper.rows import Row, read_table
from nadek_paper.studies import Study
from nadek_paper.workspace import Workspace, choose, read_config

NAME = "table3"
_PAPER_COLUMNS = ("mean, paper", "mean, ours", "√E_x Var_o, paper", "ours", "√E_o Var_x, paper", "ours")
COLUMNS = ("model", "recipe", *_PAPER_COLUMNS, "both over")


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The paper's values for one model, in nats."""

    row: str  # name of the model's row
    mean: float  # of log p(x | o)
    over_orderings: float  # square root of E_x Var_o log p(x | o)
    over_rows: float  # square root of E_o Var_x log p(x | o)


@dataclass(frozen=True, kw_only=True)
class Spreads:
    """The options of ``table3.toml``."""

    title: str  # shown above the table
    table: str  # the table whose rows it is about
    rows: tuple[Spread, ...]  # the paper's values
    notes: tuple[str, ...] = ()  # differences from the paper, each with the reason

    def read_rows(self, recipes: Path) -> list[Row]:
        """Return the rows that it is about."""
        return [read_table(recipes / self.table, only=spread.row)[0] for spread in self.rows]


def read_spreads(workspace: Workspace) -> Spreads | None:
    """Read the table, if there is one."""
    path = workspace.recipes / f"{NAME}.toml"
    return read_config(Spreads, path) if path.is_file() else None


def spreads_study(workspace: Workspace, *, only: str | None = None) -> Study:
    """Return the study of rows; it trains nothing."""
    spreads = read_spreads(workspace)
    if spreads is None:
        raise FileNotFoundError(f"there is no {NAME}.toml in {workspace.recipes}")
    if only is not None:
        choose(only, [spread.row for spread in spreads.rows], f"{NAME} has no row")
        spreads = replace(spreads, rows=tuple(spread for spread in spreads.rows if spread.row == only))
    entries = spreads_summary(workspace, spreads)
    commands = {one.row: workspace.command(f"{spreads.table} --row {one.row}") for one in spreads.rows}
    return Study(
        title=f"{NAME}: {spreads.title}, in nats",
        columns=COLUMNS,
        lines=lambda record: spreads_lines(workspace, spreads),
        jobs=[],
        finish=lambda results: entries,
        skipped={row: f"there is no record, give {one} first" for row, one in commands.items() if row not in entries},
    )


def spreads_summary(workspace: Workspace, spreads: Spreads) -> dict[str, dict[str, Any]]:
    """Return row -> the paper's values beside ours, of the recipe without a teacher that validates best.

    The log-likelihood is over ``orderings`` and ``rows``, as in the row's own table; the spreads are over
    ``spread_orderings`` and ``spread_rows``, on which the mean is ``spread_mean``. Rows without a record are left out.
    """
    summary: dict[str, dict[str, Any]] = {}
    for spread, row in zip(spreads.rows, spreads.read_rows(workspace.recipes), strict=True):
        records = [one for one in records_of(workspace, row) if one.kind != "taught"]
        if not records:
            continue
        content = records[0].content
        summary[spread.row] = {
            "title": row.title,
            "recipe": records[0].kind,
            "paper": spread.mean,
            "test_log_likelihood": content["test_log_likelihood"],
            "orderings": content["orderings"],
            "rows": content["rows"],
            "paper_spread_over_orderings": spread.over_orderings,
            "spread_over_orderings": content.get("ensemble_spread_over_orderings"),
            "paper_spread_over_rows": spread.over_rows,
            "spread_over_rows": content.get("ensemble_spread_over_rows"),
            "spread_mean": content.get("ensemble_mean"),
            "spread_orderings": content["ensemble_orderings"],
            "spread_rows": content["ensemble_rows"],
            "record": records[0].path.name,
            "stale": records[0].stale,
        }
    return summary


def spreads_lines(workspace: Workspace, spreads: Spreads) -> list[list[str]]:
    """Return the lines below `COLUMNS`; a dash stands for a missing value."""
    entries, lines = spreads_summary(workspace, spreads), []
    for spread, row in zip(spreads.rows, spreads.read_rows(workspace.recipes), strict=True):
        ours = entries.get(spread.row, {})
        numbers = [number(spread.mean), number(ours.get("test_log_likelihood"))]
        numbers += [number(spread.over_orderings, 1), number(ours.get("spread_over_orderings"))]
        numbers += [number(spread.over_rows, 1), number(ours.get("spread_over_rows"))]
        sizes = over(ours.get("spread_orderings"), ours.get("spread_rows"))
        lines.append([row.title, ours.get("recipe", NOTHING), *numbers, sizes])
    return lines


def spreads_table(workspace: Workspace, spreads: Spreads) -> str:
    """Return the table in Markdown."""
    return markdown(COLUMNS, spreads_lines(workspace, spreads), words=2)
