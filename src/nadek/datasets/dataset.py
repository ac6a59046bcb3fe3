"""What a data set is, and what is known about one that may or may not be there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

State = Literal["ok", "not there", "differs"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A binary data set in its three published parts.

    Attributes:
        name: Short name, as `load` takes it.
        title: One line for people.
        train: Training rows, uint8 0/1 [N, D].
        valid: Validation rows, uint8 0/1 [N, D]: choose everything on these.
        test: Test rows, uint8 0/1 [N, D]: for reporting only.
        columns: Names of the D variables.
        image_shape: (rows, columns) of the picture that a row is, or None.
    """

    name: str
    title: str
    train: NDArray[np.uint8]
    valid: NDArray[np.uint8]
    test: NDArray[np.uint8]
    columns: tuple[str, ...]
    image_shape: tuple[int, int] | None


@dataclass(frozen=True)
class Status:
    """Whether a data set is there.

    Attributes:
        name: Short name, as `load` takes it.
        title: One line for people.
        state: "ok" (there, and the published content), "not there", or "differs" (there, with another content).
        rows: Rows of train, valid and test in the published set.
        dim: Number of variables D in the published set.
        path: Where the file was looked for; None for a set that needs no file, or when no folder is known.
    """

    name: str
    title: str
    state: State
    rows: tuple[int, int, int]
    dim: int
    path: Path | None


def column_names(dim: int, image_shape: tuple[int, int] | None = None) -> tuple[str, ...]:
    """Names of the variables: "x0", "x1" and so on, or the pixels of an image in row-major order.

    >>> column_names(3)
    ('x0', 'x1', 'x2')
    >>> column_names(4, (2, 2))
    ('pixel_r0_c0', 'pixel_r0_c1', 'pixel_r1_c0', 'pixel_r1_c1')
    """
    if image_shape is None:
        return tuple(f"x{i}" for i in range(dim))
    height, width = image_shape
    if height * width != dim:
        raise ValueError(f"expected an image of {dim} pixels, found {height} x {width}")
    return tuple(f"pixel_r{r}_c{c}" for r in range(height) for c in range(width))
