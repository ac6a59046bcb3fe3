"""Rows out: a table by its suffix, CSV on standard output, or a picture."""

from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.cli.console import standard_output
from nadek.runs.data import ModelRows
from nadek.runs.fillings import filled_columns
from nadek.tabular.arrow_columns import AnyColumn
from nadek.tabular.columns import decode, n_levels
from nadek.tabular.files import MATRICES, Target, form_of
from nadek.tabular.names import labels_of
from nadek.tabular.schema import Schema
from nadek.tabular.writeback import numbers_for, other_column
from nadek.tabular.writing import Writer, writing

PICTURES = (".png", ".svg", ".pdf")


def write_columns(output: Path | None, **columns: Tensor | list[str]) -> None:
    """Write columns of numbers and text by their names."""
    with writing(target_of(output)) as writer:
        add_columns(writer, **columns)


def add_columns(writer: Writer, **columns: Tensor | list[str]) -> None:
    """Write a batch of columns by their names."""
    values = [
        column.cpu().numpy() if isinstance(column, Tensor) else np.array(column, dtype=object)
        for column in columns.values()
    ]
    writer.write(values, columns=list(columns))


def target_of(output: Path | None) -> Target:
    """Return the file, or standard output for bytes."""
    if output is not None:
        return output
    stream: Target = standard_output()
    if isinstance(stream, TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8", newline="\n")
    return stream


class Whole:
    """Batch to be written as read, but filled in."""

    def __init__(self, batch: ModelRows, schema: Schema, output: Path | None) -> None:
        """Check that the file format can hold every column."""
        self._batch, self._table, self._target = batch, batch.table, target_of(output)
        others = sorted(set(range(len(self._table.cells))) - set(batch.places))
        self._others = {j: other_column(self._table, j, self._target) for j in others}
        self.columns = schema.columns if self._table.columns is None else self._table.columns

    def filled(self, new: Sequence[NDArray[Any]]) -> list[AnyColumn]:
        """Fill the missing cells out of D arrays [N]."""
        as_words = self._table.is_text_file and form_of(self._target) == ".csv"
        return filled_columns(self._batch, new, as_words=as_words)

    def write(self, writer: Writer, columns: Sequence[AnyColumn], **more: NDArray[Any]) -> None:
        """Write the model's columns, and more by name."""
        by_place = self._others | dict(zip(self._batch.places, columns, strict=True))
        everything = [by_place[j] for j in sorted(by_place)]
        names = (*(self.columns or labels_of(None, len(everything))), *more) if more else self.columns
        writer.write([*everything, *more.values()], columns=names, index=self._table.index)


def check_form(saved: SavedModel, output: Path | None) -> None:
    """Refuse a file format that cannot hold model columns."""
    if output is not None and output.suffix.lower() not in PICTURES and form_of(output) in MATRICES:
        for label, kind in zip(saved.labels, saved.kinds, strict=True):
            numbers_for(output, label, decode(kind, np.arange(n_levels(kind))))


def write_pictures(x: Tensor, image_shape: tuple[int, int] | None, output: Path) -> None:
    """Draw rows that are images."""
    if image_shape is None:
        raise ValueError(f"{output}: the rows of this model are no images; write them as .csv or .parquet")
    from nadek import figures  # on use: Matplotlib takes a quarter of the command line's start

    figures.save(figures.samples(x.cpu().numpy(), image_shape=image_shape), output)
