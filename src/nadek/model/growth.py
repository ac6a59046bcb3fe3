"""Networks that begin as shallower ones: what one hidden layer has learnt, handed on by a second one."""

import math

import torch
from torch import Tensor, nn

from nadek.cores import DeepConfig
from nadek.model.config import ModelConfig
from nadek.model.network import Network

GAIN = 0.5
"""What a unit that hands on multiplies by: little enough for tanh to be nearly straight, so that units that have not
decided come through too (0.03 off at most; 0.11 with 1), and enough for the layer to have something to bend."""


def check_growth(config: ModelConfig, shallower: ModelConfig) -> None:
    """Whether a network can begin as one with a hidden layer less (see `begin_as_shallower`).

    Raises:
        ValueError: if it cannot; tells in what they differ.
    """
    for name in ("n_variables", "levels", "fill", "mask_input", "ordering"):
        ours, theirs = getattr(config, name), getattr(shallower, name)
        if ours != theirs:
            raise ValueError(f"a network begins as one of the same {name}: expected {ours}, found {theirs}")
    cores = config.core, shallower.core
    for core, tied in zip(cores, (config.tied, shallower.tied), strict=True):
        if not isinstance(core, DeepConfig) or core.activation != "tanh" or tied:
            raise ValueError("a network begins as a shallower one if both have deep cores of tanh units, not tied")
    deep, shallow = (core.hidden for core in cores if isinstance(core, DeepConfig))
    if deep != (*shallow, shallow[-1]):
        raise ValueError(
            f"a network with hidden layers {list(deep)} begins as one with {list(deep[:-1])}, both last layers equally"
            f" wide, found {list(shallow)}"
        )


@torch.no_grad()
def begin_as_shallower(model: Network, shallower: Network) -> None:
    """Overwrite a network's weights: it is then nearly a trained one with a hidden layer less.

    The added layer of tanh units hands on the layer below, unit by unit: exactly where a unit is at -1, 0 or 1. So a
    deep network can be trained layer by layer, as deep networks first were (Hinton, Osindero and Teh 2006).

    Args:
        model: a network of tanh units whose last two hidden layers are equally wide; its steps may be others.
        shallower: the same without the last layer.

    Raises:
        ValueError: as `check_growth`.
    """
    check_growth(model.config, shallower.config)
    ours, theirs = dict(model.named_parameters()), dict(shallower.named_parameters())
    for name, value in theirs.items():
        ours[name].copy_(value)
    model.fill.copy_(shallower.fill)
    added = list(model.core.parameters())[-2:]  # a matrix and a bias for each layer
    ours["V"].div_(hand_on(*added))


def hand_on(U: Tensor, d: Tensor, *, full: float = 1.0) -> float:
    """Let a layer of tanh units take over the layer below, unit by unit.

    Args:
        U: its matrix, overwritten.
        d: its bias, overwritten.
        full: where a unit of the layer below is when it has decided.

    Returns:
        Where a unit of this layer is when the one below it has decided.
    """
    nn.init.eye_(U).mul_(GAIN / full)
    d.zero_()
    return math.tanh(GAIN)
