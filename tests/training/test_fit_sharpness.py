"""The sharpness of numbers, fitted on rows that were not learnt."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from nadek import NADEkImputer
from nadek.inference import sample
from nadek.models import IterativeNADE, ModelConfig
from nadek.training import fit_sharpness, prepare
from support.models import same, seeded

LEVELS, KNOTS = (6, 3, 5), ((), None, (0, 4))
MEAN = torch.tensor([1, 3, 8, 4, 2, 1, 1, 2, 3, 4, 1, 6, 2, 1.0])


def network(sharpness=None, focus=None, bends=None):
    config = ModelConfig(n_variables=3, levels=LEVELS, knots=KNOTS, sharpness=sharpness, focus=focus, bends=bends)
    model = IterativeNADE(config, generator=seeded()).double().eval()
    with torch.no_grad():
        model.b.copy_(MEAN.log())
    return model


def rows(n, sharpness, bends=None):
    return sample(network(sharpness, bends=bends), n, generator=seeded(1))


def factors(model):
    """Those of the logits, which are the same in all rows."""
    p = [part.softmax(0) for part in MEAN.double().log().split(LEVELS)]
    variances = [(one * (torch.arange(len(one)) - one @ torch.arange(len(one)).double()) ** 2).sum() for one in p]
    return [s * (1 + model.config.focus / (v + 0.25)) for s, v in zip(model.config.sharpness, variances, strict=True)]


def fitted(x, **options):
    model = network()
    fit_sharpness(model, prepare(x, levels=LEVELS, knots=KNOTS)._replace(**options), generator=seeded(2))
    return model


@pytest.mark.parametrize("sharpness", [(1.0, 1.0, 1.0), (2.5, 1.0, 0.5)])
def test_sharpness_is_that_of_the_rows(sharpness):
    model = fitted(rows(4000, sharpness))
    assert np.log(factors(model))[[0, 2]] == pytest.approx(np.log(sharpness)[[0, 2]], abs=0.15)
    assert model.config.sharpness[1] == 1
    assert model.variables.densities.sharpness.tolist() == list(model.config.sharpness)
    untouched = replace(model.config, sharpness=None, focus=None, bends=None)
    assert untouched == network().config
    assert same(model.state_dict(), network().state_dict())


@pytest.mark.parametrize("bends", [(0.0, 0.0, 0.0), (4.0, 0.0, 0.0), (8.0, 0.0, 8.0)])
def test_bends_are_those_of_the_rows(bends):
    config = fitted(rows(4000, (2.5, 1.0, 2.5), bends)).config
    assert (config.bends or (0.0, 0.0, 0.0)) == bends


def test_few_rows_change_little():
    assert np.log(fitted(rows(3, (2.5, 1.0, 2.5))).config.sharpness) == pytest.approx(np.zeros(3), abs=0.5)


def test_numbers_learn_from_each_other():
    """Where one number is much sharper, another one that is hardly ever observed is a little, too."""
    x = rows(100, (3.0, 1.0, 1.0))
    x[1:, 2] = torch.nan
    of_first, _, of_last = factors(fitted(x))
    assert min(of_first, of_last) > 1.2


@pytest.mark.parametrize("focus", [0.0, 1.6])
def test_focus_is_that_of_the_rows(focus):
    """Of two numbers the network is sure of one; those of both are drawn with the same focus."""
    model = network((1.0, 1.0, 1.0), focus)
    with torch.no_grad():
        model.b[:6] *= 4
    x = sample(model, 4000, generator=seeded(1))
    model.config = replace(model.config, focus=0.0)
    fit_sharpness(model, prepare(x, levels=LEVELS, knots=KNOTS), generator=seeded(2))
    assert model.config.focus == focus
    assert model.variables.densities.focus == focus


def test_a_typing_error_does_not_decide():
    x = rows(400, (2.0, 1.0, 1.0))
    before = fitted(x).config.sharpness[0]
    with torch.no_grad():
        model = network()
        model.b[5] = -60.0
    x[0, 0] = 5
    fit_sharpness(model, prepare(x, levels=LEVELS, knots=KNOTS), generator=seeded(2))
    assert model.config.sharpness[0] == pytest.approx(before, rel=0.25)


def test_weights_count():
    x, wide = rows(600, (2.0, 1.0, 1.0)), rows(600, (0.5, 1.0, 1.0))
    weights = torch.cat([torch.full((600,), 2.0), torch.zeros(600)])
    model = fitted(torch.cat([x, wide]), weights=weights)
    assert float(factors(model)[0]) == pytest.approx(2, rel=0.25)


def test_few_heavy_rows_change_little():
    """Three among a thousand light ones; alone these would make it sharp."""
    x = torch.cat([rows(3, (0.5, 1.0, 1.0)), rows(1000, (2.5, 1.0, 1.0))])
    weights = torch.cat([torch.full((3,), 1e6), torch.ones(1000)])
    sharpness = fitted(x, weights=weights / weights.mean()).config.sharpness
    assert np.log(sharpness) == pytest.approx(np.zeros(3), abs=0.5)


def test_a_fitted_estimator_keeps_its_sharpness(tmp_path):
    rng = np.random.default_rng(0)
    first = rng.normal(size=400)
    X = np.column_stack([first, first + 0.05 * rng.normal(size=400), rng.normal(size=400)])
    imputer = NADEkImputer(max_iter=30, random_state=0).fit(X)
    assert imputer.network_.config.sharpness[2] < max(imputer.network_.config.sharpness[:2])
    imputer.save(tmp_path / "model")
    other = NADEkImputer.load(tmp_path / "model")
    assert other.network_.config == imputer.network_.config
    holes = np.where([True, False, False], np.nan, X)
    again, before = (one.predict_missing_quantiles(holes)[0] for one in (other, imputer))
    np.testing.assert_array_equal(again, before)


@pytest.mark.parametrize("wrong", [(1.0, 2.0), (1.0, -1.0, 1.0), (1.0, float("nan"), 1.0)])
def test_wrong_bends_are_refused(wrong):
    with pytest.raises(ValueError, match="bends: expected a number of at least 0 for each of 3 variables, found"):
        network(bends=wrong)


@pytest.mark.parametrize("wrong", [(1.0, 2.0), (1.0, 0.0, 1.0), (1.0, float("nan"), 1.0)])
def test_wrong_sharpness_is_refused(wrong):
    with pytest.raises(ValueError, match="sharpness: expected a number above 0 for each of 3 variables, found"):
        network(wrong)
