"""What a training is of, in digests: its rows, and the models that it builds on."""

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nadek.checkpoints import weights_digest
from nadek.tabular.schema import Schema
from nadek.runs.warm_start import Beginning
from nadek.tabular.declare import names_of
from nadek.runs.recipe import Recipe
from nadek.training import Rows, prepare

DIGESTS = "digests"
"""Where the metrics of a model say what it is of; models of the first trainings do not."""

OTHERS = {
    "rows": "other rows",
    "validation": "other validation rows",
    "start": "another start",
    "teacher": "another teacher",
}
"""What a training is of, and how one of something else is called."""


def as_trained(
    recipe: Recipe, x: Tensor, validation: Tensor | None, schema: Schema, device: torch.device | str
) -> tuple[Rows, Rows | None]:
    """Training rows and validation rows as a training takes them, on its device."""
    names = None if schema.columns is None else names_of(schema, len(schema.columns))
    ready = partial(prepare, levels=recipe.model.levels, columns=names, device=device)
    return ready(x), None if validation is None else ready(validation, training=False)


def digests(rows: Rows, validation: Rows | None) -> dict[str, str | None]:
    """Digests of values and holes, to notice that other rows were given."""
    return {"rows": _fingerprint(rows), "validation": None if validation is None else _fingerprint(validation)}


def built_on(recipe: Recipe, folder: Path, begin: Beginning | None) -> dict[str, str | None]:
    """Digests of what the weights begin as and of the teacher, of those that there are and that are there.

    Args:
        recipe: of the training.
        folder: of the training. A model in it that is begun from, or learnt from, will be replaced, and is not told.
        begin: what the weights begin as, where it is not the model that the recipe names.
    """
    found = {
        "start": _digest(recipe.start, folder) if begin is None else begin.digest(),
        "teacher": _digest(recipe.teacher, folder),
    }
    return {name: told for name, told in found.items() if told is not None}


def other(kept: Any, now: Mapping[str, Any]) -> str | None:  # noqa: ANN401 - whatever JSON held
    """What a training that was kept is of and this one is not; None where they agree, as far as both tell."""
    if not isinstance(kept, Mapping):
        return None
    shared = [name for name in OTHERS if name in kept and name in now]
    return next((OTHERS[name] for name in shared if kept[name] != now[name]), None)


def _fingerprint(rows: Rows) -> str:
    digest = hashlib.sha256(str(tuple(rows.values.shape)).encode())
    digest.update(rows.values.cpu().numpy().tobytes())
    if rows.observed is not None:
        digest.update(rows.observed.cpu().numpy().tobytes())
    return digest.hexdigest()


def _digest(model: str | None, folder: Path) -> str | None:
    """The digest of a model; None where none is named or there, or where it is the one of the folder itself."""
    if model is None or Path(model).resolve() == folder.resolve():
        return None
    try:
        return weights_digest(model)
    except (OSError, ValueError):
        return None
