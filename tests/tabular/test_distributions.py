"""Bins, means and quantiles of numbers, beside those of very many draws; and what stands for a distribution."""

import numpy as np
import pytest
import torch

from nadek.models.knot_densities import Shape
from nadek.models.variables import variables_of
from nadek.tabular.columns import (
    Binary,
    Categorical,
    Ordinal,
    bent,
    infer,
    knots,
    n_levels,
    quantiles_of_number,
    summarised,
)
from nadek.tabular.columns.bins import draw, left_and_width, means_of_parts
from nadek.tabular.columns.distributions import bins_of_number, mean_of_number

RNG = np.random.default_rng(0)
VALUES = {
    "smooth": RNG.normal(size=500),
    "skew": np.exp(2 * RNG.normal(size=500)),
    "with a frequent zero": np.where(RNG.random(600) < 0.3, 0.0, RNG.gamma(2, size=600)),
    "whole": RNG.poisson(40, size=500).astype(float),
    "two decimals": RNG.normal(size=500).round(2),
    "prices": RNG.poisson(20, size=500) + RNG.choice([0.49, 0.99], size=500),
    "rounded": np.append(RNG.integers(9, 60, size=400) * 50, RNG.integers(400, 3000, size=100)).astype(float),
    "few": RNG.integers(0, 6, size=500).astype(float),
    "one": np.full(50, 2.5),
}


@pytest.mark.parametrize(("n_bins", "bend"), [(2, 0.0), (5, 0.0), (16, 0.0), (8, 3.0)])
@pytest.mark.parametrize("name", VALUES)
def test_answers_are_those_of_draws(name, n_bins, bend):
    values = VALUES[name]
    (column,) = bent([infer(values, name="x", kind="numeric", n_bins=n_bins)], [bend])
    n, rng = n_levels(column), np.random.default_rng(1)
    p = rng.dirichlet(np.full(n, 0.5), size=3)
    parts = np.linspace(0, 1, 41)
    quantiles = quantiles_of_number(column, p, parts.tolist())
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert ((quantiles >= column.low) & (quantiles <= column.high + column.step)).all()
    variables = variables_of((n,), knots([column]), Shape(bends=[bend]))
    for row, answers in zip(p, quantiles, strict=True):
        scores = torch.from_numpy(np.log(row)).expand(200_000, n)
        u = torch.from_numpy(rng.random((200_000, variables.n_uniforms)))
        codes = variables.sample(scores, torch.zeros(len(u), dtype=torch.long), u).numpy()
        drawn = draw(column, codes, uniforms=rng.random(len(u)))
        for part, answer in zip(parts, answers, strict=True):
            near = 0.006 + 1e-9  # a part of draws, whose error is at most 0.0011
            assert (drawn < answer - 1e-9).mean() <= part + near
            assert (drawn <= answer + 1e-9).mean() >= part - near
        if column.single != tuple(range(n)):
            shares = np.bincount(column.bin_of(drawn), minlength=n) / len(drawn)
            np.testing.assert_allclose(bins_of_number(column, row[None])[0], shares, atol=0.006)
            error = 5 * drawn.std() / len(drawn) ** 0.5
            steps = mean_of_number(column, row[None])[0] - drawn.mean()
            assert abs(steps) < error + 0.02 * np.diff(quantiles[:, [5, -6]]).max()  # bins have the means of training


@pytest.mark.parametrize("power", [1, 5, 50])
@pytest.mark.parametrize("n", [20, 60, 500])
def test_means_stay_within_their_bins(n, power):
    """A few numbers with a long tail have another mean than their density, whose parts must not leave the bin."""
    numbers = np.exp(power * np.random.default_rng(n).normal(size=n))
    for values in (numbers, -numbers, np.floor(numbers.clip(max=1e15))):
        column = infer(values, name="x", kind="numeric", n_bins=16)
        means = means_of_parts(column, 8).reshape(-1, 8)
        left, width = left_and_width(column)
        assert (np.diff(means) >= 0).all()
        assert ((means >= left[:, None]) & (means <= np.minimum(left + width, column.high)[:, None])).all()
        error = np.abs(means.mean(1) - column.means)
        assert (error <= 1e-3 * np.abs(column.means) + 1e-14 * width).all()


def test_observed_knot_is_its_own_quantile():
    column = infer(VALUES["few"], name="x", kind="numeric", n_bins=16)
    one = np.eye(n_levels(column))
    for part in (0.05, 0.5, 0.95):
        assert quantiles_of_number(column, one, [part])[:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_order_decides_what_stands_for_a_distribution():
    p = np.array([[0.4, 0.2, 0.35, 0.05]])
    levels = ("none", "mild", "severe", "extreme")
    assert summarised(Ordinal(levels=levels), p, "median").tolist() == ["mild"]
    assert summarised(Ordinal(levels=levels), p, "mean").tolist() == ["none"]
    assert summarised(Categorical(levels=levels), p, "median").tolist() == ["none"]
    assert summarised(Binary(), np.array([[0.3, 0.7]]), "mean").tolist() == [1]
    ages = infer(np.arange(4.0), name="age", kind="numeric", n_bins=4)
    assert [summarised(ages, p, one).tolist() for one in ("mean", "median", "mode")] == [[1], [1], [0]]
