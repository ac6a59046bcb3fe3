"""The walk: the one loop behind scoring, sampling, conditioning and imputing.

Visit the variables in the ordering: get the scores of the next one from a path (`nadek.paths`), choose its value
(the given one, or a draw where none is given), reveal it.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.conditional import ConditionalNetwork
from nadek.orderings import random_orderings
from nadek.paths import Path

Draw = Callable[[Tensor], Tensor]
"""Chooses codes [B] from scores (see `nadek.variables`)."""


class Walked(NamedTuple):
    """What a walk leaves behind, in visiting order."""

    values: Float[Tensor, "B D"]
    """The given and the chosen values."""
    log_probs: Float[Tensor, "B D"]
    """float64, nats: ``log p(value i | values before i)``; 0 before the start, and from the stop on."""


@torch.no_grad()
def walk(
    path: Path,
    given: Shaped[Tensor, "B D"],
    *,
    start: int = 0,
    stop: int | None = None,
    draw: Draw | None = None,
) -> Walked:
    """Visit every variable once.

    Args:
        path: where the scores come from.
        given: the codes **in visiting order**; NaN asks for a draw.
        start: number of variables that are taken as given without asking for their scores.
        stop: number of variables after which the walk ends; what comes later is not looked at. None: all.
        draw: how to choose the values that are not given; None when all are.

    Returns:
        The values and their conditional log-probabilities, in visiting order.
    """
    values = given.double()
    log_probs = torch.zeros(given.shape, dtype=torch.float64, device=given.device)
    stop = given.shape[1] if stop is None else stop
    for position in range(start):
        path.reveal(position, values[:, position])
    for position in range(start, stop):
        scores = path.scores(position).double()
        value = values[:, position]
        if draw is not None:
            value = torch.where(value.isnan(), draw(scores), value)
            values[:, position] = value
        log_probs[:, position] = path.variables.log_prob(scores, value)
        if position + 1 < stop:
            path.reveal(position, value)
    return Walked(values, log_probs)


def as_orderings(
    model: ConditionalNetwork,
    orderings: Int[Tensor, "O D"] | int,
    *,
    device: torch.device | str | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "O D"]:
    """The given orderings, or so many drawn ones; a fixed-order model has only its own."""
    if isinstance(orderings, Tensor):
        return orderings.to(device)
    if orderings < 1:
        raise ValueError(f"orderings: expected at least 1, found {orderings}")
    if model.config.ordering is not None:
        return torch.tensor([model.config.ordering], device=device)
    return random_orderings(orderings, model.n_variables, device=device, generator=generator)
