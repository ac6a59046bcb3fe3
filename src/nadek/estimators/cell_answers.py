"""Questions about single cells, to every estimator."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from nadek.estimators.base import NADEkBase
from nadek.inference import explain_cells
from nadek.inference.sampling import level_probabilities, rows_at_once
from nadek.tabular.columns import Numeric, bin_probabilities, log_outwards, n_levels
from nadek.tabular.frames import MatrixLike
from nadek.tabular.table import Table
from nadek.tabular.writeback import with_columns


class CellAnswers(NADEkBase):
    """Estimators that predict and judge single cells."""

    levels_: dict[str | int, NDArray[Any]]

    def predict_missing_proba(self, X: MatrixLike) -> dict[str | int, NDArray[np.float64]]:
        """Return the levels' probabilities of every cell given the observed ones.

        Each cell has its distribution by itself: draws of two cells that must agree need not agree.

        Args:
            X: a table [N, D].

        Returns:
            For each column (by its name, or its index without names) an array [N, L], its L levels in the order of
            ``levels_[column]``; an observed cell has probability 1 on its level.
        """
        _, codes = self._read(X)
        keys, columns = self._keys(), self._nonempty_columns()
        answers = {keys[j]: np.empty((len(codes), n_levels(column))) for j, column in columns}
        missing = codes.isnan().cpu().numpy()
        for rows, p in self._level_probabilities(codes, torch.arange(len(codes), device=codes.device)):
            for place, (j, column) in enumerate(columns):
                levels = p[:, place, : n_levels(column)]
                answers[keys[j]][rows] = bin_probabilities(column, levels, missing[rows, place])
        return answers

    def explain(self, X: MatrixLike) -> Any:  # noqa: ANN401 - a table
        """Return the surprise of each observed cell, given the other observed cells of its row.

        It is minus the log-probability of all values that are at most as probable as that of the cell, and so compares
        cells of all columns: a yes with an age. Numbers beyond those of training count by how far.

        Args:
            X: a table [N, D].

        Returns:
            Surprises in nats, at least 0, a table [N, D] of the kind of ``X``; NaN for missing cells.
        """
        table, codes = self._read(X)
        outwards = torch.from_numpy(self._of_numbers(log_outwards, table)).to(codes.device)
        return self._table_of(table, explain_cells(self.network_, codes, outwards=outwards).surprise)

    def _table_of(self, table: Table, numbers: Float[Tensor, "N K"]) -> Any:  # noqa: ANN401 - a table
        """Return numbers for the cells of a table: of a frame with the names of its columns."""
        whole = np.full((len(table), self.n_features_in_), np.nan)
        whole[:, [j for j, _ in self._nonempty_columns()]] = numbers.cpu().numpy()
        return whole if table.columns is None else with_columns(table.native, whole, table.native.columns)

    def _level_probabilities(
        self, codes: Tensor, rows: Int[Tensor, " M"]
    ) -> Iterator[tuple[Int[np.ndarray, " m"], Float[np.ndarray, "m D L"]]]:
        """Yield probabilities of all levels, for as many rows as fit into memory."""
        for some in rows.split(rows_at_once(self.network_)) if len(rows) else ():
            yield some.cpu().numpy(), level_probabilities(self.network_, codes[some]).cpu().numpy()

    def _set_derived(self, n_orderings: int | None = None) -> None:
        super()._set_derived(n_orderings)
        keys = self._keys()
        self.levels_ = {
            keys[j]: np.array(column.means if isinstance(column, Numeric) else column.levels)
            for j, column in self._nonempty_columns()
        }
