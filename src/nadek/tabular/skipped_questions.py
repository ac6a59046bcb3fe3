"""Columns that are stated only beside some answers of another one, as questions are that the others skip."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from nadek.tabular.columns import Column, Numeric, level_names, n_levels
from nadek.tabular.columns.parsing import listed
from nadek.tabular.encode import Doubts, encode_table
from nadek.tabular.table import Table

ROWS = 2000
"""As many rows are looked at, from all of the table."""
LEAST_ROWS = 20
"""Of an answer that counts."""
SKIPPED, STATED = 0.05, 0.3
"""Most of the rows of an answer that state what it skips, and least of those of another answer."""


def skipped_columns(table: Table, columns: Mapping[int, Column | None]) -> dict[str, list[str]]:
    """Return names of columns at these places that some answers skip, by the answers beside which they are stated."""
    table = table.rows(np.arange(len(table)) % max(1, len(table) // ROWS) == 0)
    is_stated = {j: ~table.is_missing(j) for j in columns}
    incomplete = [j for j, stated in is_stated.items() if not stated.all()]
    stated = np.array([is_stated[j] for j in incomplete], dtype=np.float32).reshape(len(incomplete), len(table)).T
    questions = {j: one for j, one in columns.items() if one is not None}
    skipped = defaultdict[str, list[str]](list)
    for k, question in questions.items() if incomplete else ():
        codes = encode_table(table, [question], [k], unknown="missing", doubts=Doubts())[1]
        has_level = (np.rint(codes) == np.arange(n_levels(question))).astype(np.float32)  # numbers by their knots
        n = has_level.sum(0)
        parts = (has_level.T @ stated)[n >= LEAST_ROWS] / n[n >= LEAST_ROWS, None]
        names = level_names(question) if isinstance(question, Numeric) else question.levels
        levels = [level for level, rows in zip(names, n, strict=True) if rows >= LEAST_ROWS]
        is_beside, is_skipped = parts >= STATED, parts <= SKIPPED
        follows = is_beside.any(0) & is_skipped.any(0) & (is_beside | is_skipped).all(0)
        for i in follows.nonzero()[0].tolist():
            beside = listed([level for level, one in zip(levels, is_beside[:, i], strict=True) if one])
            skipped[f'where "{table.labels[k]}" is {beside}'].append(f'"{table.labels[incomplete[i]]}"')
    return skipped
