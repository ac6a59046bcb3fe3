"""A training that goes on from a trained model instead of random weights."""

import os
from typing import Any

from nadek.checkpoints import Schema, load_saved
from nadek.conditional import ConditionalNetwork
from nadek.configs import difference, encode
from nadek.experiments.recipe import trained_alike


def begin_as_model(model: ConditionalNetwork, start: str | os.PathLike[str], schema: Schema) -> None:
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
    differs = difference(encode(trained_alike(saved.model.config)), encode(trained_alike(model.config)))
    if differs is not None:
        option, there, here = differs
        told = f"model.{option} is {_shown(there)} there and {_shown(here)} in the recipe"
        raise ValueError(f"start: expected a model of the recipe's structure, found another in {start}: {told}")
    for what in ("columns", "kinds"):
        here, there = getattr(schema, what), getattr(saved.schema, what)
        if here is not None and there is not None and here != there:
            raise ValueError(f"start: expected a model of the same columns, found other {what} in {start}")
    model.load_state_dict(saved.model.state_dict())


def _shown(value: Any) -> str:  # noqa: ANN401 - of any option
    """A value in a message; a level for each column would fill pages."""
    text = "not given" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
