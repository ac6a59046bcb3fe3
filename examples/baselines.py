"""Two classic models of binary data to compare with: independent variables, and a tree of them.

Both are fitted in closed form and score rows exactly, so their log-likelihood is a floor that a trained
network should pass, and a known number that checks an evaluation. NumPy and SciPy only.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Real
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

_EXACT_IN_FLOAT32 = 2**24  # counts up to here are whole numbers in float32, whose matrix product is twice as fast


@dataclass(frozen=True, eq=False)
class IndependentBernoulli:
    """Independent binary variables: `log p(x) = sum_i x_i log p_i + (1 - x_i) log(1 - p_i)`.

    Attributes:
        probability: p_i = p(x_i = 1), shape [D], inside (0, 1).

    Example:
        >>> model = IndependentBernoulli.fit(np.array([[1, 0], [1, 1]]))
        >>> model.probability
        array([0.75, 0.5 ])
        >>> model.log_prob(np.array([[1, 0]])).round(3)
        array([-0.981])
    """

    probability: Float[np.ndarray, " D"]

    @classmethod
    def fit(cls, x: Real[np.ndarray, "N D"], *, pseudocount: float = 1.0) -> "IndependentBernoulli":
        """Estimate `p_i = (ones_i + pseudocount) / (observed_i + 2 pseudocount)`.

        Args:
            x: data of 0 and 1, NaN where a value is missing (which is not counted), shape [N, D].
            pseudocount: how often each of the two values is taken to have been seen beforehand, above 0.

        Returns:
            The fitted model.

        Raises:
            ValueError: if x is not a table of 0, 1 and NaN, or the pseudocount is not above 0.
        """
        _check_table(x, may_miss=True)
        _check_pseudocount(pseudocount)
        ones, zeros = (x == 1).sum(axis=0), (x == 0).sum(axis=0)
        return cls(probability=(ones + pseudocount) / (ones + zeros + 2 * pseudocount))

    def log_prob(self, x: Real[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
        """Log-probability of each row, in nats.

        Args:
            x: complete data of 0 and 1, shape [N, D].

        Returns:
            float64 array of shape [N].

        Raises:
            ValueError: if x has another number of columns, or holds anything but 0 and 1.
        """
        _check_table(x, may_miss=False, columns=len(self.probability))
        off, on = np.log1p(-self.probability), np.log(self.probability)
        # One product with the log-odds: x is either 0 or 1.
        return x.astype(np.float64) @ (on - off) + off.sum()


@dataclass(frozen=True, eq=False)
class ChowLiuTree:
    """The most likely tree of binary variables: `log p(x) = sum_i log p(x_i | x_parent(i))`.

    The tree is a maximum spanning tree of the mutual information between pairs of variables. Every pair's
    two by two table of counts starts from `pseudocount` in each cell. The mutual information, the
    conditionals `(n_ab + pseudocount) / (n_a + 2 pseudocount)` and the root's marginal all come from these
    tables, so with complete data it does not matter which variable is the root.

    Reference:
        Chow and Liu, "Approximating discrete probability distributions with dependence trees", 1968.

    Attributes:
        parent: the variable that each variable depends on, shape [D]; the root, variable 0, has -1.
        log_conditional: `log p(x_i = b | x_parent(i) = a)` at [i, a, b], shape [D, 2, 2]; both rows of the
            root are its marginal.

    Example:
        >>> x = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]])
        >>> tree = ChowLiuTree.fit(x)
        >>> tree.parent
        array([-1,  0,  0])
        >>> np.exp(tree.log_conditional[1])
        array([[0.75, 0.25],
               [0.25, 0.75]])
    """

    parent: Int[np.ndarray, " D"]
    log_conditional: Float[np.ndarray, "D 2 2"]

    @classmethod
    def fit(cls, x: Real[np.ndarray, "N D"], *, pseudocount: float = 1.0) -> "ChowLiuTree":
        """Find the tree and its conditionals.

        Args:
            x: data of 0 and 1, NaN where a value is missing, shape [N, D]. A pair of variables is counted
                over the rows where both are observed.
            pseudocount: what is added to each of the four cells of a pair's table, above 0.

        Returns:
            The fitted model. It takes O(N D^2) time and O(N D + D^2) memory.

        Raises:
            ValueError: if x is not a table of 0, 1 and NaN, or the pseudocount is not above 0.
        """
        _check_table(x, may_miss=True)
        _check_pseudocount(pseudocount)
        counts = _pair_counts(x)
        joint = counts + pseudocount
        joint /= joint.sum(axis=(0, 1))
        parent = _spanning_tree(_mutual_information(joint))
        child = np.arange(len(parent))
        table = joint[:, :, np.maximum(parent, 0), child]
        conditional = table / table.sum(axis=1, keepdims=True)
        # The diagonal counts each variable alone; its two cells get what a pair's four give to one variable.
        root = np.diagonal(counts[:, :, 0, 0]) + 2 * pseudocount
        conditional[:, :, 0] = root / root.sum()
        return cls(parent=parent, log_conditional=np.log(conditional).transpose(2, 0, 1))

    def log_prob(self, x: Real[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
        """Log-probability of each row, in nats.

        Args:
            x: complete data of 0 and 1, shape [N, D].

        Returns:
            float64 array of shape [N].

        Raises:
            ValueError: if x has another number of columns, or holds anything but 0 and 1.
        """
        _check_table(x, may_miss=False, columns=len(self.parent))
        value = x.astype(np.int8)
        given = value[:, np.maximum(self.parent, 0)]
        terms = self.log_conditional[np.arange(len(self.parent)), given, value]
        return terms.sum(axis=1)


def _pair_counts(x: Real[np.ndarray, "N D"]) -> Float[np.ndarray, "2 2 D D"]:
    """Count the rows with `x_i = a` and `x_j = b`, at [a, b, i, j], by one matrix product."""
    dtype = np.float32 if len(x) <= _EXACT_IN_FLOAT32 else np.float64
    indicator: Float[np.ndarray, "N values"] = np.concatenate([x == 0, x == 1], axis=1).astype(dtype)
    counts: Float[np.ndarray, "2 D 2 D"] = (indicator.T @ indicator).reshape(2, x.shape[1], 2, x.shape[1])
    return counts.transpose(0, 2, 1, 3).astype(np.float64)


def _mutual_information(joint: Float[np.ndarray, "2 2 D D"]) -> Float[np.ndarray, "D D"]:
    """Mutual information of each pair of variables in nats, from their joint probabilities, all above 0."""
    first, second = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    return (joint * np.log(joint / (first * second))).sum(axis=(0, 1))


def _spanning_tree(information: Float[np.ndarray, "D D"]) -> Int[np.ndarray, " D"]:
    """Parent of each variable in a maximum spanning tree that hangs from variable 0, whose parent is -1."""
    # SciPy minimises and reads 0 as "no edge"; two bits share at most log 2 nats, so every cost is positive.
    cost = 1.0 - information
    np.fill_diagonal(cost, 0.0)
    _, parent = breadth_first_order(minimum_spanning_tree(cost), 0, directed=False)
    return np.asarray(np.maximum(parent, -1), dtype=np.intp)


def _check_table(x: Real[np.ndarray, "..."], *, may_miss: bool, columns: int | None = None) -> None:
    """Refuse what is not a table of 0 and 1 (and NaN, if values may be missing)."""
    if x.ndim != 2 or x.size == 0:
        raise ValueError(f"x must be a table [N, D] with at least one row and one column, found shape {x.shape}")
    if columns is not None and x.shape[1] != columns:
        raise ValueError(f"x must have the {columns} columns that the model was fitted on, found {x.shape[1]}")
    unknown = np.isnan(x)
    if not may_miss and unknown.any():
        raise ValueError(f"x must be complete, found {unknown.sum()} missing values (NaN)")
    wrong = x[(x != 0) & (x != 1) & ~unknown]
    if wrong.size:
        raise ValueError(f"x must hold 0 and 1 only, found {wrong[0]} (and {wrong.size - 1} other such values)")


def _check_pseudocount(pseudocount: float) -> None:
    """Refuse a pseudocount that could give a probability of 0."""
    if not pseudocount > 0:
        raise ValueError(f"pseudocount must be above 0, found {pseudocount}")
