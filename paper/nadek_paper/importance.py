"""Log-likelihoods of models with hidden units, by importance sampling."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from nadek.inference.decoders.chunking import Progress

LogWeights = Callable[[Tensor, int, torch.Generator], Tensor]
"""From rows [B, D] and a number n: log p(v, h) - log q(h | v) of n draws of h from q for each row, [n, B] in nats."""

VALIDATION_DRAWS = 50
"""Most draws for each validation row, and for as many training rows."""

ROWS = 100
"""Rows at a time."""

DRAWS = 50
"""Draws at a time."""


@dataclass(frozen=True)
class SampledScores:
    """Estimates of each row's log p(v) [N], in nats."""

    log_p: Tensor
    # number of draws -> mean over rows; that of one draw is the variational bound. The mean of such an estimate is a
    # lower bound of log p(v) and rises with the number of draws (Burda, Grosse and Salakhutdinov 2016)
    by_draws: dict[int, float]


@torch.no_grad()
def sampled_scores(
    log_weights: LogWeights,
    x: Shaped[Tensor, "N D"],
    draws: int,
    *,
    progress: Progress = lambda done, total: None,
) -> SampledScores:
    """Return the log of each row's mean weight."""
    generator = torch.Generator(x.device).manual_seed(0)
    numbers = [*(10**power for power in range(math.ceil(math.log10(draws)))), draws]
    parts: dict[int, list[Tensor]] = {number: [] for number in numbers}
    for start in range(0, len(x), ROWS):
        rows = x[start : start + ROWS]
        counts = [min(DRAWS, draws - done) for done in range(0, draws, DRAWS)]
        logs = torch.cat([log_weights(rows, count, generator).double() for count in counts])
        for number in numbers:
            groups = logs[: draws // number * number].view(-1, number, len(rows))
            parts[number].append(groups.logsumexp(1).mean(0) - math.log(number))
        progress(start + len(rows), len(x))
    log_p = {number: torch.cat(values) for number, values in parts.items()}
    return SampledScores(log_p[draws], {number: values.mean().item() for number, values in log_p.items()})


def log_bernoulli(logits: Float[Tensor, "*#batch n"], x: Float[Tensor, "*#batch n"]) -> Float[Tensor, " *#batch"]:
    """Return log-probabilities of independent 0 and 1, in nats."""
    return (x * logits - F.softplus(logits)).sum(-1)
