"""Rows out: a table by its suffix, CSV on standard output, or a picture."""

import sys
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from nadek import figures
from nadek.tables import write_table

PICTURES = (".png", ".svg", ".pdf")


def write_rows(x: Tensor, columns: Sequence[str] | None, output: Path | None) -> None:
    """Write a table to a file, or to standard output as CSV."""
    write_table(sys.stdout if output is None else output, x.cpu().numpy(), columns=columns)


def write_pictures(x: Tensor, image_shape: Sequence[int] | None, output: Path) -> None:
    """Draw rows that are images.

    Raises:
        ValueError: if they are not.
    """
    if image_shape is None:
        raise ValueError(f"{output}: the rows of this model are no images; write them as .csv or .parquet")
    height, width = image_shape
    figures.save(figures.samples(x.cpu().numpy(), image_shape=(height, width)), output)
