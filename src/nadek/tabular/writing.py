"""Tables out, batch by batch: CSV, Parquet, NumPy, `.amat`."""

import io
import os
import shutil
import tempfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nadek.tabular.arrow_columns import AnyColumn, to_arrow, wider
from nadek.tabular.csv import format_csv
from nadek.tabular.files import MATRICES, Target, form_of
from nadek.tabular.names import check_names
from nadek.utils.atomic import replacing
from nadek.utils.configs import naming


@contextmanager
def writing(target: Target) -> Iterator["Writer"]:
    """Open a table to be written batch by batch.

    A file appears whole or not at all, in the form that its name ends in; a stream gets CSV. None and NaN are written
    as missing, and floats in CSV with all digits that tell them apart. Without names CSV has no header and Parquet
    calls the columns "x0", "x1" and so on; npy and `.amat` hold no names, and only Parquet holds an index. Forms of
    numbers are written in one batch.
    """
    if not isinstance(target, str | os.PathLike):
        yield _CsvWriter(lambda text: target.write(text.decode()))
        return
    file, form = Path(target), form_of(target)
    with replacing(file) as stream:
        pack = zlib.compressobj(4, zlib.DEFLATED, 31) if file.suffix.lower() == ".gz" else None  # 31: as gzip
        put = stream.write if pack is None else lambda data: stream.write(pack.compress(data))
        if form == ".parquet":
            writer: Writer = _ParquetWriter(stream)
        else:
            writer = _MatrixWriter(stream, put, file) if form in MATRICES else _CsvWriter(put)
        try:
            yield writer
            writer.close()
        finally:
            writer.leave()
        if pack is not None:
            stream.write(pack.flush())


class Writer(ABC):
    """Takes the batches of a table."""

    def write(
        self, values: Sequence[AnyColumn], *, columns: Sequence[str] | None = None, index: pa.Table | None = None
    ) -> None:
        """Write some rows, D columns [N]."""
        names = None if columns is None else check_names(columns, len(values), where="columns")
        self._write(values, names, index)

    @abstractmethod
    def _write(self, values: Sequence[AnyColumn], names: tuple[str, ...] | None, index: pa.Table | None) -> None:
        """Write some rows under checked names."""

    def close(self) -> None:  # noqa: B027 - most have nothing there
        """Write what stands at the end."""

    def leave(self) -> None:  # noqa: B027 - most hold nothing
        """Write nothing more."""


class _CsvWriter(Writer):
    def __init__(self, put: Callable[[bytes], object]) -> None:
        self._put, self._goes_on = put, False

    def _write(self, values: Sequence[AnyColumn], names: tuple[str, ...] | None, _: pa.Table | None) -> None:
        self._put(format_csv(values, names, goes_on=self._goes_on))
        self._goes_on = True


class _MatrixWriter(Writer):
    def __init__(self, stream: BinaryIO, put: Callable[[bytes], object], file: Path) -> None:
        self._stream, self._put, self._file = stream, put, file

    def _write(self, values: Sequence[AnyColumn], names: tuple[str, ...] | None, _: pa.Table | None) -> None:
        matrix = np.column_stack([np.asarray(column) for column in values])
        with naming(f"{self._file} holds numbers only; write .csv or .parquet"):
            matrix = matrix.astype(np.float64) if matrix.dtype == object else matrix
        form = form_of(self._file)
        if form == ".npz":
            named: dict[str, Any] = {} if names is None else {"columns": np.array(names, dtype=np.str_)}
            np.savez_compressed(self._stream, values=matrix, **named)
        elif form == ".npy":
            np.save(self._stream, matrix)
        else:
            _check_bits(matrix, where=str(self._file))
            text = io.BytesIO()
            np.savetxt(text, matrix, fmt="%d")
            self._put(text.getvalue())


class _ParquetWriter(Writer):
    """Parquet with the types of the first batch.

    Where a later one needs a wider type, all rows before it are written anew.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._writer: pq.ParquetWriter | None = None

    def _write(self, values: Sequence[AnyColumn], names: tuple[str, ...] | None, index: pa.Table | None) -> None:
        table = _parquet_table(values, names, index)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._stream, table.schema)
        old = self._writer.schema
        schema = pa.schema(
            [field.with_type(wider(field.type, new.type)) for field, new in zip(old, table.schema, strict=True)],
            metadata=old.metadata,
        )
        if schema != old:
            self._write_anew(schema)
        self._writer.write_table(table.replace_schema_metadata(old.metadata).cast(schema, safe=False))

    def _write_anew(self, schema: pa.Schema) -> None:
        self.close()
        self._stream.flush()
        folder = Path(self._stream.name).parent
        with tempfile.TemporaryFile(dir=folder) as copy, open(self._stream.name, "rb") as written:
            shutil.copyfileobj(written, copy)
            self._stream.seek(0)
            self._stream.truncate()
            self._writer = pq.ParquetWriter(self._stream, schema)
            for batch in pq.ParquetFile(copy).iter_batches():
                self._writer.write_table(pa.Table.from_batches([batch]).cast(schema, safe=False))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def leave(self) -> None:
        if self._writer is not None:
            self._writer.is_open = False  # or it would write its end when it is collected


def _check_bits(values: NDArray[Any], *, where: str) -> None:
    wrong = ~((values == 0) | (values == 1))
    if wrong.any():
        row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
        place = f"{where}: row {row + 1}, column {column + 1}"
        raise ValueError(f"{place}: expected 0 or 1, found {values[row, column]}; .amat holds nothing else")


def _parquet_table(values: Sequence[AnyColumn], columns: Sequence[str] | None, index: pa.Table | None) -> pa.Table:
    names = [f"x{j}" for j in range(len(values))] if columns is None else list(columns)
    cells = list(map(to_arrow, values))
    if index is None:
        return pa.table(cells, names=names)
    table = pa.table([*cells, *index.columns], names=[*names, *index.column_names])
    return table.replace_schema_metadata(index.schema.metadata)
