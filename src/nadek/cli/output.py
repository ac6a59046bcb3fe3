"""Rows out: a table by its suffix, CSV on standard output, or a picture."""

from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from torch import Tensor

from nadek import figures
from nadek.cli.console import standard_output
from nadek.runs.data import Source
from nadek.tabular.columns import Column, Numeric
from nadek.tabular.io import AnyColumn, Index, Target, called, write_columns, write_table

PICTURES = (".png", ".svg", ".pdf")


def write_rows(x: Tensor, columns: Sequence[str] | None, output: Path | None) -> None:
    """Write a table to a file, or to standard output as CSV."""
    write_table(_target(output), x.cpu().numpy(), columns=columns)


def write_values(
    values: Sequence[AnyColumn], columns: Sequence[str] | None, output: Path | None, *, index: Index | None = None
) -> None:
    """Write columns of words and numbers to a file, or to standard output as CSV; an index to Parquet only."""
    write_columns(_target(output), values, columns=columns, index=index)


def _target(output: Path | None) -> Target:
    """The file, or standard output, which takes byte for byte what a file would hold where it is no terminal."""
    if output is not None:
        return output
    stream = standard_output()
    if isinstance(stream, TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8", newline="\n")
    return stream


def how_many(holes: Tensor) -> str:
    """What was filled in, in words; holes are True."""
    return f"filled {int(holes.sum())} of {holes.numel()} cells in {len(holes)} rows"


class Whole:
    """A table to be written whole, as it was read but for its holes: its columns in their order, and all of them."""

    def __init__(self, source: Source, output: Path | None) -> None:
        """Look whether the table can be written.

        Args:
            source: the table.
            output: a file; None for standard output.

        Raises:
            ValueError: on a column that the form of the file cannot hold.
        """
        assert source.layout is not None, "a table that is read for a model tells it"
        self._layout, self._missing, self._output = source.layout, source.x.isnan().numpy(), output
        self._target = _target(output)
        self._others = self._layout.others(self._target)
        self.columns = self._layout.columns

    def filled(self, values: Sequence[NDArray[Any]]) -> list[AnyColumn]:
        """The columns of the model, as they were read but for their holes.

        Args:
            values: these columns without holes.
        """
        return self._layout.filled(values, self._missing, self._target)

    def write(self, columns: Sequence[AnyColumn], **more: NDArray[Any]) -> None:
        """Write it.

        Args:
            columns: those of the model.
            more: columns to be added at the end, by their names.
        """
        everything = self._layout.whole(columns, self._others)
        names = self.columns
        if more:
            names = (*(names or called(None, len(everything))), *more)
        write_values([*everything, *more.values()], names, self._output, index=self._layout.raw.index)


def check_words(kinds: Sequence[Column], output: Path | None) -> None:
    """Refuse to write words into a form that holds numbers only, and numbers where only 0 and 1 go, before the work.

    Raises:
        ValueError: if the values of some column are such, and the file is none that can hold it.
    """
    if output is None or output.name.lower().endswith((".csv", ".csv.gz", ".parquet", *PICTURES)):
        return
    if any(isinstance(level, str) for kind in kinds if not isinstance(kind, Numeric) for level in kind.levels):
        raise ValueError(f"{output}: this form holds numbers only, and the model knows words; write .csv or .parquet")
    if output.name.lower().endswith((".amat", ".amat.gz")) and not all(map(_is_0_or_1, kinds)):
        raise ValueError(f"{output}: this form holds 0 and 1 only, and the model knows other numbers; write .csv")


def _is_0_or_1(kind: Column) -> bool:
    return not isinstance(kind, Numeric) and all(level in (0, 1) for level in kind.levels)


def write_pictures(x: Tensor, image_shape: tuple[int, int] | None, output: Path) -> None:
    """Draw rows that are images.

    Raises:
        ValueError: if they are not.
    """
    if image_shape is None:
        raise ValueError(f"{output}: the rows of this model are no images; write them as .csv or .parquet")
    figures.save(figures.samples(x.cpu().numpy(), image_shape=image_shape), output)
