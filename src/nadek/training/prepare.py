"""Rows prepared for training, on the device."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.models.codes import check_tensor, code_dtype, split_missing
from nadek.models.variables import Knots, variables_of
from nadek.utils.scratch import scratch

CELLS = 2**20
"""Cells that are copied at a time, at most."""
MAX_NAMED = 8
"""Largest number of columns named in a message."""


class Rows(NamedTuple):
    """Rows of a data set on the device, returned by `nadek.prepare`."""

    values: Shaped[Tensor, "N D"]
    """Codes, 0 where missing, of the smallest dtype that holds them: float32 where a variable is continuous."""
    observed: Bool[Tensor, "N D"] | None
    """False where missing; None if no value is missing."""
    n_skipped: int
    """Number of rows left out, without any value."""
    columns: tuple[str, ...] | None = None
    """Names of the columns, for messages."""
    weights: Float[Tensor, " N"] | None = None
    """Factors on the costs of the rows, 1 on average; None for 1 each."""

    @property
    def counted(self) -> Float[Tensor, " N"]:
        """Weights, also where each row counts once."""
        return torch.ones_like(self.values[:, 0], dtype=torch.float32) if self.weights is None else self.weights

    @property
    def shown(self) -> Bool[Tensor, "N D"]:
        """Observed cells, also where none is missing."""
        return torch.ones_like(self.values, dtype=torch.bool) if self.observed is None else self.observed

    def select(self, rows: Tensor | slice) -> "Rows":
        """Return some of the rows."""
        observed = None if self.observed is None else self.observed[rows]
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(values=self.values[rows], observed=observed, weights=weights)

    def sample(self, most: int, generator: torch.Generator) -> "Rows":
        """Return rows in a random order, so many at most."""
        order = torch.randperm(len(self.values), generator=generator, device=generator.device)
        return self.select(order[:most].to(self.values.device))

    def parts(self) -> Iterator["Rows"]:
        """Yield the rows, `CELLS` cells at a time."""
        size = part_size(self.values)
        return (self.select(slice(first, first + size)) for first in range(0, len(self.values), size))

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
        ValueError: for columns without values, no rows, another shape, a wrong number of levels or names, or values
            that are no codes.

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
    dtype = torch.empty(0, dtype=code_dtype(levels, continuous=knots is not None)).numpy().dtype
    values = torch.from_numpy(scratch(x.shape, dtype))
    missing = torch.from_numpy(scratch(x.shape, np.bool_))
    place = n_rows = 0
    for part in x.split(part_size(x)):
        codes, holes = split_missing(part, levels, knots, first_row=place)
        keep = ~holes.all(1)
        kept = slice(n_rows, n_rows + int(keep.sum()))
        values[kept], missing[kept] = codes[keep], holes[keep]
        place, n_rows = place + len(part), kept.stop
    n_skipped, values, missing = len(x) - n_rows, values[:n_rows], missing[:n_rows]
    if not n_rows:
        raise ValueError(f"no rows to learn from: {len(x)} rows found, {n_skipped} of them without any value")
    empty = missing.all(0).nonzero().flatten().tolist()
    observed = missing.logical_not_().to(device or x.device) if missing.any() else None
    rows = Rows(values.to(device or x.device), observed, n_skipped, None if columns is None else tuple(columns))
    if training and empty:
        raise ValueError(_describe_empty([rows.name(column) for column in empty]))
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
    chosen = observed[held_out]
    lost = chosen.sum(0) == observed.sum(0)
    return chosen[:, lost].any(1)


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
        ValueError: for values that are no codes, such as those between two knots.

    Example:
        >>> data_mean(torch.tensor([[0, 1], [1, torch.nan]]))
        tensor([0.5000, 1.0000])
    """
    check_tensor(x)
    for part in x.split(part_size(x)):
        split_missing(part, levels)  # checks it
    parts = ((part, x.new_ones(len(part))) for part in x.split(part_size(x)))
    return column_means(parts, (2,) * x.shape[1] if levels is None else levels)


def column_means(parts: Iterable[tuple[Tensor, Tensor]], levels: Sequence[int]) -> Float[Tensor, " C"]:
    """Return the `data_mean` of rows that come in parts, each with the weights of its rows."""
    variables = variables_of(levels)
    total = count = torch.zeros((), dtype=torch.float64)
    for x, weights in parts:
        missing, counted = variables.expand(x.isnan()), weights.to(torch.float64)
        total = total + counted @ variables.encode(x).to(torch.float64).masked_fill(missing, 0)
        count = count + counted @ (~missing).to(torch.float64)
    return torch.div(total, count).to(torch.float32)


def part_size(x: Shaped[Tensor, "N D"]) -> int:
    """Return the number of rows of `CELLS` cells."""
    return max(1, CELLS // max(1, x.shape[1]))
