"""The functions for networks and tensors, given an estimator, an array or a frame, say what they expected."""

from collections.abc import Iterator
from types import SimpleNamespace

import jaxtyping
import numpy as np
import pandas as pd
import pytest
import torch

import nadek
from nadek.training import Phase, TrainingConfig, fit

X = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, np.nan]])
ROWS, FRAME = torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]), pd.DataFrame(X, columns=["a", "b", "c"])
ESTIMATOR = r"^expected a network, found NADEk: ask an estimator by its own methods, or pass its network_$"
ARRAY = r"^x: expected a tensor, found numpy\.ndarray: torch\.as_tensor\(x\) makes one of an array or a list$"


@pytest.fixture(autouse=True)
def as_outside_of_tests() -> Iterator[None]:
    """Without the check of annotations, which would come first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def net():
    return nadek.nade_k(3, hidden=(4,), mean=torch.full((3,), 0.5))


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: nadek.sample(model, 3),
        lambda model: nadek.impute(model, FRAME),
        lambda model: nadek.log_prob(model, FRAME),
        lambda model: nadek.log_probs(model, FRAME, 4),
        lambda model: list(nadek.each_log_prob(model, ROWS, 4)),
        lambda model: nadek.marginal_log_probs(model, FRAME, 4),
        lambda model: nadek.cell_log_probs(model, FRAME),
        lambda model: fit(model, nadek.prepare(ROWS), config=nadek.TrainingConfig()),
    ],
)
def test_an_estimator_is_no_network(ask):
    with pytest.raises(TypeError, match=ESTIMATOR):
        ask(nadek.NADEk())


@pytest.mark.parametrize(
    "ask",
    [
        lambda net, x: nadek.impute(net, x),
        lambda net, x: nadek.log_probs(net, x, 2),
        lambda net, x: nadek.marginal_log_probs(net, x, 2),
        lambda net, x: nadek.cell_log_probs(net, x),
        lambda net, x: nadek.expected_information(net, x),
        lambda net, x: nadek.level_probabilities(net, x),
        lambda net, x: nadek.estimate_log_prob(net, x),
        lambda net, x: nadek.prepare(x),
        lambda net, x: nadek.data_mean(x),
    ],
)
def test_an_array_is_no_tensor(ask, net):
    with pytest.raises(TypeError, match=ARRAY):
        ask(net, X)
    with pytest.raises(TypeError, match=r"^x: expected a tensor, found pandas\..*DataFrame: "):
        ask(net, FRAME)
    with pytest.raises(TypeError, match=r"^x: expected a tensor, found list: "):
        ask(net, X.tolist())


def test_rows_to_train_on_are_prepared_first(net):
    with pytest.raises(TypeError, match=r"^expected training rows made by nadek\.prepare, found Tensor$"):
        fit(net, ROWS, config=nadek.TrainingConfig())
    with pytest.raises(TypeError, match=r"^expected validation rows made by nadek\.prepare, found ndarray$"):
        fit(net, nadek.prepare(ROWS), X, config=nadek.TrainingConfig())


@pytest.mark.parametrize("thing", [nadek.NADEk(), torch.nn.Linear(1, 1), SimpleNamespace()])
def test_only_a_saved_model_is_saved(thing, tmp_path):
    with pytest.raises(TypeError, match=f"^expected a nadek.SavedModel, found {type(thing).__name__}: "):
        nadek.save(tmp_path / "model", thing)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("shape", "options", "told"),
    [
        ((3,), {}, r"x: expected a table \[rows, columns\], found shape \(3,\)$"),
        ((5, 2, 3), {}, r"x: expected a table \[rows, columns\], found shape \(5, 2, 3\): images are flattened"),
        ((5, 6), {"levels": (2, 3)}, "levels: expected 6, one for each column, found 2"),
        ((5, 6), {"columns": ("a",)}, "columns: expected 6, one for each column, found 1"),
    ],
)
def test_rows_of_another_shape_are_told(shape, options, told):
    with pytest.raises(ValueError, match=f"^{told}"):
        nadek.prepare(torch.ones(shape), **options)


def test_numbers_that_are_not_whole_are_told():
    for name in ("batch_size", "validate_every", "stride", "patience", "seed"):
        with pytest.raises(ValueError, match=rf"^{name}: expected a whole number, found 16\.0"):
            TrainingConfig(**{name: 16.0})
    with pytest.raises(ValueError, match=r"^epochs: expected a whole number, found 2\.0"):
        Phase(epochs=2.0)
    assert TrainingConfig(phases=(Phase(epochs=np.int64(2)),), batch_size=np.int64(16)).epochs == 2
