"""Training runs as data: phases and options, and the plan of the epochs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import torch

from nadek.inference.order_agnostic import MaskDistribution, MaskLaw, Objective
from nadek.training.optimizers import AdamW, OptimizerConfig
from nadek.utils.configs import check_range, convert_options

EMA_DECAY = 0.999
"""Default decay of the averaged weights, a minibatch."""
HELD_WARMUP, HELD_MINIBATCHES, HELD_EPOCHS = 50, 240, 40
"""Where validation chooses the length: minibatches of the warm-up, and least numbers at the full rate."""
HELD_AVERAGE, HELD_ROWS = 0.125, 1024
"""Part of the run so far in the averaged weights; least number of validation rows and their repetitions."""
MOST_ANNEAL = 100
"""Most epochs of a falling rate, as part of those of the full rate."""
HELD_GAIN, HELD_PATIENCE = 0.005, 0.1
"""The full rate ends when so large a part of the epochs did not lower the cost by so large a part."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A stretch of epochs with one objective; see the example of `nadek.TrainingConfig`.

    Attributes:
        objective: "all_steps" (pretraining, Eq. 10 of Raiko, Yao, Cho and Bengio 2014), "last_step" (fine-tuning,
            Eq. 4) or "fixed_order" (all conditionals of the model's one ordering, classic NADE).
        epochs: number of epochs.
        steps: use the network so many times only; None for as many as it has. One step takes a third of the time of
            three and trains W, the core and V nearly as well. Such a phase cannot be the last one, and is validated
            where validation chooses the length only.
        extra_steps: use the network up to so many times more, a random number for each minibatch, before the steps that
            count; no gradient flows through these. It learns to go on from its own answers and may be used more often
            than it is made for (incremental progress training of Bansal and others 2022, "End-to-end Algorithm
            Synthesis with Recurrent Networks"). Such a phase can be the last one, with ``steps``, too.
        masks: law of the hidden cells, see `nadek.inference.order_agnostic`: "orderings" for the likelihood of
            rows, "holes" (missing cells) for imputation. None is "orderings".
        fresh: begin with a new optimizer and schedule, as the paper's fine-tuning did; otherwise both go on.
    """

    objective: Objective = "last_step"
    epochs: int = 10
    steps: int | None = None
    extra_steps: int | None = None
    masks: MaskLaw | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "epochs", "steps", "extra_steps", least=1)
        for name in ("steps", "extra_steps", "masks"):
            if getattr(self, name) is not None and self.objective == "fixed_order":
                message = "the fixed_order objective takes all steps and hides what its ordering says"
                raise ValueError(f"{name}: {message}, leave the option out")

    @property
    def validated_steps(self) -> int | None:
        """Number of steps that validation can compare; None for all of the network's."""
        return self.steps if self.extra_steps is None else None


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Options of a run of `nadek.training.fit`.

    Attributes:
        phases: one after the other.
        optimizer: see `nadek.training.optimizers`.
        batch_size: rows a minibatch; rows are reshuffled every epoch.
        l2: coefficient of the sum of squares of all matrices, added to the cost (the paper's regulariser).
        stratified: spread the number of hidden cells evenly over each minibatch: less noise, same expectation.
        tilt: hide few cells more often and weigh their costs less: less noise with many columns. 0 is the paper's
            law. Phases with ``masks = "holes"`` ignore it.
        ema_decay: decay of the average of the weights, a minibatch. The average is validated and returned; 0 for the
            weights themselves. None: `EMA_DECAY`, and less in a short run (`average_decay`).
        centred: optimize as if the mean of each column was subtracted from the input: the same model, meant for
            columns with means far from 0.5 (see `nadek.training.preconditioning`).
        stride: the fixed_order objective counts every so many-th conditional, from a random start: less work, more
            noise. 1 for all of them.
        precision: of the matrix products, where the device has fast ones; weights, costs and sums stay float32.
        recompute: store no activations of the k steps for the backward pass: less memory, more time. The fixed_order
            objective ignores it.
        patience: stop after so many validations of the last phase without a better one; None never stops early.
        validate_every: epochs between validations.
        anneal: let validation choose the number of epochs. Of two phases the first keeps the full learning rate until
            it gains little (`held_epochs`); the second takes so large a part of its epochs, while the rate falls. The
            phases' own epochs are the most. None: as many as the phases say.
        smoothing: answers that each binary and categorical variable is taken to have had besides, spread evenly over
            its levels, so that none is impossible. They count in the costs of training, not in
            those of validation, and not under the fixed_order objective.
        mirror: height and width of images; half of each minibatch is mirrored left to right. None mirrors nothing.
        missing: what to do with missing values, in validation rows too. "use": they are never read and never a target,
            right where it is chance which are missing. "complete": for the second half of the run the model draws them
            (`nadek.training.stochastic_em`), right also where it follows from the observed values; beyond 64 variables
            D / 64 cells are drawn at a time (rounded up), independent given those before.
        seed: of everything random in training.

    Example:
        >>> phases = Phase(objective="all_steps", epochs=10), Phase(objective="last_step", epochs=40)
        >>> TrainingConfig(phases=phases, optimizer=AdamW(lr=0.01), batch_size=50, patience=5).epochs
        50
    """

    phases: tuple[Phase, ...] = (Phase(objective="all_steps", epochs=10), Phase(objective="last_step", epochs=10))
    optimizer: OptimizerConfig = field(default_factory=AdamW)
    batch_size: int = 100
    l2: float = 0.0
    stratified: bool = True
    tilt: float = 0.0
    ema_decay: float | None = None
    centred: bool = False
    stride: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    recompute: bool = False
    patience: int | None = None
    validate_every: int = 1
    anneal: float | None = None
    smoothing: float | None = None
    mirror: tuple[int, int] | None = None
    missing: Literal["use", "complete"] = "use"
    seed: int = 0

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "batch_size", "validate_every", "stride", "patience", least=1)
        check_range(self, "seed", "l2", "smoothing", least=0)
        check_range(self, "ema_decay", "tilt", least=0, below=1)
        if self.mirror is not None and min(self.mirror) < 1:
            raise ValueError(f"mirror: expected the height and width of an image, found {self.mirror}")
        if not self.phases:
            raise ValueError("phases: expected at least one")
        if self.anneal is not None and not 0 < self.anneal <= MOST_ANNEAL:
            raise ValueError(f"anneal: expected a part of the epochs, at most {MOST_ANNEAL}, found {self.anneal}")
        if self.anneal is not None and (len(self.phases) != 2 or self.phases[1].fresh):
            raise ValueError("anneal: expected two phases, the second not fresh, as the rate falls in the second")
        if (steps := self.phases[-1].validated_steps) is not None:
            raise ValueError(
                "phases: expected the last one to use the network as often as it is made for, found "
                f"steps = {steps}, after which no weights would have been validated"
            )

    @property
    def epochs(self) -> int:
        """Epochs of all phases."""
        return sum(phase.epochs for phase in self.phases)

    def mask_distribution(self, phase: Phase) -> MaskDistribution:
        """Return the distribution of a phase's masks."""
        return MaskDistribution(phase.masks or "orderings", self.tilt, self.stratified)

    def average_decay(self, n_rows: int) -> float:
        """Return the decay of a run's averaged weights.

        Without ``ema_decay`` it is `EMA_DECAY`, or less, so that the average covers at most the last fifth of the run
        and not the weights that it began with.
        """
        if self.ema_decay is not None:
            return self.ema_decay
        n_minibatches = self.epochs * math.ceil(n_rows / self.batch_size)
        return max(0.0, min(EMA_DECAY, 1 - 5 / n_minibatches))


class EpochPlan(NamedTuple):
    """Place of one epoch in a run."""

    phase: Phase
    begins: bool
    """True for the first epoch of its phase."""
    first: int
    """First epoch of the phases that share one optimizer and its schedule."""
    length: int
    """Epochs of these phases."""
    held: int | None = None
    """Epochs before the rate falls, where validation chooses the length."""

    def progress(self, number: int, index: int, n_minibatches: int, *, warmup: float = 0.0) -> float:
        """Return the part of the schedule that is done before a minibatch, 0 to 1.

        A warm-up begins with a rate of 0. Where it ends within the first minibatch, that one is at its own middle.

        Example:
            >>> plan = plan_epochs([Phase(epochs=2)])[0]
            >>> plan.progress(0, 1, 4), plan.progress(0, 0, 4), plan.progress(0, 0, 4, warmup=0.02)
            (0.125, 0.0, 0.0625)
        """
        if self.held is not None:
            middle = number + (index + 0.5) / n_minibatches
            if number < self.held:
                return warmup * min(1.0, middle * n_minibatches / HELD_WARMUP)
            return warmup + (1 - warmup) * (middle - self.held) / (self.length - self.held)
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


def plan_run(config: TrainingConfig, costs: Sequence[float | None], n_minibatches: int) -> list[EpochPlan]:
    """Return the plan of every epoch, given the validation costs of the epochs so far."""
    if config.anneal is None:
        return plan_epochs(config.phases)
    held, falling = config.phases
    if (end := held_epochs(costs[: held.epochs], n_minibatches)) is not None:
        held, falling = replace(held, epochs=end), replace(falling, epochs=max(1, math.ceil(config.anneal * end)))
    return [plan._replace(held=held.epochs) for plan in plan_epochs((held, falling))]


def held_epochs(costs: Sequence[float | None], n_minibatches: int) -> int | None:
    """Return after how many epochs the full rate gains little; None if it still gains.

    It ends with a validation; an epoch without one has None for its cost.

    Example:
        >>> held_epochs([2.0, *[1.0] * 50], n_minibatches=6), held_epochs([2.0, *[1.0] * 30], n_minibatches=6)
        (40, None)
    """
    best, best_epoch = math.inf, 0
    for epoch, cost in enumerate(costs, 1):
        if cost is None:
            continue
        if cost < best * (1 - HELD_GAIN):
            best, best_epoch = cost, epoch
        if epoch >= max(HELD_EPOCHS, HELD_MINIBATCHES / n_minibatches) and epoch - best_epoch >= HELD_PATIENCE * epoch:
            return epoch
    return None


def epoch_generator(seed: int, number: int, *purpose: int, device: torch.device) -> torch.Generator:
    """Return the generator of one epoch, a function of seed and number.

    No generator has to be stored: a run can resume at any epoch.
    """
    state = np.random.SeedSequence([seed, number + 1, *purpose]).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(state[0] >> 1))
