"""Probabilities of single cells, for density and imputer."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from nadek.estimators.base import NADEkBase
from nadek.inference.sampling import level_probabilities, rows_at_once
from nadek.tabular.columns import Numeric, bin_probabilities, n_levels
from nadek.tabular.frames import MatrixLike


class CellProbabilities(NADEkBase):
    """Estimators that predict the levels of single cells."""

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
