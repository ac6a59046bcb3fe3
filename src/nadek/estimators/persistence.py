"""Fitted estimators as model folders (see `nadek.checkpoints`) and as pickles: for any device.

Entries of a folder that only an estimator needs stand in its metrics under ``estimator``. A folder of the command line
has none: its estimator gets the default options, and more bins where its columns have more.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nadek.checkpoints import READABLE, SavedModel, load_saved, save
from nadek.estimators.fitting import to_answer_dtype
from nadek.estimators.options import DeviceName, plain_options
from nadek.kernels.cpu import pick_device
from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.memory import MemoryModel
from nadek.models.model_config import check_every_ordering
from nadek.tabular.columns import Column, Numeric, n_levels
from nadek.tabular.names import labels_of
from nadek.tabular.schema import Schema
from nadek.tabular.template import Template
from nadek.training import Epoch, last_metrics
from nadek.training.state import read_history
from nadek.utils.atomic import damage_in
from nadek.utils.configs import naming
from nadek.utils.warn import warn

KEY = "estimator"

Loaded = TypeVar("Loaded", bound="SavedEstimator")


class SavedEstimator(BaseEstimator):
    """Base class: saving, loading and pickling of fitted estimators."""

    network_: ConditionalModel
    columns_: tuple[Column | None, ...]
    """None for a column that had no value in training."""
    history_: list[Epoch]
    n_iter_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    n_bins: int
    device: DeviceName
    _accepts_empty_columns: bool = False
    _template: Template
    _missing_words: tuple[str, ...] = ()
    """Words that mean missing in tables."""
    _dropped: tuple[str, ...] = ()
    """Names of columns that were left out, beside those without a value."""
    _other_names: Sequence[str] = ()
    """Names of columns in training, as text, where they were not all text."""
    _nameless: str | None = None
    """Name in messages of the column without one, where a folder has it."""
    _column_options: Mapping[str, Any] = MappingProxyType({})
    _seed: int
    _split_seed: int | None

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after `fit`."""
        return hasattr(self, "network_")

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: the network on the CPU, for any device."""
        state = dict(super().__getstate__())
        if "network_" in state:
            state["network_"] = deepcopy(state["network_"]).cpu()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a pickle; the CPU replaces a device that is not there."""
        super().__setstate__(state)
        if "network_" in state:
            with contextlib.suppress(ValueError):  # of a device that is not here
                self.network_.to(pick_device(self.device))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a folder.

        The folder holds safetensors and JSON, no pickle. `load` reads it on any device, the command line can use it,
        too. A model that is already there is replaced. A `UserWarning` says if it holds training rows that nobody asked
        it to keep (``memory="auto"``).

        Raises:
            FileExistsError: if the folder has a ``config.json`` of something else.
            OSError: if the folder cannot be written to.
        """
        check_is_fitted(self)
        if isinstance(self.network_, MemoryModel) and getattr(self, "memory", False) == "auto":
            message = f"{folder}: the model holds {self.network_.config.n_rows} different rows of the training table"
            remedy = "memory=False leaves them out, memory=True says that they may be there"
            warn(f"{message}; {remedy}")
        measured = last_metrics(self.history_) if self.history_ else {}
        metrics = {**measured, KEY: self._entries(), "history": list(map(asdict, self.history_))}
        # the network was trained in float32: its weights lose nothing
        save(folder, SavedModel(deepcopy(self.network_).to(torch.float32), self._schema(), metrics))

    @classmethod
    def load(cls: type[Loaded], folder: str | os.PathLike[str], *, device: DeviceName = "auto") -> Loaded:
        """Read a fitted estimator from a folder.

        `NADEk` and `NADEkImputer` also read what ``nadek fit`` wrote. Its words for missing cells keep their meaning.
        Columns that it dropped may be in a table: they are not read, and left out of results. A detector needs the
        threshold that only a detector saves. A network of images or of one ordering is for `nadek.load`.

        Args:
            folder: the folder of the model.
            device: device of the network.

        Raises:
            FileNotFoundError: if there is no such folder.
            ValueError: if it is no model, was damaged or edited, or lacks something that the estimator needs.
        """
        saved = load_saved(folder, device=pick_device(device))
        check_every_ordering(saved.model.config, str(folder))
        if not isinstance(saved.model.base_model, IterativeNADE):
            raise ValueError(f"{folder}: expected a model of a table, found one of images; use nadek.load for it")
        with damage_in(folder, READABLE), naming(folder):
            entries = saved.metrics.get(KEY, {})
            options = {**entries.get("options", {}), "device": device}
            estimator = cls(**{name: options[name] for name in cls._get_param_names() if name in options})
            estimator.device = device  # also where a subclass presets it
            estimator.network_, estimator.history_ = to_answer_dtype(saved.model), read_history(saved.metrics)
            estimator.n_iter_ = len(estimator.history_)
            estimator._set_columns(saved, entries)
            estimator._seed, estimator._split_seed = entries.get("seed", 0), entries.get("split_seed")
            estimator._set_extra(entries)
            estimator._set_derived(entries.get("n_orderings") if hasattr(estimator, "n_orderings") else None)
        return estimator

    def _extra(self) -> dict[str, Any]:
        """Return further entries for `save`."""
        return {}

    def _set_extra(self, extra: Mapping[str, Any]) -> None:
        """Set what `_extra` saved; {} for a folder of the command line."""

    def _set_derived(self, n_orderings: int | None = None) -> None:
        """Set attributes that follow from network, columns and seed."""

    def _empty_columns(self) -> list[int]:
        """Return places of columns without a value in training."""
        return [j for j, column in enumerate(self.columns_) if column is None]

    def _entries(self) -> dict[str, Any]:
        """Return what the estimator needs beside the network's columns."""
        orderings = {"n_orderings": len(self.orderings_)} if hasattr(self, "orderings_") else {}  # in `fit`
        return {
            "empty": self._empty_columns(),
            **self._template.describe(),
            "name": type(self).__name__,
            "options": plain_options(self),
            "seed": self._seed,
            "split_seed": self._split_seed,
            "columns_by": dict(self._column_options),
            "other_names": list(self._other_names),
            **self._extra(),
            **orderings,
        }

    def _schema(self) -> Schema:
        """Return the columns of the network, for the command line, too."""
        names = list(getattr(self, "feature_names_in_", map(str, range(1, self.n_features_in_ + 1))))
        kinds = {name: column for name, column in zip(names, self.columns_, strict=True) if column is not None}
        empty = [names[j] for j in self._empty_columns()]
        return Schema(
            columns=tuple(kinds) if hasattr(self, "feature_names_in_") else None,
            kinds=tuple(kinds.values()),
            dropped=(*empty, *self._dropped) or None,
            missing=self._missing_words or None,
            nameless=self._nameless or dict(zip(names, labels_of(names, len(names)), strict=True)).get(""),
        )

    def _set_columns(self, saved: SavedModel, entries: Mapping[str, Any]) -> None:
        """Set the columns of the table that `fit` saw, those without a value included."""
        schema, empty = saved.schema, entries.get("empty", [])
        columns = list[Column | None](saved.kinds)
        names, dropped = list(schema.columns or ()), list(schema.dropped or ())
        named = schema.columns is not None
        if empty and not self._accepts_empty_columns:
            labels = ", ".join(repr(str(label)) for label in (dropped[: len(empty)] if named else empty))
            raise ValueError(
                "expected a model that was trained with values in every column, found none in training in"
                f" {labels}; load it with NADEkImputer, which can leave them out"
            )
        for j, name in zip(empty, dropped, strict=False):
            columns.insert(j, None)
            names.insert(j, name)
        self.columns_, self.n_features_in_ = tuple(columns), len(columns)
        self._missing_words, self._dropped = schema.missing or (), tuple(dropped[len(empty) :])
        self._nameless, self._other_names = schema.nameless, list(entries.get("other_names", ()))
        if named:
            self.feature_names_in_ = np.array(names, dtype=object)
        with naming(f"metrics.json: {KEY}"):
            self._template = Template.from_description(columns, names if named else None, entries)
        if "columns_by" not in entries:  # columns of another writer may have more bins than is usual here
            self.n_bins = max([self.n_bins, *(n_levels(one) for one in columns if isinstance(one, Numeric))])
        self._column_options = entries.get("columns_by", {"n_bins": self.n_bins})
