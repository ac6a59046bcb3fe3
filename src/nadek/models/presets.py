"""Models that the paper compares, as settings of `IterativeNADE`."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.models.cores import AlternatingConfig, CoreConfig, DeepConfig, ResidualConfig
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.model_config import ModelConfig

Mean = Float[Tensor, " D"] | None


def nade_k(
    n_variables: int,
    *,
    hidden: Sequence[int] = (500, 500),
    steps: int = 5,
    core: CoreConfig | None = None,
    mean: Mean = None,
    generator: torch.Generator | None = None,
) -> IterativeNADE:
    """Return NADE-k of the paper: mean fill, no mask.

    Args:
        n_variables: D.
        hidden: widths of the hidden layers, tanh as in the paper.
        steps: k.
        core: another core in place of the deep one of ``hidden``.
        mean: data mean [D], see `IterativeNADE`.
        generator: source of the initial weights.

    Example:
        >>> model = nade_k(784, hidden=(500, 500), steps=5)
        >>> tuple(model.W.shape), tuple(model.V.shape)
        ((500, 784), (784, 500))
    """
    core = DeepConfig(hidden=_widths(hidden)) if core is None else core
    return IterativeNADE(ModelConfig(n_variables=n_variables, core=core, steps=steps), mean, generator=generator)


def nade_mask(
    n_variables: int,
    *,
    hidden: Sequence[int] = (500, 500),
    mean: Mean = None,
    generator: torch.Generator | None = None,
) -> IterativeNADE:
    """Return NADE-mask (Uria, Murray and Larochelle 2014).

    One step, zero fill, and a second matrix that reads the mask. The arguments are those of `nade_k`.
    """
    config = ModelConfig(
        n_variables=n_variables, core=DeepConfig(hidden=_widths(hidden)), steps=1, fill="zero", mask_input=True
    )
    return IterativeNADE(config, mean, generator=generator)


def orderless_nade(
    n_variables: int,
    *,
    hidden: Sequence[int] = (500,),
    mean: Mean = None,
    generator: torch.Generator | None = None,
) -> IterativeNADE:
    """Return orderless NADE: NADE-mask without the mask input.

    The rows "NADE 1HL" and "NADE 2HL" of Table 1. The arguments are those of `nade_k`.
    """
    config = ModelConfig(n_variables=n_variables, core=DeepConfig(hidden=_widths(hidden)), steps=1, fill="zero")
    return IterativeNADE(config, mean, generator=generator)


def nade(
    n_variables: int,
    *,
    hidden: int = 500,
    ordering: Sequence[int] | None = None,
    mean: Mean = None,
    generator: torch.Generator | None = None,
) -> IterativeNADE:
    """Return NADE of one ordering (Larochelle and Murray 2011).

    One step, zero fill and logistic units. Train it with the exact objective of its ordering
    (`nadek.inference.order_agnostic.fixed_order_costs`).

    Args:
        n_variables: D.
        hidden: width of the hidden layer.
        ordering: the ordering; the order of the columns when None.
        mean: data mean [D], see `IterativeNADE`.
        generator: source of the initial weights.
    """
    core = DeepConfig(hidden=(hidden,), activation="sigmoid")
    ordering = tuple(range(n_variables)) if ordering is None else tuple(ordering)
    config = ModelConfig(n_variables=n_variables, core=core, steps=1, fill="zero", ordering=ordering)
    return IterativeNADE(config, mean, generator=generator)


def dbm_like(
    n_variables: int,
    *,
    hidden: Sequence[int] = (500, 500),
    steps: int = 5,
    tied: bool = True,
    mean: Mean = None,
    generator: torch.Generator | None = None,
) -> IterativeNADE:
    """Return the deep Boltzmann structure of Fig. 1 (right).

    With ``tied`` each matrix is used both ways, as in a Boltzmann machine; the other arguments are those of `nade_k`.
    """
    core = AlternatingConfig(hidden=_widths(hidden), tied=tied)
    config = ModelConfig(n_variables=n_variables, core=core, steps=steps, tied=tied)
    return IterativeNADE(config, mean, generator=generator)


def residual_nade_k(
    n_variables: int,
    *,
    width: int = 400,
    blocks: int = 2,
    steps: int = 3,
    mean: Mean = None,
    generator: torch.Generator | None = None,
) -> IterativeNADE:
    """Return a residual NADE-k; zero fill, mask input.

    Args:
        n_variables: D.
        width: units of the stream.
        blocks: residual blocks a step.
        steps: k.
        mean: data mean [D], see `IterativeNADE`.
        generator: source of the initial weights.
    """
    core = ResidualConfig(width=width, blocks=blocks)
    config = ModelConfig(n_variables=n_variables, core=core, steps=steps, fill="zero", mask_input=True)
    return IterativeNADE(config, mean, generator=generator)


def _widths(hidden: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of the hidden layers."""
    if isinstance(hidden, int):
        raise TypeError(f"hidden: expected the width of each layer, such as ({hidden},), found {hidden}")
    return tuple(hidden)
