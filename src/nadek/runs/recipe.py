"""Recipes from TOML files, options of the command line, and the shape of a table."""

import json
import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nadek.models.model_config import AnyConfig, ImageConfig, ModelConfig
from nadek.runs.data import CodedTable
from nadek.tabular.columns import Binary, knots, n_levels, ordinal
from nadek.training import Recipe
from nadek.training.defaults import Effort, defaults
from nadek.utils.configs import decode, encode, naming

USUAL_KINDS = {"model": {"core": {"kind": "deep"}}, "training": {"optimizer": {"kind": "adamw"}}}
"""Default kinds of core and optimizer."""

USUAL_MINIBATCHES = 6000
"""Number that the default number of epochs, 20 to 500, comes near to."""


def trained_alike(model: AnyConfig) -> AnyConfig:
    """Return the structure without options for training only."""
    if isinstance(model, ImageConfig):
        return replace(model, dropout=0.0)
    assert isinstance(model, ModelConfig)
    ordinal = model.ordinal if model.factors else None  # the first guess is of these
    return replace(model, init_std=None, ordinal=ordinal, core=replace(model.core, dropout=0.0))


def is_recipe(recipe: Recipe, record: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return True if a record is of this recipe."""
    try:
        recorded = decode(Recipe, record)
    except ValueError:
        return False
    return encode(replace(recorded, notes="")) == encode(replace(recipe, notes=""))


def read_recipe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the options in a TOML file, unchecked."""
    with naming(f"{path} is not valid TOML"):
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))


def make_recipe(
    options: Mapping[str, Any], *, n_variables: int, image_shape: tuple[int, int] | None = None, where: str = ""
) -> Recipe:
    """Make a recipe from options of a file.

    Without a ``kind``, a core is deep, an optimizer is AdamW, and a model is the paper's network.
    """
    with naming(where):
        options = merge({"model": {"n_variables": n_variables}}, merge(USUAL_KINDS, options))
        if image_shape is not None and options["model"].get("kind") == "images":
            options = merge({"model": {"kind": "images", "image_shape": image_shape}}, options)
        recipe = decode(Recipe, options)
        if recipe.model.n_variables != n_variables:
            raise ValueError(f"the recipe is for {recipe.model.n_variables} variables, the data have {n_variables}")
        return recipe


def merge(
    options: Mapping[str, Any], changes: Mapping[str, Any], *, kinds: bool = True, where: str = ""
) -> dict[str, Any]:
    """Lay changes over options; another ``kind`` replaces its table.

    A ValueError names a change that is no table where the options have one, by its path, with ``where`` before it.
    """
    merged = dict(options)
    for key, value in changes.items():
        old = merged.get(key)
        if not isinstance(old, Mapping):
            merged[key] = value
        elif not isinstance(value, Mapping):
            raise ValueError(f"{where}{key}: expected a table of options, found {value!r}")
        elif kinds and value.get("kind", old.get("kind")) != old.get("kind"):
            merged[key] = dict(value)
        else:
            merged[key] = merge(old, value, kinds=kinds, where=f"{where}{key}.")
    return merged


def choose_recipe(
    rows: CodedTable,
    options: Mapping[str, Any],
    changes: Mapping[str, Any],
    *,
    epochs: int | None,
    effort: Effort,
    by_shape: bool,
    where: str,
) -> Recipe:
    """Make the recipe for rows from options and changes.

    With ``by_shape``, `nadek.training.defaults` replaces the options, unless the changes describe another kind of
    network. A number of epochs goes before all phases; without any, one that suits the rows is taken, and that depends
    on ``effort``.
    """
    n_rows, n_variables = rows.x.shape
    make = partial(make_recipe, n_variables=n_variables, image_shape=rows.schema.image_shape)
    make(options, where=where)  # errors of the file alone name it
    merge(USUAL_KINDS, changes)  # refuses a value for a table of options
    kinds = rows.schema.kinds or (Binary(),) * n_variables
    levels, order, numbers = list(map(n_levels, kinds)), ordinal(kinds), knots(kinds)
    model, training = changes.get("model", {}), changes.get("training", {})
    shaped: dict[str, Any] = {}
    if by_shape and not {"ordering", "kind"} & model.keys() and "hidden" not in model.get("core", {}):
        chosen = defaults(
            n_rows,
            levels,
            ordinal=model.get("ordinal", order),
            knots=numbers,
            effort=effort,
            epochs=epochs,
            batch_size=_count(training.get("batch_size")),
            steps=_count(model.get("steps")),
        )
        shaped = dict(zip(("model", "training"), map(encode, chosen), strict=True))
    if effort != "default" and (not shaped or epochs is not None):
        expected = "a table, and neither --epochs, --config nor --hidden beside it"
        raise ValueError(f"effort: {effort!r} chooses among the default trainings of a table: expected {expected}")
    options = merge(shaped if by_shape else options, changes)
    for name, value in {"levels": levels, "knots": numbers, "sharpness": None, "focus": None, "bends": None}.items():
        given = options.get("model", {}).get(name)
        if given is not None and json.dumps(given, default=str) != json.dumps(value):
            raise ValueError(f"model.{name}: expected it left out, as the data decide it, found {given!r:.60}")
    if set(levels) != {2} or numbers is not None:
        if options.get("model", {}).get("kind") == "images":
            raise ValueError(f"model.kind: a network of images needs columns of 0 and 1, found {max(levels)} levels")
        options = merge(options, {"model": {"levels": levels, "knots": numbers}})
    if order:
        options = merge({"model": {"ordinal": order}}, options)  # an option may say that there is none
    recipe = make(options)
    if epochs is None and "phases" in options.get("training", {}):
        return recipe
    if epochs is not None and shaped:
        return make(merge(options, {"training": {"phases": shaped["training"]["phases"]}}))
    if epochs is None:
        minibatches = math.ceil(n_rows / recipe.training.batch_size)
        epochs = min(500, max(20, math.ceil(USUAL_MINIBATCHES / minibatches)))
    usual = phases(epochs, recipe.model.steps, fixed_order=recipe.model.ordering is not None)
    return make(merge(options, {"training": {"phases": usual}}))


def _count(value: Any) -> int | None:  # noqa: ANN401 - any TOML value
    return value if type(value) is int and value > 0 else None


def phases(epochs: int, steps: int, *, fixed_order: bool = False) -> list[dict[str, Any]]:
    """Return the usual schedule as options: half of the epochs minimise the costs of all steps, then that of the last.

    A model of one step needs the second half only.
    """
    if fixed_order:
        return [{"objective": "fixed_order", "epochs": epochs}]
    first = epochs // 2 if steps > 1 else 0
    lengths = {"all_steps": first, "last_step": epochs - first}
    return [{"objective": objective, "epochs": length} for objective, length in lengths.items() if length]


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parse options ``path.to.option=value`` of TOML values or bare words."""
    options: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ValueError(f"expected path.to.option=value, found {setting!r}")
        value: Any = text.strip()
        with suppress(tomllib.TOMLDecodeError):
            value = tomllib.loads(f"value = {value}")["value"]
        for part in reversed(name.strip().split(".")):
            value = {part: value}
        options = merge(options, value, kinds=False)
    return options
