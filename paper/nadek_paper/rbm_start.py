"""Networks that begin as an RBM.

An update of the hidden units and then of the visible ones, with the observed ones clamped, is a step of the model with
logistic units and V = W transposed: an RBM's mean field is a NADE-k.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nadek.models import IterativeNADE, ModelConfig
from nadek.models.binary_variables import BinaryVariables
from nadek.models.cores import DeepConfig
from nadek_paper.rbm import RBM


def from_rbm(rbm: RBM, *, steps: int, fill: Float[Tensor, " D"]) -> IterativeNADE:
    """Return an RBM's mean field, so many updates from ``fill``, as a NADE-k."""
    n_hidden, n_variables = rbm.W.shape
    core = DeepConfig(hidden=(n_hidden,), activation="sigmoid")
    config = ModelConfig(n_variables=n_variables, core=core, steps=steps, tied=True)
    model = IterativeNADE(config, generator=torch.Generator()).to(rbm.W)  # every weight is overwritten below
    begin_as_rbm(model, rbm, mean=fill)
    with torch.no_grad():
        model.fill.copy_(fill)
    return model


@torch.no_grad()
def begin_as_rbm(model: IterativeNADE, rbm: RBM, *, mean: Float[Tensor, " D"]) -> None:
    """Overwrite a model's weights with those of an RBM; its ``fill`` stays.

    One layer of logistic units does that exactly, and so does one of tanh units, since
    ``sigmoid(u) = (1 + tanh(u / 2)) / 2``. Further layers of tanh units begin as ``tanh`` of the layer below, unit by
    unit, and V is scaled to undo their effect on a unit at 1: exact where the first layer is at -1, 0 or 1, which the
    units of a trained RBM nearly are. ``mean`` stands for missing cells in a model of one step with mask input and zero
    fill. In any other model the mask input begins at 0.

    Raises:
        ValueError: if the model has another structure.
    """
    n_hidden, n_variables = rbm.W.shape
    core = model.config.core
    if not isinstance(model.variables, BinaryVariables):
        raise ValueError("start: expected binary variables, found some with more than two levels")
    if not isinstance(core, DeepConfig) or core.activation not in ("sigmoid", "tanh"):
        raise ValueError("start: expected a deep core of sigmoid or tanh units")
    if len(core.hidden) > 1 and (core.activation == "sigmoid" or model.V is None):
        raise ValueError("start: expected tanh units and untied weights with more than one hidden layer")
    if set(core.hidden) != {n_hidden} or model.W.shape != rbm.W.shape:
        raise ValueError(
            f"start: expected hidden layers of {n_hidden} units and {n_variables} columns as in the RBM,"
            f" found {list(core.hidden)} and {model.W.shape[1]}"
        )
    scale = 1.0 if core.activation == "sigmoid" else 0.5
    model.W.copy_(scale * rbm.W)
    model.c.copy_(scale * rbm.c)
    model.b.copy_(rbm.b if scale == 1 else rbm.b + scale * rbm.W.sum(0))
    gain = 1.0
    layers = list(model.core.parameters())  # a matrix and a bias for each layer
    for U, d in zip(layers[::2], layers[1::2], strict=True):
        gain = math.tanh(gain)
        nn.init.eye_(U)
        d.zero_()
    if model.V is not None:
        model.V.copy_(scale / gain * rbm.W.t())
    if model.A is not None:
        model.A.copy_(model.W * mean if model.steps == 1 and model.config.fill == "zero" else torch.zeros_like(rbm.W))
