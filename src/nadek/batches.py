"""Batches of Arrow in, batches of Arrow out: for engines that spread rows over machines.

An object of either class is a function of a batch. It can be pickled, and loads its model once in each process.

A row is known by its id, not by its place. Draws follow from the seed, the id and the variable, and orderings from the
seed. So answers do not depend on how rows are cut into batches, on their order, or on who computes them. Where ids are
the places of rows, from 0, they are those of ``nadek impute`` and ``nadek score``.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from nadek.checkpoints import SavedModel, load_saved, weights_digest
from nadek.runs.data import ModelRows, model_rows
from nadek.runs.fillings import Strategy, filled_columns, fillings
from nadek.runs.scores import scores
from nadek.tabular.arrow_batches import Batch, beside_ids, ids_in, model_table, spelling_of, with_new_cells
from nadek.tabular.columns import Unknown
from nadek.tabular.text_cells import Spelling
from nadek.utils.configs import check_range, convert_options

__all__ = ["BatchImputer", "BatchScorer"]


@dataclass(frozen=True)
class _BatchModel:
    """A saved model, and how it knows rows."""

    model: str
    row_id: str
    seed: int = 0
    unknown: Unknown = "missing"

    def __post_init__(self) -> None:
        convert_options(self)

    def _read(self, batch: Batch) -> tuple[SavedModel, ModelRows]:
        ids = torch.from_numpy(ids_in(batch, self.row_id))
        saved = _loaded(self.model, weights_digest(self.model))
        table = model_table(batch, saved.schema.columns, self.row_id)
        rows = model_rows(saved, table, [Spelling()] * saved.model.n_variables, unknown=self.unknown)
        cells = [table.cells[place] for place in rows.places]
        return saved, replace(rows, ids=ids, spellings=list(map(spelling_of, cells, rows.values)))


@dataclass(frozen=True)
class BatchImputer(_BatchModel):
    """Function that fills missing cells of a batch.

    It takes a RecordBatch or a Table of pyarrow, and returns the same with filled cells. Types stay, and so do columns
    that the model does not know.

    Args:
        model: folder of a saved model or estimator, as workers know it.
        row_id: name of a column of whole numbers, another one for each row of the whole table.
        seed: of the draws.
        unknown: values that the model does not know are missing with a warning, or an error; they are not replaced.
        strategy: "sample" for joint draws, or each cell's "mean", "median" or "mode". Whole numbers stay whole.

    Raises:
        TypeError: when called with what is no batch of pyarrow.
        ValueError: on wrong options; when called with a batch that lacks columns or ids, has wrong cells, or has types
            that do not hold what is filled in.

    Example:
        >>> import pyarrow as pa
        >>> from tempfile import TemporaryDirectory
        >>> from nadek import NADEk
        >>> batch = pa.table({"id": [7, 8], "a": [0, None], "b": [None, 1]})
        >>> with TemporaryDirectory() as folder:
        ...     NADEk(max_iter=40, random_state=0).fit(pa.table({"a": [0, 1] * 50, "b": [0, 1] * 50})).save(folder)
        ...     BatchImputer(folder, row_id="id", strategy="mode")(batch).to_pydict()
        {'id': [7, 8], 'a': [0, 1], 'b': [0, 1]}
    """

    strategy: Strategy = "sample"

    def __call__(self, batch: Batch) -> Batch:
        """Fill the missing cells of a batch."""
        saved, rows = self._read(batch)
        names = [rows.table.labels[j] for j in rows.places]
        columns = filled_columns(rows, fillings(saved, rows, self.strategy, seed=self.seed))
        return with_new_cells(batch, dict(zip(names, columns, strict=True)))


@dataclass(frozen=True)
class BatchScorer(_BatchModel):
    """Function that scores the rows of a batch.

    It takes a RecordBatch or a Table of pyarrow, and returns one with the ids and three columns, in nats:
    ``log_likelihood`` under the mixture of orderings, ``mean_over_orderings`` and ``spread_over_orderings``.
    Missing cells are summed out.

    Args:
        model: folder of a saved model or estimator, as workers know it.
        row_id: name of a column of whole numbers, another one for each row of the whole table.
        seed: of the orderings.
        unknown: values that the model does not know are missing with a warning, or an error.
        orderings: number of random orderings, the same ones for all batches.

    Raises:
        TypeError: when called with what is no batch of pyarrow.
        ValueError: on wrong options; when called with a batch that lacks columns or ids, or has wrong cells.

    Example:
        >>> import pyarrow as pa
        >>> from tempfile import TemporaryDirectory
        >>> from nadek import NADEk
        >>> table = pa.table({"id": range(100), "a": [0, 1] * 50, "b": [0, 1] * 50})
        >>> with TemporaryDirectory() as folder:
        ...     NADEk(max_iter=40, random_state=0).fit(table.drop("id")).save(folder)
        ...     BatchScorer(folder, row_id="id")(table).column_names
        ['id', 'log_likelihood', 'mean_over_orderings', 'spread_over_orderings']
    """

    orderings: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "orderings", least=1)

    def __call__(self, batch: Batch) -> Batch:
        """Score the rows of a batch."""
        saved, rows = self._read(batch)
        columns = scores(saved, rows, self.orderings, seed=self.seed)
        return beside_ids(batch, self.row_id, {name: column.numpy() for name, column in columns.items()})


@lru_cache(maxsize=2)
def _loaded(model: str, _: str) -> SavedModel:
    """Load a model once for each digest."""
    return load_saved(model)
