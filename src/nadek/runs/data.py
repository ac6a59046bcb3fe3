"""Rows of a known data set or of a table in a file."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nadek import datasets
from nadek.checkpoints import SavedModel
from nadek.tabular.schema import Schema
from nadek.tabular.columns import Binary, Categorical, Column
from nadek.tabular.declare import Choices, decide, read_as
from nadek.tabular.layout import Layout
from nadek.tabular.user_options import possible_texts, words_of
from nadek.tabular.taken import Taken
from nadek.tabular.io import SUFFIXES, RawTable, check_header, from_matrix, read_raw, read_table
from nadek.training import needed_rows

Split = Literal["train", "valid", "test"]
Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class Source:
    """Rows of codes, and their columns.

    Attributes:
        x: float32 [N, D]: 0 and 1, or the codes of `nadek.tabular.columns`, and NaN for missing.
        schema: the columns.
        values: the columns as they were before they became codes, D arrays [N]; None where values are codes.
        layout: of what a model reads; None where rows are there to learn from.
        taken: words of a table to learn from that are taken for missing, where that could be a mistake.
        trained_on: further entries for the metrics of a model that is trained on these rows.
    """

    x: Tensor
    schema: Schema
    values: tuple[NDArray[Any], ...] | None = None
    layout: Layout | None = None
    taken: tuple[Taken, ...] = ()
    trained_on: Mapping[str, Any] = field(default_factory=dict)


def kinds_of(saved: SavedModel) -> tuple[Column, ...]:
    """What the columns of a model are; where nobody said, 0 and 1, or the codes of more levels."""
    if saved.schema.kinds is not None:
        return saved.schema.kinds
    return tuple(Binary() if n == 2 else Categorical(levels=tuple(range(n))) for n in saved.model.levels)


def open_data(data: str, *, split: Split = "test", data_dir: Folder = None) -> Source:
    """Read one part of a known data set, or the whole of a table.

    Args:
        data: a name that `nadek.datasets.names` lists, or the path of a file.
        split: which part of a known data set.
        data_dir: where known data sets lie; the environment variable NADEK_DATA when None.

    Raises:
        ValueError: on a name that is neither, and on anything wrong in a file.
        OSError: on a data set or a file that is not there.
    """
    if data in datasets.names():
        known = datasets.load(data, data_dir)
        x = torch.from_numpy({"train": known.train, "valid": known.valid, "test": known.test}[split])
        return Source(x.float(), Schema(columns=known.columns, image_shape=known.image_shape))
    _check_is_table(data)
    table = read_table(data)
    return Source(torch.from_numpy(table.values), Schema(columns=table.columns))


def open_training(
    data: str,
    *,
    validation: str | None = None,
    fraction: float = 0.1,
    seed: int = 0,
    data_dir: Folder = None,
    choices: Choices | None = None,
) -> tuple[Source, Source | None]:
    """Training rows, and validation rows: the set's own, those of another file, or a random part of the training rows.

    Args:
        data: a known data set or a table.
        validation: a table to validate on.
        fraction: how much of a table to hold out where there is nothing else to validate on; 0 for none. Rows with the
            only values of a column are learnt from.
        seed: of the choice.
        data_dir: see `open_data`.
        choices: what the user says of the columns of a table.

    Raises:
        UndecidedColumnsError: if the user has to say more of the columns.
        ValueError: on a first row that could be names and data (see `nadek.tabular.io.check_header`), on a fraction outside
            0 to 1, on choices for a known data set, and as `open_data`.
    """
    if data in datasets.names():
        if choices not in (None, Choices()):
            raise ValueError(f"{data!r} is a known data set: expected no choices, as what its columns are is known")
        train = open_data(data, split="train", data_dir=data_dir)
    else:
        _check_is_table(data)
        choices = choices or Choices()
        raw = read_raw(data, missing=possible_texts(choices.words))
        check_header(raw)
        schema, codes, found = decide(raw, choices)
        train = Source(torch.from_numpy(codes), schema, taken=found)
    if validation is not None:
        return train, _validation(validation, train, data_dir)
    if data in datasets.names():
        return train, open_data(data, split="valid", data_dir=data_dir)
    if not 0 <= fraction < 1:
        raise ValueError(f"validation fraction: expected at least 0 and below 1, found {fraction}")
    order = torch.randperm(len(train.x), generator=torch.Generator().manual_seed(seed))
    n_held = int(fraction * len(train.x))
    needed = needed_rows(~train.x.isnan(), order[:n_held])
    held, rest = order[:n_held][~needed], torch.cat([order[n_held:], order[:n_held][needed]])
    if train.x[held].isnan().all():  # nothing to validate on, not even where there are rows
        return train, None
    return replace(train, x=train.x[rest]), replace(train, x=train.x[held])


def source_for(saved: SavedModel, data: str, *, split: Split = "test", data_dir: Folder = None) -> Source:
    """The rows of `open_data` as a model reads them: its columns in its order, and values as its codes.

    Raises:
        ValueError: if the columns are not those of the model, on values that a column cannot hold, and as `open_data`.
    """
    return _read(data, split, data_dir, saved.schema, kinds_of(saved))


def rows_for(saved: SavedModel, data: str, *, split: Split = "test", data_dir: Folder = None) -> Tensor:
    """The codes of `source_for` on the model's device."""
    return source_for(saved, data, split=split, data_dir=data_dir).x.to(saved.model.b.device)


def _read(data: str, split: Split, data_dir: Folder, schema: Schema, kinds: Sequence[Column]) -> Source:
    raw = _open_raw(data, split, data_dir, [word.text for word in words_of(schema)])
    values, codes, places = read_as(raw, schema, kinds)
    layout = Layout(schema.columns if raw.columns is None else raw.columns, tuple(places), raw)
    return Source(torch.from_numpy(codes), schema, values, layout)


def _validation(data: str, train: Source, data_dir: Folder) -> Source:
    kinds = train.schema.kinds or (Binary(),) * train.x.shape[1]
    source = _read(data, "valid", data_dir, train.schema, kinds)
    if source.x.isnan().all():
        raise ValueError(f"{data}: no rows to validate on: {len(source.x)} rows found, all of them without any value")
    return source


def _open_raw(data: str, split: Split, data_dir: Folder, missing: Sequence[str]) -> RawTable:
    if data in datasets.names():
        source = open_data(data, split=split, data_dir=data_dir)
        return from_matrix(source.x.numpy().astype(np.uint8), source.schema.columns, where=data)
    _check_is_table(data)
    return read_raw(data, missing=missing)


def _check_is_table(data: str) -> None:
    """Refuse what is neither a known set nor looks like a file."""
    if not data.lower().endswith(SUFFIXES) and not Path(data).exists():
        names, suffixes = ", ".join(datasets.names()), ", ".join(SUFFIXES)
        raise ValueError(f"{data!r} is neither a known data set ({names}) nor a file ({suffixes})")
