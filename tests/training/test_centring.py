"""Centred training: the same model, and each step the one that plain descent takes in the centred parameters."""

import pytest
import torch

from nadek.inference.order_agnostic import step_costs
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import DeepConfig
from nadek.models.unet import ImageNetwork
from nadek.models.unet_config import ImageConfig
from nadek.training import SGD, Phase, TrainingConfig, fit, prepare
from nadek.training.preconditioning import MEAN_FLAG, mean_input, preconditioned

D = 5
PLAIN = SGD(lr=0.1, momentum=0.0)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def network(**options):
    config = ModelConfig(n_variables=D, core=DeepConfig(hidden=(4,)), steps=2, **options)
    return IterativeNADE(config, torch.tensor([0.9, 0.8, 0.1, 0.5, 0.7]), generator=seeded(1)).double()


def rows(n=30):
    return (torch.rand(n, D, generator=seeded(2)) < torch.tensor([0.9, 0.8, 0.1, 0.5, 0.7])).float()


def cost(model):
    missing = torch.rand(30, D, generator=seeded(3)) < 0.5
    missing[:, 0] = True
    return step_costs(model, rows().double(), missing)[-1].mean()


STRUCTURES = {"mean fill": {}, "mask input": {"mask_input": True, "fill": "zero"}, "tied": {"tied": True}}


@pytest.mark.parametrize("options", STRUCTURES.values(), ids=STRUCTURES)
def test_step_equals_that_of_centred_parameters(options):
    centre, lr = torch.rand(D, dtype=torch.float64, generator=seeded(4)), 0.1
    model, moved = network(**options), network(**options)
    cost(model).backward()
    with torch.no_grad():
        bias = model.c + model.W @ centre
        gradient = model.c.grad
        W = model.W - lr * (model.W.grad - torch.outer(gradient, centre))
        c = bias - lr * gradient - W @ centre
        if model.A is not None:
            flags = torch.full((D,), MEAN_FLAG, dtype=torch.float64)
            A = model.A - lr * (model.A.grad - torch.outer(gradient, flags))
            c = c + model.A @ flags - A @ flags

    optimizer = PLAIN.build(moved)
    cost(moved).backward()
    with preconditioned(moved, centre):
        optimizer.step()
    torch.testing.assert_close(moved.W.detach(), W, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(moved.c.detach(), c, rtol=1e-12, atol=1e-14)
    if moved.A is not None:
        torch.testing.assert_close(moved.A.detach(), A, rtol=1e-12, atol=1e-14)


def test_zero_centre_is_ordinary_step():
    model, moved = network(), network()
    for one, centre in ((model, None), (moved, torch.zeros(D, dtype=torch.float64))):
        optimizer = PLAIN.build(one)
        cost(one).backward()
        with preconditioned(one, centre):
            optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), moved.parameters(), strict=True))


def test_centre_is_mean_of_inputs():
    x = rows()
    x[:7, 3] = torch.nan
    mean = x.nanmean(0).double()
    for options in ({}, {"fill": "zero"}):
        model = network(**options)
        torch.testing.assert_close(mean_input(model, prepare(x)), 0.5 * (mean + model.fill), rtol=1e-6, atol=1e-6)


def test_training_uses_it():
    config = TrainingConfig(phases=(Phase(epochs=2),), optimizer=PLAIN, batch_size=10, ema_decay=0.0)
    centred_config = TrainingConfig(phases=config.phases, optimizer=PLAIN, batch_size=10, ema_decay=0.0, centred=True)
    one, other = network(), network()
    fit(one, prepare(rows()), config=config)
    fit(other, prepare(rows()), config=centred_config)
    assert not torch.allclose(one.W, other.W, atol=1e-6)


def test_a_network_without_columns_is_refused():
    model = ImageNetwork(ImageConfig(image_shape=(2, 4), channels=(2,)), generator=seeded())
    x = torch.ones(4, 8)
    with pytest.raises(ValueError, match="centred: a ImageNetwork has no matrix that reads columns"):
        fit(model, prepare(x), config=TrainingConfig(centred=True))
