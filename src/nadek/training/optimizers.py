"""Optimizer configs: build an optimizer, schedule its settings."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from nadek.training.optimizer_steps import FusedAdamW, MuonAdamW
from nadek.utils.configs import check_range, convert_options


@dataclass(frozen=True, kw_only=True)
class _CosineSchedule:
    """Linear warm-up from 0, then cosine decay."""

    lr: float
    weight_decay: float
    warmup: float = 0.02
    final: float = 0.01

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "lr", "weight_decay", "final", least=0)
        check_range(self, "warmup", least=0, below=1)

    def settings(self, progress: float) -> dict[str, float]:
        """Return the settings of all groups at ``progress``, 0 to 1."""
        if progress < self.warmup:
            return {"lr": self.lr * progress / self.warmup}
        cosine = 0.5 * (1 + math.cos(math.pi * (progress - self.warmup) / (1 - self.warmup)))
        return {"lr": self.lr * (self.final + (1 - self.final) * cosine)}


@dataclass(frozen=True, kw_only=True)
class AdamW(_CosineSchedule):
    """Adam with decoupled weight decay; linear warm-up, cosine decay.

    Attributes:
        lr: learning rate after the warm-up.
        weight_decay: decoupled, on matrices only.
        warmup: part of the run over which the learning rate rises from 0.
        final: what the learning rate has fallen to at the end, relative to ``lr``.

    Example:
        >>> [round(AdamW(lr=0.01, warmup=0.1).settings(progress)["lr"], 6) for progress in (0.05, 0.1, 1.0)]
        [0.005, 0.01, 0.0001]
    """

    lr: float = 2e-3
    weight_decay: float = 0.0
    kind: Literal["adamw"] = "adamw"

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """Build the optimizer of a model's parameters."""
        return FusedAdamW(_groups(model.parameters(), self.weight_decay), lr=self.lr, fused=True)


@dataclass(frozen=True, kw_only=True)
class Muon(_CosineSchedule):
    """Muon (Jordan 2024) for matrices, AdamW for vectors.

    A step takes longer than AdamW's and brings more with large minibatches. Updates have the size of AdamW's, so
    learning rates and decays compare; see the example of `AdamW`.

    Attributes:
        lr: learning rate after the warm-up.
        weight_decay: decoupled, on matrices (and filters) only.
        momentum: of the matrices' gradients.
        warmup: part of the run over which the learning rate rises from 0.
        final: what the learning rate has fallen to at the end, relative to ``lr``.
    """

    lr: float = 1e-2
    weight_decay: float = 0.1
    momentum: float = 0.95
    kind: Literal["muon"] = "muon"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "momentum", least=0, below=1)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """Build the optimizer of a model's parameters."""
        matrices = [p for p in model.parameters() if _is_matrix(p)]
        others = [p for p in model.parameters() if not _is_matrix(p)]
        first = {"params": matrices, "weight_decay": self.weight_decay, "momentum": self.momentum}
        return MuonAdamW([first, *_groups(others, self.weight_decay)], lr=self.lr, fused=True)


@dataclass(frozen=True, kw_only=True)
class AdaDelta:
    """AdaDelta (Zeiler 2012); epsilon falls linearly over a phase.

    Attributes:
        lr: factor on the updates.
        decay: of the running averages.
        epsilon: at the start; kept above 1e-20 so that a weight that never had a gradient stays finite.

    Example:
        >>> AdaDelta(epsilon=1e-6).settings(0.5)
        {'eps': 5e-07}
    """

    lr: float = 1.0
    decay: float = 0.95
    epsilon: float = 1e-8
    kind: Literal["adadelta"] = "adadelta"
    warmup: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "lr", "epsilon", least=0)
        check_range(self, "decay", least=0, below=1)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """Build the optimizer of a model's parameters."""
        return torch.optim.Adadelta(_groups(model.parameters(), 0.0), lr=self.lr, rho=self.decay, eps=self.epsilon)

    def settings(self, progress: float) -> dict[str, float]:
        """Return the settings of all groups at ``progress``, 0 to 1."""
        return {"eps": max(self.epsilon * (1 - progress), 1e-20)}


OptimizerConfig = AdamW | Muon | AdaDelta


def _is_matrix(parameter: Tensor) -> bool:
    """Return True for matrices and filters of several rows and columns."""
    return parameter.ndim in (2, 4) and min(len(parameter), parameter[0].numel()) > 1


def _groups(parameters: Iterable[Tensor], weight_decay: float) -> list[dict[str, Any]]:
    """Split parameters into matrices, which decay, and vectors."""
    parameters = list(parameters)
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
