"""The baselines are proper distributions, find a known tree and reproduce the numbers of the real data."""

from itertools import product

import numpy as np
import pytest
from baselines import ChowLiuTree, IndependentBernoulli

MODELS = [IndependentBernoulli, ChowLiuTree]
EVERY_ROW = np.array(list(product([0, 1], repeat=6)), dtype=np.uint8)


def chain(n, dim, seed=0):
    """Rows of a chain behind a permutation: each variable copies the one before it, nine times of ten."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(dim)
    flips = generator.random((n, dim)) < 0.1
    flips[:, 0] = generator.random(n) < 0.5
    x = np.empty((n, dim), dtype=np.uint8)
    x[:, order] = np.cumsum(flips, axis=1) % 2
    return x, order


def with_missing(x, rate, seed=1):
    return np.where(np.random.default_rng(seed).random(x.shape) < rate, np.nan, x)


def edges(tree):
    return {frozenset((child, parent)) for child, parent in enumerate(tree.parent.tolist()) if parent >= 0}


def real_data(folder, name):
    with np.load(folder / name) as z:
        return [np.unpackbits(z[part], axis=1)[:, : int(z["dim"])] for part in ("train", "test")]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_probabilities_of_baselines_sum_to_one(model, rate):
    x = with_missing(chain(50, 6)[0], rate)
    log_prob = model.fit(x).log_prob(EVERY_ROW)
    assert log_prob.dtype == np.float64
    assert np.exp(log_prob).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_tree_recovers_a_chain(rate):
    x, order = chain(4000, 12)
    tree = ChowLiuTree.fit(with_missing(x, rate))
    assert edges(tree) == {frozenset(pair) for pair in zip(order[:-1].tolist(), order[1:].tolist(), strict=True)}
    assert tree.parent[0] == -1


def test_tree_agrees_with_its_definition():
    x, _ = chain(40, 4)
    tree = ChowLiuTree.fit(x, pseudocount=0.5)
    expected = np.log((np.sum(x[:, 0] == x[0, 0]) + 1) / (len(x) + 2))
    for child, parent in enumerate(tree.parent[1:], start=1):
        same = x[:, parent] == x[0, parent]
        expected += np.log((np.sum(x[same, child] == x[0, child]) + 0.5) / (np.sum(same) + 1))
    assert tree.log_prob(x[:1])[0] == pytest.approx(expected, abs=1e-12)


def test_tree_beats_independence_whatever_the_root():
    x, _ = chain(500, 8)
    tree = ChowLiuTree.fit(x).log_prob(x)
    assert tree.mean() > IndependentBernoulli.fit(x).log_prob(x).mean() + 1
    np.testing.assert_allclose(ChowLiuTree.fit(x[:, ::-1]).log_prob(x[:, ::-1]), tree, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_degenerate_columns_are_fitted(model):
    single = model.fit(np.array([[1], [1], [0]]), pseudocount=0.5)
    assert np.exp(single.log_prob(np.array([[0], [1]]))).sum() == pytest.approx(1)
    odd = np.array([[1, np.nan, 0], [1, np.nan, 1]])
    log_prob = model.fit(odd).log_prob(np.array([[0, 0, 0], [0, 1, 0]]))
    assert np.isfinite(log_prob).all()
    assert log_prob[0] == pytest.approx(log_prob[1])


@pytest.mark.parametrize("model", MODELS)
def test_errors(model):
    x, _ = chain(10, 3)
    fitted = model.fit(x)
    for ask, message in (
        (lambda: model.fit(x + np.uint8(2)), "0 and 1 only, found 2"),
        (lambda: model.fit(x[:0]), "at least one row and one column, found shape \\(0, 3\\)"),
        (lambda: fitted.log_prob(x[:, :2]), "the 3 columns that the model was fitted on, found 2"),
        (lambda: fitted.log_prob(np.full(x.shape, np.nan)), "must be complete, found 30 missing"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()


def test_mnist_anchor(data_dir):
    train, test = real_data(data_dir, "mnist_binarized.npz")
    assert IndependentBernoulli.fit(train).log_prob(test).mean() == pytest.approx(-205.793, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "nltcs": -6.759,
        "kdd": -2.295,
        "plants": -16.524,
        "accidents": -33.188,
        "tretail": -10.947,
        "dna": -87.735,
    }.items(),
)
def test_tree_anchors(data_dir, name, expected):
    train, test = real_data(data_dir, f"debd_{name}.npz")
    assert ChowLiuTree.fit(train).log_prob(test).mean() == pytest.approx(expected, abs=5e-4)
