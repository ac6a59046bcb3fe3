"""Tables of numbers as tests compare them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from nadek.checkpoints import SavedModel
from nadek.models import IterativeNADE, ModelConfig
from nadek.tabular.columns import Binary, Categorical, Numeric, knots, n_levels
from nadek.tabular.encode import encode_table
from nadek.tabular.files import read_batches
from nadek.tabular.schema import Schema
from nadek.tabular.writing import writing
from support.models import seeded

NAMES = ("smoker", "city", "age", "ill", "well", "grade")
KINDS = (
    Binary(levels=("no", "yes")),
    Categorical(levels=("Turku", "Oslo", "a, b")),
    Numeric(edges=(10.0, 20.0), means=(4.5, 13.0, 25.25), low=0.0, high=40.5, integer=False),
    Binary(),
    Binary(levels=(False, True)),
    Categorical(levels=(1, 2, 5)),
)
"""Columns of people: words, numbers and truths."""


def write_table(target, values, *, columns=None, index=None):
    """Write a table as a whole."""
    with writing(target) as writer:
        writer.write(list(values.T) if isinstance(values, np.ndarray) else values, columns=columns, index=index)


def read_file(path, **options):
    """Read a table as a whole."""
    (table,) = read_batches(path, **options)
    return table


@dataclass
class Matrix:
    """Numbers [N, D], NaN where missing, and the names of their columns."""

    values: np.ndarray
    columns: tuple[str, ...] | None


def saved_model(kinds, names, **schema):
    """Return an untrained model with some opinions."""
    config = ModelConfig(n_variables=len(kinds), levels=tuple(map(n_levels, kinds)), knots=knots(kinds), steps=2)
    model = IterativeNADE(config, generator=(generator := seeded())).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return SavedModel(model, Schema(columns=names, kinds=kinds, **schema))


def read_matrix(path: str | Path, *, binary: bool = True) -> Matrix:
    """Read a table of 0 and 1, or of any numbers."""
    table = read_file(path)
    if binary:
        values = encode_table(table, [Binary()] * len(table.cells))[1]
    else:
        values = np.column_stack([table.column(j, reading="numbers") for j in range(len(table.cells))])
    return Matrix(values.astype(np.float32), table.columns)
