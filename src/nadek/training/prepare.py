"""Rows prepared for training: values and observed cells, on the device."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.models.codes import check_tensor, split_missing
from nadek.models.variables import Knots, variables_of

MAX_NAMED = 8
"""Largest number of columns named in a message."""


class EmptyColumnsError(ValueError):
    """Columns without a value in any row, raised by `nadek.prepare`.

    Attributes:
        columns: their indices.
    """

    def __init__(self, message: str, *, columns: list[int]) -> None:
        super().__init__(message)
        self.columns = columns


class Rows(NamedTuple):
    """Rows of a data set on the device, returned by `nadek.prepare`."""

    values: Shaped[Tensor, "N D"]
    """Codes, 0 where missing: bytes, or float32 where a variable is continuous."""
    observed: Bool[Tensor, "N D"] | None
    """False where missing; None if no value is missing."""
    n_skipped: int
    """Number of rows left out, without any value."""
    columns: tuple[str, ...] | None = None
    """Names of the columns, for messages."""

    def batch(self, rows: Tensor | slice) -> tuple[Tensor, Tensor | None]:
        """Return values and observed cells of some rows."""
        return self.values[rows], None if self.observed is None else self.observed[rows]

    def select(self, rows: Tensor | slice) -> "Rows":
        """Return some of the rows."""
        values, observed = self.batch(rows)
        return self._replace(values=values, observed=observed)

    def filled(self, values: Tensor) -> "Rows":
        """Return the same rows with all values [N, D]."""
        return self._replace(values=values.to(self.values), observed=None)

    def name(self, column: int) -> str:
        """Return the name of a column for messages."""
        return f"number {column}" if self.columns is None else f'"{self.columns[column]}"'


def prepare(
    x: Shaped[Tensor, "N D"],
    *,
    levels: Sequence[int] | None = None,
    knots: Knots = None,
    columns: Sequence[str] | None = None,
    device: torch.device | str | None = None,
    training: bool = True,
) -> Rows:
    """Split values from missing cells; drop empty rows.

    Args:
        x: codes, NaN where missing, [N, D].
        levels: number of levels of each variable; None for two each.
        knots: tells which variables are continuous, see `nadek.models.variables`.
        columns: names for messages.
        device: of the result.
        training: refuse columns without any value, which cannot be learnt.

    Returns:
        The rows that have a value, as `fit` takes them.

    Raises:
        TypeError: if x is no tensor.
        EmptyColumnsError: names the columns without values; it is a ValueError.
        ValueError: for no rows, another shape, a wrong number of levels or names, or values that are no codes.

    Example:
        >>> rows = prepare(torch.tensor([[0, 1], [1, torch.nan], [torch.nan, torch.nan]]))
        >>> rows.values.tolist(), rows.observed.tolist(), rows.n_skipped
        ([[0, 1], [1, 0]], [[True, True], [True, False]], 1)
    """
    check_tensor(x)
    if x.ndim != 2:
        hint = ": images are flattened, x.flatten(1)" if x.ndim > 2 else ""
        raise ValueError(f"x: expected a table [rows, columns], found shape {tuple(x.shape)}{hint}")
    for option, given in (("levels", levels), ("columns", columns)):
        if given is not None and len(given) != x.shape[1]:
            raise ValueError(f"{option}: expected {x.shape[1]}, one for each column, found {len(given)}")
    values, missing = split_missing(x, levels, knots)
    keep = ~missing.all(1)
    n_skipped = int((~keep).sum())
    values, missing = values[keep], missing[keep]
    if len(values) == 0:
        raise ValueError(f"no rows to learn from: {len(x)} rows found, {n_skipped} of them without any value")
    observed = (~missing).to(device) if missing.any() else None
    dtype = torch.uint8 if knots is None else torch.float32
    rows = Rows(values.to(dtype).to(device), observed, n_skipped, None if columns is None else tuple(columns))
    empty = missing.all(0).nonzero().flatten().tolist()
    if training and empty:
        raise EmptyColumnsError(_describe_empty([rows.name(column) for column in empty]), columns=empty)
    return rows


def _describe_empty(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    if len(names) == 1:
        return f"column {names[0]} has no value in any row: leave it out, or find some values"
    return f"columns {', '.join(names[:MAX_NAMED])}{more} have no value in any row: leave them out, or find some values"


def needed_rows(observed: Bool[Tensor, "N D"], held_out: Int[Tensor, " V"]) -> Bool[Tensor, " V"]:
    """Find held-out rows that hold the only values of a column.

    Training needs them.

    Args:
        observed: True where there is a value.
        held_out: indices of the rows to hold out.

    Returns:
        True for the held-out rows that training needs.

    Example:
        >>> observed = torch.tensor([[True, True], [True, False], [True, False]])
        >>> needed_rows(observed, torch.tensor([2, 0]))
        tensor([False,  True])
    """
    left = torch.ones(len(observed), dtype=torch.bool)
    left[held_out] = False
    lost = observed[held_out].any(0) & ~observed[left].any(0)
    return observed[held_out][:, lost].any(1)


def mirror_images(
    x: Shaped[Tensor, "B D"], chosen: Bool[Tensor, " B"], image_shape: tuple[int, int]
) -> Shaped[Tensor, "B D"]:
    """Exchange left and right of some images."""
    return torch.where(chosen[:, None], x.unflatten(1, image_shape).flip(2).flatten(1), x)


def data_mean(x: Shaped[Tensor, "N D"], levels: Sequence[int] | None = None) -> Float[Tensor, " C"]:
    """Return the mean of observed values (E[x]).

    Args:
        x: codes, NaN where missing, [N, D].
        levels: number of levels of each variable; None for two each.

    Returns:
        One mean for each column of the network, [C]; NaN for a column without values.

    Raises:
        TypeError: if x is no tensor.

    Example:
        >>> data_mean(torch.tensor([[0, 1], [1, torch.nan]]))
        tensor([0.5000, 1.0000])
    """
    check_tensor(x)
    variables = variables_of((2,) * x.shape[1] if levels is None else levels)
    columns = variables.encode(x).to(torch.float64).masked_fill(variables.expand(x.isnan()), torch.nan)
    return columns.nanmean(0).to(torch.float32)
