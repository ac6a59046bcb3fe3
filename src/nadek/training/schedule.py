"""A run told epoch by epoch: which phase each belongs to, how far the optimizer's schedule is, and its randomness."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from nadek.training.training_config import Phase


class Turn(NamedTuple):
    """One epoch of a run."""

    phase: Phase
    begins: bool
    """Whether it is the first of its phase."""
    first: int
    """The first epoch of the stretch of phases that shares one optimizer and its schedule."""
    length: int
    """Epochs in this stretch."""

    def progress(self, number: int, index: int, n_minibatches: int, *, warmup: float = 0.0) -> float:
        """How much of the stretch is done, 0 to 1, when a minibatch of an epoch is about to be learnt from.

        A warm-up begins with a rate of 0. Where it is over within the first minibatch, that is at its middle already,
        and does not stand still.

        Args:
            number: of the epoch.
            index: of the minibatch.
            n_minibatches: of an epoch.
            warmup: the part of the stretch over which the learning rate rises.

        Example:
            >>> turn = turns([Phase(epochs=2)])[0]
            >>> turn.progress(0, 1, 4), turn.progress(0, 0, 4), turn.progress(0, 0, 4, warmup=0.02)
            (0.125, 0.0, 0.0625)
        """
        done, total = (number - self.first) * n_minibatches + index, self.length * n_minibatches
        if done == 0 and 0 < warmup * total < 1:
            return 0.5 / total
        return (number - self.first + index / n_minibatches) / self.length


def turns(phases: Sequence[Phase]) -> list[Turn]:
    """All epochs of a run.

    Example:
        >>> both = Phase(epochs=2), Phase(epochs=2, fresh=True)
        >>> [(turn.first, turn.length) for turn in turns(both)]
        [(0, 2), (0, 2), (2, 2), (2, 2)]
    """
    stretches: list[list[Phase]] = []
    for phase in phases:
        if phase.fresh or not stretches:
            stretches.append([])
        stretches[-1].append(phase)
    found: list[Turn] = []
    for stretch in stretches:
        first, length = len(found), sum(phase.epochs for phase in stretch)
        found += [Turn(phase, epoch == 0, first, length) for phase in stretch for epoch in range(phase.epochs)]
    return found


def randomness(seed: int, number: int, *what: int, device: torch.device) -> torch.Generator:
    """The randomness of one epoch: a function of the seed and its number, so that a run can resume anywhere."""
    state = np.random.SeedSequence([seed, number + 1, *what]).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(state[0]) >> 1)  # NumPy 1 shifts no uint64 by an int
