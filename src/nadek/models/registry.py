"""The kinds of conditional networks: which config builds which, and which of them can be taken apart."""

from typing import TypeAlias, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.models import IterativeNADE, ModelConfig
from nadek.models.base import ConditionalModel
from nadek.models.cores import changed
from nadek.models.memory import MemoryConfig, MemoryModel
from nadek.models.unet import ImageNetwork
from nadek.models.unet_config import ImageConfig

NetworkConfig: TypeAlias = ModelConfig | ImageConfig
"""The structure of any that can be trained; told apart by ``kind``, which the paper's own network has none of."""

AnyConfig: TypeAlias = NetworkConfig | MemoryConfig
"""The structure of any of them, such as one that has a memory since its training."""


def build(
    config: AnyConfig,
    mean: Float[Tensor, " C"] | None = None,
    *,
    generator: torch.Generator | None = None,
) -> ConditionalModel:
    """A network with fresh weights, and an empty memory where it has one.

    Args:
        config: its structure.
        mean: the mean of each column in the data (NaN where unknown).
        generator: source of the initial weights.

    Example:
        >>> type(build(ImageConfig(image_shape=(2, 4)))).__name__
        'ImageNetwork'
    """
    if isinstance(config, MemoryConfig):
        rows = torch.zeros(config.n_rows, config.n_variables, dtype=torch.uint8)
        known = torch.ones_like(rows, dtype=torch.bool) if config.holes else None
        return MemoryModel(build(config.network, mean, generator=generator), rows, known)
    if isinstance(config, ImageConfig):
        return ImageNetwork(config, mean, generator=generator)
    return IterativeNADE(config, mean, generator=generator)


def outline(config: AnyConfig) -> ConditionalModel:
    """The parts of a network, and names and shapes of its weights, which take no memory and hold no numbers.

    Example:
        >>> outline(ModelConfig(n_variables=1000)).state_dict()["W"].shape
        torch.Size([500, 1000])
    """
    with torch.device("meta"):
        return build(config)


def without_memory(model: ConditionalModel) -> ConditionalModel:
    """The network alone."""
    return model.network if isinstance(model, MemoryModel) else model


def has_columns(model: ConditionalModel) -> TypeGuard[IterativeNADE]:
    """Whether single variables can be cut out of a network: its W and V touch one variable a column, the core none.

    A class made from `IterativeNADE` with a forward of its own may use them in another way: it is asked as a whole.
    """
    return isinstance(model, IterativeNADE) and type(model).forward is IterativeNADE.forward


def can_be_cut(model: ConditionalModel) -> TypeGuard[IterativeNADE]:
    """Whether a network may be asked for single variables: it has columns, and nothing else hangs on calling it.

    Hooks (pruned weights are made by one) and a forward that an instance was given see the network as a whole.
    """
    return has_columns(model) and not changed(model)


def remembers(model: ConditionalModel) -> TypeGuard[MemoryModel]:
    """Whether a network is one that can be cut, with a memory beside it, and nothing hangs on calling both together."""
    return type(model) is MemoryModel and not changed(model) and can_be_cut(model.network)


def is_walked_fast(model: ConditionalModel) -> bool:
    """Whether there is a quicker way along an ordering than asking the whole network at every position."""
    return can_be_cut(model) or remembers(model)
