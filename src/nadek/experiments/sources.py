"""Where rows come from: a known data set by its name, or a table in a file."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from nadek import datasets
from nadek.checkpoints import SavedModel, Schema
from nadek.tables import SUFFIXES, align_columns, read_table
from nadek.tables.table import Table

Split = Literal["train", "valid", "test"]
Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class Source:
    """Rows [N, D] (float32; 0, 1 and NaN for missing) and what their columns are."""

    x: Tensor
    schema: Schema


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
    if not data.lower().endswith(SUFFIXES) and not Path(data).exists():
        names, suffixes = ", ".join(datasets.names()), ", ".join(SUFFIXES)
        raise ValueError(f"{data!r} is neither a known data set ({names}) nor a file ({suffixes})")
    table = read_table(data)
    return Source(torch.from_numpy(table.values), Schema(columns=table.columns))


def open_training(
    data: str, *, validation: str | None = None, fraction: float = 0.1, seed: int = 0, data_dir: Folder = None
) -> tuple[Source, Source | None]:
    """Training rows, and validation rows: the set's own, those of another file, or a random part of the training rows.

    Args:
        data: a known data set or a table.
        validation: a table to validate on.
        fraction: how much of a table to hold out where there is nothing else to validate on; 0 for none.
        seed: of the choice.
        data_dir: see `open_data`.

    Raises:
        ValueError: on a fraction outside 0 to 1, and as `open_data`.
    """
    train = open_data(data, split="train", data_dir=data_dir)
    if validation is not None:
        return train, matching(open_data(validation, split="valid", data_dir=data_dir), train.schema, train.x.shape[1])
    if data in datasets.names():
        return train, open_data(data, split="valid", data_dir=data_dir)
    if not 0 <= fraction < 1:
        raise ValueError(f"validation fraction: expected at least 0 and below 1, found {fraction}")
    order = torch.randperm(len(train.x), generator=torch.Generator().manual_seed(seed))
    n_held = int(fraction * len(train.x))
    if n_held == 0:
        return train, None
    return Source(train.x[order[n_held:]], train.schema), Source(train.x[order[:n_held]], train.schema)


def rows_for(saved: SavedModel, data: str, *, split: Split = "test", data_dir: Folder = None) -> Tensor:
    """The rows of `open_data` with their columns in the order of a model's, on its device.

    Raises:
        ValueError: if the columns are not those of the model, and as `open_data`.
    """
    source = open_data(data, split=split, data_dir=data_dir)
    return matching(source, saved.schema, saved.model.n_variables).x.to(saved.model.b.device)


def matching(source: Source, schema: Schema, n_variables: int) -> Source:
    """The same rows with their columns in the order of a schema.

    Raises:
        ValueError: if the columns are not the same ones; names those that are missing and those that are too many,
            or tells their number where one of both has no names.
    """
    if schema.columns is None or source.schema.columns is None:
        if source.x.shape[1] != n_variables:
            raise ValueError(f"expected {n_variables} columns as in the model, found {source.x.shape[1]}")
        return source
    aligned = align_columns(Table(source.x.numpy(), source.schema.columns), schema.columns)
    return Source(torch.from_numpy(aligned.values), schema)
