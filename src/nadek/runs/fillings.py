"""Columns with a value for every cell: joint draws, or each cell's mean, median or mode."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference.row_random import number_uniforms
from nadek.inference.sampling import impute, level_probabilities, rows_at_once
from nadek.runs.data import ModelRows
from nadek.tabular.arrow_columns import AnyColumn
from nadek.tabular.columns import Statistic, n_levels, summarised
from nadek.tabular.writeback import Filling, decoded, filled_column, filled_words

Strategy = Literal["sample", Statistic]


def fillings(saved: SavedModel, batch: ModelRows, strategy: Strategy, *, seed: int) -> list[NDArray[Any]]:
    """Return D columns [N] to fill cells from.

    Draws follow from the seed and the row, not from the batch.
    """
    kinds = saved.bent_kinds
    if strategy == "sample":
        generator = torch.Generator(batch.x.device).manual_seed(seed)
        codes = impute(saved.model, batch.x, rows=batch.rows, generator=generator)
        return decoded(kinds, codes.cpu().numpy(), uniforms=number_uniforms(seed, batch.rows))
    parts = [
        [summarised(kind, p, strategy) for kind, p in zip(kinds, levels, strict=True)]
        for levels, _ in probabilities_by_rows(saved, batch.x)
    ]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def filled_columns(batch: ModelRows, new: Sequence[NDArray[Any]], *, as_words: bool = False) -> list[AnyColumn]:
    """Return a table's model columns, missing cells filled out of D arrays [N]; those of text as words if wanted."""
    of_missing = [Filling(where, one[where]) for where, one in zip(batch.missing.numpy().T, new, strict=True)]
    columns = zip(batch.places, batch.values, of_missing, batch.spellings, strict=True)
    if as_words:
        return [filled_words(batch.table, j, filling, spelling) for j, _, filling, spelling in columns]
    return [filled_column(batch.table, *column) for column in columns]


def probabilities_by_rows(saved: SavedModel, x: Tensor) -> Iterator[tuple[list[NDArray[Any]], NDArray[np.bool_]]]:
    """Yield the probabilities of the levels of D columns, [n, L], and where cells are missing, [n, D].

    There are as many rows at a time as fit into memory.
    """
    for rows in x.split(rows_at_once(saved.model)):
        p = level_probabilities(saved.model, rows).cpu().numpy()
        yield [p[:, j, : n_levels(kind)] for j, kind in enumerate(saved.kinds)], rows.isnan().cpu().numpy()
