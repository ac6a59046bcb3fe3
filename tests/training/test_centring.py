"""Centred training around its steps, which tests/models/test_ordinal_kernel.py holds to a centred twin."""

import pytest
import torch

from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import DeepConfig
from nadek.models.model_config import ImageConfig
from nadek.models.unet import ImageNetwork
from nadek.training import Phase, TrainingConfig, fit, prepare
from nadek.training.preconditioning import mean_input
from support.models import seeded
from support.optimizers import Descent

D = 5
PLAIN = Descent()


def network(**options):
    config = ModelConfig(n_variables=D, core=DeepConfig(hidden=(4,)), steps=2, **options)
    return IterativeNADE(config, torch.tensor([0.9, 0.8, 0.1, 0.5, 0.7]), generator=seeded(1)).double()


def rows(n=30):
    return (torch.rand(n, D, generator=seeded(2)) < torch.tensor([0.9, 0.8, 0.1, 0.5, 0.7])).float()


def test_centre_is_mean_of_inputs():
    x = rows()
    x[:7, 3] = torch.nan
    mean = x.nanmean(0).double()
    for options in ({}, {"fill": "zero"}):
        model = network(**options)
        torch.testing.assert_close(mean_input(model, prepare(x)), 0.5 * (mean + model.fill), rtol=1e-6, atol=1e-6)


def test_training_uses_the_centre():
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
