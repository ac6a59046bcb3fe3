"""NADE-k as one writes it in an afternoon.

The benchmarks compare with it: the full network at every position, eager float32, masks from two argsorts. It uses
nothing of nadek.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class StraightforwardNADEk(nn.Module):
    """Equations of the paper, one after the other."""

    def __init__(self, n_variables: int, hidden: tuple[int, ...], steps: int, mean: Tensor) -> None:
        super().__init__()
        widths = (n_variables, *hidden)
        self.encoder = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.decoder = nn.Linear(hidden[-1], n_variables)
        self.steps = steps
        self.register_buffer("mean", mean)

    def forward(self, x: Tensor, m: Tensor) -> list[Tensor]:
        """Return the logits of every step; m marks missing."""
        v = m * self.mean + (1 - m) * x
        outputs = []
        for _ in range(self.steps):
            h = v
            for layer in self.encoder:
                h = torch.tanh(layer(h))
            logits = self.decoder(h)
            outputs.append(logits)
            v = m * torch.sigmoid(logits) + (1 - m) * x
        return outputs


def training_loss(model: StraightforwardNADEk, x: Tensor) -> Tensor:
    """Return the order-agnostic cost, mean over steps (the pretraining objective)."""
    n_rows, n_variables = x.shape
    d = torch.randint(n_variables, (n_rows, 1))
    rank = torch.rand(n_rows, n_variables).argsort(1).argsort(1)
    m = (rank >= d).float()
    weight = n_variables / (n_variables - d.squeeze(1))
    losses = []
    for logits in model(x, m):
        cost = F.binary_cross_entropy_with_logits(logits, x, reduction="none")
        losses.append((weight * (cost * m).sum(1)).mean())
    return torch.stack(losses).mean()


@torch.no_grad()
def log_prob(model: StraightforwardNADEk, x: Tensor, ordering: Tensor) -> Tensor:
    """Return the exact log p(x | ordering)."""
    m = torch.ones_like(x)
    total = torch.zeros(len(x), dtype=torch.float64)
    for variable in ordering:
        logit = model(x, m)[-1][:, variable]
        cost = F.binary_cross_entropy_with_logits(logit, x[:, variable], reduction="none")
        total -= cost.double()
        m[:, variable] = 0
    return total


@torch.no_grad()
def sample(model: StraightforwardNADEk, n_samples: int, ordering: Tensor) -> Tensor:
    """Draw rows along one ordering."""
    x = torch.zeros(n_samples, len(ordering))
    m = torch.ones_like(x)
    for variable in ordering:
        x[:, variable] = torch.bernoulli(torch.sigmoid(model(x, m)[-1][:, variable]))
        m[:, variable] = 0
    return x
