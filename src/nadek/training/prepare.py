"""Rows made ready for training: values and holes apart, on the device, nothing that could not be learnt from."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped, UInt8
from torch import Tensor

from nadek.models.variables import check_tensor, split_missing, variables_of

MOST_NAMED = 8
"""Columns, in a message."""


class EmptyColumnsError(ValueError):
    """Columns have no value in any row, so nothing can be learnt of them.

    Attributes:
        columns: their places.
    """

    def __init__(self, message: str, *, columns: list[int]) -> None:
        super().__init__(message)
        self.columns = columns


class Rows(NamedTuple):
    """A data set on the device."""

    values: UInt8[Tensor, "N D"]
    """Codes; 0 in the holes."""
    observed: Bool[Tensor, "N D"] | None
    """False in the holes; None when there are none."""
    n_skipped: int
    """Rows left out because nothing was observed in them."""
    columns: tuple[str, ...] | None = None
    """Names for the messages."""

    def batch(self, rows: Tensor | slice) -> tuple[Tensor, Tensor | None]:
        """Values and holes of some rows."""
        return self.values[rows], None if self.observed is None else self.observed[rows]

    def first(self, number: int) -> "Rows":
        """The first rows."""
        observed = None if self.observed is None else self.observed[:number]
        return Rows(self.values[:number], observed, self.n_skipped, self.columns)

    def filled(self, values: Tensor) -> "Rows":
        """The same rows without holes.

        Args:
            values: codes [N, D], also where there were holes.
        """
        return self._replace(values=values.to(self.values), observed=None)

    def name(self, column: int) -> str:
        """What messages call a column."""
        return f"number {column}" if self.columns is None else f'"{self.columns[column]}"'


def prepare(
    x: Shaped[Tensor, "N D"],
    *,
    levels: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    device: torch.device | str | None = None,
    training: bool = True,
) -> Rows:
    """Split holes from values, leave out rows without any value, and check what is left.

    Args:
        x: codes and NaN for missing.
        levels: how many levels each variable has; two each when None.
        columns: names for the messages.
        device: where the rows shall live.
        training: also refuse columns without any value: their distribution cannot be learnt.

    Raises:
        TypeError: if they are no tensor.
        EmptyColumnsError: on columns without values (named); it is a ValueError.
        ValueError: on no rows, on what is no table, on more or fewer levels or names than it has columns, or on other
            values.
    """
    check_tensor(x)
    if x.ndim != 2:
        hint = ": images are flattened, x.flatten(1)" if x.ndim > 2 else ""
        raise ValueError(f"x: expected a table [rows, columns], found shape {tuple(x.shape)}{hint}")
    for what, given in (("levels", levels), ("columns", columns)):
        if given is not None and len(given) != x.shape[1]:
            raise ValueError(f"{what}: expected {x.shape[1]}, one for each column, found {len(given)}")
    values, missing = split_missing(x, levels)
    keep = ~missing.all(1)
    n_skipped = int((~keep).sum())
    values, missing = values[keep], missing[keep]
    if len(values) == 0:
        raise ValueError(f"no rows to learn from: {len(x)} rows found, {n_skipped} of them without any value")
    observed = (~missing).to(device) if missing.any() else None
    rows = Rows(values.to(torch.uint8).to(device), observed, n_skipped, None if columns is None else tuple(columns))
    empty = missing.all(0).nonzero().flatten().tolist()
    if training and empty:
        raise EmptyColumnsError(_about_empty([rows.name(column) for column in empty]), columns=empty)
    return rows


def _about_empty(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    if len(names) == 1:
        return f"column {names[0]} has no value in any row: leave it out, or find some values"
    return (
        f"columns {', '.join(names[:MOST_NAMED])}{more} have no value in any row: leave them out, or find some values"
    )


def needed_rows(observed: Bool[Tensor, "N D"], held_out: Int[Tensor, " V"]) -> Bool[Tensor, " V"]:
    """Which of the rows held out have to be learnt from: those that know a column of which no other row knows a value.

    Args:
        observed: where there are values.
        held_out: places of the rows that are to be held out.

    Example:
        >>> observed = torch.tensor([[True, True], [True, False], [True, False]])
        >>> needed_rows(observed, torch.tensor([2, 0]))
        tensor([False,  True])
    """
    left = torch.ones(len(observed), dtype=torch.bool)
    left[held_out] = False
    lost = observed[held_out].any(0) & ~observed[left].any(0)
    return observed[held_out][:, lost].any(1)


def mirrored(
    x: Shaped[Tensor, "B D"], turned: Bool[Tensor, " B"], image_shape: tuple[int, int]
) -> Shaped[Tensor, "B D"]:
    """Images, some of them with left and right exchanged.

    Args:
        x: values, or whether there are any.
        turned: which images to turn.
        image_shape: height and width.

    Example:
        >>> mirrored(torch.tensor([[0, 1, 2, 3]] * 2), torch.tensor([True, False]), (2, 2)).tolist()
        [[1, 0, 3, 2], [0, 1, 2, 3]]
    """
    return torch.where(turned[:, None], x.unflatten(1, image_shape).flip(2).flatten(1), x)


def data_mean(x: Shaped[Tensor, "N D"], levels: Sequence[int] | None = None) -> Float[Tensor, " C"]:
    """Mean of the observed values of each column of the network (the paper's E[x]); NaN where there are none.

    Args:
        x: codes and NaN for missing.
        levels: how many levels each variable has; two each when None.

    Raises:
        TypeError: if they are no tensor.
    """
    check_tensor(x)
    variables = variables_of((2,) * x.shape[1] if levels is None else levels)
    columns = variables.encode(x).to(torch.float64).masked_fill(variables.spread(x.isnan()), torch.nan)
    return columns.nanmean(0).to(torch.float32)
