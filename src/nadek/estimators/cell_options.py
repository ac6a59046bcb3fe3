"""What each missing cell may hold, one by one: shared by the density and the imputer."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from nadek.estimators.base import NADEkBase
from nadek.inference.sampling import level_probabilities, rows_at_once
from nadek.tabular.columns import n_levels
from nadek.tabular.encode_table import level_labels
from nadek.tabular.selection import MatrixLike


class Cells(NADEkBase):
    """Probabilities of the levels of cells."""

    levels_: dict[str | int, NDArray[Any]]

    def predict_missing_proba(self, X: MatrixLike) -> dict[str | int, NDArray[np.float64]]:
        """Probabilities of the levels of every cell, given the row's observed cells.

        Each is the distribution of its cell by itself: two cells that must agree may be unlikely to do so when both
        are drawn from these.

        Args:
            X: a table [N, D].

        Returns:
            For each column (by its name, or its index where it has none) an array [N, L], its L levels in the order of
            ``levels_[column]``; an observed cell has probability 1 on what it is.
        """
        _, codes = self._read(X)
        keys, known = self._keys(), self._known()
        answers = {keys[j]: np.empty((len(codes), n_levels(column))) for j, column in known}
        for rows, found in self._level_probabilities(codes, torch.arange(len(codes), device=codes.device)):
            for place, (j, column) in enumerate(known):
                answers[keys[j]][rows] = found[:, place, : n_levels(column)]
        return answers

    def _level_probabilities(
        self, codes: Tensor, rows: Int[Tensor, " M"]
    ) -> Iterator[tuple[Int[np.ndarray, " m"], Float[np.ndarray, "m D L"]]]:
        """Probabilities of all levels of all cells of some rows, so many rows at a time that they fit into memory."""
        for some in rows.split(rows_at_once(self.network_)) if len(rows) else ():
            yield some.cpu().numpy(), level_probabilities(self.network_, codes[some]).cpu().numpy()

    def _ready(self, n_orderings: int | None = None) -> None:
        super()._ready(n_orderings)
        keys = self._keys()
        self.levels_ = {keys[j]: np.array(level_labels(column)) for j, column in self._known()}

    def _keys(self) -> list[str | int]:
        """What columns are called in dictionaries."""
        return list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
