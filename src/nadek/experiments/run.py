"""Carry out a recipe in a folder: train with checkpoints, keep the model, tell how it went."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nadek.checkpoints import (
    CONFIG,
    FILES,
    SavedModel,
    Schema,
    check_place,
    forget_state,
    holds_model,
    holds_state,
    load_saved,
    load_state,
    save,
    save_state,
)
from nadek.configs import encode
from nadek.experiments.beginnings import Beginning, begin_as_model, teacher_of
from nadek.experiments.identity import DIGESTS, OTHERS, built_on, digests, other
from nadek.experiments.kinds import names_of
from nadek.experiments.provenance import provenance
from nadek.experiments.recipe import Recipe, is_recipe
from nadek.images import ImageConfig
from nadek.likelihood import each_log_prob
from nadek.networks import build
from nadek.summaries import Summary, summarise
from nadek.training import Epoch, Rows, TrainingDivergedError, TrainingState, data_mean, fit, prepare, undisturbed

FEWEST_SCORED = 8
"""Orderings, before an evaluation may stop early."""


@undisturbed()
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
            before is replaced anyway (see `check_output`).
        begin: what the weights of a training begin as, in place of the model that the recipe's ``start`` names; an RBM
            of the tables needs it, see `nadek.experiments.machines.begin_as_machine`.
        save_every: seconds between two savings of the state, at the end of an epoch; 0 saves after each.
        on_epoch: told what happened after each epoch.
        told: what else the model's metrics shall say.

    Raises:
        ValueError: if an unfinished training of another recipe or other rows is in the way, on a ``start`` or a
            ``teacher`` that is no model or does not fit, and as ``begin`` raises. An unfinished training of a start or
            teacher that is another one by now is in the way, too.
        FileExistsError: if without ``force`` another model has come into the folder, also while this training was not
            under way; the last state stays there, too.
        FileNotFoundError: if there is no such ``start`` or ``teacher``.
        TrainingDivergedError: as `nadek.training.fit`; the best model before that is saved, if there is one.
    """
    folder = Path(folder)
    if isinstance(recipe.model, ImageConfig) and schema.image_shape is None:
        schema = replace(schema, image_shape=recipe.model.image_shape)
    rows, held_out = _ready(recipe, x, validation, schema, device)
    identity = {"recipe": encode(recipe), **digests(rows, held_out), **built_on(recipe, folder, begin)}
    state, replaced = None, _model_in(folder)
    if resume and (found := _unfinished(folder, recipe, identity)) is not None:
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
        if not force and _model_in(folder) not in (None, replaced):
            found = f"{folder} holds a model that was not there when this training began, and which stays"
            raise FileExistsError(f"{found}; use another folder, or --force to replace it")

    def keep(history: list[Epoch], *, diverged: bool) -> SavedModel:
        check_place_is_free()
        metrics = {**_metrics(recipe, rows, history, device, diverged=diverged), **(told or {})}
        metrics[DIGESTS] = {name: identity[name] for name in OTHERS if name in identity}
        saved = SavedModel(model, schema, metrics)
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


def evaluate(
    saved: SavedModel,
    x: Tensor,
    *,
    orderings: int,
    seed: int = 0,
    until_error: float | None = None,
    keep_interrupted: bool = False,
    progress: Callable[[int, int], None] | None = None,
    on_estimate: Callable[[Summary], None] | None = None,
) -> dict[str, Any]:
    """Exact test log-likelihood of complete rows as a JSON-able record (nats; see `nadek.summaries.Summary`).

    The record says how the model was trained and where both were computed.

    Args:
        saved: the model.
        x: complete rows.
        orderings: how many orderings to draw.
        seed: of the orderings.
        until_error: stop once the standard error of the mean over orderings is so small (nats), and not before
            `FEWEST_SCORED` are scored: of fewer it may look small by luck.
        keep_interrupted: take an interruption (ctrl-C) for an early stop, once an ordering is scored.
        progress: called with the rows scored, counted over all orderings.
        on_estimate: told the summary of what is scored so far, after each ordering.
    """
    device = saved.model.b.device
    generator = torch.Generator(device).manual_seed(seed)
    scores = each_log_prob(saved.model, x.to(device), orderings, generator=generator, progress=progress)
    table: list[Tensor] = []
    summary: Summary | None = None
    try:
        for scored in scores:
            table.append(scored)
            summary = summarise(torch.stack(table))
            if on_estimate is not None:
                on_estimate(summary)
            certain = until_error is not None and summary.ordering_error <= until_error
            if certain and len(table) >= FEWEST_SCORED:
                break
    except KeyboardInterrupt:
        if not keep_interrupted or summary is None:
            raise
    assert summary is not None  # there is one ordering at least
    told = asdict(summary)
    return {
        "test_log_likelihood": told.pop("mean"),
        "standard_error": told.pop("standard_error"),
        "orderings": told.pop("n_orderings"),
        "rows": told.pop("n_rows"),
        **told,
        "ordering_seed": seed,
        **{key: saved.metrics.get(key) for key in ("epochs", "seconds", "config", "commit")},
        "training": {key: saved.metrics.get(key) for key in ("versions", "hardware", "best_validation", "rows")},
        "evaluation": provenance(device),
    }


def check_output(folder: str | os.PathLike[str], *, force: bool, resume: bool) -> None:
    """Refuse to overwrite a model, or files of its names, or to begin over an unfinished training, unless told to.

    A model beside an unfinished training is not finished either where it is to be gone on with: whoever began it was
    told to replace the model, or was stopped between saving the model and forgetting the training. One that came after
    the training began is refused by `train`, which knows.

    Raises:
        FileExistsError: if something is in the way; what is no model is, whatever was told.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; a model is a folder")
    check_place(folder)
    if force or (resume and holds_state(folder)):
        return
    if holds_model(folder):
        raise FileExistsError(f"{folder} already holds a model; use --force to replace it")
    if holds_state(folder):
        raise FileExistsError(f"{folder} holds an unfinished training; use --resume to go on or --force to begin anew")
    if found := [name for name in FILES if (folder / name).exists()]:
        told = f"holds a file {found[0]}, which a model would replace"
        raise FileExistsError(f"{folder} {told}; use another folder, or --force to replace it")


def finished(
    recipe: Recipe, folder: str | os.PathLike[str], x: Tensor, validation: Tensor | None, *, schema: Schema
) -> SavedModel:
    """The model in a folder, where a training that is to be resumed has come to its end already.

    Args:
        recipe: of the training.
        folder: where the model is.
        x: its training rows.
        validation: rows that its best epoch was chosen by.
        schema: what the columns are.

    Raises:
        FileExistsError: if the model is of another recipe, other rows, another start or teacher, as far as it tells, or
            its training diverged.
        ValueError: if it is damaged.
    """
    folder, saved = Path(folder), load_saved(folder)
    what = None
    if not is_recipe(recipe, saved.metrics.get("config")):
        what = "another recipe"
    elif not _is_of_rows(saved, x, schema):
        what = "other rows"
    elif saved.metrics.get("diverged"):
        what = "a training that diverged"
    elif DIGESTS in saved.metrics:
        now = digests(*_ready(recipe, x, validation, schema, "cpu"))
        what = other(saved.metrics[DIGESTS], {**now, **built_on(recipe, folder, None)})
    if what is not None:
        raise FileExistsError(f"{folder} already holds a model of {what}; use --force to replace it")
    return saved


def _is_of_rows(saved: SavedModel, x: Tensor, schema: Schema) -> bool:
    """Whether a model can have been trained on some rows: it tells of them how many there were, and their columns."""
    counted = saved.metrics.get("rows", 0) + saved.metrics.get("skipped_rows", 0)
    return counted == len(x) and (saved.schema.columns, saved.schema.kinds) == (schema.columns, schema.kinds)


def _ready(
    recipe: Recipe, x: Tensor, validation: Tensor | None, schema: Schema, device: torch.device | str
) -> tuple[Rows, Rows | None]:
    """The rows as a training takes them."""
    names = None if schema.columns is None else names_of(schema, len(schema.columns))
    ready = partial(prepare, levels=recipe.model.levels, columns=names, device=device)
    return ready(x), None if validation is None else ready(validation, training=False)


def _unfinished(folder: Path, recipe: Recipe, identity: dict[str, Any]) -> tuple[TrainingState, str | None] | None:
    """The state to go on from, if it belongs to this recipe and these rows, and the model that it may replace."""
    found = load_state(folder)
    if found is None:
        return None
    state, kept = found
    what = other(kept, identity) if is_recipe(recipe, kept.get("recipe")) else "another recipe"
    if what is not None:
        raise ValueError(
            f"the unfinished training in {folder} is of {what}; use --force without --resume to begin anew"
        )
    now = _model_in(folder)
    own = "replaces" not in kept or _is_own(folder, recipe, identity)
    return state, now if own else kept["replaces"]


def _model_in(folder: Path) -> str | None:
    """What tells the model in a folder from any other; None where there is none."""
    # not `weights_digest`: a model may be replaced though this version cannot read it
    return hashlib.sha256((folder / CONFIG).read_bytes()).hexdigest() if holds_model(folder) else None


def _is_own(folder: Path, recipe: Recipe, identity: dict[str, Any]) -> bool:
    """Whether the model in a folder is that of the unfinished training beside it, which was stopped in between."""
    try:
        metrics = load_saved(folder).metrics
    except (OSError, ValueError):
        return False
    same = is_recipe(recipe, metrics.get("config")) and other(metrics.get(DIGESTS), identity) is None
    return same and DIGESTS in metrics


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
