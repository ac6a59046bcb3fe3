"""Networks that begin as an RBM, against its mean field."""

import numpy as np
import pytest
import torch
from scipy.special import expit

import nadek
from nadek.inference import reconstruction_probabilities
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import DeepConfig, ResidualConfig
from nadek_paper.rbm import RBM
from nadek_paper.rbm_start import begin_as_rbm, from_rbm


def drawn_rbm(generator, *, scale=1.0):
    W, b, c = (torch.randn(*s, generator=generator, dtype=torch.float64) for s in ((4, 6), (6,), (4,)))
    return RBM(scale * W, b, scale * c)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_from_rbm_equals_clamped_mean_field(steps, generator):
    """Against the updates written out for the energy exp(b'v + c'h + h'Wv)."""
    rbm = drawn_rbm(generator)
    W, b, c = (one.numpy() for one in (rbm.W, rbm.b, rbm.c))
    v_data = np.array([0.0, 1, 1, 0, 1, 0])
    missing = np.array([True, False, True, True, False, True])
    v = np.where(missing, expit(b), v_data)
    for _ in range(steps):
        v = np.where(missing, expit(W.T @ expit(W @ v + c) + b), v_data)
    model = from_rbm(rbm, steps=steps, fill=rbm.b.sigmoid()).eval()
    states = reconstruction_probabilities(model, torch.tensor(v_data)[None], torch.tensor(missing)[None])
    np.testing.assert_allclose(states[-1, 0].numpy(), v, atol=1e-12, rtol=0)


def assert_same_logits(model, twin, *, atol, rtol=0.0):
    generator = torch.Generator().manual_seed(3)
    x = torch.randint(2, (9, 6), generator=generator).double()
    missing = torch.rand(9, 6, generator=generator) < 0.5
    logits, expected = (torch.stack(one.eval()(x, missing)) for one in (model, twin))
    torch.testing.assert_close(logits, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_one_layer_begins_as_rbm(activation, tied, generator):
    rbm = drawn_rbm(generator)
    config = ModelConfig(n_variables=6, core=DeepConfig(hidden=(4,), activation=activation), steps=3, tied=tied)
    mean = torch.rand(6, generator=generator, dtype=torch.float64)
    model = IterativeNADE(config, mean, generator=generator).double()
    begin_as_rbm(model, rbm, mean=mean)
    assert_same_logits(model, from_rbm(rbm, steps=3, fill=model.fill), atol=1e-12)


def test_nade_mask_begins_as_rbm(generator):
    rbm = drawn_rbm(generator)
    mean = torch.rand(6, generator=generator, dtype=torch.float64)
    model = nadek.nade_mask(6, hidden=(4,), generator=generator).double()
    begin_as_rbm(model, rbm, mean=mean)
    assert_same_logits(model, from_rbm(rbm, steps=1, fill=mean), atol=1e-12)


def test_further_layers_pass_saturated_units(generator):
    """Units of tanh that are near -1 or 1, as those of a trained RBM are, come through unchanged."""
    rbm = drawn_rbm(generator, scale=1000.0)
    model = nadek.nade_k(6, hidden=(4, 4, 4), steps=2, generator=generator).double()
    begin_as_rbm(model, rbm, mean=model.fill)
    assert_same_logits(model, from_rbm(rbm, steps=2, fill=model.fill), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"core": DeepConfig(hidden=(4,), activation="relu")}, "deep core of sigmoid or tanh"),
        ({"core": ResidualConfig(width=4)}, "deep core of sigmoid or tanh"),
        ({"core": DeepConfig(hidden=(4, 4), activation="sigmoid")}, "more than one hidden layer"),
        ({"core": DeepConfig(hidden=(4, 4)), "tied": True}, "more than one hidden layer"),
        ({"core": DeepConfig(hidden=(4, 3))}, r"hidden layers of 4 units and 6 columns as in the RBM, found \[4, 3\]"),
        ({"core": DeepConfig(hidden=(4,)), "n_variables": 2, "levels": (3, 3)}, "expected binary variables"),
        ({"core": DeepConfig(hidden=(4,)), "n_variables": 5}, "found \\[4\\] and 5"),
    ],
)
def test_unsuitable_networks_for_rbm_are_refused(options, message, generator):
    model = IterativeNADE(ModelConfig(**{"n_variables": 6, "steps": 2, **options}), generator=generator).double()
    with pytest.raises(ValueError, match=message):
        begin_as_rbm(model, drawn_rbm(generator), mean=torch.zeros(6, dtype=torch.float64))
