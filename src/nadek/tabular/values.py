"""Codes that a model gives, told in the words of the table that it was trained on."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from numpy.typing import NDArray
from torch import Tensor

from nadek.tabular.columns import (
    LARGEST_EXACT,
    Binary,
    Column,
    Numeric,
    decode,
    draw,
    level_names,
    log_fall_within,
    n_levels,
    read_cells,
)


def drawn(
    kinds: Sequence[Column], codes: Shaped[Tensor, "N D"], *, rng: np.random.Generator | None
) -> list[NDArray[Any]]:
    """The values of codes, D arrays [N]; a number is drawn from its bin, or the mean of it.

    Args:
        kinds: what the columns are.
        codes: NaN where missing.
        rng: where randomness comes from; None for means.
    """
    tell = decode if rng is None else partial(draw, rng=rng)
    return [tell(kind, column) for kind, column in zip(kinds, codes.cpu().numpy().T, strict=True)]


def completed(
    values: Sequence[NDArray[Any]] | None,
    missing: Shaped[Tensor, "N D"],
    kinds: Sequence[Column],
    codes: Shaped[Tensor, "N D"],
    *,
    rng: np.random.Generator | None,
) -> list[NDArray[Any]]:
    """The columns of a table with its holes filled by codes; all other cells as they were.

    Args:
        values: the columns, D arrays [N]; None where they hold 0 and 1, which their codes say already.
        missing: where their holes are.
        kinds: what they are.
        codes: of complete rows.
        rng: see `drawn`.
    """
    new = drawn(kinds, codes, rng=rng)
    if values is None:
        return new
    return [_filled(*column) for column in zip(values, missing.cpu().numpy().T, new, strict=True)]


def level_headers(names: Sequence[str], kinds: Sequence[Column]) -> list[str]:
    """What the columns of `spread_levels` are called: column=level, or as the column where that says enough.

    Args:
        names: of the columns.
        kinds: what they are.
    """
    headers: list[str] = []
    for name, kind in zip(names, kinds, strict=True):
        bare = isinstance(kind, Binary) and kind.levels == (False, True)  # which 0 and 1 equal
        headers += [name if bare else f"{name}={level}" for level in level_names(kind)[_first(kind) :]]
    return headers


def spread_levels(kinds: Sequence[Column], probabilities: Float[Tensor, "N D L"]) -> list[NDArray[Any]]:
    """The probabilities of all levels as columns [N] of a table.

    A binary column stays one, with the probability of its second level. Every other column becomes one for each level.

    Args:
        kinds: what the columns are.
        probabilities: see `nadek.inference.sampling.level_probabilities`.
    """
    return [
        probabilities[:, place, code].cpu().numpy()
        for place, kind in enumerate(kinds)
        for code in range(_first(kind), n_levels(kind))
    ]


def falls(values: Sequence[NDArray[Any]], kinds: Sequence[Column], names: Sequence[str]) -> Float[Tensor, "N D"]:
    """How much less probable numbers are than what is usual in their bins (nats, at most 0); 0 for all other cells.

    Args:
        values: the columns, D arrays [N].
        kinds: what they are.
        names: of them, for the messages.
    """
    found = torch.zeros(len(values[0]), len(kinds), dtype=torch.float64)
    for j, (column, kind, name) in enumerate(zip(values, kinds, names, strict=True)):
        if isinstance(kind, Numeric):
            cells = read_cells(column, name=name)
            found[cells.rows, j] = torch.from_numpy(log_fall_within(kind, cells.values.astype(np.float64)))
    return found


def _first(kind: Column) -> int:
    """The first code whose probability is told."""
    return 1 if isinstance(kind, Binary) else 0


def _filled(values: NDArray[Any], holes: NDArray[np.bool_], new: NDArray[Any]) -> NDArray[Any]:
    if not holes.any():
        return values
    if holes.all():  # an empty column does not tell what it would hold
        return new
    # a table may say true and false where the model's said 1 and 0
    if new.dtype.kind in "iuf" and any(isinstance(value, bool) for value in values.tolist()):
        values = values.astype(np.float64)
    if new.dtype.kind == "i" and values.dtype.kind == "f":
        observed = np.where(holes, 0, values)  # whole numbers that holes made floats, which would round large new ones
        if ((observed == np.floor(observed)) & (np.abs(observed) < LARGEST_EXACT)).all():
            values = observed.astype(np.int64)
    return np.where(holes, new, values)
