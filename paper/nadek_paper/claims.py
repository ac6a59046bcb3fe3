"""What the paper claims, or its tables show, as differences of rows: the paper's beside ours."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nadek.runs.recipe import naming, read_recipe
from nadek.utils.configs import decode
from nadek_paper.markdown import NOTHING, markdown
from nadek_paper.rows import Row, read_table

COLUMNS = ("the paper's tables have it that", "better by, paper", "better by, ours", "holds with our training")
SIZES = ("ensemble_orderings", "ensemble_rows")
LEVEL = {"table1": 1.0, "table2": 2.0}
"""Nats, for each table. A smaller difference between two trainings says little: another seed could turn it.

Networks that differ in the seed only have standard deviations of a tenth or two of a nat on MNIST and of half a nat on
the silhouettes, and of several for some structures (the grid ``steps``); a difference has about one and a half times
that.
"""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One row is better than another.

    Attributes:
        says: the claim in words.
        table: where both rows stand.
        better: name of the row that is said to be better.
        worse: name of the other.
        value: of single orderings, or of the ensembles.
    """

    says: str
    table: str
    better: str
    worse: str
    value: Literal["test_log_likelihood", "ensemble"] = "test_log_likelihood"


@dataclass(frozen=True, kw_only=True)
class Claims:
    """The claims of a file ``experiments/claims.toml``."""

    claims: tuple[Claim, ...]


def read_claims(path: str | os.PathLike[str]) -> Claims:
    """Read claims, strictly.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: on an unknown, missing or unfit option; names file and option.
    """
    options = read_recipe(path)
    with naming(path):
        return decode(Claims, options)


def claims_table(experiments: Path, told: Claims, summary: Mapping[str, Mapping[str, Any]]) -> str:
    """A line a claim: by how many nats, in the paper and here (where both rows were run), and whether it holds here.

    "level" stands where the difference is below that of `LEVEL`.

    What learnt from a teacher is left out: the claims are about structures that learn from the same rows. A row that
    was not run here, or an RBM of ours that is behind the quoted one, is compared by its value in the paper, and said
    to be. Ensembles are compared if they are over as many orderings, on as many rows; beside a row that has one value,
    for all test rows, an ensemble's gain over its single orderings is added to their mean over all rows.
    """
    lines = []
    for claim in told.claims:
        better, worse = (read_table(experiments / claim.table, only=name)[0] for name in (claim.better, claim.worse))
        of_paper = _paper(better, claim) - _paper(worse, claim)
        alone = claim.value == "ensemble" and _has_one_value(worse)
        ours, against = _ours(better, claim, summary, of_all_rows=alone), _ours(worse, claim, summary)
        quoted = _paper(worse, claim) if _has_one_value(worse) else None
        cited = quoted is not None and (against is None or against < quoted)
        against = quoted if cited else against
        difference = None if ours is None or against is None else ours - against
        verdict = _verdict(difference, LEVEL[claim.table])
        verdict += " (against the value cited)" if cited and difference is not None else ""
        if difference is not None and not alone and not cited and not _alike(claim, summary):
            difference, verdict = None, f"{NOTHING} (ensembles of different orderings or rows)"
        lines.append((claim.says, _signed(of_paper), _signed(difference), verdict))
    return markdown(COLUMNS, lines)


def _has_one_value(row: Row) -> bool:
    """Whether a row knows no orderings, or none that are told: it has no ensemble beside its value."""
    return row.cited or row.rbm is not None


def _paper(row: Row, claim: Claim) -> float:
    found = row.paper_ensemble if claim.value == "ensemble" and not _has_one_value(row) else row.paper
    if found is None:
        raise ValueError(f"{row.table}/{row.name}: a claim is about the paper's value for it, and there is none")
    return found


def _ours(
    row: Row, claim: Claim, summary: Mapping[str, Mapping[str, Any]], *, of_all_rows: bool = False
) -> float | None:
    entry = _entry(claim.table, row.name, summary)
    if entry is None:
        return None
    value: float | None = entry["test_log_likelihood" if _has_one_value(row) else claim.value]
    if of_all_rows and value is not None:
        value += entry["test_log_likelihood"] - entry["ensemble_mean"]
    return value


def _entry(table: str, row: str, summary: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """What was measured of a row, by the recipe that validates best of those without a teacher."""
    by_kind = summary.get(table, {}).get(row, {}).get("recipes", {})
    own = [told for kind, told in by_kind.items() if kind != "taught"]
    return min(own, key=lambda told: told["best_validation"], default=None)


def _alike(claim: Claim, summary: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether what was measured of two rows can be compared."""
    entries = [_entry(claim.table, name, summary) or {} for name in (claim.better, claim.worse)]
    sizes = [{key: entry.get(key) for key in SIZES} for entry in entries]
    return claim.value != "ensemble" or sizes[0] == sizes[1]


def _verdict(difference: float | None, level: float) -> str:
    if difference is None:
        return NOTHING
    return "level" if abs(difference) < level else "yes" if difference > 0 else "no"


def _signed(value: float | None) -> str:
    return NOTHING if value is None else f"{value:+.2f}"
