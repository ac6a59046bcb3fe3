"""The functions for networks and tensors, given something else than what is theirs, take it or say what they expected.

Estimators, arrays and frames for networks and rows; lists for orderings, flags and means; numbers for layers.
"""

from collections.abc import Iterator
from types import SimpleNamespace

import jaxtyping
import numpy as np
import pandas as pd
import pytest
import torch

import nadek
from nadek.inference import (
    estimate_log_prob,
    expected_information,
    explain_cells,
    greedy,
    level_probabilities,
    reconstruction_probabilities,
    reduce_orderings,
)
from nadek.training import Phase, TrainingConfig, data_mean, fit

X = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, np.nan]])
ROWS, FRAME = torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]), pd.DataFrame(X, columns=["a", "b", "c"])
HOLES = torch.tensor([[0.0, torch.nan, 1.0], [1.0, torch.nan, torch.nan]])
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
        lambda model: nadek.log_prob(model, FRAME, orderings=4),
        lambda model: explain_cells(model, FRAME).log_prob,
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
        lambda net, x: nadek.log_prob(net, x, orderings=2),
        lambda net, x: explain_cells(net, x).log_prob,
        lambda net, x: expected_information(net, x),
        lambda net, x: level_probabilities(net, x),
        lambda net, x: reconstruction_probabilities(net, x),
        lambda net, x: estimate_log_prob(net, x),
        lambda net, x: nadek.prepare(x),
        lambda net, x: data_mean(x),
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


@pytest.mark.parametrize("ordering", [[2, 0, 1], (2, 0, 1), np.array([2, 0, 1]), np.array([1, 0, 2])[::-1]])
def test_orderings_need_be_no_tensors(ordering, net):
    """Neither one nor several; an array may run backwards."""
    tensor = torch.tensor([2, 0, 1])
    given = torch.tensor([True, False, False])
    assert torch.equal(nadek.log_prob(net, ROWS, ordering=ordering), nadek.log_prob(net, ROWS, ordering=tensor))
    assert torch.equal(nadek.log_prob(net, ROWS, ordering=[ordering] * 2), nadek.log_prob(net, ROWS, ordering=tensor))
    assert torch.equal(greedy(net, HOLES, ordering=ordering).x, greedy(net, HOLES, ordering=tensor).x)
    for ask in (
        lambda o: nadek.log_prob(net, ROWS, orderings=o),
        lambda o: nadek.log_prob(net, HOLES, orderings=o),
        lambda o: nadek.log_prob(net, HOLES, given=given, orderings=o),
        lambda o: nadek.sample(net, 5, orderings=o, generator=torch.Generator().manual_seed(0)),
    ):
        assert torch.equal(ask([ordering]), ask(tensor[None]))


@pytest.mark.parametrize(
    ("ordering", "told"),
    [
        ([0, 1], r"expected a permutation of 0\.\.2, one .* found an array of shape \(2,\) and type torch\.int64"),
        ([0, 1, 1], r"expected a permutation of 0\.\.2"),
        ([0.0, 1.0, 2.0], r"expected a permutation of 0\.\.2, .* type torch\.float64"),
        (3, r"expected a permutation of 0\.\.2, .* shape \(\)"),
        (["a"], r"expected whole numbers in a tensor, an array or a list, found list \['a'\]$"),
        (
            [[0, 1, 2], [0]],
            r"expected whole numbers in a tensor, an array or a list, found list \[\[0, 1, 2\], \[0\]\]$",
        ),
    ],
)
def test_what_is_no_ordering_says_so(ordering, told, net):
    with pytest.raises((TypeError, ValueError), match=f"^ordering: {told}"):
        nadek.log_prob(net, ROWS, ordering=ordering)
    for orderings in ([0, 1, 2], [[0, 1]], [], 2.0, "x"):
        with pytest.raises((TypeError, ValueError), match=r"^orderings: expected"):
            nadek.log_prob(net, ROWS, orderings=orderings)


def test_flags_are_tensors_of_truths(net):
    number = r"^{}: expected one flag \(bool\) for each of 3 variables, found \(1,\) of int64$"
    cells = r"^missing: expected one flag \(bool\) for each cell of x \(2, 3\), found \(2, 3\) of int64$"
    tensor = r"^{}: expected a tensor, found list: torch\.as_tensor\({}\) makes one of an array or a list$"
    for name, ask in {
        "given": lambda flags: nadek.log_prob(net, HOLES, given=flags, orderings=2),
        "target": lambda flags: expected_information(net, HOLES, flags),
    }.items():
        with pytest.raises(TypeError, match=tensor.format(name, name)):
            ask([0])
        with pytest.raises(ValueError, match=number.format(name)):
            ask(torch.tensor([0]))
    with pytest.raises(TypeError, match=tensor.format("missing", "missing")):
        reconstruction_probabilities(net, HOLES, HOLES.isnan().tolist())
    with pytest.raises(ValueError, match=cells):
        reconstruction_probabilities(net, HOLES, HOLES.isnan().long())


@pytest.mark.parametrize(
    ("mean", "told"),
    [
        ([0.1, 0.2], r"expected a tensor, found list: torch\.as_tensor\(mean\) makes one"),
        (np.array([0.1, 0.2]), r"expected a tensor, found numpy\.ndarray"),
        (
            torch.tensor([0.1, 0.2, 0.3]),
            r"expected one number for each of 2 columns, .* found an array of shape \(3,\)",
        ),
        (torch.tensor(0.1), r"expected one number for each of 2 columns, .* found an array of shape \(\)"),
        (torch.tensor([0.1, 5.0]), r"expected numbers from 0 to 1 \(NaN where unknown\), found 5 for column 1$"),
        (torch.tensor([torch.nan, -0.5]), r"expected numbers from 0 to 1 .*, found -0\.5 for column 1$"),
    ],
)
def test_means_are_those_of_the_columns(mean, told):
    config = nadek.ImageConfig(image_shape=(1, 2), channels=(2,), dense=0)
    for make in (lambda: nadek.nade_k(2, hidden=(3,), mean=mean), lambda: nadek.ImageNetwork(config, mean)):
        with pytest.raises((TypeError, ValueError), match=f"^mean: {told}"):
            make()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: nadek.nade_k(2, hidden=3), r"hidden: expected the width of each layer, such as \(3,\), found 3"),
        (lambda: nadek.nade_mask(2, hidden=3), r"hidden: expected the width of each layer, such as \(3,\), found 3"),
        (lambda: nadek.nade(2, hidden=(4,)), r"hidden\[0\]: expected a whole number, found \(4,\)"),
        (lambda: nadek.nade_k(2, hidden=[3.0]), r"hidden\[0\]: expected a whole number, found 3\.0"),
    ],
)
def test_widths_are_whole_numbers_one_a_layer(make, told):
    with pytest.raises((TypeError, ValueError), match=f"^{told}$"):
        make()


@pytest.mark.parametrize("tell", [nadek.summarise, reduce_orderings])
def test_scores_of_one_ordering_are_no_matrix(tell, net):
    """Its rows would be taken for orderings."""
    told = r"^log_probs: expected a matrix, orderings by rows .*, found an array of shape \(2,\)$"
    with pytest.raises(ValueError, match=told):
        tell(nadek.log_prob(net, ROWS, ordering=[0, 1, 2]))


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
