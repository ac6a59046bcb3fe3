"""deeprob-kit: sum-product networks by LearnSPN, and mixtures of random circuits with Chow-Liu leaves (XPC)."""

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
"""Rows that go through the circuit at once."""


def leaf_probabilities(leaf: Leaf, x: Array) -> Array:
    """Probabilities of the levels of a leaf's cells given those observed, [N, D of the leaf, L]."""
    if isinstance(leaf, BinaryCLT):
        tables = np.exp(leaf.params.astype(np.float64))
        return Tree.given(leaf.bfs, np.maximum(leaf.tree, 0), tables).probabilities(x)
    p = np.array([1 - leaf.p, leaf.p]) if isinstance(leaf, Bernoulli) else np.asarray(leaf.probabilities, np.float64)
    return np.broadcast_to(p, (len(x), 1, len(p)))


class SumProduct:
    """LearnSPN: rows cut by k-means, columns by G-tests; binary columns end in Chow-Liu trees.

    Args:
        rows: fewer are not cut further.
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
        """Log-probability in nats of what is observed of each row."""
        return log_likelihood(self.model, x.astype(np.float32)).reshape(-1).astype(np.float64)

    def probabilities(self, x: Array) -> Array:
        """The levels of every cell in every leaf, weighted by how likely the leaf is the one that made the cell."""
        return np.concatenate([self._some(x[start : start + ROWS]) for start in range(0, len(x), ROWS)])

    def _some(self, x: Array) -> Array:
        _, found = log_likelihood(self.model, x.astype(np.float32), return_results=True)
        weights = np.exp(eval_backward(self.model, found) + found - found[self.model.id])
        out = np.zeros((*x.shape, max(self.levels)))
        for leaf in bfs(self.model):
            if isinstance(leaf, Leaf):
                p = leaf_probabilities(leaf, x[:, leaf.scope])
                out[:, leaf.scope, : p.shape[2]] += weights[leaf.id][:, None, None] * p
        return out / out.sum(2, keepdims=True)


class RandomCircuits(SumProduct):
    """A mixture of XPC: random cuts of the rows, Chow-Liu trees at the ends; binary columns only.

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
