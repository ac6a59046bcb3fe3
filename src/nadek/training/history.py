"""Record of each epoch, and the error of a diverged training."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor

from nadek.models.base import ConditionalModel
from nadek.utils.configs import decode

MAX_COST = 1000.0
"""Largest sensible mean cost, in nats a variable. A guess costs 0.7."""


@dataclass(frozen=True)
class Epoch:
    """One epoch of training; costs in nats a row.

    Attributes:
        epoch: its number, from 1.
        epochs: number of epochs of the run.
        phase: the objective it was trained on.
        train: mean cost on the minibatches as they were trained, after every step t = 1..k that the objective counts
            (all_steps), or after the last alone.
        validation: mean cost after every step on the validation rows, with the same masks every time; None where not
            measured.
        best: the best validation cost of the last step so far.
        seconds: time since the run began (running time only, over all resumptions).
    """

    epoch: int
    epochs: int
    phase: str
    train: list[float]
    validation: list[float] | None
    best: float | None
    seconds: float

    def asdict(self) -> dict[str, Any]:
        """Return the fields, for a JSON record."""
        return asdict(self)

    def __str__(self) -> str:
        validation = "" if self.validation is None else f"  validation {self.validation[-1]:.3f}"
        return f"epoch {self.epoch}/{self.epochs} ({self.phase})  cost {self.train[-1]:.3f}{validation}"


@dataclass(frozen=True)
class _History:
    """Entry of a model's metrics."""

    history: list[Epoch] = field(default_factory=list)


def read_history(metrics: Mapping[str, Any]) -> list[Epoch]:
    """Return the epochs in a model's metrics; a ValueError names a wrong entry."""
    return decode(_History, {key: metrics[key] for key in metrics if key == "history"}, where="metrics").history


class TrainingDivergedError(ArithmeticError):
    """Training diverged: a cost or weight is not finite, or a cost is absurd.

    The model holds the last good weights.

    Attributes:
        history: the epochs up to these weights.
        model: the model.
    """

    def __init__(  # a pickle gives the message alone
        self, message: str, history: Sequence[Epoch] = (), model: ConditionalModel | None = None
    ) -> None:
        super().__init__(message)
        self.history, self.model = list(history), model


def diverged_cost(costs: Sequence[float], weights: Iterable[Tensor], n_variables: int) -> float | None:
    """Return the cost of a diverged training, or None."""
    worst = max(costs, key=lambda cost: cost if math.isfinite(cost) else math.inf)
    if not math.isfinite(worst) or worst > MAX_COST * n_variables:
        return worst
    return None if all(value.isfinite().all() for value in weights) else math.nan
