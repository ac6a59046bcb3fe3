"""Restricted Boltzmann machines to compare with: p(v, h) proportional to exp(b'v + c'h + h'Wv), v and h binary.

Unlike a NADE-k, an RBM has no likelihood that could be computed: its normalising constant is a sum over all states. It
is estimated by annealed importance sampling, with an error bar.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from nadek.inference.decoders.chunking import Progress
from nadek.kernels.linear import affine
from nadek.utils.configs import check_range, convert_options


@dataclass(frozen=True)
class RBM:
    """Parameters of an RBM: weights W [H, D], visible biases b [D] and hidden biases c [H]."""

    W: Tensor
    b: Tensor
    c: Tensor

    def log_weight(self, v: Shaped[Tensor, "B D"]) -> Float[Tensor, " B"]:
        """Return log p(v) without the normalising constant (nats, float64)."""
        v = v.to(self.W)
        return (v @ self.b).double() + F.softplus(self.hidden_logits(v)).double().sum(1)

    def hidden_logits(self, v: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch H"]:
        """Return the log-odds of the hidden units being 1."""
        return affine(v, self.W, self.c)

    def visible_logits(self, h: Float[Tensor, "*batch H"]) -> Float[Tensor, "*batch D"]:
        """Return the log-odds of the visible units being 1."""
        return affine(h, self.W.t(), self.b)


def draw(logits: Float[Tensor, "*batch N"], generator: torch.Generator) -> Float[Tensor, "*batch N"]:
    """Draw independent 0 and 1 with these log-odds."""
    uniform = torch.rand(logits.shape, dtype=logits.dtype, device=logits.device, generator=generator)
    return (uniform < torch.sigmoid(logits)).to(logits.dtype)


def gibbs(rbm: RBM, v: Float[Tensor, "B D"], steps: int, generator: torch.Generator) -> Float[Tensor, "B D"]:
    """Draw hidden units and then visible ones, ``steps`` times."""
    for _ in range(steps):
        v = draw(rbm.visible_logits(draw(rbm.hidden_logits(v), generator)), generator)
    return v


# Training


@dataclass(frozen=True, kw_only=True)
class RBMConfig:
    """Settings of a training."""

    hidden: int  # number of hidden units H
    epochs: int  # passes over the rows
    batch_size: int = 100  # rows a minibatch
    # "persistent" ones go on from minibatch to minibatch, one for each row of it (PCD); those from the "data" start
    # at the minibatch (contrastive divergence)
    chains: Literal["persistent", "data"] = "persistent"
    gibbs_steps: int = 1  # steps of the chains for each minibatch
    lr: float = 0.05  # learning rate; it falls linearly to zero
    momentum: float = 0.5
    l2: float = 0.0  # coefficient of the sum of squares of the weights
    # the result is an exponential moving average of the weights with this decay a minibatch, or a lower one in a
    # short training, so that it reaches over the last fifth of it at most
    ema_decay: float = 0.999
    seed: int = 0  # seed of everything random

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "hidden", "epochs", "batch_size", "gibbs_steps", least=1)
        check_range(self, "lr", "l2", "seed", least=0)
        check_range(self, "momentum", "ema_decay", least=0, below=1)


@dataclass
class RBMState:
    """State that a training goes on from, with the persistent chains [C, D] and a point of the curve for each epoch.

    The result is the moving average, or ``best`` of the averages where an epoch is chosen.
    """

    rbm: RBM
    average: RBM
    velocity: RBM
    chains: Tensor
    epochs: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    best: RBM | None = None

    @property
    def result(self) -> RBM:
        """Return the RBM that a finished training ends with."""
        return self.average if self.best is None else self.best

    @property
    def lowest(self) -> float | None:
        """Return the lowest validation cost in the curve."""
        return min((point["validation"] for point in self.curve if "validation" in point), default=None)


@torch.no_grad()
def fit_rbm(
    x: Shaped[Tensor, "N D"],
    config: RBMConfig,
    *,
    below: RBM | None = None,
    resume: RBMState | None = None,
    on_epoch: Callable[[RBMState, float], None] | None = None,
) -> RBMState:
    """Train an RBM; over the hidden units of another one with ``below``, drawn anew for each minibatch.

    The gradient is the centred one: units are measured from their means over the data. The enhanced gradient of Cho,
    Raiko and Ilin (2013) measures them from the mean of data and model. Randomness depends on seed and epoch only.
    """
    x = x.float()
    if x.isnan().any():
        raise ValueError("an RBM learns from rows without missing values, found some")
    state = _begin(x, config, below) if resume is None else copy.deepcopy(resume)
    decay = min(config.ema_decay, max(0.0, 1 - 5 / (config.epochs * math.ceil(len(x) / config.batch_size))))
    while state.epochs < config.epochs:
        generator = torch.Generator(x.device).manual_seed(config.seed * 1_000_003 + state.epochs + 1)
        batches = torch.randperm(len(x), generator=generator, device=x.device).split(config.batch_size)
        moved = 0.0
        for index, rows in enumerate(batches):
            progress = (state.epochs + index / len(batches)) / config.epochs
            v = x[rows] if below is None else draw(below.hidden_logits(x[rows]), generator)
            _step(state, v, config, config.lr * (1 - progress), decay, generator)
            if index == len(batches) - 1:
                rbm = state.rbm
                moved = (v - torch.sigmoid(rbm.visible_logits(torch.sigmoid(rbm.hidden_logits(v))))).abs().mean().item()
        state.epochs += 1
        if on_epoch is not None:
            on_epoch(state, moved)
    return state


def _begin(x: Float[Tensor, "N D"], config: RBMConfig, below: RBM | None) -> RBMState:
    """Return small weights, visible biases at the data's log-odds, and chains at random rows.

    Over an RBM, some of the hidden units begin as the visible ones of that, so that the distribution of its hidden
    units hardly changes at first, and learning begins at its likelihood (Hinton, Osindero and Teh 2006).
    """
    generator = torch.Generator(x.device).manual_seed(config.seed * 1_000_003)
    shape, device = (config.hidden, x.shape[1] if below is None else len(below.c)), x.device
    W = 0.01 * torch.randn(shape, generator=generator, device=device)
    rbm = RBM(W, torch.logit(x.mean(0).clamp(1e-2, 1 - 1e-2)), torch.zeros(config.hidden, device=device))
    chains = x[torch.randperm(len(x), generator=generator, device=device)[: config.batch_size]].clone()
    if below is not None:
        if config.hidden < x.shape[1]:
            raise ValueError(f"hidden: expected at least the {x.shape[1]} visible units below, found {config.hidden}")
        rbm = RBM(W, below.c.clone(), rbm.c)
        rbm.W[: x.shape[1]], rbm.c[: x.shape[1]] = below.W.t(), below.b
        chains = draw(below.hidden_logits(chains), generator)
    still = RBM(*(torch.zeros_like(p) for p in (rbm.W, rbm.b, rbm.c)))
    return RBMState(rbm, copy.deepcopy(rbm), still, chains)


def _step(state: RBMState, v: Tensor, config: RBMConfig, lr: float, decay: float, generator: torch.Generator) -> None:
    rbm = state.rbm
    start = state.chains if config.chains == "persistent" else v
    state.chains = gibbs(rbm, start, config.gibbs_steps, generator)
    gradient = _gradient(rbm, v, state.chains)
    if config.l2:
        gradient.W.sub_(rbm.W, alpha=2 * config.l2)
    for name in ("W", "b", "c"):
        parameter, velocity = getattr(rbm, name), getattr(state.velocity, name)
        velocity.mul_(config.momentum).add_(getattr(gradient, name))
        parameter.add_(velocity, alpha=lr)
        getattr(state.average, name).lerp_(parameter, 1 - decay)


def _gradient(rbm: RBM, v: Float[Tensor, "B D"], chains: Float[Tensor, "C D"]) -> RBM:
    """Return the centred gradient, with chains in place of the model's distribution."""
    h, k = torch.sigmoid(rbm.hidden_logits(v)), torch.sigmoid(rbm.hidden_logits(chains))
    v_mean, h_mean = v.mean(0), h.mean(0)
    positive, negative = affine((h - h_mean).t(), (v - v_mean).t()), affine((k - h_mean).t(), (chains - v_mean).t())
    W = positive / len(v) - negative / len(chains)
    b = v_mean - chains.mean(0) - h_mean @ W
    c = h_mean - k.mean(0) - W @ v_mean
    return RBM(W, b, c)


# The normalising constant


@dataclass(frozen=True, kw_only=True)
class AISConfig:
    """Settings of the annealing."""

    chains: int = 100  # number of independent runs; the error bar is over them
    temperatures: int = 10_000  # distributions between the base and the RBM, evenly spaced in their inverse temperature
    seed: int = 0  # of the runs

    def __post_init__(self) -> None:
        check_range(self, "chains", least=2)
        check_range(self, "temperatures", least=1)


@dataclass(frozen=True)
class Estimate:
    """Log of an unbiased estimate of a normalising constant (nats), and its standard error to first order."""

    value: float
    error: float


@torch.no_grad()
def log_partition(
    rbm: RBM, mean: Float[Tensor, " D"], config: AISConfig, *, progress: Progress = lambda done, total: None
) -> Estimate:
    """Estimate the log normalising constant by annealed importance sampling (Salakhutdinov and Murray 2008).

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
        progress(index, config.temperatures)
    base_constant = F.softplus(base).double().sum().item() + len(rbm.c) * math.log(2)
    log_mean = log_weights.logsumexp(0).item() - math.log(config.chains)
    weights = (log_weights - log_weights.max()).exp()
    relative_error = float(weights.std() / weights.mean()) / math.sqrt(config.chains)
    return Estimate(base_constant + log_mean, relative_error)
