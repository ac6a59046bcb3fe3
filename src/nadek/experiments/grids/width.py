"""Models with the same number of parameters, whatever their structure: the widths follow from it."""

from bisect import bisect_right
from dataclasses import replace

from nadek.cores import AlternatingConfig, CoreConfig, ResidualConfig
from nadek.experiments.recipe import Recipe
from nadek.model import ModelConfig


def widest(recipe: Recipe, parameters: int) -> Recipe:
    """The recipe with all hidden layers as wide as they can be with no more than so many parameters.

    Raises:
        ValueError: if there are too few for a single unit, or the network has no hidden layers to widen.
    """
    model = recipe.model
    if not isinstance(model, ModelConfig):
        raise ValueError("parameters: expected a network with hidden layers, found one of images")
    sizes = range(1, parameters + 1)  # a unit has at least one parameter
    width = bisect_right(sizes, parameters, key=lambda width: n_parameters(_of_width(model, width)))
    if width == 0:
        raise ValueError(f"parameters: {parameters} are too few for hidden layers of one unit")
    return replace(recipe, model=_of_width(model, width))


def n_parameters(model: ModelConfig) -> int:
    """How many numbers a binary network with such a core learns."""
    width = model.core.width if isinstance(model.core, ResidualConfig) else model.core.hidden[0]
    last = width if isinstance(model.core, ResidualConfig | AlternatingConfig) else model.core.hidden[-1]
    ends = model.n_variables * (width * (1 + model.mask_input) + last * (not model.tied))
    return ends + model.n_variables + width + _inside(model.core)


def _inside(core: CoreConfig) -> int:
    if isinstance(core, ResidualConfig):
        return core.blocks * (2 * core.width**2 + 4 * core.width) + 2 * core.width
    pairs = zip(core.hidden, core.hidden[1:], strict=False)
    untied = isinstance(core, AlternatingConfig) and not core.tied
    return sum(a * b * (1 + untied) + b for a, b in pairs)


def _of_width(model: ModelConfig, width: int) -> ModelConfig:
    if isinstance(model.core, ResidualConfig):
        return replace(model, core=replace(model.core, width=width))
    return replace(model, core=replace(model.core, hidden=(width,) * len(model.core.hidden)))
