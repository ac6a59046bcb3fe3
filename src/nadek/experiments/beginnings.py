"""A training that goes on from a trained model instead of random weights."""

import os

from nadek.checkpoints import Schema, load_saved
from nadek.conditional import ConditionalNetwork
from nadek.experiments.recipe import trained_alike


def begin_as_model(model: ConditionalNetwork, start: str | os.PathLike[str], schema: Schema) -> None:
    """Let a network begin with the weights of a trained model of the same structure and columns.

    Args:
        model: the network; its weights are overwritten.
        start: folder of the trained model, or the name of one that comes with the package.
        schema: what the columns are that the network will be trained on.

    Raises:
        FileNotFoundError: if there is no such model.
        ValueError: if its structure or its columns are others.
    """
    saved = load_saved(start)
    if trained_alike(saved.model.config) != trained_alike(model.config):
        raise ValueError(f"start: expected a model of the recipe's structure, found another in {start}")
    for what in ("columns", "kinds"):
        here, there = getattr(schema, what), getattr(saved.schema, what)
        if here is not None and there is not None and here != there:
            raise ValueError(f"start: expected a model of the same columns, found other {what} in {start}")
    model.load_state_dict(saved.model.state_dict())
