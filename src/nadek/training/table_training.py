"""The one path from the rows of a table to a trained network.

The command line and the estimators both end in `fit_table`. The first adds files and resuming, the second chooses
the recipe from the table (`nadek.training.defaults`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from nadek.models.base import ConditionalModel
from nadek.models.evaluation import isolated
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.model_config import NetworkConfig, check_every_ordering
from nadek.models.registry import build
from nadek.training.fit_factors import fit_factors
from nadek.training.fit_memory import Gain, add_memory
from nadek.training.fit_sharpness import fit_sharpness
from nadek.training.loop import fit
from nadek.training.prepare import Rows, column_means
from nadek.training.state import Epoch, TrainingState
from nadek.training.training_config import TrainingConfig
from nadek.utils.configs import convert_options

ENOUGH_ROWS = 50
"""Validation rows from which on an optional memory is tried."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model and its training; see the example of `fit_table`.

    Attributes:
        model: structure of the network.
        training: the run.
        seed: of the initial weights (the training has its own).
        start: initial weights: a trained model of the same structure, by its folder or the name of one that comes with
            the package; or, in a row of the paper's tables, the RBM of another row, "TABLE/ROW". None draws random
            ones.
        teacher: a model to learn from: the name of one that comes with the package, or a folder. The network learns
            the probabilities that it gives to hidden cells, not the values of these cells.
        memory: keep the training rows beside the trained network (see `nadek.models.memory`). Validation rows decide
            how far they are trusted.
        notes: reasons, for people.
    """

    model: NetworkConfig
    training: TrainingConfig = field(default_factory=TrainingConfig)
    seed: int = 0
    start: str | None = None
    teacher: str | None = None
    memory: bool = False
    notes: str = ""

    def __post_init__(self) -> None:
        convert_options(self)
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed: expected a whole number from 0 to 2**63 - 1, found {self.seed}")


@dataclass(frozen=True)
class FittedTable:
    """A trained network, returned by `fit_table`.

    Attributes:
        network: with its memory, if it has one.
        history: costs of every epoch.
        gain: effect of the memory that was fitted; None without one.
        n_remembered: rows in that memory.
    """

    network: ConditionalModel
    history: list[Epoch]
    gain: Gain | None = None
    n_remembered: int = 0


@isolated(dtype=torch.float32)
def fit_table(
    recipe: Recipe,
    rows: Rows,
    validation: Rows | None = None,
    *,
    start: Callable[[ConditionalModel], object] | None = None,
    teacher: ConditionalModel | None = None,
    optional_memory: bool = False,
    resume: TrainingState | None = None,
    **options: Any,  # noqa: ANN401 - those of `fit`
) -> FittedTable:
    """Return a network, built and trained, with its memory.

    The names in ``recipe.start`` and ``recipe.teacher`` are not read: the caller loads them.

    Args:
        recipe: model, training, seed and memory.
        rows: training rows, from `prepare`.
        validation: rows that choose the best epoch, and the trust in a memory.
        start: writes initial weights into the network; not called where ``resume`` is given.
        teacher: see `nadek.training.fit`.
        optional_memory: leave the memory out where it is not worth its cost, or there are fewer than `ENOUGH_ROWS`
            validation rows.
        resume: see `nadek.training.fit`.
        **options: ``on_epoch``, ``save_state``, ``save_every`` and ``world`` of `nadek.training.fit`.

    Raises:
        ValueError: if a memory has no validation rows or the model one ordering only, and as `nadek.training.fit`.
        TrainingDivergedError: as `nadek.training.fit`.

    Example:
        >>> from nadek import ImageConfig, prepare
        >>> from nadek.training import Phase
        >>> model = ImageConfig(image_shape=(2, 2), channels=(4,), dense=0)
        >>> recipe = Recipe(model=model, training=TrainingConfig(phases=(Phase(epochs=2),)), seed=1)
        >>> last_metrics(fit_table(recipe, prepare(torch.eye(4))).history)["epochs"]
        2
    """
    if recipe.memory and not optional_memory and validation is None:
        raise ValueError("memory: expected validation rows, which decide how far it is trusted; found none")
    if recipe.memory and not optional_memory and rows.weights is not None:
        raise ValueError("memory: expected rows that count alike, found weights, which a memory does not know")
    if recipe.memory:
        check_every_ordering(recipe.model, "memory")
    device = rows.values.device
    weights = torch.Generator().manual_seed(recipe.seed)
    parts = ((_levels(part), part.counted.cpu()) for part in rows.parts())
    mean = column_means(parts, recipe.model.levels or (2,) * recipe.model.n_variables)
    network = build(recipe.model, mean, generator=weights).to(device)
    if recipe.model.factors and resume is None:
        assert isinstance(network, IterativeNADE)
        fit_factors(network, rows)
    if start is not None and resume is None:
        start(network)
    history = fit(
        network,
        rows,
        validation,
        config=recipe.training,
        teacher=teacher,
        trained=start is not None,
        resume=resume,
        **options,
    )
    if validation is not None and recipe.model.knots is not None and recipe.model.ordering is None:
        assert isinstance(network, IterativeNADE)
        law = recipe.training.mask_distribution(recipe.training.phases[-1]).law
        fit_sharpness(network, validation, law=law, generator=torch.Generator(device).manual_seed(recipe.seed))
    least = ENOUGH_ROWS if optional_memory else 1
    if not recipe.memory or validation is None or len(validation.values) < least or rows.weights is not None:
        return FittedTable(network, history)
    model, gain = add_memory(network, rows, validation, generator=torch.Generator(device).manual_seed(recipe.seed))
    use_memory = gain.is_worth_it or not optional_memory
    return FittedTable(model if use_memory else network, history, gain, model.config.n_rows)


def last_metrics(history: Sequence[Epoch], *, diverged: bool = False) -> dict[str, Any]:
    """Return what a saved model says about its training, except the history.

    Args:
        history: at least one epoch; see the example of `fit_table`.
        diverged: the training ended with a `TrainingDivergedError`.
    """
    last = history[-1]
    return {"epochs": last.epoch, "seconds": last.seconds, "best_validation": last.best, "diverged": diverged}


def _levels(rows: Rows) -> Tensor:
    """Return nearest levels on the CPU, NaN where missing."""
    values = rows.values.cpu().float().round()
    return values if rows.observed is None else values.masked_fill(~rows.observed.cpu(), torch.nan)
