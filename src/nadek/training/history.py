"""What is remembered of each epoch."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """One epoch of training; costs in nats a row.

    Attributes:
        epoch: its number, from 1.
        epochs: how many the run has in all.
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
        """For a JSON record."""
        return asdict(self)

    def __str__(self) -> str:
        validation = "" if self.validation is None else f"  validation {self.validation[-1]:.3f}"
        return f"epoch {self.epoch}/{self.epochs} ({self.phase})  cost {self.train[-1]:.3f}{validation}"
