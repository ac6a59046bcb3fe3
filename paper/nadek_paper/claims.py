"""Claims of the paper as differences of rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nadek_paper.markdown import NOTHING, markdown
from nadek_paper.rows import Row, read_table

COLUMNS = ("the paper's tables have it that", "better by, paper", "better by, ours", "holds with our training")
SIZES = ("ensemble_orderings", "ensemble_rows")
LEVEL = {"table1": 1.0, "table2": 2.0}
"""Smallest difference (nats) that counts, for each table: another seed could turn a smaller one.

Networks that differ only in the seed have standard deviations of a tenth or two of a nat on MNIST and of half a nat on
the silhouettes, and of several for some structures (the grid ``steps``); a difference has about 1.5 times that.
"""

Summary = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One row is better than another."""

    says: str  # the claim in words
    table: str  # where both rows stand
    better: str  # name of the row that is said to be better
    worse: str  # name of the other
    # of single orderings, or of the ensembles
    value: Literal["test_log_likelihood", "ensemble"] = "test_log_likelihood"


@dataclass(frozen=True, kw_only=True)
class Claims:
    """The claims of the file ``claims.toml``."""

    claims: tuple[Claim, ...]


def claims_table(recipes: Path, claims: Claims, summary: Summary) -> str:
    """Return a line for each claim: the difference in nats in the paper and here, and a verdict ("level": see `LEVEL`).

    A row that was not run here, or an RBM of ours that is behind the quoted one, is compared by its value in the paper.
    Ensembles are compared if they are over as many orderings and rows. Beside a row with one value, for all test rows,
    an ensemble's gain over its single orderings is added to their mean over all rows.
    """
    lines = []
    for claim in claims.claims:
        better, worse = (read_table(recipes / claim.table, only=name)[0] for name in (claim.better, claim.worse))
        in_paper = _paper(better, claim) - _paper(worse, claim)
        difference, verdict = _compare(better, worse, claim, summary)
        lines.append((claim.says, _signed(in_paper), _signed(difference), verdict))
    return markdown(COLUMNS, lines)


def _compare(better: Row, worse: Row, claim: Claim, summary: Summary) -> tuple[float | None, str]:
    over_all_rows = claim.value == "ensemble" and _has_one_value(worse)
    ours, against = _ours(better, claim, summary, over_all_rows=over_all_rows), _ours(worse, claim, summary)
    quoted = _paper(worse, claim) if _has_one_value(worse) else None
    is_quoted = quoted is not None and (against is None or against < quoted)
    against = quoted if is_quoted else against
    if ours is None or against is None:
        return None, NOTHING
    sizes = [{key: (_entry(claim.table, row.name, summary) or {}).get(key) for key in SIZES} for row in (better, worse)]
    if claim.value == "ensemble" and not over_all_rows and not is_quoted and sizes[0] != sizes[1]:
        return None, f"{NOTHING} (ensembles of different orderings or rows)"
    difference = ours - against
    verdict = "level" if abs(difference) < LEVEL[claim.table] else "yes" if difference > 0 else "no"
    return difference, f"{verdict} (against the value cited)" if is_quoted else verdict


def _has_one_value(row: Row) -> bool:
    """Return True if a row has no ensemble beside its value: it is cited, or estimated."""
    return row.cited or row.baseline is not None


def _paper(row: Row, claim: Claim) -> float:
    value = row.paper_ensemble if claim.value == "ensemble" and not _has_one_value(row) else row.paper
    if value is None:
        raise ValueError(f"{row.table}/{row.name}: a claim is about the paper's value for it, and there is none")
    return value


def _ours(row: Row, claim: Claim, summary: Summary, *, over_all_rows: bool = False) -> float | None:
    entry = _entry(claim.table, row.name, summary)
    if entry is None:
        return None
    value: float | None = entry["test_log_likelihood" if _has_one_value(row) else claim.value]
    if over_all_rows and value is not None:
        value += entry["test_log_likelihood"] - entry["ensemble_mean"]
    return value


def _entry(table: str, row: str, summary: Summary) -> Mapping[str, Any] | None:
    """Return the results of a row by the recipe without a teacher that validates best."""
    recipes = summary.get(table, {}).get(row, {}).get("recipes", {})
    entries = [entry for kind, entry in recipes.items() if kind != "taught"]
    return min(entries, key=lambda entry: entry["best_validation"], default=None)


def _signed(value: float | None) -> str:
    return NOTHING if value is None else f"{value:+.2f}"
