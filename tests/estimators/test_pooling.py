"""Rubin's rules, against a published example's formulas and against simulated missing cells."""

import numpy as np
import pytest
from scipy.stats import t

from nadek.estimators import pool


def test_rules_by_hand():
    pooled = pool([[1.0, 5.0], [3.0, 5.0]], [[0.5, 2.0], [1.5, 4.0]], complete_df=20)
    np.testing.assert_allclose(pooled.estimate, [2, 5])
    np.testing.assert_allclose(pooled.variance, [1 + 1.5 * 2, 3])
    np.testing.assert_allclose(pooled.missing_part, [0.75, 0])
    few, many = 1 / 0.75**2, 21 / 23 * 20 * 0.25
    np.testing.assert_allclose(pooled.degrees_of_freedom, [1 / (1 / few + 1 / many), 21 / 23 * 20])
    reach = t.ppf(0.95, pooled.degrees_of_freedom) * pooled.standard_error
    np.testing.assert_allclose(pooled.interval(0.9), [pooled.estimate - reach, pooled.estimate + reach])


def test_tables_that_agree_have_the_interval_of_the_normal_law():
    pooled = pool([2.0, 2.0], [1.0, 1.0])
    assert pooled.degrees_of_freedom == np.inf
    np.testing.assert_allclose(pooled.interval(), [2 - 1.959964, 2 + 1.959964], atol=1e-6)


def test_without_variance_within_tables_intervals_are_unbounded():
    assert pool([1, 1.2, 1.1], [0, 0, 0], complete_df=50).interval().tolist() == [-np.inf, np.inf]
    assert pool([1, 1, 1], [0, 0, 0], complete_df=50).interval().tolist() == [1, 1]


def test_intervals_hold_the_mean_as_often_as_they_say():
    """The mean of 40 normal numbers, half of them drawn from the posterior of those that are left."""
    rng, n, seen, hits = np.random.default_rng(0), 40, 20, 0
    for _ in range(1500):
        y = rng.normal(size=seen)
        tables = []
        for _ in range(10):
            variance = (seen - 1) * y.var(ddof=1) / rng.chisquare(seen - 1)
            mean = rng.normal(y.mean(), np.sqrt(variance / seen))
            tables.append(np.concatenate([y, rng.normal(mean, np.sqrt(variance), n - seen)]))
        low, high = pool([x.mean() for x in tables], [x.var(ddof=1) / n for x in tables], complete_df=n - 1).interval()
        hits += low <= 0 <= high
    assert 0.935 <= hits / 1500 <= 0.965


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0]), "a row for each of 2 tables or more; found"),
        (([1.0, 2.0], [[1.0], [2.0]]), "expected arrays of one shape"),
        (([1.0, np.nan], [1.0, 1.0]), "expected finite numbers"),
        (([1.0, 2.0], [1.0, -1.0]), "no negative variance"),
    ],
)
def test_wrong_numbers_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        pool(*arguments)
    with pytest.raises(ValueError, match=r"level: expected a number between 0 and 1, found 95\.0"):
        pool([1.0, 2.0], [1.0, 1.0]).interval(95.0)
