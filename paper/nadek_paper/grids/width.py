"""Widths of models that have to share a number of parameters."""

from bisect import bisect_right
from dataclasses import replace

from nadek.models import ModelConfig
from nadek.models.cores import ResidualConfig
from nadek.models.registry import NetworkConfig, build_meta
from nadek.training import Recipe


def widest(recipe: Recipe, parameters: int) -> Recipe:
    """Return the recipe with the widest hidden layers that a number of parameters allows."""
    model = recipe.model
    if not isinstance(model, ModelConfig):
        raise ValueError("parameters: expected a network with hidden layers, found one of images")
    sizes = range(1, parameters + 1)  # a unit has at least one parameter
    width = bisect_right(sizes, parameters, key=lambda width: n_parameters(_of_width(model, width)))
    if width == 0:
        raise ValueError(f"parameters: {parameters} are too few for hidden layers of one unit")
    return replace(recipe, model=_of_width(model, width))


def n_parameters(model: NetworkConfig) -> int:
    """Return the number of parameters of a network."""
    return sum(weights.numel() for weights in build_meta(model).parameters())


def _of_width(model: ModelConfig, width: int) -> ModelConfig:
    if isinstance(model.core, ResidualConfig):
        return replace(model, core=replace(model.core, width=width))
    return replace(model, core=replace(model.core, hidden=(width,) * len(model.core.hidden)))
