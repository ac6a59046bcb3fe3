"""Recipes from TOML files, options of the command line, and the shape of a table."""

import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from nadek.models import ModelConfig
from nadek.models.base import Structure
from nadek.models.unet_config import ImageConfig
from nadek.runs.data import Source
from nadek.tabular.columns import n_levels, ordinal
from nadek.training import Recipe as Recipe
from nadek.training.defaults import defaults
from nadek.training.defaults import phases as default_phases
from nadek.utils.configs import decode, encode

_KINDS = {"model": {"core": {"kind": "deep"}}, "training": {"optimizer": {"kind": "adamw"}}}
"""Default kinds of core and optimizer."""


def trained_alike(model: Structure) -> Structure:
    """Return the structure that decides about the weights; the rest is for training."""
    if isinstance(model, ImageConfig):
        return replace(model, dropout=0.0)
    assert isinstance(model, ModelConfig)
    return replace(model, init_std=None, ordinal=None, core=replace(model.core, dropout=0.0))


def is_recipe(recipe: Recipe, record: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return True if a record is of this recipe, whatever its notes say.

    Options that are newer than the record are at their defaults in it.
    """
    try:
        return record == encode(recipe) or _without_notes(decode(Recipe, record)) == _without_notes(recipe)
    except ValueError:
        return False


def _without_notes(recipe: Recipe) -> dict[str, Any]:
    return encode(replace(recipe, notes=""))


def read_recipe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the options in a TOML file, not yet checked (see `make_recipe`).

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is not TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no recipe at {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put a file's name before an error's message."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def make_recipe(
    options: Mapping[str, Any], *, n_variables: int, image_shape: tuple[int, int] | None = None, where: str = ""
) -> Recipe:
    """Make a recipe from options, and check them.

    Without a ``kind``, a core is deep, an optimizer is AdamW, and a model is the paper's network.

    Args:
        options: model, training, seed and notes.
        n_variables: D.
        image_shape: height and width of rows that are images; default of a network of images.
        where: file of the options, for the messages.

    Raises:
        ValueError: on an unknown option or a value that does not fit; names it by its path.
    """
    try:
        options = merge({"model": {"n_variables": n_variables}}, with_kinds(options))
        if image_shape is not None and is_of_images(options):
            options = merge({"model": {"kind": "images", "image_shape": image_shape}}, options)
        recipe = decode(Recipe, options)
        if recipe.model.n_variables != n_variables:
            raise ValueError(f"the recipe is for {recipe.model.n_variables} variables, the data have {n_variables}")
    except ValueError as error:
        raise ValueError(f"{where}: {error}" if where else str(error)) from None
    return recipe


def with_kinds(options: Mapping[str, Any]) -> dict[str, Any]:
    """Add the default kinds of core and optimizer.

    Example:
        >>> with_kinds({"model": {"core": {"hidden": [8]}}})["model"]
        {'core': {'kind': 'deep', 'hidden': [8]}}
    """
    return merge(_KINDS, options)


def is_of_images(options: Mapping[str, Any]) -> bool:
    """Return True if options describe an image network."""
    model = options.get("model")
    return isinstance(model, Mapping) and model.get("kind") == "images"


def merge(options: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Lay changes over options; another ``kind`` replaces its table.

    Example:
        >>> merge({"model": {"steps": 5, "tied": True}}, {"model": {"steps": 2}})
        {'model': {'steps': 2, 'tied': True}}
    """
    merged = dict(options)
    for key, value in changes.items():
        old = merged.get(key)
        if not (isinstance(old, Mapping) and isinstance(value, Mapping)):
            merged[key] = value
        elif value.get("kind", old.get("kind")) != old.get("kind"):
            merged[key] = dict(value)
        else:
            merged[key] = merge(old, value)
    return merged


def joined(options: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Join options table by table, whatever their ``kind``.

    Example:
        >>> joined({"model": {"steps": 2}}, {"model": {"kind": "images"}})
        {'model': {'steps': 2, 'kind': 'images'}}
    """
    both = dict(options)
    for key, value in more.items():
        old = both.get(key)
        both[key] = joined(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return both


def choose_recipe(
    rows: Source,
    options: Mapping[str, Any],
    changes: Mapping[str, Any],
    *,
    epochs: int | None = None,
    by_shape: bool = False,
    device: torch.device | str = "cpu",
    where: str = "",
) -> Recipe:
    """Make the recipe for some training rows.

    Args:
        rows: training rows with their number of variables, levels and image shape.
        options: options of a recipe file.
        changes: options over these.
        epochs: number of epochs, by the usual schedule (`phases`; that of `nadek.training.defaults` with ``by_shape``),
            whatever the options say; None for what they say, or a number that suits the rows.
        by_shape: replace the options by what `nadek.training.defaults` chooses for the table, unless the changes
            describe another kind of network.
        device: device of the training.
        where: file of the options, for the messages.

    Raises:
        ValueError: on an unknown option or a value that does not fit, named by its path, and on a network of images
            for columns that are not binary.
    """
    n_rows, n_variables = rows.x.shape
    make = partial(make_recipe, n_variables=n_variables, image_shape=rows.schema.image_shape)
    make(options, where=where)  # errors of the file alone name it
    levels = _levels(rows)
    shaped = _by_shape(n_rows, levels, changes, epochs, device) if by_shape else {}
    options = merge(shaped if by_shape else options, changes)
    if set(levels) != {2}:
        if is_of_images(options):
            raise ValueError(f"model.kind: a network of images needs columns of 0 and 1, found {max(levels)} levels")
        options = merge(options, {"model": {"levels": levels}})
    if order := ordinal(rows.schema.kinds or ()):
        options = merge({"model": {"ordinal": order}}, options)  # an option may say that there is none
    recipe = make(options)
    if epochs is None and "phases" in options.get("training", {}):
        return recipe
    if epochs is not None and shaped:
        return make(merge(options, {"training": {"phases": shaped["training"]["phases"]}}))
    if epochs is None:
        epochs = usual_epochs(n_rows, recipe.training.batch_size)
    usual = phases(epochs, recipe.model.steps, fixed_order=recipe.model.ordering is not None)
    return make(merge(options, {"training": {"phases": usual}}))


def _by_shape(
    n_rows: int, levels: list[int], changes: Mapping[str, Any], epochs: int | None, device: torch.device | str
) -> dict[str, Any]:
    """Return defaults for a table; none for another kind of network."""
    model, training = changes.get("model", {}), changes.get("training", {})
    if {"ordering", "kind"} & model.keys() or "hidden" in model.get("core", {}):
        return {}
    chosen = defaults(
        n_rows,
        levels,
        epochs=epochs,
        batch_size=_count(training.get("batch_size")),
        steps=_count(model.get("steps")),
        device=device,
    )
    return dict(zip(("model", "training"), map(encode, chosen), strict=True))


def _count(value: Any) -> int | None:  # noqa: ANN401 - any TOML value
    """Return a positive int, else None: the recipe refuses other values later."""
    return value if type(value) is int and value > 0 else None


def _levels(rows: Source) -> list[int]:
    """Return the number of levels of each column."""
    kinds = rows.schema.kinds
    return [2] * rows.x.shape[1] if kinds is None else [n_levels(kind) for kind in kinds]


def usual_epochs(n_rows: int, batch_size: int) -> int:
    """Return the default number of epochs: 20 to 500, about 6,000 minibatches.

    Example:
        >>> usual_epochs(2700, 100), usual_epochs(50_000, 100)
        (223, 20)
    """
    return min(500, max(20, math.ceil(6000 / math.ceil(n_rows / batch_size))))


def phases(epochs: int, steps: int, *, fixed_order: bool = False) -> list[dict[str, Any]]:
    """Return the usual schedule as options (see `nadek.training.defaults.phases`).

    Example:
        >>> phases(5, 2)
        [{'objective': 'all_steps', 'epochs': 2}, {'objective': 'last_step', 'epochs': 3}]
    """
    if fixed_order:
        return [{"objective": "fixed_order", "epochs": epochs}]
    return [{"objective": phase.objective, "epochs": phase.epochs} for phase in default_phases(epochs, steps)]


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parse options ``path.to.option=value`` (TOML values; a bare word is a string).

    Raises:
        ValueError: on a setting of another form.

    Example:
        >>> parse_settings(["model.steps=2", "model.core.activation=relu"])
        {'model': {'steps': 2, 'core': {'activation': 'relu'}}}
    """
    options: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ValueError(f"expected path.to.option=value, found {setting!r}")
        value: Any = _toml_value(text.strip())
        for part in reversed(name.strip().split(".")):
            value = {part: value}
        options = joined(options, value)
    return options


def _toml_value(text: str) -> Any:  # noqa: ANN401 - any TOML value
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
