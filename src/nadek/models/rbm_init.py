"""Networks that begin as an RBM: its mean field is a NADE-k, the relation that the paper tells.

The RBM is ``p(v, h)`` proportional to ``exp(b'v + c'h + h'Wv)``. A mean-field update of its hidden units and then of
the visible ones, with the observed ones clamped, is a step of the network with logistic units and V = W transposed.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nadek.models.cores import DeepConfig
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.model_config import ModelConfig
from nadek.models.variables import BinaryVariables


def from_rbm(
    W: Float[Tensor, "H D"],
    b: Float[Tensor, " D"],
    c: Float[Tensor, " H"],
    *,
    steps: int,
    fill: Float[Tensor, " D"] | None = None,
) -> IterativeNADE:
    """The NADE-k that performs ``steps`` mean-field updates of an RBM with the observed units clamped.

    Logistic units, and one matrix used both ways (the paper's section on probabilistic inference).

    Args:
        W: weights between hidden and visible units.
        b: visible biases.
        c: hidden biases.
        steps: number of mean-field updates of (hidden, visible).
        fill: where the missing units start; ``sigmoid(b)`` when None.

    Raises:
        ValueError: if the shapes do not fit together.
    """
    n_hidden, n_variables = W.shape
    core = DeepConfig(hidden=(n_hidden,), activation="sigmoid")
    config = ModelConfig(n_variables=n_variables, core=core, steps=steps, tied=True)
    model = IterativeNADE(config, generator=torch.Generator()).to(W)  # every weight is overwritten below
    begin_as_rbm(model, W, b, c)
    with torch.no_grad():
        model.fill.copy_(torch.sigmoid(b) if fill is None else fill)
    return model


@torch.no_grad()
def begin_as_rbm(
    model: IterativeNADE,
    W: Float[Tensor, "H D"],
    b: Float[Tensor, " D"],
    c: Float[Tensor, " H"],
    *,
    mean: Float[Tensor, " D"] | None = None,
) -> None:
    """Overwrite a network's weights: its steps are then mean-field updates of an RBM, or near to them.

    One layer of logistic units does that exactly, and so does one of tanh units, since
    ``sigmoid(u) = (1 + tanh(u / 2)) / 2``. Further layers of tanh units begin as ``tanh`` of the layer below, unit by
    unit, and V takes back what a unit at 1 loses on the way: exact where the first layer is at -1, 0 or 1, as those of
    a trained RBM nearly are.

    Args:
        model: a network of binary variables whose hidden layers are as wide as the RBM; its ``fill`` is left as it is.
        W: weights between hidden and visible units.
        b: visible biases.
        c: hidden biases.
        mean: what the one step of a network with mask input and zero fill shall take missing cells for;
            ``sigmoid(b)`` when None. Any other network begins with a mask input that says nothing.

    Raises:
        ValueError: if the shapes do not fit together, or such a network cannot begin so.
    """
    n_hidden, n_variables = W.shape
    if b.shape != (n_variables,) or c.shape != (n_hidden,):
        raise ValueError(
            f"an RBM with W of shape {tuple(W.shape)} needs b [{n_variables}] and c [{n_hidden}],"
            f" found b {list(b.shape)} and c {list(c.shape)}"
        )
    core = model.config.core
    if not isinstance(model.variables, BinaryVariables):
        raise ValueError("begin_as_rbm: expected binary variables, found some with more than two levels")
    if not isinstance(core, DeepConfig) or core.activation not in ("sigmoid", "tanh"):
        raise ValueError("begin_as_rbm: expected a deep core of sigmoid or tanh units")
    if len(core.hidden) > 1 and (core.activation == "sigmoid" or model.V is None):
        raise ValueError("begin_as_rbm: expected tanh units and untied weights with more than one hidden layer")
    if set(core.hidden) != {n_hidden} or model.W.shape != W.shape:
        raise ValueError(
            f"begin_as_rbm: expected hidden layers of {n_hidden} units and {n_variables} columns as in the RBM,"
            f" found {list(core.hidden)} and {model.W.shape[1]}"
        )
    half = 1.0 if core.activation == "sigmoid" else 0.5
    model.W.copy_(half * W)
    model.c.copy_(half * c)
    model.b.copy_(b if half == 1 else b + half * W.sum(0))
    passed_on = 1.0
    further = list(model.core.parameters())  # a matrix and a bias for each layer
    for U, d in zip(further[::2], further[1::2], strict=True):
        passed_on = math.tanh(passed_on)
        nn.init.eye_(U)
        d.zero_()
    if model.V is not None:
        model.V.copy_(half / passed_on * W.t())
    if model.A is not None:
        reads = torch.sigmoid(b) if mean is None else mean
        model.A.copy_(model.W * reads if model.steps == 1 and model.config.fill == "zero" else torch.zeros_like(W))
