"""Fitted estimators as model folders (see `nadek.checkpoints`): weights and JSON, no pickle, any device.

What only an estimator asks for stands in the metrics of the folder under ``estimator``. A folder without it, which the
command line wrote, makes an estimator with the options of its constructor; ``n_bins`` is larger where its columns have
more bins.
"""

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import torch

from nadek.checkpoints import SavedModel, load_saved, save
from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE
from nadek.tabular.columns import Binary, Column, decode, is_plain
from nadek.tabular.dtypes import retyped
from nadek.tabular.schema import Schema
from nadek.tabular.writeback import Template
from nadek.training import Epoch

KEY = "estimator"
TOLD = ("epochs", "seconds", "best_validation")
"""What the metrics of a folder tell of the training, beside its history."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What makes an estimator a fitted one.

    Attributes:
        network: the network.
        columns: what each column of the table is; None where it had no value in training.
        names: of the columns, where they have any.
        template: what new tables look like.
        history: of the training.
        told: what `TOLD` names of it, where there is no history: models that come with the package have none.
        missing: words that stand for nothing in tables.
        dropped: names of columns of the first table that were left out, beside those without a value.
        extra: a plain dictionary of what else the estimator keeps.
    """

    network: ConditionalModel
    columns: tuple[Column | None, ...]
    names: tuple[str, ...] | None
    template: Template
    history: list[Epoch]
    told: Mapping[str, Any]
    missing: tuple[str, ...]
    dropped: tuple[str, ...]
    extra: Mapping[str, Any]


def write_fitted(folder: str | os.PathLike[str], fitted: Fitted) -> None:
    """Write a model folder that the command line can use, too.

    Raises:
        OSError: where the folder cannot be written to.
    """
    known = [j for j, column in enumerate(fitted.columns) if column is not None]
    kinds = tuple(column for column in fitted.columns if column is not None)
    empty = [j for j in range(len(fitted.columns)) if j not in known]
    names = [fitted.names[j] for j in empty] if fitted.names else []
    schema = Schema(
        columns=None if fitted.names is None else tuple(fitted.names[j] for j in known),
        kinds=None if all(map(is_plain, kinds)) else kinds,
        dropped=(*_called(empty, names), *fitted.dropped) or None,
        missing=fitted.missing or None,
    )
    metrics = {
        **(_told(fitted.history[-1]) if fitted.history else fitted.told),
        "diverged": False,
        KEY: {"empty": empty, "empty_names": names, **fitted.template.describe(), **fitted.extra},
        "history": [epoch.asdict() for epoch in fitted.history],
    }
    # the network was trained in float32: its weights lose nothing
    save(folder, SavedModel(deepcopy(fitted.network).to(torch.float32), schema, metrics))


def read_fitted(folder: str | os.PathLike[str], *, device: torch.device) -> Fitted:
    """Read a model folder, whether an estimator or the command line wrote it.

    Raises:
        FileNotFoundError: if there is no such folder.
        ValueError: if it is no model, was damaged or edited, or knows one ordering only.
    """
    saved = load_saved(folder, device=device)
    if saved.model.config.ordering is not None:
        raise ValueError(f"{folder}: expected a model of every ordering, found one that knows one ordering only")
    if not isinstance(saved.model.base_model, IterativeNADE):
        raise ValueError(f"{folder}: expected a model of a table, found one of images; use nadek.load for it")
    extra = saved.metrics.get(KEY, {})
    kinds = saved.schema.kinds or (Binary(),) * saved.model.n_variables
    columns, names = list[Column | None](kinds), list(saved.schema.columns or ())
    empty = extra.get("empty", [])
    left_out = _called(empty, extra.get("empty_names", []))
    for place, j in enumerate(empty):
        columns.insert(j, None)
        if names:
            names.insert(j, extra["empty_names"][place])
    template = _template(columns, names or None, extra)
    history = [Epoch(**epoch) for epoch in saved.metrics.get("history", [])]
    return Fitted(
        network=saved.model,
        columns=tuple(columns),
        names=tuple(names) or None,
        template=template,
        history=history,
        told={key: saved.metrics[key] for key in TOLD if key in saved.metrics},
        missing=saved.schema.missing or (),
        dropped=tuple(name for name in saved.schema.dropped or () if name not in left_out),
        extra=extra,
    )


def _told(last: Epoch) -> dict[str, Any]:
    """What the last epoch tells of a training."""
    return dict(zip(TOLD, (last.epoch, last.seconds, last.best), strict=True))


def _called(columns: Sequence[int], names: Sequence[str]) -> list[str]:
    """What a schema calls columns: their names, or their numbers from 1 where they have none."""
    return list(names) or [str(j + 1) for j in columns]


def _template(columns: Sequence[Column | None], names: Sequence[str] | None, extra: Mapping[str, Any]) -> Template:
    """An empty table of the library and the types of the training table; of a library that is there, where it is not.

    A frame of pandas whose columns had no names of text numbers them.
    """
    container = extra.get("container", "numpy" if names is None else "pandas")
    if container == "numpy":
        return Template(np.empty((0, len(columns)), dtype=_dtype(extra.get("dtype", "float64"))))
    there = find_spec(container) is not None
    backend: Any = container if there else "pyarrow"
    labels: Sequence[Any] = names or (
        range(len(columns)) if backend == "pandas" else list(map(str, range(len(columns))))
    )
    values = [[np.nan] if column is None else decode(column, np.zeros(1)).tolist() for column in columns]
    frame = nw.DataFrame.from_dict(dict(zip(labels, values, strict=True)), backend=backend).head(0)
    types = extra.get("types") if there else None
    if types is None:
        return Template(frame.to_native())
    typed = [retyped(frame[:, j], told).to_frame() for j, told in enumerate(types)]
    return Template(nw.concat(typed, how="horizontal").to_native())


def _dtype(name: str) -> np.dtype[Any]:
    """The type of an array; objects where NumPy does not know the name, as folders of arrays of text once had it."""
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(object)
