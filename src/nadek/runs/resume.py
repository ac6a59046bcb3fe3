"""Folders of trainings: free, unfinished or finished. Digests say which training it is."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from nadek.checkpoints import (
    FILES,
    SavedModel,
    check_place,
    holds_model,
    holds_state,
    load_saved,
    load_state,
    weights_digest,
)
from nadek.models.base import ConditionalModel
from nadek.runs.data import CodedTable
from nadek.runs.recipe import is_recipe
from nadek.training import Recipe, Rows, TrainingState, prepare
from nadek.training.world import World
from nadek.utils.atomic import locked

DIGESTS = "digests"
"""Key of these digests in the metrics of a model."""

OTHERS = {
    "rows": "other rows",
    "validation": "other validation rows",
    "start": "another start",
    "teacher": "another teacher",
}
"""Each part with a digest, and the words for another one."""


@dataclass(frozen=True)
class Beginning:
    """Writer of initial weights, and their digest."""

    begin: Callable[[ConditionalModel], object]
    digest: Callable[[], str | None]


def as_trained(
    recipe: Recipe, table: CodedTable, validation: CodedTable | None, device: torch.device | str
) -> tuple[Rows, Rows | None]:
    """Prepare training and validation rows."""
    columns = table.schema.columns
    names = None if columns is None else table.schema.labels(len(columns))
    model = recipe.model
    ready = partial(prepare, levels=model.levels, knots=model.knots, columns=names, device=device)
    return ready(table.x), None if validation is None else ready(validation.x, training=False)


def digests(rows: Rows, validation: Rows | None) -> dict[str, str | None]:
    """Return digests of training and validation rows."""
    return {"rows": _fingerprint(rows), "validation": None if validation is None else _fingerprint(validation)}


def built_on(recipe: Recipe, folder: Path, begin: Beginning | None) -> dict[str, str | None]:
    """Return digests of initial weights and teacher, if any."""
    start = _digest(recipe.start, folder) if begin is None else begin.digest()
    models = {"start": start, "teacher": _digest(recipe.teacher, folder)}
    return {name: digest for name, digest in models.items() if digest is not None}


def other(kept: Any, now: Mapping[str, Any]) -> str | None:  # noqa: ANN401 - any JSON
    """Return words for the first difference of two trainings."""
    if not isinstance(kept, Mapping):
        return None
    shared = [name for name in OTHERS if name in kept and name in now]
    return next((OTHERS[name] for name in shared if kept[name] != now[name]), None)


def _fingerprint(rows: Rows) -> str:
    digest = hashlib.sha256(str(tuple(rows.values.shape)).encode())
    digest.update(rows.values.cpu().flatten().numpy().data)
    if rows.observed is not None:
        digest.update(rows.observed.cpu().flatten().numpy().data)
    return digest.hexdigest()


def _digest(model: str | None, folder: Path) -> str | None:
    """Return the digest of a model outside the folder."""
    if model is None or Path(model).resolve() == folder.resolve():
        return None
    try:
        return weights_digest(model)
    except (OSError, ValueError):
        return None


def check_output(folder: Path, *, force: bool, resume: bool) -> None:
    """Refuse a folder that holds something, unless permitted.

    A model beside an unfinished training may be replaced by resuming: that training was permitted to replace it, or was
    stopped just after saving it.
    """
    check_place(folder)
    if folder.exists():
        with locked(folder, wait=False):
            pass  # no training is under way there
    if force or (resume and holds_state(folder)):
        return
    if holds_model(folder):
        raise FileExistsError(f"{folder} already holds a model; use --force to replace it")
    if holds_state(folder):
        raise FileExistsError(f"{folder} holds an unfinished training; use --resume to go on or --force to begin anew")
    for name in FILES:
        if (folder / name).exists():
            message = f"holds a file {name}, which a model would replace"
            raise FileExistsError(f"{folder} {message}; use another folder, or --force to replace it")


@contextmanager
def sole_training(folder: Path) -> Iterator[None]:
    """Make and hold a folder for one training."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder, wait=False):
            yield
    finally:
        if is_new:
            with suppress(OSError):  # where something was saved
                folder.rmdir()


def finished(recipe: Recipe, folder: Path, table: CodedTable, validation: CodedTable | None) -> SavedModel:
    """Return the finished model, or refuse another."""
    saved = load_saved(folder)
    here, difference = saved.schema, None
    if not is_recipe(recipe, saved.metrics.get("config")):
        difference = "another recipe"
    elif saved.metrics.get("diverged"):
        difference = "a training that diverged"
    elif DIGESTS not in saved.metrics or (here.columns, here.kinds) != (table.schema.columns, table.schema.kinds):
        difference = "other rows"
    else:
        now = digests(*as_trained(recipe, table, validation, "cpu"))
        difference = other(saved.metrics[DIGESTS], {**now, **built_on(recipe, folder, None)})
    if difference is not None:
        raise FileExistsError(f"{folder} already holds a model of {difference}; use --force to replace it")
    return saved


def unfinished(folder: Path, recipe: Recipe, identity: dict[str, Any]) -> TrainingState | None:
    """Return an unfinished training.

    The identity is the recipe and the digests of `nadek.runs.resume`; a ValueError if they differ.
    """
    saved = load_state(folder)
    if saved is None:
        return None
    state, info = saved
    difference = other(info, identity) if is_recipe(recipe, info.get("recipe")) else "another recipe"
    if difference is not None:
        hint = "use --force without --resume to begin anew"
        raise ValueError(f"the unfinished training in {folder} is of {difference}; {hint}")
    return state


def shared_state(world: World, identity: dict[str, Any], state: TrainingState | None) -> TrainingState | None:
    """Return the state that process 0 read; a ValueError if this process has another training."""
    first, state = world.from_first((identity, state))
    if first != identity:
        difference = other(first, identity) or "another recipe"
        raise ValueError(f"process {world.rank}: expected the training of process 0, found one of {difference}")
    return state
