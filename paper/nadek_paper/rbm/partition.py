"""Normalising constant of an RBM, by annealed importance sampling or by enumeration."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from nadek_paper.rbm.model import RBM, draw

MOST_UNITS = 20
"""Largest size of the smaller layer whose states are all summed over."""

STATES = 4096
"""States summed over at a time."""


@dataclass(frozen=True, kw_only=True)
class AISConfig:
    """Settings of the annealing.

    Attributes:
        chains: number of independent runs; the error bar is over them.
        temperatures: distributions between the base and the RBM, evenly spaced in their inverse temperature.
        seed: of the runs.
    """

    chains: int = 100
    temperatures: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.chains < 2 or self.temperatures < 1:
            raise ValueError(
                f"expected at least 2 chains and 1 temperature, found {self.chains} and {self.temperatures}"
            )


@dataclass(frozen=True)
class Estimate:
    """A log normalising constant, in nats.

    Attributes:
        value: the log of an unbiased estimate of the constant.
        error: its standard error, to first order.
    """

    value: float
    error: float


@torch.no_grad()
def log_partition(
    rbm: RBM,
    mean: Float[Tensor, " D"],
    config: AISConfig,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Estimate the log normalising constant (Salakhutdinov and Murray 2008).

    Annealed importance sampling from independent units to the RBM.
    The distribution at inverse temperature t is ``exp((1 - t) a'v + t (b'v + c'h + h'Wv))``, where a are the log-odds
    of ``mean``: at t = 0 the visible units are independent with those means, and its constant is known.
    """
    generator = torch.Generator(rbm.W.device).manual_seed(config.seed)
    base = torch.logit(mean.to(rbm.W).clamp(1e-3, 1 - 1e-3))
    v = draw(base.expand(config.chains, -1), generator)
    log_weights = torch.zeros(config.chains, dtype=torch.float64, device=v.device)
    times = torch.linspace(0, 1, config.temperatures + 1, dtype=torch.float64).tolist()
    for index, (before, now) in enumerate(pairwise(times), 1):
        u = rbm.hidden_logits(v)
        log_weights += (now - before) * (v @ (rbm.b - base)).double()
        log_weights += (F.softplus(now * u) - F.softplus(before * u)).double().sum(1)
        h = draw(now * u, generator)
        v = draw(now * rbm.visible_logits(h) + (1 - now) * base, generator)
        if progress is not None:
            progress(index, config.temperatures)
    base_constant = F.softplus(base).double().sum().item() + len(rbm.c) * math.log(2)
    return Estimate(base_constant + _log_mean(log_weights), _relative_error(log_weights))


def exact_log_partition(rbm: RBM) -> float:
    """Return the log-sum over all states, in nats."""
    n_hidden, n_visible = rbm.W.shape
    if min(n_hidden, n_visible) > MOST_UNITS:
        raise ValueError(f"expected a layer of at most {MOST_UNITS} units, found {n_visible} and {n_hidden}")
    if n_hidden < n_visible:
        rbm = RBM(rbm.W.t(), rbm.c, rbm.b)
    place = torch.arange(min(n_hidden, n_visible), device=rbm.W.device)
    parts = torch.arange(2 ** len(place), device=rbm.W.device).split(STATES)
    sums = [rbm.log_weight(part[:, None] >> place & 1).logsumexp(0) for part in parts]
    return torch.stack(sums).logsumexp(0).item()


def _log_mean(log_weights: Tensor) -> float:
    return log_weights.logsumexp(0).item() - math.log(len(log_weights))


def _relative_error(log_weights: Tensor) -> float:
    """Return the relative standard error of the mean weight: to first order the error of its log."""
    weights = (log_weights - log_weights.max()).exp()
    return float(weights.std() / weights.mean()) / math.sqrt(len(weights))
