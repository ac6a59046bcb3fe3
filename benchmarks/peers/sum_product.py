"""Circuits of deeprob-kit: sum-product networks and random circuits (XPC)."""

import contextlib
import os

import numpy as np
from deeprob.spn.algorithms.gradient import eval_backward
from deeprob.spn.algorithms.inference import log_likelihood
from deeprob.spn.learning.wrappers import learn_estimator
from deeprob.spn.structure.cltree import BinaryCLT
from deeprob.spn.structure.leaf import Bernoulli, Categorical, Leaf
from deeprob.spn.structure.node import bfs
from numpy.typing import NDArray

from peers.tree import Tree

Array = NDArray[np.float64]
ROWS = 1000
"""Number of rows that go through the circuit at once."""


def leaf_probabilities(leaf: Leaf, x: Array) -> Array:
    """Return the conditionals of a leaf's cells, [N, D', L]."""
    if isinstance(leaf, BinaryCLT):
        tables = np.exp(leaf.params.astype(np.float64))
        return Tree.given(leaf.bfs, np.maximum(leaf.tree, 0), tables).probabilities(x)
    p = np.array([1 - leaf.p, leaf.p]) if isinstance(leaf, Bernoulli) else np.asarray(leaf.probabilities, np.float64)
    return np.broadcast_to(p, (len(x), 1, len(p)))


class SumProduct:
    """Sum-product network by LearnSPN.

    Rows are split by k-means and columns by G-tests; binary columns end in Chow-Liu trees.

    Args:
        rows: fewer are not split further.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
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
        """Return the log-probability of each row's observed cells, in nats."""
        return log_likelihood(self.model, x.astype(np.float32)).reshape(-1).astype(np.float64)

    def probabilities(self, x: Array) -> Array:
        """Return the conditionals, leaves weighted by their posterior."""
        return np.concatenate([self._some(x[start : start + ROWS]) for start in range(0, len(x), ROWS)])

    def _some(self, x: Array) -> Array:
        _, log_p = log_likelihood(self.model, x.astype(np.float32), return_results=True)
        weights = np.exp(eval_backward(self.model, log_p) + log_p - log_p[self.model.id])
        out = np.zeros((*x.shape, max(self.levels)))
        for leaf in bfs(self.model):
            if isinstance(leaf, Leaf):
                p = leaf_probabilities(leaf, x[:, leaf.scope])
                out[:, leaf.scope, : p.shape[2]] += weights[leaf.id][:, None, None] * p
        return out / out.sum(2, keepdims=True)


class RandomCircuits(SumProduct):
    """Mixture of random circuits (XPC), for binary columns only.

    Rows are split at random; Chow-Liu trees are the leaves.

    Args:
        rows: the smallest part.
        circuits: how many.
    """

    def __init__(self, rows: int, circuits: int) -> None:
        super().__init__(rows)
        self.circuits = circuits

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Learn from the training rows."""
        self.levels = levels
        with contextlib.redirect_stdout(open(os.devnull, "w", encoding="utf-8")):
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
