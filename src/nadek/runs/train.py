"""Carry out a recipe in a folder: train with checkpoints, keep the model, tell how it went."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel, forget_state, save, save_state
from nadek.tabular.schema import Schema
from nadek.models.base import ConditionalModel
from nadek.utils.configs import encode
from nadek.runs.warm_start import Beginning, begin_as_model, teacher_of
from nadek.runs.resume import model_in, unfinished
from nadek.runs.fingerprint import DIGESTS, OTHERS, as_trained, built_on, digests
from nadek.runs.provenance import provenance
from nadek.runs.recipe import Recipe
from nadek.models.unet_config import ImageConfig
from nadek.models.registry import build
from nadek.training import Epoch, Rows, TrainingDivergedError, data_mean, fit, add_memory, isolated


@isolated()
def train(
    recipe: Recipe,
    folder: str | os.PathLike[str],
    x: Tensor,
    validation: Tensor | None,
    *,
    schema: Schema,
    device: torch.device | str = "cpu",
    resume: bool = False,
    force: bool = True,
    begin: Beginning | None = None,
    save_every: float = 15.0,
    on_epoch: Callable[[Epoch], None] | None = None,
    told: Mapping[str, Any] | None = None,
) -> SavedModel:
    """Train a model by a recipe and save it as a folder.

    Args:
        recipe: what to train and how.
        folder: where the model will be; an unfinished training keeps its state there.
        x: training rows [N, D], codes and NaN for missing.
        validation: rows to choose the best epoch by.
        schema: what the columns are.
        device: where to train.
        resume: go on where an unfinished training of the same recipe and rows left off (begins where there is none).
        force: replace a model that someone else saved into the folder since this training began; one that was there
            before is replaced anyway (see `nadek.runs.resume.check_output`).
        begin: what the weights of a training begin as, in place of the model that the recipe's ``start`` names; an RBM
            of the tables needs it, see `nadek_paper.run_rbm.begin_as_machine`.
        save_every: seconds between two savings of the state, at the end of an epoch; 0 saves after each.
        on_epoch: told what happened after each epoch.
        told: what else the model's metrics shall say.

    Raises:
        ValueError: if an unfinished training of another recipe or other rows is in the way, on a ``start`` or a
            ``teacher`` that is no model or does not fit, on a ``memory`` that cannot be learnt, and as ``begin``
            raises. An unfinished training of a start or teacher that is another one by now is in the way, too.
        FileExistsError: if without ``force`` another model has come into the folder, also while this training was not
            under way; the last state stays there, too.
        FileNotFoundError: if there is no such ``start`` or ``teacher``.
        TrainingDivergedError: as `nadek.training.fit`; the best model before that is saved, if there is one.
    """
    folder = Path(folder)
    if isinstance(recipe.model, ImageConfig) and schema.image_shape is None:
        schema = replace(schema, image_shape=recipe.model.image_shape)
    rows, held_out = as_trained(recipe, x, validation, schema, device)
    if recipe.memory and held_out is None:
        raise ValueError("memory: expected validation rows, to learn from how far it can be trusted; found none")
    if recipe.memory and recipe.model.ordering is not None:
        raise ValueError("memory: expected a model of every ordering, found one that knows one only")
    identity = {"recipe": encode(recipe), **digests(rows, held_out), **built_on(recipe, folder, begin)}
    state, replaced = None, model_in(folder)
    if resume and (found := unfinished(folder, recipe, identity)) is not None:
        state, replaced = found
    weights = torch.Generator().manual_seed(recipe.seed)
    model = build(recipe.model, data_mean(x, recipe.model.levels), generator=weights).to(device)
    teacher = teacher_of(model, recipe, schema)
    begins = None if begin is None else begin.begin
    if recipe.start is not None and begins is None:
        begins = partial(begin_as_model, start=recipe.start, schema=schema)
    if begins is not None and state is None:
        begins(model)
        identity |= built_on(recipe, folder, begin)  # an RBM may only just have been trained
    folder.mkdir(parents=True, exist_ok=True)

    def check_place_is_free() -> None:
        if not force and model_in(folder) not in (None, replaced):
            found = f"{folder} holds a model that was not there when this training began, and which stays"
            raise FileExistsError(f"{found}; use another folder, or --force to replace it")

    def keep(history: list[Epoch], *, diverged: bool) -> SavedModel:
        check_place_is_free()
        metrics = {**_metrics(recipe, rows, history, device, diverged=diverged), **(told or {})}
        metrics[DIGESTS] = {name: identity[name] for name in OTHERS if name in identity}
        kept: ConditionalModel = model
        if recipe.memory and held_out is not None and not diverged:
            generator = torch.Generator(rows.values.device).manual_seed(recipe.seed)
            kept, gain = add_memory(model, rows, held_out, generator=generator)
            metrics["memory"] = {"rows": kept.config.n_rows, **encode(gain)}
        saved = SavedModel(kept, schema, metrics)
        save(folder, saved)
        return saved

    check_place_is_free()
    try:
        history = fit(
            model,
            rows,
            held_out,
            config=recipe.training,
            teacher=teacher,
            trained=begins is not None,
            resume=state,
            on_epoch=on_epoch,
            save_state=lambda state: save_state(folder, state, **identity, replaces=replaced),
            save_every=save_every,
        )
    except TrainingDivergedError as error:
        if error.history:
            keep(error.history, diverged=True)
        forget_state(folder)  # a resumed training would diverge again
        kept = f"The best model before that is kept in {folder}" if error.history else "Nothing was learnt before that"
        raise TrainingDivergedError(f"{error}. {kept}", error.history) from error
    saved = keep(history, diverged=False)
    forget_state(folder)
    return saved


def _metrics(
    recipe: Recipe, rows: Rows, history: list[Epoch], device: torch.device | str, *, diverged: bool
) -> dict[str, Any]:
    last = history[-1]
    return {
        "epochs": last.epoch,
        "seconds": last.seconds,
        "best_validation": last.best,
        "diverged": diverged,
        "rows": len(rows.values),
        "skipped_rows": rows.n_skipped,
        "config": encode(recipe),
        **provenance(device),
        "history": [epoch.asdict() for epoch in history],
    }
