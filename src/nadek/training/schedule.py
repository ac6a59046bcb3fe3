"""Plan of a run's epochs: phase, progress of the optimizer's schedule, and randomness."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from nadek.training.training_config import Phase


class EpochPlan(NamedTuple):
    """Place of one epoch in a run."""

    phase: Phase
    begins: bool
    """True for the first epoch of its phase."""
    first: int
    """First epoch of the phases that share one optimizer and its schedule."""
    length: int
    """Epochs of these phases."""

    def progress(self, number: int, index: int, n_minibatches: int, *, warmup: float = 0.0) -> float:
        """Return the part of the schedule that is done before a minibatch, 0 to 1.

        A warm-up begins with a rate of 0. Where it ends within the first minibatch, that one is at its own middle.

        Example:
            >>> plan = plan_epochs([Phase(epochs=2)])[0]
            >>> plan.progress(0, 1, 4), plan.progress(0, 0, 4), plan.progress(0, 0, 4, warmup=0.02)
            (0.125, 0.0, 0.0625)
        """
        done, total = (number - self.first) * n_minibatches + index, self.length * n_minibatches
        if done == 0 and 0 < warmup * total < 1:
            return 0.5 / total
        return (number - self.first + index / n_minibatches) / self.length


def plan_epochs(phases: Sequence[Phase]) -> list[EpochPlan]:
    """Return the plan of every epoch of a run.

    Example:
        >>> both = Phase(epochs=2), Phase(epochs=2, fresh=True)
        >>> [(plan.first, plan.length) for plan in plan_epochs(both)]
        [(0, 2), (0, 2), (2, 2), (2, 2)]
    """
    stretches: list[list[Phase]] = []
    for phase in phases:
        if phase.fresh or not stretches:
            stretches.append([])
        stretches[-1].append(phase)
    plans: list[EpochPlan] = []
    for stretch in stretches:
        first, length = len(plans), sum(phase.epochs for phase in stretch)
        plans += [EpochPlan(phase, epoch == 0, first, length) for phase in stretch for epoch in range(phase.epochs)]
    return plans


def epoch_generator(seed: int, number: int, *purpose: int, device: torch.device) -> torch.Generator:
    """Return the generator of one epoch, a function of seed and number.

    No generator has to be stored: a run can resume at any epoch.
    """
    state = np.random.SeedSequence([seed, number + 1, *purpose]).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(state[0]) >> 1)  # NumPy 1 shifts no uint64 by an int
