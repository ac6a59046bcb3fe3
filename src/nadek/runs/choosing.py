"""The recipe of a training on some rows: what is asked for, and what suits their shape where nothing is."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from nadek.tabular.columns import n_levels, ordinal
from nadek.utils.configs import encode
from nadek.training.defaults import defaults
from nadek.runs.recipe import Recipe, is_of_images, make_recipe, merge, phases, usual_epochs
from nadek.runs.data import Source


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
    """The recipe for rows to learn from.

    Args:
        rows: the rows; theirs are the number of variables, their levels, and whether they are images.
        options: of a recipe file.
        changes: what goes over them.
        epochs: how long to train, by the usual schedule (`nadek.runs.recipe.phases`; that of `nadek.training.defaults`
            with ``by_shape``), whatever the options say; None for what they say, or a number that suits the rows.
        by_shape: take what `nadek.training.defaults` chooses for a user's table for the options, unless the changes describe
            another kind of network.
        device: where it will be trained.
        where: the file of the options, for the messages.

    Raises:
        ValueError: on an unknown option or a value that does not fit, named by its path, and on a network of images
            for columns that are not binary.
    """
    n_rows, n_variables = rows.x.shape
    make = partial(make_recipe, n_variables=n_variables, image_shape=rows.schema.image_shape)
    make(options, where=where)  # so that only mistakes of the file name it
    levels = _levels(rows)
    shaped = _by_shape(n_rows, levels, changes, epochs, device) if by_shape else {}
    options = merge(shaped if by_shape else options, changes)
    if set(levels) != {2}:
        if is_of_images(options):
            raise ValueError(f"model.kind: a network of images needs columns of 0 and 1, found {max(levels)} levels")
        options = merge(options, {"model": {"levels": levels}})
    if order := ordinal(rows.schema.kinds or ()):
        options = merge({"model": {"ordinal": order}}, options)  # a user may say that there is none
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
    """What suits a table; nothing where the changes describe another kind of network."""
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
    """A number of things; None for anything else, which the recipe refuses later and names by its path."""
    return value if type(value) is int and value > 0 else None


def _levels(rows: Source) -> list[int]:
    """How many levels each column has."""
    kinds = rows.schema.kinds
    return [2] * rows.x.shape[1] if kinds is None else [n_levels(kind) for kind in kinds]
