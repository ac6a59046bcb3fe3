"""Chow-Liu tree of categorical columns with exact conditionals."""

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from peers.coding import indicators

Array = NDArray[np.float64]


class Tree:
    """Maximum spanning tree of mutual information.

    Every cell of a pair's table gets a `pseudocount`.

    Attributes:
        order: columns from the root outwards.
        parent: of each column; that of the root is not used.
        root: probabilities of the root's levels, [L].
        conditional: of each column given its parent, [D, L of the parent, L].
    """

    levels: tuple[int, ...]
    order: NDArray[np.int32]
    parent: NDArray[np.int32]
    root: Array
    conditional: Array

    def __init__(self, pseudocount: float = 0.1) -> None:
        self.pseudocount = pseudocount

    @classmethod
    def given(cls, order: NDArray[np.int32], parent: NDArray[np.int32], conditional: Array) -> Self:
        """Return a tree of binary columns with given parameters.

        The conditional of the root is its marginal, in every row.
        """
        tree = cls()
        tree.levels, tree.order, tree.parent = (2,) * len(parent), order, parent
        tree.root, tree.conditional = conditional[order[0], 0], conditional
        return tree

    def fit(self, train: Array, valid: Array, levels: tuple[int, ...]) -> None:
        """Count pairs and find the tree."""
        self.levels = levels
        n_columns, most = len(levels), max(levels)
        rows = indicators(train, levels)
        there = (np.arange(most) < np.array(levels)[:, None]).reshape(-1)
        joint = rows.T @ rows + self.pseudocount * np.outer(there, there)
        joint = joint.reshape(n_columns, most, n_columns, most).transpose(0, 2, 1, 3).astype(np.float64)
        joint /= joint.sum((2, 3), keepdims=True)
        self.order, parent = _spanning_tree(joint)
        self.parent = np.maximum(parent, 0)
        self.root = np.diagonal(joint[0, 0]) / np.trace(joint[0, 0])
        given = joint[self.parent, np.arange(n_columns)]  # [D, parent's level, own level]
        self.conditional = given / np.maximum(given.sum(2, keepdims=True), 1e-300)

    def log_prob(self, x: Array) -> Array:
        """Return the log-probability of each row's observed cells, in nats."""
        return self._upward(x)[2]

    def probabilities(self, x: Array) -> Array:
        """Return the conditionals by sum-product over the tree.

        Messages go up to the root, then down.
        """
        evidence, up, _ = self._upward(x)
        belief = np.empty_like(evidence)
        first = self.order[0]
        belief[:, first] = _unit(self.root * evidence[:, first])
        for column in self.order[1:]:
            above = belief[:, self.parent[column]] / np.maximum(up[:, column], 1e-300)
            belief[:, column] = _unit((above @ self.conditional[column]) * evidence[:, column])
        return belief

    def _upward(self, x: Array) -> tuple[Array, Array, Array]:
        """Return evidence, upward messages, and log p of rows."""
        seen = indicators(x, self.levels).reshape(len(x), len(self.levels), -1)
        evidence = np.where(np.isnan(x)[:, :, None], 1.0, seen.astype(np.float64))
        up = np.ones_like(evidence)
        total = np.zeros(len(x))
        for column in self.order[:0:-1]:
            message = evidence[:, column] @ self.conditional[column].T
            size = message.max(1)
            up[:, column] = message / size[:, None]
            evidence[:, self.parent[column]] *= up[:, column]
            total += np.log(size)
        return evidence, up, total + np.log(evidence[:, self.order[0]] @ self.root)


def _unit(weights: Array) -> Array:
    return weights / weights.sum(1, keepdims=True)


def _spanning_tree(joint: Array) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the columns from the root outwards, with parents."""
    first, second = joint.sum(3, keepdims=True), joint.sum(2, keepdims=True)
    positive = np.where(joint > 0, joint, 1.0)
    information = (joint * np.log(positive / np.where(joint > 0, first * second, 1.0))).sum((2, 3))
    cost = 1.0 + information.max() - information  # SciPy minimises and reads 0 as "no edge"
    np.fill_diagonal(cost, 0.0)
    return breadth_first_order(minimum_spanning_tree(cost), 0, directed=False)
