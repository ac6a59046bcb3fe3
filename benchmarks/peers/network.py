"""Bayesian network of pomegranate: a Chow-Liu tree."""

import numpy as np
import torch
from numpy.typing import NDArray
from pomegranate.bayesian_network import BayesianNetwork

Array = NDArray[np.float64]


class ChowLiuNetwork:
    """Chow-Liu tree of pomegranate.

    Columns that never vary are left out, as it does not accept them.
    """

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Learn structure and parameters from the training rows."""
        self.levels = levels
        self.varying = np.array([len(np.unique(column)) > 1 for column in train.T]).nonzero()[0]
        self.constant = np.array([column[0] for column in train.T]).astype(int)
        self.network = BayesianNetwork(algorithm="chow-liu", pseudocount=1.0)
        self.network.fit(torch.tensor(train[:, self.varying].astype(np.int64)))

    def probabilities(self, x: Array) -> Array:
        """Return the conditionals by belief propagation, exact on a tree."""
        out = np.zeros((*x.shape, max(self.levels)))
        out[:, np.arange(x.shape[1]), self.constant] = 1.0
        rows = torch.tensor(x[:, self.varying])
        codes = rows.nan_to_num(-1).long()
        probabilities = self.network.predict_proba(torch.masked.MaskedTensor(codes, ~rows.isnan()))
        for column, p in zip(self.varying, probabilities, strict=True):
            out[:, column] = 0.0
            out[:, column, : p.shape[1]] = p.numpy()
        return out
