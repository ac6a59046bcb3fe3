"""Whether rows, model and run fit together, before a long training begins."""

import math
from typing import Any

from nadek.models.base import ConditionalModel, check_network
from nadek.training.prepare import Rows
from nadek.training.training_config import TrainingConfig
from nadek.utils.configs import decode, difference, encode


def check_rows(model: ConditionalModel, config: TrainingConfig, rows: Rows, what: str) -> None:
    """Refuse rows that this model, or this run, cannot learn from.

    Args:
        model: the model to be.
        config: the run.
        rows: its rows.
        what: what messages call them.

    Raises:
        TypeError: on a model that is no network, and on rows that `nadek.training.prepare` did not make.
        ValueError: on another width than the model's, on codes that it does not know, on holes that are refused, and on
            an objective that does not fit the model or the rows.
    """
    check_network(model)
    if not isinstance(rows, Rows):
        raise TypeError(f"expected {what} rows made by nadek.prepare, found {type(rows).__name__}")
    if rows.values.shape[1] != model.n_variables:
        raise ValueError(f"expected {model.n_variables} columns in the {what} rows, found {rows.values.shape[1]}")
    top = rows.values.amax(0).tolist() if len(rows.values) else []
    for column, (level, levels) in enumerate(zip(top, model.levels, strict=False)):
        if level >= levels:
            told = f"expected codes from 0 to {levels - 1}, as the model knows {levels} levels, found {level}"
            raise ValueError(f"column {rows.name(column)} of the {what} rows: {told}")
    if config.mirror is not None and math.prod(config.mirror) != model.n_variables:
        raise ValueError(f"mirror: expected height and width of {model.n_variables} pixels, found {config.mirror}")
    if config.stride > model.n_variables:
        raise ValueError(f"stride: expected at most {model.n_variables}, the number of columns, found {config.stride}")
    objectives = {phase.objective for phase in config.phases}
    if model.config.ordering is not None and objectives != {"fixed_order"}:
        raise ValueError("a model with one fixed ordering is trained with the fixed_order objective")
    if "fixed_order" in objectives and rows.observed is not None:
        raise ValueError(f"the fixed_order objective needs rows without missing values, found some in the {what} rows")
    if config.missing == "refuse" and (rows.observed is not None or rows.n_skipped):
        raise ValueError(f'missing values are refused (missing = "refuse"), found {_holes(rows, what)}')


def check_weights(model: ConditionalModel, config: TrainingConfig) -> None:
    """Refuse weights that no gradient can reach; some of them may be frozen.

    Args:
        model: the model to be.
        config: the run.

    Raises:
        ValueError: on tensors that were made under `torch.inference_mode`, where nothing is left to learn, and on
            frozen weights that the option ``centred`` moves; names them.
    """
    for name, value in (*model.named_parameters(), *model.named_buffers()):
        if value.is_inference():
            told = f"found {name} made under torch.inference_mode, which cannot be"
            raise ValueError(f"expected a model that can be trained, {told}: build or load the model outside of it")
    frozen = {name for name, value in model.named_parameters() if not value.requires_grad}
    if frozen == {name for name, _ in model.named_parameters()}:
        raise ValueError("expected a model with weights to learn, found all frozen (requires_grad is False)")
    if config.centred and (held := sorted(frozen & {"W", "A", "c"})):
        raise ValueError(f"centred: expected W, A and c to be learnt, found {held[0]} frozen (requires_grad is False)")


def check_teacher(model: ConditionalModel, config: TrainingConfig, teacher: ConditionalModel | None) -> None:
    """Refuse a teacher that cannot tell this model what it is to learn.

    Args:
        model: the model to be.
        config: the run.
        teacher: the trained network; None where there is none.

    Raises:
        ValueError: on the model itself, on other variables, on one that knows one ordering only, and on an objective
            that has no use for it.
    """
    if teacher is None:
        return
    if teacher is model:
        raise ValueError("teacher: expected another network, found the model itself: copy.deepcopy makes one of it")
    if teacher.levels != model.levels:
        raise ValueError(f"teacher: expected {_variables(model)} as in the model, found {_variables(teacher)}")
    if teacher.config.ordering is not None:
        raise ValueError("teacher: expected a model of every ordering, found one that knows one ordering only")
    if any(phase.objective == "fixed_order" for phase in config.phases):
        raise ValueError("teacher: expected objectives over all orderings, found fixed_order")


def _variables(model: ConditionalModel) -> str:
    """The variables of a model, in words."""
    levels = set(model.levels)
    told = f"{min(levels)}" if len(levels) == 1 else f"{min(levels)} to {max(levels)}"
    return f"{model.n_variables} variables of {told} levels"


def _holes(rows: Rows, what: str) -> str:
    """Which values are missing, in words."""
    if rows.observed is None:
        return f"{rows.n_skipped} {what} rows without any value"
    missing = (~rows.observed).sum(0)
    column = int(missing.nonzero()[0])
    return f"{int(missing[column])} in column {rows.name(column)} of the {what} rows"


def check_resumed(config: TrainingConfig, kept: Any) -> None:  # noqa: ANN401 - whatever JSON held
    """Refuse to go on with what a run of another config left.

    Args:
        config: of the run that is to go on.
        kept: what `nadek.utils.configs.encode` made of the config of the run that was stopped; options that came
        after it
            was written are at their defaults in it. None: not known, and let through.

    Raises:
        ValueError: names the first option that differs.
    """
    told = encode(config)
    if kept is None or kept == told:
        return
    if (found := difference(encode(decode(TrainingConfig, kept)), told)) is not None:
        name, was, now = found
        raise ValueError(f"resume: expected the state of a run with {name} {now!r}, found one of a run with {was!r}")
