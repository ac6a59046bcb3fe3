"""Checks that rows, model and config fit together."""

import math
from typing import Any

from torch import nn

from nadek.models.base import ConditionalModel
from nadek.models.evaluation import check_model
from nadek.models.model_config import check_every_ordering
from nadek.training.prepare import Rows
from nadek.training.training_config import TrainingConfig
from nadek.training.world import World
from nadek.utils.configs import decode, difference, encode


def check_rows(model: ConditionalModel, config: TrainingConfig, rows: Rows, what: str) -> None:
    """Check that model and config fit the rows."""
    check_model(model)
    if not isinstance(rows, Rows):
        raise TypeError(f"expected {what} rows made by nadek.prepare, found {type(rows).__name__}")
    if rows.values.shape[1] != model.n_variables:
        raise ValueError(f"expected {model.n_variables} columns in the {what} rows, found {rows.values.shape[1]}")
    _check_levels(model, rows, what)
    if config.mirror is not None and (math.prod(config.mirror) != model.n_variables or len(set(model.levels)) > 1):
        expected = f"height and width of {model.n_variables} pixels of equal levels"
        raise ValueError(f"mirror: expected {expected}, found {config.mirror}")
    if config.stride > model.n_variables:
        raise ValueError(f"stride: expected at most {model.n_variables}, the number of columns, found {config.stride}")
    objectives = {phase.objective for phase in config.phases}
    if model.config.ordering is not None and objectives != {"fixed_order"}:
        raise ValueError("a model with one fixed ordering is trained with the fixed_order objective")
    if model.config.ordering is None and "fixed_order" in objectives:
        raise ValueError("the fixed_order objective needs a model with an ordering (see nadek.nade)")
    if "fixed_order" in objectives and rows.observed is not None:
        raise ValueError(f"the fixed_order objective needs rows without missing values, found some in the {what} rows")


def _check_levels(model: ConditionalModel, rows: Rows, what: str) -> None:
    if rows.values.is_floating_point() and model.variables.knots is None:
        raise ValueError(f"the {what} rows were prepared with knots, which the model does not have")
    top = rows.values.amax(0).tolist() if len(rows.values) else []
    for column, (level, levels) in enumerate(zip(top, model.levels, strict=False)):
        if level >= levels:
            raise ValueError(
                f"column {rows.name(column)} of the {what} rows: expected codes from 0 to {levels - 1}, "
                f"as the model knows {levels} levels, found {level}"
            )


def check_weights(model: ConditionalModel, config: TrainingConfig) -> None:
    """Check that gradients can reach the weights; some may be frozen."""
    if any(value.is_inference() for value in model.parameters()):
        raise ValueError("expected a model made outside torch.inference_mode, whose weights have no gradients")
    frozen = {name for name, value in model.named_parameters() if not value.requires_grad}
    if frozen == {name for name, _ in model.named_parameters()}:
        raise ValueError("expected a model with weights to learn, found all frozen (requires_grad is False)")
    weights = {name: getattr(model, name, None) for name in ("W", "A", "V")}
    computed = [name for name, value in weights.items() if not isinstance(value, nn.Parameter | None)]
    if computed and (config.centred or getattr(model.config, "ordinal", None)):
        expected = f"expected {computed[0]} to be learnt itself, as for centring and variables in an order"
        raise ValueError(f"{expected}, found it computed from others, as pruned weights are")
    if config.centred and (fixed := sorted(frozen & {"W", "A", "c"})):
        raise ValueError(f"centred: expected W, A and c to be learnt, found {fixed[0]} frozen (requires_grad is False)")


def check_world(world: World, config: TrainingConfig, rows: Rows) -> None:
    """Check that each process has rows of a minibatch."""
    if (n_rows := min(config.batch_size, len(rows.values))) < world.size:
        raise ValueError(
            f"world: expected a row of each minibatch for each of {world.size} processes, found minibatches of {n_rows}"
        )


def check_teacher(model: ConditionalModel, config: TrainingConfig, teacher: ConditionalModel | None) -> None:
    """Check that a teacher, if there is one, is another network of the same variables.

    It and the objectives of the run are of every ordering.
    """
    if teacher is None:
        return
    if teacher is model:
        raise ValueError("teacher: expected another network, found the model itself: copy.deepcopy makes one of it")
    if teacher.levels != model.levels:
        raise ValueError(
            f"teacher: expected {_describe_variables(model)} as in the model, found {_describe_variables(teacher)}"
        )
    if teacher.variables.knots != model.variables.knots:
        raise ValueError("teacher: expected the same knots of numbers as in the model, found others")
    check_every_ordering(teacher.config, "teacher")
    if any(phase.objective == "fixed_order" for phase in config.phases):
        raise ValueError("teacher: expected objectives over all orderings, found fixed_order")


def _describe_variables(model: ConditionalModel) -> str:
    levels = set(model.levels)
    text = f"{min(levels)}" if len(levels) == 1 else f"{min(levels)} to {max(levels)}"
    return f"{model.n_variables} variables of {text} levels"


def check_resumed(config: TrainingConfig, saved: Any) -> None:  # noqa: ANN401 - whatever JSON held
    """Check that a saved state belongs to a run of the same config."""
    encoded = encode(config)
    if saved is None or saved == encoded:
        return
    if (different := difference(encode(decode(TrainingConfig, saved)), encoded)) is not None:
        name, old, new = different
        raise ValueError(f"resume: expected the state of a run with {name} {new!r}, found one of a run with {old!r}")
