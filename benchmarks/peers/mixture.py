"""Mixture of independent categorical columns, fitted by EM."""

import numpy as np
from numpy.typing import NDArray

from peers.coding import indicators, normalised

Array = NDArray[np.float64]


class Mixture:
    """Mixture `p(x) = sum_k w_k prod_i p(x_i | k)`.

    A missing cell is left out of the product.

    Args:
        components: how many.
        iterations: of EM at most.
        pseudocount: added to every count, spread over the levels of a column like its frequencies.
    """

    def __init__(self, components: int, iterations: int = 200, pseudocount: float = 1.0) -> None:
        self.components, self.iterations, self.pseudocount = components, iterations, pseudocount

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Fit by EM until the validation rows stop gaining."""
        self.levels = levels
        rows, held = indicators(train, levels), indicators(valid, levels)
        prior = rows.mean(0) + 1e-4
        prior = (prior.reshape(len(levels), -1) * self._has_level()).reshape(-1)
        shares = np.random.default_rng(0).dirichlet(np.full(self.components, 0.1), len(rows)).astype(np.float32)
        best, since = -np.inf, 0
        for _ in range(self.iterations):
            self._maximise(rows, shares, prior)
            shares, _ = self._posterior(rows)
            gained = self._posterior(held)[1].mean()
            if gained > best + 1e-4:
                best, since, parameters = gained, 0, (self.log_weight, self.log_level)
            else:
                since += 1
            if since == 5:
                break
        self.log_weight, self.log_level = parameters

    def log_prob(self, x: Array) -> Array:
        """Return the log-probability of each row's observed cells, in nats."""
        return self._posterior(indicators(x, self.levels))[1].astype(np.float64)

    def probabilities(self, x: Array) -> Array:
        """Return the conditionals, by the posterior of the components."""
        shares, _ = self._posterior(indicators(x, self.levels))
        return (shares @ np.exp(self.log_level)).reshape(len(x), len(self.levels), -1).astype(np.float64)

    def _has_level(self) -> NDArray[np.bool_]:
        """Return True for levels that columns have, [D, L]."""
        return np.arange(max(self.levels)) < np.array(self.levels)[:, None]

    def _posterior(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the posterior of the components and the rows' log-probabilities."""
        # A level that does not exist has log-probability -inf, which 0 in `rows` must not meet.
        joint = rows @ np.maximum(self.log_level, -1e4).T + self.log_weight
        top = joint.max(1)
        return normalised(joint), top + np.log(np.exp(joint - top[:, None]).sum(1))

    def _maximise(self, rows: NDArray[np.float32], shares: NDArray[np.float32], prior: NDArray[np.float32]) -> None:
        """Set weights and columns of the components from their rows."""
        counts = (shares.T @ rows + self.pseudocount * prior).reshape(self.components, len(self.levels), -1)
        with np.errstate(divide="ignore"):
            self.log_level = np.log(counts / counts.sum(2, keepdims=True)).reshape(self.components, -1)
        weight = shares.sum(0) + 1.0
        self.log_weight = np.log(weight / weight.sum())
