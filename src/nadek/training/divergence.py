"""When a training has left the numbers that anything can be learnt from."""

import math
from collections.abc import Iterable, Sequence

from torch import Tensor

from nadek.training.history import Epoch
from nadek.training.training_config import TrainingConfig

BLOWN_UP = 1000.0
"""Nats a variable. A guess costs 0.7; a mean cost beyond this is no more a number to learn from than infinity is."""


class TrainingDivergedError(ArithmeticError):
    """The cost is not finite, or absurd; the model holds the last good weights, ``history`` the epochs up to then."""

    def __init__(self, message: str, history: Sequence[Epoch] = ()) -> None:  # a pickle gives the message alone
        super().__init__(message)
        self.history = list(history)


def diverged_cost(costs: Sequence[float], weights: Iterable[Tensor], n_variables: int) -> float | None:
    """The cost by which a training has diverged; None where costs and weights are numbers to learn from."""
    worst = max(costs, key=lambda cost: cost if math.isfinite(cost) else math.inf)
    if not math.isfinite(worst) or worst > BLOWN_UP * n_variables:
        return worst
    # not a number is what the next epoch would have found
    return None if all(value.isfinite().all() for value in weights) else math.nan


def advice(config: TrainingConfig) -> str:
    """What to try instead."""
    products = "" if config.precision == "float32" else f", or use float32 products (now {config.precision})"
    return f"Lower the learning rate (now {config.optimizer.lr:g}), or warm up for longer{products}"
