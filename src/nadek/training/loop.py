"""Training loop: epochs of minibatches, validation, early stopping and the best weights."""

import copy
import logging
import math
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor

from nadek.inference.order_agnostic import l2_penalty
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import eval_mode, isolated
from nadek.training.checks import check_resumed, check_rows, check_teacher, check_weights, check_world
from nadek.training.costs import (
    Minibatch,
    Validation,
    batch_costs,
    draw_batch,
    prepare_validation,
    smoothing_of,
    takes_bfloat16,
    validation_costs,
)
from nadek.training.preconditioning import Preconditioner, mean_input
from nadek.training.prepare import Rows
from nadek.training.state import (
    Epoch,
    TrainingDivergedError,
    TrainingState,
    WeightAverage,
    check_alike,
    check_optimizer,
    diverged_cost,
    pack,
    read_history,
    unpack,
)
from nadek.training.stochastic_em import completion_epochs, draw_missing_values
from nadek.training.training_config import (
    HELD_AVERAGE,
    HELD_ROWS,
    EpochPlan,
    Phase,
    TrainingConfig,
    epoch_generator,
    plan_run,
)
from nadek.training.world import ALONE, World
from nadek.utils.atomic import damage_in
from nadek.utils.configs import convert, encode

LOG = logging.getLogger("nadek")
"""Logger of the library: a line of INFO for each epoch, with the fields of `Epoch` as ``extra``."""

CHECKED_ROWS = 256
"""Training rows that check the last epoch's weights where there are no validation rows."""


def fit(
    model: ConditionalModel,
    train: Rows,
    validation: Rows | None = None,
    *,
    config: TrainingConfig,
    teacher: ConditionalModel | None = None,
    trained: bool = False,
    resume: TrainingState | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    save_state: Callable[[TrainingState], None] | None = None,
    save_every: float = 15.0,
    world: World = ALONE,
) -> list[Epoch]:
    """Train a model in place.

    It ends in eval mode with the weights that were best on the validation rows. The caller's gradient mode and autocast
    change nothing. Each epoch is logged at INFO by the logger "nadek".

    Args:
        model: any conditional network, on the device of the rows.
        train: from `nadek.training.prepare`.
        validation: rows to choose the best epoch by, with the same masks every time; None takes the last epoch.
        config: the run.
        teacher: a trained network of the same variables, on the same device: the model learns its distribution of the
            hidden cells instead of their values. Validation looks at the values.
        trained: the model was trained before: its weights are those to beat on the validation rows, and missing values
            that are to be completed are so from the first epoch on.
        resume: state of an interrupted run of the same config, model and rows; the run goes on from there and ends
            with the same weights, to the bit, as one that was never stopped (CPU, same threads).
        on_epoch: called after each epoch.
        save_state: called with the state to save, at the start and at the end of epochs.
        save_every: seconds between two calls of ``save_state``.
        world: the processes that train together, each with all rows: every one calls this with the same arguments, and
            computes the costs of its part of every minibatch. The callbacks are those of process 0. The others end
            with the same weights, to the bit.

    Returns:
        All epochs, those before a resumption included.

    Raises:
        TrainingDivergedError: when a cost or a weight is not finite, or a cost absurd; the model then holds the last
            good weights.
        ValueError: when rows, model, teacher, config, world or state do not fit together, see `nadek.training.checks`.

    Example:
        >>> from nadek import nade_k, prepare
        >>> model, rows = nade_k(2, hidden=(8,)), prepare(torch.tensor([[0, 0], [1, 1]]).repeat(50, 1))
        >>> config, states = TrainingConfig(phases=(Phase(epochs=20),)), []
        >>> history = fit(model, rows, config=config, save_state=states.append, save_every=0.0)
        >>> len(history), history[-1].train[-1] < history[0].train[-1]
        (20, True)
        >>> again = nade_k(2, hidden=(8,))  # goes on from the state after ten epochs, and becomes the same
        >>> len(fit(again, rows, config=config, resume=states[10])), torch.equal(again.W, model.W)
        (20, True)
    """
    check_rows(model, config, train, "training")
    check_weights(model, config)
    check_world(world, config, train)
    check_teacher(model, config, teacher)
    if validation is not None:
        check_rows(model, config, validation, "validation")
    with isolated(train.values.device.type), nullcontext() if teacher is None else eval_mode(teacher):
        run = _Run(model, config, train, validation, teacher, trained, world)
        if resume is not None:
            run.restore(resume)
        last_saved = float("-inf")
        started = time.monotonic() - run.seconds
        while not run.finished:
            if save_state is not None and world.rank == 0 and time.monotonic() - last_saved >= save_every:
                save_state(run.state())
                last_saved = time.monotonic()
            run.epoch(lambda: time.monotonic() - started)
            if world.rank == 0:
                LOG.info("%s", run.history[-1], extra=vars(run.history[-1]))
                if on_epoch is not None:
                    on_epoch(run.history[-1])
        model.load_state_dict(run.weights() if run.best is None else run.best)
        model.eval()
        return run.history


@dataclass
class _Run:
    """A run in progress: model, optimizer, average, best weights and history.

    Before there are best weights, ``last_good`` are those before the last epoch: the newest have not shown their cost.
    """

    model: ConditionalModel
    config: TrainingConfig
    train: Rows
    validation_rows: Rows | None
    teacher: ConditionalModel | None
    trained: bool
    world: World
    history: list[Epoch] = field(default_factory=list)
    best: dict[str, Tensor] | None = None
    best_cost: float | None = None
    since_best: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        config = self.config
        self.plans = plan_run(config, [], 1)
        self.original_rows = self.train, self.validation_rows
        completes = config.missing == "complete" and self.train.observed is not None
        self.completions = completion_epochs(config.epochs, trained=self.trained) if completes else range(0)
        self.average: WeightAverage | None = None
        if (decay := config.average_decay(len(self.train.values))) > 0:
            self.average = WeightAverage(self.model, decay, part=None if config.anneal is None else HELD_AVERAGE)
        self.optimizer = config.optimizer.build(self.model)
        self.smoothing = smoothing_of(self.train, self.model, config)
        self._prepare_validation()
        self._use_weights()
        if self.trained and self.validation is not None:
            self._update_best(self._validation_cost(self._current()))

    def _prepare_validation(self) -> None:
        rows, few = self.validation_rows, {} if self.config.anneal is None else {"min_rows": HELD_ROWS}
        self.validation: Validation | None = None if rows is None else self._with_masks(rows, **few)

    def _use_weights(self) -> None:
        """Set what depends on the model's present weights."""
        self.centre = mean_input(self.model, self.train) if self.config.centred else None
        self.last_good = self.weights()

    @property
    def finished(self) -> bool:
        """True if all epochs are done, or the patience of the last phase is used up."""
        n_done, patience = len(self.history), self.config.patience
        in_last_phase = n_done > max(len(self.plans) - self.plans[-1].phase.epochs, self.completions.start)
        stops = patience is not None and in_last_phase and self.since_best >= patience
        return n_done == len(self.plans) or stops

    def epoch(self, clock: Callable[[], float]) -> None:
        number = len(self.history)
        plan = self.plans[number]
        if plan.begins:
            self.since_best = 0
            if number == plan.held:
                self._measure_best()  # its cost was that after fewer steps
            if plan.phase.fresh:
                self.optimizer = self.config.optimizer.build(self.model)
        if number in self.completions:
            self._complete_rows(number)
        before = self.last_good if self.best is not None else self.weights()
        train = self._train_epoch(plan, number)
        validation = self._validate(plan, number)
        weights = [] if validation is None and self.validation is not None else self._current().state_dict().values()
        self._check_diverged(number, [*train, *(validation or self._check_costs(number))], weights)
        if validation is not None:
            self._update_best(validation[-1])
        self.last_good = before
        self.seconds = clock()
        numbers = (number + 1, len(self.plans))
        self.history.append(Epoch(*numbers, plan.phase.objective, train, validation, self.best_cost, self.seconds))
        if validation is not None:
            self._plan()

    def _plan(self) -> None:
        """Plan the epochs anew; completing rows needs all."""
        if not self.completions:
            costs = [None if epoch.validation is None else epoch.validation[-1] for epoch in self.history]
            self.plans = plan_run(self.config, costs, math.ceil(len(self.train.values) / self.config.batch_size))

    def weights(self) -> dict[str, Tensor]:
        """Copy the weights that training would return now."""
        return {name: value.detach().clone() for name, value in self._current().state_dict().items()}

    def state(self) -> TrainingState:
        info = {
            "history": [asdict(epoch) for epoch in self.history],
            "best_cost": self.best_cost,
            "since_best": self.since_best,
            "seconds": self.seconds,
            "config": encode(self.config),
        }
        extra = {"best": self.best, "good": self.last_good if self.best is None else None}
        if self.completions and self.train.observed is None:
            parts = {"train": self.train, "validation": self.validation_rows}
            extra["completed"] = {name: rows.values for name, rows in parts.items() if rows is not None}
        return pack(self.model, self.optimizer, self.average, extra, info)

    def restore(self, state: TrainingState) -> None:
        check_resumed(self.config, state.info.get("config"))
        with damage_in("the saved training state", "that of this training"):
            check_optimizer(state, self.model, self.config.optimizer.build)
            unpack(state, self.model, self.optimizer, self.average)
            self._use_weights()
            for group in ("best", "good"):
                if weights := state.group(group):
                    check_alike(group, weights, self.model.state_dict())
            self.best = state.group("best") or None
            self.last_good = state.group("good") or self.last_good
            self.history = read_history(state.info)
            self._plan()
            self.best_cost = convert(float | None, state.info["best_cost"], "best_cost")
            self.since_best = convert(int, state.info["since_best"], "since_best")
            self.seconds = convert(float, state.info["seconds"], "seconds")
            if completed := state.group("completed"):
                self.train = self.train.filled(completed["train"])
                if self.validation_rows is not None:
                    self.validation_rows = self.validation_rows.filled(completed["validation"])
                self._prepare_validation()

    def _complete_rows(self, number: int) -> None:
        """Draw the missing values anew; the first time from the best weights, which training goes on from."""
        model, (train, validation), generator = self._current(), self.original_rows, self._generator(number, 1)
        if number == self.completions.start:
            self.since_best = 0
            if self.best is not None:
                self.model.load_state_dict(self.best)
                model.load_state_dict(self.best)
        self.train = draw_missing_values(model, train, generator)
        if validation is None:
            return
        self.validation_rows = draw_missing_values(model, validation, generator)
        self._prepare_validation()
        self._measure_best()  # its cost on the new rows is the one to beat

    def _train_epoch(self, plan: EpochPlan, number: int) -> list[float]:
        """Train on the reshuffled rows; nothing is read back from the device before the end."""
        self.model.train()
        self.world.share(self.model.parameters())
        self.preconditioner = Preconditioner(self.model, self.centre)
        generator = self._generator(number)
        # one process draws dropout from the same generator, as it always did
        dropout = generator if self.world.size == 1 else self._generator(number, 2, self.world.rank)
        device = self.train.values.device
        n_rows = len(self.train.values)
        batches = torch.randperm(n_rows, device=device, generator=generator).split(self.config.batch_size)
        total = torch.zeros(1, dtype=torch.float64, device=device)
        for index, rows in enumerate(batches):
            progress = plan.progress(number, index, len(batches), warmup=self.config.optimizer.warmup)
            for group in self.optimizer.param_groups:
                group.update(self.config.optimizer.settings(progress))
            own = self.world.part(len(rows))
            n_own = own.stop - own.start
            some = own if n_own else slice(1)  # a process without a row computes one that does not count
            batch = draw_batch(self.train, rows, plan.phase, self.config, own=some, generator=generator)
            total = total + self._step(plan.phase, batch, n_own, len(rows), dropout)
        return (self.world.sum(total) / n_rows).tolist()

    def _step(self, phase: Phase, batch: Minibatch, n_own: int, n_rows: int, dropout: torch.Generator) -> Tensor:
        """Train on the own rows of a minibatch, and return their summed costs by step."""
        model, config = self.model, self.config
        costs = batch_costs(
            model, batch, phase, config, teacher=self.teacher, smoothing=self.smoothing, generator=dropout
        )[:, :n_own]
        loss = costs.sum() / (len(costs) * n_rows)  # of a part of the rows, its share of the mean
        if config.l2:
            loss = loss + config.l2 / self.world.size * l2_penalty(model)
        self.optimizer.zero_grad()
        loss.backward()
        self.world.sum_gradients(model)
        self.preconditioner.step(self.optimizer)
        if self.average is not None:
            self.average.update()
        return costs.detach().double().sum(1)

    def _validate(self, plan: EpochPlan, number: int) -> list[float] | None:
        """Return the validation costs if they are due."""
        last = number + 1 == len(self.plans)
        steps = plan.phase.validated_steps
        due = (steps is None or plan.held is not None) and (last or (number + 1) % self.config.validate_every == 0)
        if self.validation is None or not due:
            return None
        return validation_costs(self._current(), self.validation, steps, world=self.world).tolist()

    def _validation_cost(self, model: ConditionalModel) -> float:
        assert self.validation is not None
        return float(validation_costs(model, self.validation, world=self.world)[-1])

    def _check_costs(self, number: int) -> list[float]:
        """Return costs on some training rows after the last epoch, which only they would show to have diverged."""
        if self.validation is not None or number + 1 < len(self.plans):
            return []
        rows = self._with_masks(self.train.select(slice(CHECKED_ROWS)), min_rows=1)
        return validation_costs(self._current(), rows, world=self.world).tolist()

    def _with_masks(self, rows: Rows, **options: int) -> Validation:
        """Draw the last phase's masks for validation rows."""
        law = self.config.mask_distribution(self.config.phases[-1]).law
        return prepare_validation(rows, self.model, self._generator(-1), law=law, **options)

    def _current(self) -> ConditionalModel:
        """Return the model that training would return now: the average, if there is one."""
        return self.model if self.average is None else self.average.current()

    def _update_best(self, cost: float) -> None:
        self.since_best += 1
        if self.best_cost is None or cost < self.best_cost:
            self.best_cost, self.since_best, self.best = cost, 0, self.weights()

    def _measure_best(self) -> None:
        """Measure the cost of the best weights anew."""
        if self.best is not None:
            best = copy.deepcopy(self._current())
            best.load_state_dict(self.best)
            self.best_cost = self._validation_cost(best)

    def _check_diverged(self, number: int, costs: list[float], weights: Iterable[Tensor]) -> None:
        """Raise if the run diverged, with the last good weights in the model."""
        cost = diverged_cost(costs, weights, self.model.n_variables)
        if cost is None:
            return
        self.model.load_state_dict(self.last_good if self.best is None else self.best)
        self.model.eval()
        message = f"training diverged: the cost is {cost:.3g} in epoch {number + 1}. "
        message += f"Lower the learning rate (now {self.config.optimizer.lr:g}), or warm up for longer"
        if takes_bfloat16(self.config, self.train.values.device):
            message += ", or use float32 products (now bfloat16)"
        # the last good weights are an epoch older
        history = self.history if self.best is not None else self.history[:-1]
        raise TrainingDivergedError(message, history, self.model)

    def _generator(self, number: int, *purpose: int) -> torch.Generator:
        return epoch_generator(self.config.seed, number, *purpose, device=self.train.values.device)
