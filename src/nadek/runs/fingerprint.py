"""Digests of training rows and of models built on."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from nadek.checkpoints import weights_digest
from nadek.runs.data import Source
from nadek.runs.warm_start import Beginning
from nadek.tabular.encode import schema_labels
from nadek.training import Recipe, Rows, prepare_rows

DIGESTS = "digests"
"""Key of these digests in the metrics of a model; the first models have none."""

OTHERS = {
    "rows": "other rows",
    "validation": "other validation rows",
    "start": "another start",
    "teacher": "another teacher",
}
"""Each part with a digest, and the words for another one."""


def as_trained(
    recipe: Recipe, source: Source, validation: Source | None, device: torch.device | str
) -> tuple[Rows, Rows | None]:
    """Prepare training and validation rows."""
    columns = source.schema.columns
    names = None if columns is None else schema_labels(source.schema, len(columns))
    others = None if validation is None else validation.x
    return prepare_rows(source.x, others, levels=recipe.model.levels, columns=names, device=device)


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
    digest.update(rows.values.cpu().numpy().tobytes())
    if rows.observed is not None:
        digest.update(rows.observed.cpu().numpy().tobytes())
    return digest.hexdigest()


def _digest(model: str | None, folder: Path) -> str | None:
    """Return the digest of a model outside the folder."""
    if model is None or Path(model).resolve() == folder.resolve():
        return None
    try:
        return weights_digest(model)
    except (OSError, ValueError):
        return None
