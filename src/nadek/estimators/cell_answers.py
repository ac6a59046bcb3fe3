"""Questions about single cells, to every estimator."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from nadek.estimators.base import NADEkBase
from nadek.inference import explain_cells
from nadek.inference.sampling import level_probabilities, rows_at_once
from nadek.tabular.columns import (
    Column,
    Numeric,
    bent,
    bin_probabilities,
    log_outwards,
    log_own,
    n_levels,
    quantiles_of_number,
)
from nadek.tabular.frames import MatrixLike
from nadek.tabular.table import Table
from nadek.tabular.writeback import under_names_of, with_columns
from nadek.utils.configs import check_number


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
        keys, columns = self._keys(), self._bent_columns()
        answers = {keys[j]: np.empty((len(codes), n_levels(column))) for j, column in columns}
        missing = codes.isnan().cpu().numpy()
        for rows, p in self._level_probabilities(codes, torch.arange(len(codes), device=codes.device)):
            for place, (j, column) in enumerate(columns):
                levels = p[:, place, : n_levels(column)]
                answers[keys[j]][rows] = bin_probabilities(column, levels, missing[rows, place])
        return answers

    def predict_missing_quantiles(
        self, X: MatrixLike, quantiles: Iterable[float] = (0.05, 0.5, 0.95)
    ) -> dict[str | int, NDArray[Any]]:
        """Return quantiles of every number, or date, given the observed cells.

        The outer two of the default hold the number nine times out of ten. Each cell has its quantiles by itself, and
        none lies beyond the range of training.

        Args:
            X: a table [N, D].
            quantiles: the Q parts of the probability that lie below, each from 0 to 1.

        Returns:
            For each column of numbers (by its name, or its index without names) an array [N, Q]; an observed cell
            has its own number in all Q. Dates with a zone are in universal time, as NumPy knows no zones.

        Raises:
            ValueError: if a quantile does not lie between 0 and 1.
        """
        parts = list(quantiles) if isinstance(quantiles, Iterable) else []
        if not parts:
            raise ValueError(f"quantiles: expected a list of numbers from 0 to 1, found {quantiles!r}")
        for part in parts:
            check_number("quantiles", part, "from 0 to 1", lambda x: 0 <= x <= 1)
        table, codes = self._read(X)
        numbers = self._of_numbers(lambda _, values: values, table)
        keys, missing = self._keys(), codes.isnan().cpu().numpy()
        columns = [(place, keys[j], c) for place, (j, c) in enumerate(self._bent_columns()) if isinstance(c, Numeric)]
        answers = {key: np.repeat(numbers[:, place, None], len(parts), 1) for place, key, _ in columns}
        for rows, p in self._level_probabilities(codes, codes.isnan().any(1).nonzero().squeeze(1)):
            for place, key, column in columns:
                where = missing[rows, place]
                levels = p[where, place, : n_levels(column)]
                answers[key][rows[where]] = quantiles_of_number(column, levels, parts)
        return {key: column.restored(answers[key]) for _, key, column in columns}

    def explain(self, X: MatrixLike) -> Any:  # noqa: ANN401 - a table
        """Return the surprise of each observed cell, given the other observed cells of its row.

        It is minus the log-probability of all values that are at most as probable as that of the cell, and so compares
        cells of all columns: a yes with an age. Numbers count by their density per bin, as bins are narrow where there
        are many of them, and numbers beyond those of training by how far. A category that none of n training values was
        has the probability 1 / (n + 1), and about that divided by the number of levels where the type of its column
        lists it.

        Args:
            X: a table [N, D].

        Returns:
            Surprises in nats, at least 0, a table [N, D] of the kind of ``X``; NaN for missing cells.
        """
        table, codes = self._read(X)
        measures = self._of_numbers(log_outwards, table, codes), self._of_numbers(log_own, table)
        outwards, own = (torch.from_numpy(one).to(codes.device) for one in measures)
        return self._table_of(table, explain_cells(self.network_, codes, outwards=outwards, own=own).surprise)

    def _table_of(self, table: Table, numbers: Float[Tensor, "N K"]) -> Any:  # noqa: ANN401 - a table
        """Return numbers for the cells of a table: of a frame with the names of its columns."""
        whole = np.full((len(table), self.n_features_in_), np.nan)
        whole[:, [j for j, _ in self._nonempty_columns()]] = numbers.cpu().numpy()
        if table.columns is None:
            return whole
        return under_names_of(with_columns(table.native, whole, table.native.columns), table.native)

    def _bent_columns(self) -> list[tuple[int, Column]]:
        """Return bent columns and their places."""
        places, columns = zip(*self._nonempty_columns(), strict=True)
        return list(zip(places, bent(columns, self.network_.variables.bends), strict=True))

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
            keys[j]: column.restored(np.array(column.means)) if isinstance(column, Numeric) else np.array(column.levels)
            for j, column in self._nonempty_columns()
        }
