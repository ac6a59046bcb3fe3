"""Training by a recipe in a folder, from the trained models that it builds on."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import torch

from nadek.checkpoints import SavedModel, forget_state, load_saved, save, save_state
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import isolated
from nadek.models.model_config import ImageConfig
from nadek.runs.data import CodedTable
from nadek.runs.provenance import provenance
from nadek.runs.recipe import trained_alike
from nadek.runs.resume import (
    DIGESTS,
    OTHERS,
    Beginning,
    as_trained,
    built_on,
    digests,
    shared_state,
    sole_training,
    unfinished,
)
from nadek.tabular.schema import Schema
from nadek.training import Epoch, FittedTable, Recipe, TrainingDivergedError, fit_table, last_metrics
from nadek.training.world import ALONE, World
from nadek.utils.configs import difference, encode


@isolated()
def train(
    recipe: Recipe,
    folder: str | os.PathLike[str],
    table: CodedTable,
    validation: CodedTable | None,
    *,
    device: torch.device | str = "cpu",
    resume: bool = False,
    begin: Beginning | None = None,
    save_every: float = 15.0,
    on_epoch: Callable[[Epoch], None] | None = None,
    world: World = ALONE,
) -> SavedModel:
    """Train a model by a recipe and save it as a folder.

    A model in the folder is replaced (see `nadek.runs.resume.check_output`). ``begin`` goes before the model that the
    recipe's ``start`` names. One training at a time holds the folder: a second one raises a BlockingIOError. Of several
    processes only the first one reads and writes the folder.
    """
    folder, schema = Path(folder), table.schema
    if isinstance(recipe.model, ImageConfig) and schema.image_shape is None:
        schema = replace(schema, image_shape=recipe.model.image_shape)
    rows, held_out = as_trained(recipe, table, validation, device)
    identity = {"recipe": encode(recipe), **digests(rows, held_out), **built_on(recipe, folder, begin)}
    is_first = world.rank == 0
    with sole_training(folder) if is_first else nullcontext():
        own_state = unfinished(folder, recipe, identity) if resume and is_first else None
        state = shared_state(world, identity, own_state)

        def write_initial_weights(network: ConditionalModel) -> None:
            if begin is not None:
                begin.begin(network)
            elif recipe.start is not None:
                begin_as_model(network, recipe.start, schema)
            identity.update(built_on(recipe, folder, begin))  # an RBM may only just have been trained

        def keep_model(fitted: FittedTable, *, diverged: bool = False) -> SavedModel:
            metrics = {
                **last_metrics(fitted.history, diverged=diverged),
                "rows": len(rows.values),
                "skipped_rows": rows.n_skipped,
                "config": encode(recipe),
                **provenance(device),
                "history": [asdict(epoch) for epoch in fitted.history],
                **table.trained_on,
                DIGESTS: {name: identity[name] for name in OTHERS if name in identity},
            }
            if fitted.gain is not None:
                metrics["memory"] = {"rows": fitted.n_remembered, **encode(fitted.gain)}
            saved = SavedModel(fitted.network, schema, metrics)
            if is_first:
                save(folder, saved)
                forget_state(folder)
            return saved

        try:
            fitted = fit_table(
                recipe,
                rows,
                held_out,
                start=None if begin is None and recipe.start is None else write_initial_weights,
                teacher=teacher_of(recipe, schema, rows.values.device),
                resume=state,
                on_epoch=on_epoch,
                save_state=lambda state: save_state(folder, state, **identity),
                save_every=save_every,
                world=world,
            )
        except TrainingDivergedError as error:
            message = "Nothing was learnt before that"
            if error.history and error.model is not None:
                keep_model(FittedTable(error.model, error.history), diverged=True)
                message = f"The best model before that is kept in {folder}"
            if is_first:
                forget_state(folder)  # a resumed training would diverge again
            world.from_first(None)  # no process ends before that
            raise TrainingDivergedError(f"{error}. {message}", error.history, error.model) from error
        return keep_model(fitted)


def begin_as_model(model: ConditionalModel, start: str | os.PathLike[str], schema: Schema) -> None:
    """Copy a model's weights into a network like it."""
    saved = load_saved(start)
    trained = saved.model.base_model
    if first := difference(encode(trained_alike(trained.config)), encode(trained_alike(model.config))):
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
    _check_columns("teacher", recipe.teacher, saved.schema, schema)
    return saved.model


def _check_columns(option: str, where: str | os.PathLike[str], schema: Schema, expected: Schema) -> None:
    for what in ("columns", "kinds"):
        here, there = getattr(expected, what), getattr(schema, what)
        if here is not None and there is not None and here != there:
            raise ValueError(f"{option}: expected a model of the same columns, found other {what} in {where}")


def _shown(value: object) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
