"""Tables of the imputation benchmark and their hidden cells."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadek.datasets import load

SETS = ("nltcs", "plants", "accidents", "digits", "mushrooms")
FRACTIONS = (0.1, 0.3, 0.5)
SEEDS = {"train": 1, "valid": 2, "test": 3}


@dataclass(frozen=True, eq=False)
class Table:
    """Discrete rows in three published parts.

    Attributes:
        name: one of `SETS`.
        train: codes 0 to levels - 1, shape [N, D].
        valid: rows to choose by.
        test: rows to report on, and nothing else.
        levels: number of levels of each of the D columns.
    """

    name: str
    train: NDArray[np.float64]
    valid: NDArray[np.float64]
    test: NDArray[np.float64]
    levels: tuple[int, ...]


def table(name: str, *, train_rows: int | None = None, rows: int | None = None) -> Table:
    """Read one set.

    Args:
        name: one of `SETS`.
        train_rows: only so many training rows, for a short look.
        rows: only so many validation and test rows.
    """
    if name == "mushrooms":
        parts, levels = _mushrooms()
    else:
        data = load(name)
        parts, levels = (data.train, data.valid, data.test), (2,) * data.train.shape[1]
    rng = np.random.default_rng(0)  # published parts may be sorted
    caps = (train_rows, rows, rows)
    shuffled = [
        part[rng.permutation(len(part))[:cap]].astype(np.float64) for part, cap in zip(parts, caps, strict=True)
    ]
    return Table(name, *shuffled, levels)


def hide(x: NDArray[np.float64], fraction: float, levels: tuple[int, ...], *, part: str) -> NDArray[np.float64]:
    """Return the rows with a fraction of their cells hidden.

    Hidden cells are NaN. Each cell has its own draw, the same for every method.

    Cells of a column with one level are never hidden: there is nothing to predict.

    Args:
        x: codes, shape [N, D].
        fraction: how likely a cell is to be hidden.
        levels: number of levels of each column.
        part: "train", "valid" or "test", each with a seed of its own.
    """
    rng = np.random.default_rng((SEEDS[part], round(100 * fraction)))
    hidden = (rng.random(x.shape) < fraction) & (np.array(levels) > 1)
    return np.where(hidden, np.nan, x)


def _mushrooms() -> tuple[tuple[NDArray[np.uint8], ...], tuple[int, ...]]:
    """Return the codes and level counts of the categorical set."""
    folder = os.environ.get("NADEK_DATA")
    if not folder:
        raise FileNotFoundError("mushrooms is in the data folder: set the environment variable NADEK_DATA to it")
    with np.load(Path(folder) / "uci_mushrooms.npz") as archive:
        parts = tuple(archive[part] for part in ("train", "valid", "test"))
        return parts, tuple(int(count) for count in archive["cardinalities"])
