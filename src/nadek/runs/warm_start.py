"""Trained models that a training builds on: one whose weights it begins with, one that teaches."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nadek.checkpoints import load_saved
from nadek.tabular.schema import Schema
from nadek.models.base import ConditionalModel
from nadek.utils.configs import difference, encode
from nadek.runs.recipe import Recipe, trained_alike
from nadek.training import check_teacher


@dataclass(frozen=True)
class Beginning:
    """What the weights of a training begin as, in place of random ones.

    Attributes:
        begin: overwrites the weights of a network.
        digest: tells it from another beginning; None where it is not there (any more, or yet).
    """

    begin: Callable[[ConditionalModel], object]
    digest: Callable[[], str | None]


def begin_as_model(model: ConditionalModel, start: str | os.PathLike[str], schema: Schema) -> None:
    """Let a network begin with the weights of a trained model of the same structure and columns.

    Args:
        model: the network; its weights are overwritten.
        start: folder of the trained model, or the name of one that comes with the package.
        schema: what the columns are that the network will be trained on.

    Raises:
        FileNotFoundError: if there is no such model.
        ValueError: if its structure or its columns are others; names the first option that differs.
    """
    saved = load_saved(start)
    trained = saved.model.base_model
    differs = difference(encode(trained_alike(trained.config)), encode(trained_alike(model.config)))
    if differs is not None:
        option, there, here = differs
        told = f"model.{option} is {_shown(there)} there and {_shown(here)} in the recipe"
        raise ValueError(f"start: expected a model of the recipe's structure, found another in {start}: {told}")
    _check_columns("start", start, saved.schema, schema)
    model.load_state_dict(trained.state_dict())


def teacher_of(model: ConditionalModel, recipe: Recipe, schema: Schema) -> ConditionalModel | None:
    """Load the model that a recipe has a network learn from; None where it names none.

    Args:
        model: the network; its teacher will live where it does.
        recipe: how it will be trained.
        schema: what the columns are that it will be trained on.

    Raises:
        FileNotFoundError: if there is no such model.
        ValueError: if its variables or its columns are others, and as `nadek.training.check_teacher`.
    """
    if recipe.teacher is None:
        return None
    saved = load_saved(recipe.teacher, device=model.b.device)
    check_teacher(model, recipe.training, saved.model)
    _check_columns("teacher", recipe.teacher, saved.schema, schema)
    return saved.model


def _check_columns(option: str, where: str | os.PathLike[str], found: Schema, expected: Schema) -> None:
    """Refuse a model whose codes mean something else, as far as both sides tell what they mean."""
    for what in ("columns", "kinds"):
        here, there = getattr(expected, what), getattr(found, what)
        if here is not None and there is not None and here != there:
            raise ValueError(f"{option}: expected a model of the same columns, found other {what} in {where}")


def _shown(value: Any) -> str:  # noqa: ANN401 - of any option
    """A value in a message; a level for each column would fill pages."""
    text = "not given" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
