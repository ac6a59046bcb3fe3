"""Optimizers as data: each config builds torch's own optimizer and says its settings at every point of a run."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn


@dataclass(frozen=True, kw_only=True)
class AdamW:
    """Adam with decoupled weight decay on the matrices; linear warm-up, then cosine decay to nearly nothing.

    Attributes:
        lr: learning rate after the warm-up.
        weight_decay: decoupled, on matrices only.
        warmup: part of the run over which the learning rate rises from 0.
        final: what the learning rate has fallen to at the end, relative to ``lr``.
    """

    lr: float = 2e-3
    weight_decay: float = 0.0
    warmup: float = 0.02
    final: float = 0.01
    kind: Literal["adamw"] = "adamw"

    def __post_init__(self) -> None:
        _check_size(lr=self.lr, weight_decay=self.weight_decay, final=self.final)
        _check_fraction(warmup=self.warmup)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimizer of a model's parameters."""
        return torch.optim.AdamW(_groups(model, self.weight_decay), lr=self.lr, fused=True)

    def settings(self, progress: float) -> dict[str, float]:
        """Settings of every parameter group when ``progress`` (0 to 1) of the run is done."""
        if progress < self.warmup:
            return {"lr": self.lr * progress / self.warmup}
        cosine = 0.5 * (1 + math.cos(math.pi * (progress - self.warmup) / (1 - self.warmup)))
        return {"lr": self.lr * (self.final + (1 - self.final) * cosine)}


@dataclass(frozen=True, kw_only=True)
class AdaDelta:
    """AdaDelta (Zeiler 2012) as the authors ran it: its epsilon falls linearly to nothing over a phase.

    Attributes:
        lr: factor on the updates.
        decay: of the running averages.
        epsilon: at the start; kept above 1e-20 so that a weight that never had a gradient stays finite.
    """

    lr: float = 1.0
    decay: float = 0.95
    epsilon: float = 1e-8
    kind: Literal["adadelta"] = "adadelta"

    def __post_init__(self) -> None:
        _check_size(lr=self.lr, epsilon=self.epsilon)
        _check_fraction(decay=self.decay)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimizer of a model's parameters."""
        return torch.optim.Adadelta(_groups(model, 0.0), lr=self.lr, rho=self.decay, eps=self.epsilon)

    def settings(self, progress: float) -> dict[str, float]:
        """Settings of every parameter group when ``progress`` (0 to 1) of the run is done."""
        return {"eps": max(self.epsilon * (1 - progress), 1e-20)}


@dataclass(frozen=True, kw_only=True)
class SGD:
    """Stochastic gradient descent with Nesterov momentum; the learning rate falls linearly to nothing.

    Attributes:
        lr: learning rate at the start.
        momentum: of the velocity.
        weight_decay: on matrices only.
    """

    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 0.0
    kind: Literal["sgd"] = "sgd"

    def __post_init__(self) -> None:
        _check_size(lr=self.lr, weight_decay=self.weight_decay)
        _check_fraction(momentum=self.momentum)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimizer of a model's parameters."""
        groups = _groups(model, self.weight_decay)
        return torch.optim.SGD(groups, lr=self.lr, momentum=self.momentum, nesterov=self.momentum > 0)

    def settings(self, progress: float) -> dict[str, float]:
        """Settings of every parameter group when ``progress`` (0 to 1) of the run is done."""
        return {"lr": self.lr * (1 - progress)}


OptimizerConfig = AdamW | AdaDelta | SGD


def _groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Matrices with the decay, biases and gains without."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


def _check_size(**options: float) -> None:
    for name, value in options.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name}: expected a number of at least 0, found {value}")


def _check_fraction(**options: float) -> None:
    for name, value in options.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name}: expected at least 0 and below 1, found {value}")
