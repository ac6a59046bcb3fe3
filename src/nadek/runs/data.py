"""Rows of known data sets and of tables."""

import io
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nadek import datasets
from nadek.checkpoints import SavedModel
from nadek.tabular.columns import Binary, Measure, Unknown, is_missing, within_bins
from nadek.tabular.csv import CsvFormat, check_header
from nadek.tabular.encode import Doubts, encode_by_schema
from nadek.tabular.files import SUFFIXES, matrix_table, read_batches, read_text
from nadek.tabular.learn_schema import learn_schema
from nadek.tabular.schema import Schema
from nadek.tabular.table import Table
from nadek.tabular.text_cells import Spelling
from nadek.tabular.user_options import Choices, WordCount
from nadek.training.prepare import needed_rows, part_size
from nadek.utils.configs import naming

Split = Literal["train", "valid", "test"]
Folder = str | os.PathLike[str] | None


@dataclass(frozen=True)
class CodedTable:
    """Rows of codes, float32 [N, D], and their columns.

    Rows to learn from have words that mean missing, maybe by mistake, and further entries for the model's metrics.
    """

    x: Tensor
    schema: Schema
    word_counts: tuple[WordCount, ...] = ()
    trained_on: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelRows:
    """Rows for a model, as codes, float32 [N, D].

    They have their table, the places of the D columns in it, their values [N] before they became codes, the spelling of
    the columns, and ids that are not their places.
    """

    x: Tensor
    table: Table
    places: Sequence[int]
    values: Sequence[NDArray[Any]]
    spellings: Sequence[Spelling]
    ids: Tensor | None = None

    @property
    def first_row(self) -> int:
        """Place of the first row, from 0."""
        return self.table.first_row

    @property
    def rows(self) -> Tensor:
        """Ids of the rows, int64 [N]: by default their places, from 0."""
        return torch.arange(self.first_row, self.first_row + len(self.x)) if self.ids is None else self.ids

    @property
    def missing(self) -> Tensor:
        """Where the table has no value, [N, D]; values that a model does not know are there."""
        return torch.from_numpy(np.column_stack([is_missing(cells) for cells in self.values]))


def open_data(data: str, *, split: Split = "test", data_dir: Folder = None) -> CodedTable:
    """Read a part of a known set, in ``data_dir`` or the folder that the environment variable NADEK_DATA names."""
    dataset = datasets.load(data, data_dir)
    x = torch.from_numpy({"train": dataset.train, "valid": dataset.valid, "test": dataset.test}[split])
    return CodedTable(x.float(), Schema(columns=dataset.columns, image_shape=dataset.image_shape))


def open_training(
    data: str,
    *,
    validation: str | None = None,
    fraction: float = 0.1,
    seed: int = 0,
    data_dir: Folder = None,
    choices: Choices | None = None,
    form: CsvFormat | None = None,
) -> tuple[CodedTable, CodedTable | None]:
    """Return training rows, and others for validation.

    A ``fraction`` of a table is held out where there is nothing else to validate on, but for rows with the only values
    of a column. An UndecidedColumnsError asks for more ``choices``.
    """
    if data in datasets.names():
        if choices not in (None, Choices()):
            raise ValueError(f"{data!r} is a known data set: expected no choices, as what its columns are is known")
        train = open_data(data, split="train", data_dir=data_dir)
    else:
        (table,) = read_tables(data, form=form)()
        if form is None or form.header is None:
            check_header(table)
        schema, codes, counts = learn_schema(table, choices or Choices())
        train = CodedTable(torch.from_numpy(codes), schema, word_counts=counts)
    if validation is not None:
        return train, _validation(validation, train, data_dir, form)
    if data in datasets.names():
        return train, open_data(data, split="valid", data_dir=data_dir)
    if not 0 <= fraction < 1:
        raise ValueError(f"validation fraction: expected at least 0 and below 1, found {fraction}")
    return _held_out(train, fraction, seed)


class Stream:
    """Rows for a model, batch by batch.

    Each batch is `ModelRows`, whose codes are on the device of the model. The whole table is looked through first: a
    wrong cell anywhere is an error before any work, and what follows from all rows of a column is the same in every
    batch. If there are several batches, they are read again then. Of a known set the part ``split`` is read, "test" by
    default. ``unknown`` values are refused, or missing with a warning.

    Attributes:
        n_rows: N.
    """

    def __init__(
        self,
        saved: SavedModel,
        data: str,
        *,
        split: Split | None = None,
        data_dir: Folder = None,
        form: CsvFormat | None = None,
        unknown: Unknown = "error",
        cells: int | None = None,
        on_rows: Callable[[int], None] = lambda n_rows: None,
    ) -> None:
        self.n_rows = 0
        self._saved, self._unknown, columns = saved, unknown, saved.kinds
        model = replace(saved.schema, kinds=columns)
        if split is not None and data not in datasets.names():
            raise ValueError(f"split: {data!r} has no parts: expected it left out, found {split!r}")
        self._tables = read_tables(data, split=split or "test", data_dir=data_dir, form=form, model=model, cells=cells)
        self._spellings = [Spelling() for _ in columns]
        self._only: ModelRows | None = None
        doubts = Doubts()
        for batch in self._batches(doubts):
            self._only = batch if self.n_rows == 0 else None
            self._add(batch)
            on_rows(self.n_rows)
        doubts.warn("standard input" if data == "-" else data)

    def __iter__(self) -> Iterator[ModelRows]:
        return self._batches(Doubts()) if self._only is None else iter([self._only])

    def _batches(self, doubts: Doubts) -> Iterator[ModelRows]:
        for table in self._tables():
            yield model_rows(self._saved, table, self._spellings, unknown=self._unknown, doubts=doubts)

    def _add(self, batch: ModelRows) -> None:
        self.n_rows += len(batch.x)
        table = batch.table
        for j, values, spelling in zip(batch.places, batch.values, self._spellings, strict=True):
            spelling.add(values)
            if table.is_text_file:
                with naming(f'{table.where}: column "{table.labels[j]}"'):
                    spelling.add_words(table.cells[j], values, decimal_commas=table.decimal_commas)


def model_rows(
    saved: SavedModel,
    table: Table,
    spellings: Sequence[Spelling],
    *,
    unknown: Unknown,
    doubts: Doubts | None = None,
) -> ModelRows:
    """Return the rows of a table for a model; see `nadek.tabular.encode.encode_by_schema`."""
    values, codes, places = encode_by_schema(table, saved.schema, saved.kinds, unknown=unknown, doubts=doubts)
    x = torch.from_numpy(codes).to(saved.model.b.device)
    values = [spelling.as_in_file(one) for spelling, one in zip(spellings, values, strict=True)]
    return ModelRows(x, table, places, values, spellings)


def read_model_rows(saved: SavedModel, data: str, **options: Any) -> ModelRows:  # noqa: ANN401 - those of `Stream`
    """Read rows for a model as a whole."""
    (batch,) = Stream(saved, data, **options)
    return batch


def of_numbers(measure: Measure, saved: SavedModel, batch: ModelRows, *, new: bool = False) -> Tensor:
    """Return a measure of all numbers, and of values that are ``new``, [N, D]; 0 for other cells."""
    codes = batch.x.cpu().numpy() if new else None
    return torch.from_numpy(within_bins(measure, saved.kinds, batch.values, codes)).to(batch.x.device)


def read_tables(
    data: str,
    *,
    split: Split = "train",
    data_dir: Folder = None,
    form: CsvFormat | None = None,
    model: Schema | None = None,
    cells: int | None = None,
) -> Callable[[], Iterator[Table]]:
    """Return a function that reads a table in batches of ``cells``, or in one.

    It can be called more than once. A known data set is one batch.
    """
    if data in datasets.names():
        coded = open_data(data, split=split, data_dir=data_dir)
        table = matrix_table(coded.x.numpy().astype(np.uint8), coded.schema.columns, where=data)
        return lambda: iter([table])
    if data == "-":
        opener = _standard_input()
        return lambda: read_text(opener, where="standard input", form=form, model=model, cells=cells)
    if not data.lower().endswith(SUFFIXES) and not Path(data).exists():
        names, suffixes = ", ".join(datasets.names()), ", ".join(SUFFIXES)
        raise ValueError(f"{data!r} is neither a known data set ({names}) nor a file ({suffixes})")
    return lambda: read_batches(data, form=form, model=model, cells=cells)


def _standard_input() -> Callable[[], io.BufferedIOBase]:
    """Return a function that opens copies of standard input.

    That itself can be read only once.
    """
    if sys.stdin is None:
        raise OSError("standard input is closed: nothing can be read there")
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        descriptor = os.dup(copy.fileno())

    def opener() -> io.BufferedIOBase:
        stream = os.fdopen(os.dup(descriptor), "rb")
        stream.seek(0)
        return stream

    weakref.finalize(opener, os.close, descriptor)
    return opener


def _held_out(train: CodedTable, fraction: float, seed: int) -> tuple[CodedTable, CodedTable | None]:
    """Split rows at random; both parts need values."""
    order = torch.randperm(len(train.x), generator=torch.Generator().manual_seed(seed))
    chosen, others = order.tensor_split([int(fraction * len(train.x))])
    parts, needed = train.x.split(part_size(train.x.T), dim=1), torch.zeros(len(chosen), dtype=torch.bool)
    for columns in parts:
        needed |= needed_rows(~columns.isnan(), chosen)
    held = chosen[~needed]
    if all(columns[held].isnan().all() for columns in parts):
        return train, None
    shuffled = torch.cat([others, chosen[needed], held])
    for columns in parts:
        columns.copy_(columns[shuffled])  # in place: there may be no room for another table
    rest, held_out = train.x.tensor_split([len(shuffled) - len(held)])
    return replace(train, x=rest), replace(train, x=held_out)


def _validation(data: str, train: CodedTable, data_dir: Folder, form: CsvFormat | None) -> CodedTable:
    columns = train.schema.kinds or (Binary(),) * train.x.shape[1]
    model = replace(train.schema, kinds=columns)
    (table,) = read_tables(data, split="valid", data_dir=data_dir, form=form, model=model)()
    _, codes, _ = encode_by_schema(table, train.schema, columns)
    if np.isnan(codes).all():
        raise ValueError(f"{data}: no rows to validate on: {len(codes)} rows found, all of them without any value")
    return CodedTable(torch.from_numpy(codes), train.schema)
