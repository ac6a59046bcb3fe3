"""A training run as data."""

import math
from dataclasses import dataclass, field
from typing import Literal

from nadek.inference.order_agnostic import Objective
from nadek.inference.orderings import Masks
from nadek.training.optimizers import AdamW, OptimizerConfig
from nadek.utils.configs import check_choices, check_whole

EMA_DECAY = 0.999
"""Of averaged weights, a minibatch, unless something else is asked for."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A stretch of epochs with one objective.

    Attributes:
        objective: "all_steps" (pretraining, Eq. 10 of Raiko, Yao, Cho and Bengio 2014), "last_step" (fine-tuning,
            Eq. 4) or "fixed_order" (all conditionals of the model's one ordering, classic NADE).
        epochs: how many.
        steps: use the network so many times only. One step takes a third of the time of three, and teaches W, the core
            and V nearly as much; later phases teach it to go on from its own guess. Such a phase is not validated, and
            the last one cannot be such. None: as many steps as the network is made for.
        masks: what is hidden from the rows. "orderings": what is yet to come in an ordering drawn at random, as the
            likelihood of rows asks for. "holes": fewer cells, a third of them on average, and rows of many targets
            count more (see `nadek.inference.orderings.draw_missing` and
            `nadek.inference.order_agnostic.step_costs`), for filling in. None stands for the former.
        fresh: begin with a new optimizer and its schedule from the start (as the paper's fine-tuning did);
            otherwise optimizer and schedule run on from the phase before.
    """

    objective: Objective = "last_step"
    epochs: int = 10
    steps: int | None = None
    masks: Masks | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        check_choices(self, "objective", "masks")
        check_whole(self, "epochs", "steps")
        if self.epochs < 1:
            raise ValueError(f"epochs: expected at least 1, found {self.epochs}")
        if self.steps is not None and self.steps < 1:
            raise ValueError(f"steps: expected at least 1, found {self.steps}")
        if self.steps is not None and self.objective == "fixed_order":
            raise ValueError("steps: the fixed_order objective takes all steps of the network, leave the option out")
        if self.masks is not None and self.objective == "fixed_order":
            raise ValueError("masks: the fixed_order objective hides what its ordering says, leave the option out")

    @property
    def hides(self) -> Masks:
        """What is hidden from the rows: ``masks``, or what None stands for."""
        return self.masks or "orderings"


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Everything that a run of `nadek.training.fit` depends on, besides model and data.

    Attributes:
        phases: one after the other.
        optimizer: see `nadek.training.optimizers`.
        batch_size: rows a minibatch; rows are reshuffled every epoch.
        l2: coefficient of the sum of squares of all matrices, added to the cost (the paper's regulariser).
        stratified: spread the number of hidden cells evenly over each minibatch (less noise, same expectation).
        tilt: hide few cells more often than many, and weigh costs so that their expectation stays (see
            `nadek.inference.orderings.hidden_probability`): less noise with many columns. 0: the paper's law. Phases
            with ``masks = "holes"`` have a law of their own.
        ema_decay: keep an exponential moving average of the weights with this decay a minibatch, and validate and
            return that; 0 for the weights themselves. None: `EMA_DECAY`, and less in a short run (`average_decay`).
        centred: let the optimizer work as if the network read its inputs with their means taken off: the same model,
            meant for columns whose means are far from 0.5 (see `nadek.training.preconditioning`).
        stride: the fixed_order objective counts every so many-th conditional of the rows of a minibatch, from a place
            drawn anew each time: as much less work, and more noise. 1 for all of them.
        precision: of the matrix products; weights, costs and sums stay float32.
        recompute: keep no activations of the k steps for the way back, but compute them again: less memory, which
            counts for large k and batches, and more time. The fixed_order objective does not know it.
        patience: stop when so many validations of the last phase brought no better one; None never stops early.
        validate_every: epochs between validations.
        mirror: height and width, where rows are images that may as well be seen from behind: half of them, drawn anew
            for every minibatch, are shown with left and right exchanged. None: rows stay as they are.
        missing: "use" rows with holes (what is missing is never a target and never read), which is right where it is
            chance what is missing; "complete" them for the last third of the run (see `nadek.training.stochastic_em`),
            which is right as well where it follows from what is observed, and takes longer; or "refuse" them. In
            validation rows too. What completes a row are joint draws up to 64 variables; of D variables beyond,
            D / 64 at a time (rounded up) are drawn as if they were independent given those before.
        seed: of everything random in training.
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
    mirror: tuple[int, int] | None = None
    missing: Literal["use", "complete", "refuse"] = "use"
    seed: int = 0

    def __post_init__(self) -> None:
        check_choices(self, "precision", "missing")
        lowest = {"batch_size": 1, "validate_every": 1, "stride": 1, "patience": 1, "seed": 0}
        check_whole(self, *lowest)
        for name, least in lowest.items():
            found = getattr(self, name)
            if found is not None and found < least:
                raise ValueError(f"{name}: expected at least {least}, found {found}")
        if self.mirror is not None and (len(self.mirror) != 2 or min(self.mirror) < 1):
            raise ValueError(f"mirror: expected the height and width of an image, found {self.mirror}")
        if not 0 <= self.l2 < math.inf:
            raise ValueError(f"l2: expected a number of at least 0, found {self.l2}")
        if not self.phases:
            raise ValueError("phases: expected at least one")
        if (steps := self.phases[-1].steps) is not None:
            told = f"found steps = {steps}, after which no weights would have been validated"
            raise ValueError(f"phases: expected the last one to use the network as often as it is made for, {told}")
        for name in ("ema_decay", "tilt"):
            found = getattr(self, name)
            if found is not None and not 0 <= found < 1:
                raise ValueError(f"{name}: expected at least 0 and below 1, found {found}")

    @property
    def epochs(self) -> int:
        """Epochs of all phases."""
        return sum(phase.epochs for phase in self.phases)

    def average_decay(self, n_rows: int) -> float:
        """Decay of the averaged weights in a run over so many rows: what ``ema_decay`` says.

        If it says nothing: `EMA_DECAY`, but never so much that the average reaches over more than the last fifth of the
        run. It would hold the weights that the run began with otherwise.
        """
        if self.ema_decay is not None:
            return self.ema_decay
        n_minibatches = self.epochs * math.ceil(n_rows / self.batch_size)
        return max(0.0, min(EMA_DECAY, 1 - 5 / n_minibatches))
