"""Fitted estimators as model folders (see `nadek.checkpoints`): weights and JSON, no pickle, any device.

Entries that only an estimator needs stand in the metrics of the folder under ``estimator``. A folder of the command
line has none: its estimator gets the default options, and more bins where its columns have more.
"""

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch

from nadek.checkpoints import SavedModel, load_saved, save
from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE
from nadek.tabular.columns import Binary, Column, is_plain
from nadek.tabular.schema import Schema
from nadek.tabular.template import Template
from nadek.training import Epoch, last_metrics
from nadek.training.state import read_history

KEY = "estimator"
METRICS = ("epochs", "seconds", "best_validation")
"""Entries about the training that are kept for a folder without a history."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The parts of a fitted estimator."""

    network: ConditionalModel
    columns: tuple[Column | None, ...]  # None where it had no value in training
    names: tuple[str, ...] | None
    template: Template
    history: list[Epoch]
    metrics: Mapping[str, Any]  # `METRICS` where there is no history, as in the models of the package
    missing: tuple[str, ...]  # words that mean missing in tables
    dropped: tuple[str, ...]  # names of columns that were left out, beside those without a value
    extra: Mapping[str, Any]  # further entries of the estimator, as JSON


def write_fitted(folder: str | os.PathLike[str], fitted: Fitted) -> None:
    """Write a model folder that the command line can use, too."""
    nonempty = [j for j, column in enumerate(fitted.columns) if column is not None]
    kinds = tuple(column for column in fitted.columns if column is not None)
    empty = [j for j, column in enumerate(fitted.columns) if column is None]
    names = [fitted.names[j] for j in empty] if fitted.names else []
    schema = Schema(
        columns=None if fitted.names is None else tuple(fitted.names[j] for j in nonempty),
        kinds=None if all(map(is_plain, kinds)) else kinds,
        dropped=(*_schema_names(empty, names), *fitted.dropped) or None,
        missing=fitted.missing or None,
    )
    metrics = {
        **(last_metrics(fitted.history) if fitted.history else {**fitted.metrics, "diverged": False}),
        KEY: {"empty": empty, "empty_names": names, **fitted.template.describe(), **fitted.extra},
        "history": [epoch.asdict() for epoch in fitted.history],
    }
    # the network was trained in float32: its weights lose nothing
    save(folder, SavedModel(deepcopy(fitted.network).to(torch.float32), schema, metrics))


def read_fitted(folder: str | os.PathLike[str], *, device: torch.device) -> Fitted:
    """Read a model folder, whether an estimator or the command line wrote it."""
    saved = load_saved(folder, device=device)
    if saved.model.config.ordering is not None:
        raise ValueError(f"{folder}: expected a model of every ordering, found one that knows one ordering only")
    if not isinstance(saved.model.base_model, IterativeNADE):
        raise ValueError(f"{folder}: expected a model of a table, found one of images; use nadek.load for it")
    extra = saved.metrics.get(KEY, {})
    kinds = saved.schema.kinds or (Binary(),) * saved.model.n_variables
    columns, names = list[Column | None](kinds), list(saved.schema.columns or ())
    empty = extra.get("empty", [])
    left_out = _schema_names(empty, extra.get("empty_names", []))
    for place, j in enumerate(empty):
        columns.insert(j, None)
        if names:
            names.insert(j, extra["empty_names"][place])
    try:
        template = Template.from_description(columns, names or None, extra)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder}: metrics.json: {KEY}: {error}") from None
    history = read_history(saved.metrics)
    return Fitted(
        network=saved.model,
        columns=tuple(columns),
        names=tuple(names) or None,
        template=template,
        history=history,
        metrics={key: saved.metrics[key] for key in METRICS if key in saved.metrics},
        missing=saved.schema.missing or (),
        dropped=tuple(name for name in saved.schema.dropped or () if name not in left_out),
        extra=extra,
    )


def _schema_names(columns: Sequence[int], names: Sequence[str]) -> list[str]:
    """Return the names of columns in a schema: numbers from 1 without names."""
    return list(names) or [str(j + 1) for j in columns]
