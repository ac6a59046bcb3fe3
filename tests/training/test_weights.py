"""Rows that count more than others: as if they were there more often."""

import numpy as np
import pytest
import torch

import nadek
from nadek.estimators.fitting import split_rows
from nadek.training import Phase
from nadek.training.costs import prepare_validation, validation_costs

ROWS = torch.tensor([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
TIMES = torch.tensor([1, 3, 2])


def weighted(rows, weights):
    return nadek.prepare(rows)._replace(weights=weights / weights.mean())


def trained(rows, batch_size):
    """A classic NADE after some steps of its exact cost, which draws nothing."""
    model = nadek.nade(3, hidden=4, generator=torch.Generator().manual_seed(0)).double()
    config = nadek.TrainingConfig(phases=(Phase(objective="fixed_order", epochs=5),), batch_size=batch_size)
    history = nadek.fit(model, rows, rows, config=config)
    return model, [epoch.validation[-1] for epoch in history]


def test_weights_count_like_repeated_rows():
    model, costs = trained(weighted(ROWS, TIMES.double()), 3)
    other, others = trained(nadek.prepare(ROWS.repeat_interleave(TIMES, 0)), 6)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], rtol=0, atol=1e-9)
    assert costs == pytest.approx(others, rel=1e-9)
    assert costs != pytest.approx(trained(nadek.prepare(ROWS), 3)[1], rel=1e-3)


def test_validation_weighs_rows():
    model, rows = nadek.nade_k(3, hidden=(4,)).double().eval(), weighted(ROWS, TIMES.double())
    validation = prepare_validation(rows, model, torch.Generator().manual_seed(1), min_rows=6)
    plain = validation._replace(rows=validation.rows._replace(weights=None))
    alone = [
        plain._replace(rows=plain.rows.select(slice(i, i + 1)), missing=plain.missing[i : i + 1]) for i in range(6)
    ]
    costs = torch.stack([validation_costs(model, one) for one in alone])
    torch.testing.assert_close(validation_costs(model, validation), (validation.rows.weights[:, None] * costs).mean(0))


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 400)
    return np.column_stack([first, first ^ (rng.random(400) < 0.2), rng.integers(0, 2, 400)]).astype(float)


@pytest.mark.parametrize("kind", [nadek.NADEk, nadek.NADEkImputer])
def test_rows_of_weight_0_are_not_there(kind, table):
    weights = np.arange(400) % 3 > 0
    table = np.column_stack([table, np.random.default_rng(1).normal(size=400) + 1000 * ~weights])
    model = kind(max_iter=3, random_state=0, memory=False).fit(table, sample_weight=2.0 * weights)
    without = kind(max_iter=3, random_state=0, memory=False).fit(table[weights])
    for one, other in zip(model.network_.parameters(), without.network_.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert model.columns_ == without.columns_


def test_a_weighted_survey_is_that_of_the_population(table):
    weights = np.where(table[:, 0] == 1, 4.0, 1.0)
    model = nadek.NADEk(max_iter=60, random_state=0).fit(table, sample_weight=weights)
    p = model.predict_missing_proba(np.full((1, 3), np.nan))
    expected = np.average(table, axis=0, weights=weights)
    assert [p[j][0, 1] for j in range(3)] == pytest.approx(expected, abs=0.06)
    assert abs(expected - table.mean(0)).max() > 0.2


@pytest.mark.parametrize("weights", [np.repeat([1.0, 32.0, 5.0], [700, 30, 270]), np.geomspace(1, 1e6, 1000)])
def test_heavy_rows_are_held_out_as_often_as_others(weights):
    weights = np.random.default_rng(0).permutation(weights)
    train, held_out = split_rows(np.zeros((1000, 2)), 0.1, seed=1, weights=weights)
    assert len(held_out) == 100
    assert np.array_equal(np.sort(np.append(train, held_out)), np.arange(1000))
    for least in np.quantile(weights, [0.2, 0.5, 0.8, 0.97]):
        assert (weights[held_out] >= least).sum() == pytest.approx((weights >= least).sum() / 10, abs=1)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_few_heavy_rows_are_those_of_the_population(seed):
    rng = np.random.default_rng(seed)
    heavy = rng.random(1000) < 0.03
    x = np.where(heavy, rng.normal(8, 1, 1000), rng.normal(size=1000)).round(3)
    weights = np.where(heavy, 32.0, 1.0)
    table = np.column_stack([x, rng.integers(0, 2, 1000)])
    model = nadek.NADEkImputer(max_iter=60, random_state=0).fit(table, sample_weight=weights)
    p = model.predict_missing_proba(np.full((1, 2), np.nan))[0][0]
    assert p @ model.levels_[0] == pytest.approx(np.average(x, weights=weights), abs=1.0)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "one for each of 400 rows, found an array of (3,)"),
        (np.full(400, -1.0), "finite numbers, none below 0 and not all zero, found -1.0 in row 1"),
        (np.full(400, np.inf), "finite numbers, none below 0 and not all zero, found inf in row 1"),
        (
            np.ma.array(np.ones(400), mask=np.arange(400) > 6),
            "finite numbers, none below 0 and not all zero, found nan in row 8",
        ),
        (np.array(["a"] * 400), "an array of numbers, found array(['a', 'a', 'a', 'a', 'a', 'a', 'a'"),
        (np.zeros(400), "finite numbers, none below 0 and not all zero, found only zeros"),
    ],
)
def test_wrong_weights_are_named(table, weights, message):
    with pytest.raises((TypeError, ValueError), match="sample_weight") as error:
        nadek.NADEk(max_iter=1).fit(table, sample_weight=weights)
    assert str(error.value) == f"sample_weight: expected {message}"


def test_values_in_rows_of_weight_0_are_not_there(table):
    empty = np.column_stack([table, np.where(np.arange(400), np.nan, 1.0)])
    with pytest.raises(ValueError, match='rows with a sample_weight above 0: column "3" has no value in any row'):
        nadek.NADEk(max_iter=1).fit(empty, sample_weight=np.arange(400) > 0)


def test_a_memory_knows_no_weights(table):
    with pytest.raises(ValueError, match="memory: expected rows that count alike"):
        nadek.NADEk(max_iter=1, memory=True).fit(table, sample_weight=np.ones(400))
