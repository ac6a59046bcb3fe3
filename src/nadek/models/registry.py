"""Kinds of conditional models, built from their configs."""

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.models.base import ConditionalModel
from nadek.models.codes import code_dtype
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.memory import MemoryModel
from nadek.models.model_config import AnyConfig, ImageConfig, MemoryConfig
from nadek.models.unet import ImageNetwork


def build(
    config: AnyConfig, mean: Float[Tensor, " C"] | None = None, *, generator: torch.Generator | None = None
) -> ConditionalModel:
    """Return a model with fresh weights; the arguments are those of `IterativeNADE`."""
    if isinstance(config, MemoryConfig):
        rows = torch.zeros(config.n_rows, config.n_variables, dtype=code_dtype(config.levels))
        observed = torch.ones_like(rows, dtype=torch.bool) if config.holes else None
        return MemoryModel(build(config.network, mean, generator=generator), rows, observed)
    if isinstance(config, ImageConfig):
        return ImageNetwork(config, mean, generator=generator)
    return IterativeNADE(config, mean, generator=generator)


def build_meta(config: AnyConfig) -> ConditionalModel:
    """Return a model on the meta device, without numbers."""
    with torch.device("meta"):
        return build(config)
