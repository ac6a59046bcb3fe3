"""deeprob-kit: sum-product networks by LearnSPN, and mixtures of random circuits with Chow-Liu leaves (XPC)."""

import contextlib
import os

import numpy as np
from deeprob.spn.algorithms.inference import log_likelihood
from deeprob.spn.learning.wrappers import learn_estimator
from deeprob.spn.structure.leaf import Bernoulli, Categorical
from numpy.typing import NDArray

from peers.marginals import conditionals

Array = NDArray[np.float64]


class SumProduct:
    """LearnSPN: rows cut by k-means, columns by G-tests; binary columns end in Chow-Liu trees.

    Args:
        rows: fewer are not cut further.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:  # noqa: ARG002 - the common face
        """Learn structure and parameters from the training rows."""
        self.levels = levels
        binary = max(levels) == 2
        leaves = [Bernoulli if count == 2 else Categorical for count in levels]
        self.model = learn_estimator(
            train.astype(np.float32),
            leaves,
            [list(range(count)) for count in levels],
            method="learnspn",
            learn_leaf="binary-clt" if binary else "mle",
            split_rows="kmeans",
            split_cols="gvs",
            min_rows_slice=self.rows,
            random_state=0,
            verbose=False,
        )

    def log_prob(self, x: Array) -> Array:
        """Log-probability in nats of what is observed of each row."""
        return log_likelihood(self.model, x.astype(np.float32)).reshape(-1).astype(np.float64)

    def probabilities(self, x: Array) -> Array:
        """The conditional of every missing cell."""
        return conditionals(self.log_prob, x, self.levels)


class RandomCircuits(SumProduct):
    """A mixture of XPC: random cuts of the rows, Chow-Liu trees at the ends; binary columns only.

    Args:
        rows: the smallest part.
        circuits: how many.
    """

    def __init__(self, rows: int, circuits: int) -> None:
        super().__init__(rows)
        self.circuits = circuits

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:  # noqa: ARG002 - the common face
        """Learn from the training rows."""
        self.levels = levels
        with contextlib.redirect_stdout(open(os.devnull, "w")):
            self.model = learn_estimator(
                train.astype(np.float32),
                [Bernoulli] * len(levels),
                [list(range(count)) for count in levels],
                method="ensemble-xpc",
                ensemble_dim=self.circuits,
                det=False,
                sd_level=0,
                min_part_inst=self.rows,
                conj_len=3,
                arity=5,
                random_seed=0,
            )
