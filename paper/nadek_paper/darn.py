"""Deep autoregressive networks (Gregor et al. 2014).

p(h) and p(v | h) are autoregressive: each unit is a logistic regression on those before it, and a visible one on all
of h. q(h | v) is a logistic regression for each unit. All weights learn to raise the variational bound.
"""

import copy
import math
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from nadek.training import AdamW, TrainingState
from nadek.training.state import pack, unpack
from nadek.utils.configs import check_range
from nadek_paper.importance import log_bernoulli, sampled_scores
from nadek_paper.rbm import draw


class DARN(nn.Module):
    """A DARN with a layer of hidden units.

    Weights are those of q [H, D], of p(h) [H, H], and of p(v | h) [D, H] and [D, D].

    Units are measured from ``mean`` [D], the mean of the data, and hidden ones from a half.
    """

    def __init__(self, mean: Float[Tensor, " D"], hidden: int, *, generator: torch.Generator) -> None:
        super().__init__()
        n, self.hidden = len(mean), hidden
        self.mean = nn.Buffer(mean)
        self.encoder = nn.Parameter(0.05 * torch.randn(hidden, n, generator=generator, device=mean.device).to(mean))
        self.decoder = nn.Parameter(0.05 * torch.randn(n, hidden, generator=generator, device=mean.device).to(mean))
        self.prior, self.visible = nn.Parameter(mean.new_zeros(hidden, hidden)), nn.Parameter(mean.new_zeros(n, n))
        self.encoder_bias, self.prior_bias = nn.Parameter(mean.new_zeros(hidden)), nn.Parameter(mean.new_zeros(hidden))
        self.visible_bias = nn.Parameter(torch.logit(mean.clamp(1e-2, 1 - 1e-2)))

    def posterior_logits(self, v: Float[Tensor, "B D"]) -> Float[Tensor, "B H"]:
        """Return the log-odds of q(h | v)."""
        return F.linear(v - self.mean, self.encoder, self.encoder_bias)

    def log_joint(self, h: Float[Tensor, "*n B H"], v: Float[Tensor, "B D"]) -> Float[Tensor, "*n B"]:
        """Return log p(v, h) in nats."""
        centred = h - 0.5
        of_h = F.linear(centred, self.prior.tril(-1), self.prior_bias)
        of_v = F.linear(centred, self.decoder) + F.linear(v - self.mean, self.visible.tril(-1), self.visible_bias)
        return log_bernoulli(of_h, h) + log_bernoulli(of_v, v)

    def forward(self, v: Float[Tensor, "B D"], generator: torch.Generator) -> Float[Tensor, " B"]:
        """Return an unbiased estimate of the bound, in nats.

        Its gradient is exact on average for all weights but those of q. For these it is that of Gregor et al.: the
        difference of a unit being 1 or 0 is replaced by the mean of the derivatives at both.
        """
        logits = self.posterior_logits(v)
        h = draw(logits.detach(), generator)
        away = (h - logits.sigmoid()).abs().detach() / 2
        h = h + (logits - logits.detach()) * away
        entropy = F.softplus(logits) - logits * logits.sigmoid()
        return self.log_joint(h, v) + entropy.sum(1)

    def log_weights(self, v: Shaped[Tensor, "B D"], n: int, generator: torch.Generator) -> Float[Tensor, "n B"]:
        """Return log p(v, h) - log q(h | v) of n draws."""
        v = v.to(self.mean)
        logits = self.posterior_logits(v).expand(n, -1, -1)
        h = draw(logits, generator)
        return self.log_joint(h, v) - log_bernoulli(logits, h)


class WeightNoise(nn.Module):
    """Adaptive noise on weights (Graves 2011).

    Each has a standard deviation, which learns with it.

    Weights cost the bits that they carry. They are measured by a normal distribution for each parameter of the model,
    that of its weights, which is the cheapest one.
    """

    BEGIN = 0.01
    """Standard deviation at the start."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._names = [name for name, _ in model.named_parameters()]
        begin = math.log(self.BEGIN)
        self.log_stds = nn.ParameterList([torch.full_like(weight, begin) for weight in model.parameters()])

    def drawn(self, model: nn.Module, generator: torch.Generator) -> dict[str, Tensor]:
        """Return a model's weights with noise, by name."""
        weights = zip(self._names, model.parameters(), self.log_stds, strict=True)
        return {
            name: mean + log_std.exp() * torch.randn(mean.shape, generator=generator, dtype=mean.dtype)
            for name, mean, log_std in weights
        }

    def cost(self, model: nn.Module) -> Tensor:
        """Return the weights' divergence from their priors, in nats."""
        total = torch.zeros(())
        for mean, log_std in zip(model.parameters(), self.log_stds, strict=True):
            variance = (mean - mean.mean()).square().mean() + (2 * log_std).exp().mean()
            total = total + 0.5 * mean.numel() * variance.log() - log_std.sum()
        return total


@dataclass(frozen=True, kw_only=True)
class DARNConfig:
    """Settings of a training."""

    hidden: int  # number of hidden units H
    epochs: int  # passes over the rows
    batch_size: int = 100  # rows a minibatch
    optimizer: AdamW = field(default_factory=AdamW)  # its settings
    ema_decay: float = 0.999  # the result is an exponential moving average of the weights, with this decay a minibatch
    weight_noise: bool = False  # adaptive noise on the weights; the result has none
    every: int = 5  # epochs between two bounds of the validation rows; the average with the best one is the result
    seed: int = 0  # seed of everything random

    def __post_init__(self) -> None:
        check_range(self, "hidden", "epochs", "batch_size", "every", least=1)
        check_range(self, "ema_decay", least=0, below=1)

    def decay(self, steps: int) -> float:
        """Return the average's decay after so many minibatches."""
        return min(self.ema_decay, steps / (steps + 10))


class DARNRun:
    """A training of a DARN, epoch by epoch.

    ``average`` are the averaged weights, ``best`` those that validation rows are likeliest under, and ``curve`` has a
    point for each epoch, costs in nats a row.
    """

    def __init__(self, x: Shaped[Tensor, "N D"], config: DARNConfig, state: TrainingState | None = None) -> None:
        if x.isnan().any():
            raise ValueError("a DARN learns from rows without missing values, found some")
        self.x, self.config, self.curve = x.float(), config, list[dict[str, Any]]()
        self.model = DARN(self.x.mean(0), config.hidden, generator=self._generator(0))
        self.noise = WeightNoise(self.model) if config.weight_noise else None
        self.learning = nn.ModuleList([self.model] if self.noise is None else [self.model, self.noise])
        self.optimizer = config.optimizer.build(self.learning)
        self.average, self.best = copy.deepcopy(self.model), copy.deepcopy(self.model)
        if state is not None:
            unpack(state, self.learning, self.optimizer, None)
            self.average.load_state_dict(state.group("average"))
            self.best.load_state_dict(state.group("best"))
            self.curve = state.info["curve"]

    @property
    def lowest(self) -> float:
        """Return the lowest validation cost in the curve."""
        return min((point["validation"] for point in self.curve if "validation" in point), default=math.inf)

    def state(self) -> TrainingState:
        """Return the state to go on from."""
        extra = {"average": self.average.state_dict(), "best": self.best.state_dict()}
        return pack(self.learning, self.optimizer, None, extra, {"curve": self.curve})

    def epoch(self, valid: Shaped[Tensor, "M D"]) -> None:
        """Train for an epoch; validate where it is due."""
        number, started, config = len(self.curve), time.perf_counter(), self.config
        generator = self._generator(number + 1)
        batches = torch.randperm(len(self.x), generator=generator, device=self.x.device).split(config.batch_size)
        total = 0.0
        for index, rows in enumerate(batches):
            done = number * len(batches) + index
            total += len(rows) * self._step(self.x[rows], done, len(batches) * config.epochs, generator)
        point: dict[str, Any] = {"epoch": number + 1, "train": total / len(self.x)}
        if (number + 1) % config.every == 0 or number + 1 == config.epochs:
            point["validation"] = -sampled_scores(self.average.log_weights, valid, 1).log_p.mean().item()
            if point["validation"] < self.lowest:
                self.best.load_state_dict(self.average.state_dict())
        self.curve.append({**point, "seconds": time.perf_counter() - started})

    def _step(self, v: Float[Tensor, "B D"], done: int, total: int, generator: torch.Generator) -> float:
        for group in self.optimizer.param_groups:
            group |= self.config.optimizer.settings(done / total)
        cost = self._cost(v, generator)
        self.optimizer.zero_grad()
        cost.backward()
        self.optimizer.step()
        averaged: list[Tensor] = [*self.average.parameters()]
        with torch.no_grad():
            torch._foreach_lerp_(averaged, [*self.model.parameters()], 1 - self.config.decay(done))
        return cost.item()

    def _cost(self, v: Float[Tensor, "B D"], generator: torch.Generator) -> Tensor:
        """Return minus the bound, and the cost of weights."""
        if self.noise is None:
            bound: Tensor = self.model(v, generator)
            return -bound.mean()
        noisy: Tensor = functional_call(self.model, self.noise.drawn(self.model, generator), (v, generator))
        return self.noise.cost(self.model) / len(self.x) - noisy.mean()

    def _generator(self, epoch: int) -> torch.Generator:
        return torch.Generator(self.x.device).manual_seed(self.config.seed * 1_000_003 + epoch)
