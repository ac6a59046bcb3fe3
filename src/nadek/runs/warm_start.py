"""Trained models that a training builds on: initial weights and teachers."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import torch

from nadek.checkpoints import load_saved
from nadek.models.base import ConditionalModel
from nadek.models.registry import build_meta
from nadek.runs.recipe import trained_alike
from nadek.tabular.schema import Schema
from nadek.training import Recipe, check_teacher
from nadek.utils.configs import difference, encode


@dataclass(frozen=True)
class Beginning:
    """Writer of initial weights, and their digest."""

    begin: Callable[[ConditionalModel], object]
    digest: Callable[[], str | None]


def begin_as_model(model: ConditionalModel, start: str | os.PathLike[str], schema: Schema) -> None:
    """Copy a trained model's weights into a network like it."""
    saved = load_saved(start)
    trained = saved.model.base_model
    first = difference(encode(trained_alike(trained.config)), encode(trained_alike(model.config)))
    if first is not None:
        option, there, here = first
        message = f"model.{option} is {_shown(there)} there and {_shown(here)} in the recipe"
        raise ValueError(f"start: expected a model of the recipe's structure, found another in {start}: {message}")
    _check_columns("start", start, saved.schema, schema)
    model.load_state_dict(trained.state_dict())


def teacher_of(recipe: Recipe, schema: Schema, device: torch.device) -> ConditionalModel | None:
    """Load a recipe's teacher; None without one."""
    if recipe.teacher is None:
        return None
    saved = load_saved(recipe.teacher, device=device)
    check_teacher(build_meta(recipe.model), recipe.training, saved.model)
    _check_columns("teacher", recipe.teacher, saved.schema, schema)
    return saved.model


def _check_columns(option: str, where: str | os.PathLike[str], schema: Schema, expected: Schema) -> None:
    """Refuse a model of other columns or types."""
    for what in ("columns", "kinds"):
        here, there = getattr(expected, what), getattr(schema, what)
        if here is not None and there is not None and here != there:
            raise ValueError(f"{option}: expected a model of the same columns, found other {what} in {where}")


def _shown(value: object) -> str:
    """Return a value for messages, cut to 60 characters."""
    text = "not given" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
