"""Models that the paper compares, as settings of `IterativeNADE`, and models that begin as an RBM."""

import math
from collections.abc import Sequence
from typing import TypedDict, Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nadek.models.binary_variables import BinaryVariables
from nadek.models.cores import AlternatingConfig, DeepConfig, ResidualConfig
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.model_config import ModelConfig


class Weights(TypedDict, total=False):
    """Initial weights of every preset; see the example of `nadek.nade_k`."""

    mean: Float[Tensor, " D"] | None
    """Data mean [D], see `IterativeNADE`; default: None."""
    generator: torch.Generator | None
    """Source of the initial weights; default: the global one."""


def nade_k(
    n_variables: int, *, hidden: Sequence[int] = (500, 500), steps: int = 5, **weights: Unpack[Weights]
) -> IterativeNADE:
    """Return NADE-k of the paper: mean fill, no mask.

    Args:
        n_variables: D.
        hidden: widths of the hidden layers, tanh as in the paper.
        steps: k.
        **weights: ``mean`` and ``generator``, see `Weights`.

    Raises:
        TypeError: if the widths of layers are a single number, or the mean is no tensor.
        ValueError: on numbers below 1, on an ordering that is none, and on a mean of another shape or outside 0 to 1.

    Example:
        >>> model = nade_k(784, hidden=(500, 500), steps=5, mean=torch.full((784,), 0.2))
        >>> tuple(model.W.shape), tuple(model.V.shape)
        ((500, 784), (784, 500))
    """
    config = ModelConfig(n_variables=n_variables, core=DeepConfig(hidden=_widths(hidden)), steps=steps)
    return IterativeNADE(config, **weights)


def nade_mask(n_variables: int, *, hidden: Sequence[int] = (500, 500), **weights: Unpack[Weights]) -> IterativeNADE:
    """Return NADE-mask (Uria, Murray and Larochelle 2014).

    One step, zero fill, and a second matrix that reads the mask.

    Args:
        n_variables: D.
        hidden: widths of the hidden layers, tanh as in the paper.
        **weights: ``mean`` and ``generator``, see `Weights`; errors are those of `nade_k`.

    Example:
        >>> tuple(nade_mask(3, hidden=(4,)).A.shape), orderless_nade(3, hidden=(4,)).A
        ((4, 3), None)
    """
    config = ModelConfig(
        n_variables=n_variables, core=DeepConfig(hidden=_widths(hidden)), steps=1, fill="zero", mask_input=True
    )
    return IterativeNADE(config, **weights)


def orderless_nade(n_variables: int, *, hidden: Sequence[int] = (500,), **weights: Unpack[Weights]) -> IterativeNADE:
    """Return orderless NADE: NADE-mask without the mask input.

    The rows "NADE 1HL" and "NADE 2HL" of Table 1. See the example of `nadek.nade_mask`.

    Args:
        n_variables: D.
        hidden: widths of the hidden layers, tanh as in the paper.
        **weights: ``mean`` and ``generator``, see `Weights`; errors are those of `nade_k`.
    """
    config = ModelConfig(n_variables=n_variables, core=DeepConfig(hidden=_widths(hidden)), steps=1, fill="zero")
    return IterativeNADE(config, **weights)


def nade(
    n_variables: int, *, hidden: int = 500, ordering: Sequence[int] | None = None, **weights: Unpack[Weights]
) -> IterativeNADE:
    """Return NADE of one ordering (Larochelle and Murray 2011).

    One step, zero fill and logistic units. Train it with the exact objective of its ordering
    (`nadek.inference.order_agnostic.fixed_order_costs`).

    Args:
        n_variables: D.
        hidden: width of the hidden layer.
        ordering: the ordering; the order of the columns when None.
        **weights: ``mean`` and ``generator``, see `Weights`; errors are those of `nade_k`.

    Example:
        >>> from nadek import log_prob
        >>> log_prob(nade(3, hidden=4, ordering=[2, 0, 1]), torch.tensor([[0, 1, 1]])).shape
        torch.Size([1])
    """
    core = DeepConfig(hidden=(hidden,), activation="sigmoid")
    ordering = tuple(range(n_variables)) if ordering is None else tuple(ordering)
    config = ModelConfig(n_variables=n_variables, core=core, steps=1, fill="zero", ordering=ordering)
    return IterativeNADE(config, **weights)


def dbm_like(
    n_variables: int,
    *,
    hidden: Sequence[int] = (500, 500),
    steps: int = 5,
    tied: bool = True,
    **weights: Unpack[Weights],
) -> IterativeNADE:
    """Return the deep Boltzmann structure of Fig. 1 (right).

    Args:
        n_variables: D.
        hidden: widths of the hidden layers, tanh as in the paper.
        steps: k.
        tied: use each matrix both ways, as a Boltzmann machine does.
        **weights: ``mean`` and ``generator``, see `Weights`; errors are those of `nade_k`.

    Example:
        >>> model = dbm_like(3, hidden=(4, 2))
        >>> torch.equal(model.output_weight, model.W.t())
        True
    """
    core = AlternatingConfig(hidden=_widths(hidden), tied=tied)
    config = ModelConfig(n_variables=n_variables, core=core, steps=steps, tied=tied)
    return IterativeNADE(config, **weights)


def residual_nade_k(
    n_variables: int, *, width: int = 400, blocks: int = 2, steps: int = 3, **weights: Unpack[Weights]
) -> IterativeNADE:
    """Return a residual NADE-k; zero fill, mask input.

    Args:
        n_variables: D.
        width: units of the stream.
        blocks: residual blocks a step.
        steps: k.
        **weights: ``mean`` and ``generator``, see `Weights`; errors are those of `nade_k`.

    Example:
        >>> model = residual_nade_k(3, width=8, blocks=1)
        >>> model.steps, tuple(model.W.shape)
        (3, (8, 3))
    """
    core = ResidualConfig(width=width, blocks=blocks)
    config = ModelConfig(n_variables=n_variables, core=core, steps=steps, fill="zero", mask_input=True)
    return IterativeNADE(config, **weights)


def _widths(hidden: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of the hidden layers."""
    if isinstance(hidden, int):
        raise TypeError(f"hidden: expected the width of each layer, such as ({hidden},), found {hidden}")
    return tuple(hidden)


def from_rbm(
    W: Float[Tensor, "H D"],
    b: Float[Tensor, " D"],
    c: Float[Tensor, " H"],
    *,
    steps: int,
    fill: Float[Tensor, " D"] | None = None,
) -> IterativeNADE:
    """Return an RBM's mean field as a NADE-k.

    The RBM is ``p(v, h)`` proportional to ``exp(b'v + c'h + h'Wv)``. An update of its hidden units and then of the
    visible ones, with the observed ones clamped, is a step of the model with logistic units and V = W transposed.

    Args:
        W: weights between hidden and visible units.
        b: visible biases.
        c: hidden biases.
        steps: number of mean-field updates of (hidden, visible).
        fill: initial values of the missing units; ``sigmoid(b)`` when None.

    Raises:
        ValueError: if the shapes do not fit together.

    Example:
        >>> model = from_rbm(torch.tensor([[2.0, -2.0]]), torch.zeros(2), torch.zeros(1), steps=3)
        >>> torch.equal(model.output_weight, model.W.t()), model.fill.tolist()
        (True, [0.5, 0.5])
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
    """Overwrite a model's weights with those of an RBM.

    One layer of logistic units does that exactly, and so does one of tanh units, since
    ``sigmoid(u) = (1 + tanh(u / 2)) / 2``. Further layers of tanh units begin as ``tanh`` of the layer below, unit by
    unit, and V is scaled to undo their effect on a unit at 1: exact where the first layer is at -1, 0 or 1, which the
    units of a trained RBM nearly are.

    Args:
        model: a model of binary variables whose hidden layers are as wide as the RBM; its ``fill`` is not changed.
        W: weights between hidden and visible units.
        b: visible biases.
        c: hidden biases.
        mean: values of missing cells in a model of one step with mask input and zero fill; ``sigmoid(b)`` when None.
            In any other model the mask input begins at 0.

    Raises:
        ValueError: if the shapes do not fit together, or the model has another structure.

    Example:
        >>> model = nade_k(2, hidden=(1,))
        >>> begin_as_rbm(model, torch.tensor([[2.0, -2.0]]), torch.zeros(2), torch.zeros(1))
        >>> model.W.tolist()
        [[1.0, -1.0]]
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
    scale = 1.0 if core.activation == "sigmoid" else 0.5
    model.W.copy_(scale * W)
    model.c.copy_(scale * c)
    model.b.copy_(b if scale == 1 else b + scale * W.sum(0))
    gain = 1.0
    layers = list(model.core.parameters())  # a matrix and a bias for each layer
    for U, d in zip(layers[::2], layers[1::2], strict=True):
        gain = math.tanh(gain)
        nn.init.eye_(U)
        d.zero_()
    if model.V is not None:
        model.V.copy_(scale / gain * W.t())
    if model.A is not None:
        values = torch.sigmoid(b) if mean is None else mean
        model.A.copy_(model.W * values if model.steps == 1 and model.config.fill == "zero" else torch.zeros_like(W))
