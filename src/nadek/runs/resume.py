"""What lies in the folder of a training: whether it may be replaced, can be gone on with, or is finished."""

import hashlib
import os
from pathlib import Path
from typing import Any

from torch import Tensor

from nadek.checkpoints import CONFIG, FILES, SavedModel, check_place, holds_model, holds_state, load_saved, load_state
from nadek.tabular.schema import Schema
from nadek.runs.fingerprint import DIGESTS, as_trained, built_on, digests, other
from nadek.runs.recipe import Recipe, is_recipe
from nadek.training import TrainingState


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
        now = digests(*as_trained(recipe, x, validation, schema, "cpu"))
        what = other(saved.metrics[DIGESTS], {**now, **built_on(recipe, folder, None)})
    if what is not None:
        raise FileExistsError(f"{folder} already holds a model of {what}; use --force to replace it")
    return saved


def unfinished(folder: Path, recipe: Recipe, identity: dict[str, Any]) -> tuple[TrainingState, str | None] | None:
    """The state to go on from, and the model that it may replace; None where no training is unfinished.

    Args:
        folder: of the training.
        recipe: of the training.
        identity: what it is of, see `nadek.runs.fingerprint`.

    Raises:
        ValueError: if the unfinished training is of another recipe, other rows, or builds on other models.
    """
    found = load_state(folder)
    if found is None:
        return None
    state, kept = found
    what = other(kept, identity) if is_recipe(recipe, kept.get("recipe")) else "another recipe"
    if what is not None:
        raise ValueError(
            f"the unfinished training in {folder} is of {what}; use --force without --resume to begin anew"
        )
    now = model_in(folder)
    own = "replaces" not in kept or _is_own(folder, recipe, identity)
    return state, now if own else kept["replaces"]


def model_in(folder: Path) -> str | None:
    """What tells the model in a folder from any other; None where there is none."""
    # not `weights_digest`: a model may be replaced though this version cannot read it
    return hashlib.sha256((folder / CONFIG).read_bytes()).hexdigest() if holds_model(folder) else None


def _is_of_rows(saved: SavedModel, x: Tensor, schema: Schema) -> bool:
    """Whether a model can have been trained on some rows: it tells of them how many there were, and their columns."""
    counted = saved.metrics.get("rows", 0) + saved.metrics.get("skipped_rows", 0)
    return counted == len(x) and (saved.schema.columns, saved.schema.kinds) == (schema.columns, schema.kinds)


def _is_own(folder: Path, recipe: Recipe, identity: dict[str, Any]) -> bool:
    """Whether the model in a folder is that of the unfinished training beside it, which was stopped in between."""
    try:
        metrics = load_saved(folder).metrics
    except (OSError, ValueError):
        return False
    same = is_recipe(recipe, metrics.get("config")) and other(metrics.get(DIGESTS), identity) is None
    return same and DIGESTS in metrics
