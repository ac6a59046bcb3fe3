"""Models that the paper compares, as settings of `IterativeNADE`."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

import torch
from jaxtyping import Float
from torch import Tensor

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
    if isinstance(hidden, int):
        raise TypeError(f"hidden: expected the width of each layer, such as ({hidden},), found {hidden}")
    return tuple(hidden)
