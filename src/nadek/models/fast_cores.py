"""Faster copies of a core for decoding."""

import copy

import torch
from torch import nn

from nadek.kernels.linear import can_prepack, prepack_weight
from nadek.models.cores import PARTS, Alternating, Core, Deep, DeepConfig
from nadek.models.layers import is_modified


def prepacked_core(core: Core, n_rows: int) -> Core:
    """Return a copy of a core with prepacked weights.

    The core itself comes back where prepacking gains nothing, and where its weights may be read in other ways than by
    `affine`: tied `Alternating` cores, weights that are computed from others, other classes, hooks.
    """
    assert isinstance(core, nn.Module)
    if any(type(part) not in PARTS or is_modified(part) for part in core.modules()):
        return core
    layers = _layers(core)
    plain = not (isinstance(core, Alternating) and core.down is None) and all(map(_has_own_weight, layers))
    if not plain or not any(can_prepack(layer.weight, n_rows) for layer in layers):
        return core
    fast = copy.deepcopy(core)
    for layer in _layers(fast):
        weight = layer.weight
        del layer.weight  # a prepacked weight cannot be a parameter
        layer.weight = prepack_weight(weight, n_rows)
    return fast


def sigmoid_core(core: Core) -> Deep | None:
    """Return a sigmoid core that replaces a tanh core.

    As ``tanh(u) = 2 sigmoid(2 u) - 1``, it returns ``(h + 1) / 2`` for ``2 u`` where the core returns ``h`` for ``u``.
    The scaling then is in the weights and not in every call.
    """
    if type(core) is not Deep or core.activation != "tanh" or (core.training and core.dropout > 0):
        return None
    layers = _layers(core)
    if is_modified(core) or not all(_has_own_weight(layer) for layer in layers):
        return None
    twin = Deep(DeepConfig(hidden=(core.n_in, *(layer.out_features for layer in layers)), activation="sigmoid"))
    with torch.no_grad():
        for new, layer in zip(_layers(twin), layers, strict=True):
            weight, bias = layer.weight.double(), layer.bias.double()
            new.weight = nn.Parameter((4 * weight).to(layer.weight))
            new.bias = nn.Parameter((2 * (bias - weight.sum(1))).to(layer.bias))
    return twin.eval()


def _has_own_weight(layer: nn.Linear) -> bool:
    """Return True if the weight is a plain parameter."""
    return type(layer) is nn.Linear and "weight" in layer._parameters


def _layers(core: nn.Module) -> list[nn.Linear]:
    return [part for part in core.modules() if isinstance(part, nn.Linear)]
