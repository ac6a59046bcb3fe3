"""The training loop: phases of epochs of minibatches, and the weights that did best on validation rows."""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from nadek.inference.order_agnostic import l2_penalty, reduce
from nadek.models.base import ConditionalModel
from nadek.training.batch_loss import BatchLoss
from nadek.training.checks import check_resumed, check_rows, check_teacher, check_weights
from nadek.training.divergence import TrainingDivergedError, advice, diverged_cost
from nadek.training.history import Epoch
from nadek.training.isolation import isolated
from nadek.training.ordinal_preconditioning import neighbourly
from nadek.training.preconditioning import centre_of, centred
from nadek.training.prepare import Rows
from nadek.training.schedule import Turn, randomness, turns
from nadek.training.state import TrainingState, pack, unpack, weights_in
from nadek.training.stochastic_em import begins, completed, due
from nadek.training.training_config import Phase, TrainingConfig
from nadek.training.validation import Validation, ordering_of, prepare_validation, validation_costs
from nadek.utils.configs import encode

LOOKED_AT = 256
"""Training rows that the weights of the last epoch are looked at with, where there are no validation rows."""


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
) -> list[Epoch]:
    """Train a model in place; it ends in eval mode with the best weights that validation saw (else the last).

    Gradients that are switched off around it, and an autocast, change nothing.

    Args:
        model: any conditional network, on the device of the rows.
        train: from `nadek.training.prepare`.
        validation: rows to choose the best epoch by, with the same masks every time; None takes the last epoch.
        config: the run.
        teacher: a trained network of the same variables, on the same device: the model learns what it expects of hidden
            cells instead of what they hold (see `nadek.inference.order_agnostic.step_costs`). Validation looks at
            what they hold.
        trained: the model knows such rows already: its weights are those to beat on the validation rows, and holes that
            are to be completed are so from the first epoch on.
        resume: the state that an interrupted run of the same config, model and rows left; the run goes on from
            there and ends with the same weights, to the bit, as one that was never stopped (CPU, same threads).
        on_epoch: told what happened after each epoch.
        save_state: given the state to keep, at the end of an epoch; called at the start too.
        save_every: seconds between two calls of ``save_state``.

    Returns:
        What happened in every epoch, those before a resumption included.

    Raises:
        TrainingDivergedError: when a cost or a weight is not finite, or a cost absurd; the model then holds the last
            good weights.
        ValueError: on rows of another width than the model's, on holes that are refused, on an objective or a teacher
            that does not fit the model or the rows, on weights that cannot be learnt, and on the state of a run of
            another config or model.
    """
    check_rows(model, config, train, "training")
    check_weights(model, config)
    check_teacher(model, config, teacher)
    if validation is not None:
        check_rows(model, config, validation, "validation")
    with isolated(train.values.device.type):
        run = _Run(model, config, train, validation, teacher, trained)
        if resume is not None:
            run.restore(resume)
        last_saved = -np.inf
        started = time.monotonic() - run.seconds
        while not run.finished:
            if save_state is not None and time.monotonic() - last_saved >= save_every:
                save_state(run.state())
                last_saved = time.monotonic()
            run.epoch(lambda: time.monotonic() - started)
            if on_epoch is not None:
                on_epoch(run.history[-1])
        model.load_state_dict(run.weights() if run.best is None else run.best)
        model.eval()
        return run.history


@dataclass
class _Run:
    """What changes while training, and how an epoch changes it."""

    model: ConditionalModel
    config: TrainingConfig
    train: Rows
    validation_rows: Rows | None
    teacher: ConditionalModel | None
    trained: bool
    history: list[Epoch] = field(default_factory=list)
    best: dict[str, Tensor] | None = None
    best_cost: float | None = None
    since_best: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.turns = turns(self.config.phases)
        ordering: Tensor | None = None
        if "fixed_order" in {phase.objective for phase in self.config.phases}:
            ordering = ordering_of(self.model)
        self.lessons = BatchLoss(self.model, self.config, self.teacher, ordering)
        self.given = self.train, self.validation_rows
        holes = self.config.missing == "complete" and self.train.observed is not None
        self.completing_from = begins(self.config.epochs, trained=self.trained) if holes else None
        self._prepare_validation()
        self.average: AveragedModel | None = None
        if (decay := self.config.average_decay(len(self.train.values))) > 0:
            self.average = AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(decay))
        if self.teacher is not None:
            self.teacher.eval()
        self.optimizer = self.config.optimizer.build(self.model)
        self._look_at_model()
        if self.trained and self.validation is not None:
            self._keep_best(validation_costs(self._current(), self.validation).tolist()[-1])

    def _prepare_validation(self) -> None:
        """What follows from the validation rows that there are now."""
        self.validation: Validation | None = None
        if self.validation_rows is not None:
            self.validation = self._looking_at(self.validation_rows)

    def _look_at_model(self) -> None:
        """What follows from the weights that the model has now."""
        self.centre = centre_of(self.model, self.train) if self.config.centred else None
        self.last_good = self.weights()

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or the last phase's patience is used up."""
        n_done = len(self.history)
        patience = self.config.patience
        in_last_phase = n_done > max(self.config.epochs - self.config.phases[-1].epochs, self.completing_from or 0)
        return n_done == self.config.epochs or (patience is not None and in_last_phase and self.since_best >= patience)

    def epoch(self, clock: Callable[[], float]) -> None:
        """Train one epoch, validate, and remember what happened."""
        number = len(self.history)
        turn = self.turns[number]
        if turn.begins:
            self.since_best = 0
            if turn.phase.fresh:
                self.optimizer = self.config.optimizer.build(self.model)
        if self.completing_from is not None and due(number, self.config.epochs, self.completing_from):
            self._complete(number)
        before = self.weights()
        train = self._train(turn, number)
        validation = self._validate(turn, number)
        self._check_sane(number, [*train, *(validation or self._last_look(number))])
        if validation is not None:
            self._keep_best(validation[-1])
        self.last_good = before  # those after the epoch have not shown their cost yet
        self.seconds = clock()
        numbers = (number + 1, self.config.epochs)
        self.history.append(Epoch(*numbers, turn.phase.objective, train, validation, self.best_cost, self.seconds))

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights that a user would get now."""
        return {name: value.detach().clone() for name, value in self._current().state_dict().items()}

    def state(self) -> TrainingState:
        """All that `restore` needs."""
        info = {
            "history": [epoch.asdict() for epoch in self.history],
            "best_cost": self.best_cost,
            "since_best": self.since_best,
            "seconds": self.seconds,
            "config": encode(self.config),
        }
        kept = {"best": self.best, "good": self.last_good if self.best is None else None}
        if self.completing_from is not None and self.train.observed is None:
            parts = {"train": self.train, "validation": self.validation_rows}
            kept["completed"] = {name: rows.values for name, rows in parts.items() if rows is not None}
        return pack(self.model, self.optimizer, self.average, kept, info)

    def restore(self, state: TrainingState) -> None:
        """Go on from a saved state."""
        check_resumed(self.config, state.info.get("config"))
        unpack(state, self.model, self.optimizer, self.average)
        self._look_at_model()
        self.best = weights_in(state, "best")
        self.last_good = weights_in(state, "good") or self.last_good
        self.history = [Epoch(**epoch) for epoch in state.info["history"]]
        self.best_cost, self.since_best = state.info["best_cost"], state.info["since_best"]
        self.seconds = state.info["seconds"]
        if kept := weights_in(state, "completed"):
            self.train = self.train.filled(kept["train"])
            if self.validation_rows is not None:
                self.validation_rows = self.validation_rows.filled(kept["validation"])
            self._prepare_validation()

    def _complete(self, number: int) -> None:
        """Fill the holes of the rows with new draws, the first time those of the best weights, and go on from these."""
        model, (train, validation), generator = self._current(), self.given, self._generator(number, 1)
        if number == self.completing_from:
            self.since_best = 0
            if self.best is not None:
                self.model.load_state_dict(self.best)
                model.load_state_dict(self.best)
        self.train = completed(model, train, generator)
        if validation is None:
            return
        self.validation_rows = completed(model, validation, generator)
        self._prepare_validation()
        if self.best is not None and self.validation is not None:  # what was best is looked at again on the new rows
            best = copy.deepcopy(model)
            best.load_state_dict(self.best)
            self.best_cost = validation_costs(best, self.validation).tolist()[-1]

    def _train(self, turn: Turn, number: int) -> list[float]:
        """One pass over the reshuffled rows; nothing is read back from the device until its end."""
        self.model.train()
        generator = self._generator(number)
        device = self.train.values.device
        n_rows = len(self.train.values)
        batches = torch.randperm(n_rows, device=device, generator=generator).split(self.config.batch_size)
        total = torch.zeros(1, dtype=torch.float64, device=device)
        for index, places in enumerate(batches):
            progress = turn.progress(number, index, len(batches), warmup=self.config.optimizer.warmup)
            for group in self.optimizer.param_groups:
                group.update(self.config.optimizer.settings(progress))
            total = total + self._step(turn.phase, places, generator)
        return (total / n_rows).tolist()

    def _step(self, phase: Phase, places: Tensor, generator: torch.Generator) -> Tensor:
        """One minibatch; returns the summed cost after every step of the network that the phase counts."""
        costs = self.lessons.costs(self.train, places, phase, generator)
        loss = reduce(costs, phase.objective)
        if self.config.l2:
            loss = loss + self.config.l2 * l2_penalty(self.model)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        with centred(self.model, self.centre), neighbourly(self.model):
            self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        return costs.detach().double().sum(1)

    def _validate(self, turn: Turn, number: int) -> list[float] | None:
        """Costs on the validation rows, every so many epochs and after the last, in phases of all steps."""
        last = number + 1 == self.config.epochs
        due = turn.phase.steps is None and (last or (number + 1) % self.config.validate_every == 0)
        if self.validation is None or not due:
            return None
        return validation_costs(self._current(), self.validation).tolist()

    def _last_look(self, number: int) -> list[float]:
        """Costs on some training rows after the last epoch: no other one would show what its last minibatch did."""
        if self.validation is not None or number + 1 < self.config.epochs:
            return []
        return validation_costs(self._current(), self._looking_at(self.train.first(LOOKED_AT), at_least=1)).tolist()

    def _looking_at(self, rows: Rows, **options: int) -> Validation:
        """Rows to look at the weights with, as the last phase asks."""
        last = self.config.phases[-1]
        return prepare_validation(rows, self.model, last.objective, self._generator(-1), masks=last.hides, **options)

    def _current(self) -> ConditionalModel:
        """The model that a user would get now: the averaged one where an average is kept."""
        if self.average is None:
            return self.model
        averaged: ConditionalModel = self.average.module  # type: ignore[assignment]
        return averaged

    def _keep_best(self, cost: float) -> None:
        self.since_best += 1
        if self.best_cost is None or cost < self.best_cost:
            self.best_cost, self.since_best, self.best = cost, 0, self.weights()

    def _check_sane(self, number: int, costs: list[float]) -> None:
        """Stop on costs or weights that are not finite, or absurd costs, leaving the last good weights in the model."""
        cost = diverged_cost(costs, self._current().state_dict().values(), self.model.n_variables)
        if cost is None:
            return
        self.model.load_state_dict(self.last_good if self.best is None else self.best)
        self.model.eval()
        told = f"training diverged: the cost is {cost:.3g} in epoch {number + 1}"
        known = self.history if self.best is not None else self.history[:-1]  # the last good weights are an epoch older
        raise TrainingDivergedError(f"{told}. {advice(self.config)}", known)

    def _generator(self, number: int, *what: int) -> torch.Generator:
        return randomness(self.config.seed, number, *what, device=self.train.values.device)
