"""Two ways through the conditionals of one variable after the other, and the memory they take.

- `PlainPath`: the whole network at every position. Obviously right; every row may have an ordering of its own.
- `FastPath`: for rows that share an ordering. It never multiplies by what is known already, nor computes a logit
  that nobody asks for. Equal to the plain path up to rounding.
"""

import copy
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from nadek.conditional import ConditionalNetwork
from nadek.cores import Core
from nadek.model import Network
from nadek.networks import has_columns
from nadek.orderings import missing_at, rank_of
from nadek.variables import Variables

MAX_BYTES = 256 * 2**20
"""Default bound on the working memory of an evaluation, on top of data and model."""

REDUCED_BLOCK = 32
"""Reduced-precision products are compiled for each shape they meet (by oneDNN), which takes longer than the product:
the number of missing columns is rounded up to a multiple of this."""


@runtime_checkable
class Path(Protocol):
    """Where a walk reads scores from; positions are visited in turn, from the first not yet revealed."""

    variables: Variables

    def scores(self, position: int) -> Tensor:
        """What decides about the variable visited at ``position``, given all that was revealed.

        Logits [B] where all variables are binary, else [B, L] of levels (see `nadek.variables`).
        """

    def reveal(self, position: int, value: Tensor) -> None:
        """Tell the code [B] of the variable visited at ``position``."""


class PlainPath:
    """The whole network at every position.

    Args:
        model: any model with the face ``model(x, missing) -> logits of every step``.
        ordering: one ordering a row.
        dtype: of the matrix products; the model's own when None.
    """

    def __init__(
        self, model: ConditionalNetwork, ordering: Int[Tensor, "B D"], *, dtype: torch.dtype | None = None
    ) -> None:
        self.model, self.ordering, self.rank, self.dtype = model, ordering, rank_of(ordering), dtype
        self.variables = model.variables
        self.values = torch.zeros(ordering.shape, dtype=model.b.dtype, device=ordering.device)

    def scores(self, position: int) -> Tensor:
        """See `Path`."""
        with products_in(self.dtype, self.values.device):
            logits = self.model(self.values, missing_at(self.rank, position))[-1]
        return self.variables.scores(logits, self.ordering[:, position])

    def reveal(self, position: int, value: Tensor) -> None:
        """See `Path`."""
        self.values.scatter_(1, self.ordering[:, position, None], value.to(self.values.dtype).unsqueeze(1))


class FastPath:
    """Only the products that the next logit needs, for rows that share one ordering.

    The columns of W (and A) and the rows of V are permuted once, so that those of the missing variables come last.
    Two running sums [B, H] follow what is revealed by rank-1 updates: ``seen = c + A missing + W x_observed``, and
    ``first``, the same plus ``W fill_missing``, which is all that the first step needs. The steps between read and
    predict the missing variables only; the last computes the one logit asked for. For ``steps`` = 1 nothing but
    vectors is left. Buffers are made once; running sums and the logit keep the dtype of the model.

    Args:
        model: a network that has columns (see `nadek.networks`).
        ordering: the ordering [D].
        n_rows: B.
        dtype: of the matrix products; the model's own when None.
    """

    def __init__(
        self, model: Network, ordering: Int[Tensor, " D"], n_rows: int, *, dtype: torch.dtype | None = None
    ) -> None:
        exact = model.b.dtype
        dtype = exact if dtype is None else dtype
        self.core: Core = model.core if dtype == exact else copy.deepcopy(model.core).to(dtype)
        self.steps, self.block = model.steps, 1 if dtype == exact else REDUCED_BLOCK
        self.variables, columns = model.variables.ordered(ordering), model.variables.columns(ordering)
        self.fill = model.fill[columns]
        weights = (model.W.t()[columns].contiguous(), model.output_weight[columns].contiguous(), model.b[columns])
        self.W_exact, self.V_exact, self.b_exact = weights
        self.W, self.V, self.b = (weight.to(dtype) for weight in weights)
        self.A = None if model.A is None else model.A.t()[ordering]
        nothing_seen = model.c if self.A is None else model.c + self.A.sum(0)
        self.seen = nothing_seen.expand(n_rows, -1).clone()
        self.first = self.seen + self.fill @ self.W_exact
        self.u = torch.empty_like(self.seen, dtype=dtype)
        self.base = self.seen if dtype == exact else torch.empty_like(self.u)
        self.v = torch.empty(n_rows * len(columns) if self.steps > 1 else 0, dtype=dtype, device=self.u.device)

    def scores(self, position: int) -> Tensor:
        """See `Path`."""
        h, state = self.core(self.u.copy_(self.first), None)
        if self.steps > 1:
            low = position - position % self.block
            first, known = self.variables.start(low), self.variables.start(position)
            W, V, b = self.W[first:], self.V[first:].t(), self.b[first:]
            v = self.v[: len(h) * len(b)].view(len(h), len(b))
            if self.base is not self.seen:
                self.base.copy_(self.seen)
            for _ in range(self.steps - 1):
                torch.addmm(b, h, V, out=v)
                self.variables.probabilities_(v, low)[:, : known - first] = 0  # revealed already, part of the sum
                torch.addmm(self.base, v, W, out=self.u)
                h, state = self.core(self.u, state)
        asked = self._columns(position)
        logits = torch.addmm(self.b_exact[asked], h.to(self.first.dtype), self.V_exact[asked].t())
        return self.variables.scores_at(logits, position)

    def reveal(self, position: int, value: Tensor) -> None:
        """See `Path`."""
        told = self._columns(position)
        shown, columns = self.variables.encode_at(value, position).to(self.first.dtype), self.W_exact[told]
        self.first.addmm_(shown - self.fill[told], columns)
        if self.A is not None:
            self.first -= self.A[position]
        if self.steps > 1:
            self.seen.addmm_(shown, columns)
            if self.A is not None:
                self.seen -= self.A[position]

    def _columns(self, position: int) -> slice:
        """The columns, as permuted, of the variable visited at a position."""
        return slice(self.variables.start(position), self.variables.start(position + 1))


def shared_path(
    model: ConditionalNetwork, ordering: Int[Tensor, " D"], n_rows: int, *, dtype: torch.dtype | None = None
) -> Path:
    """The quickest path for so many rows that share an ordering."""
    if has_columns(model):
        return FastPath(model, ordering, n_rows, dtype=dtype)
    return PlainPath(model, ordering.expand(n_rows, -1), dtype=dtype)


def products_in(dtype: torch.dtype | None, device: torch.device) -> torch.autocast:
    """A context in which the matrix products of a float32 network are carried out in another dtype."""
    return torch.autocast(device.type, dtype, enabled=dtype is not None)


def bytes_per_row(model: ConditionalNetwork) -> int:
    """A generous count of the bytes that one row keeps alive along a path."""
    return model.b.element_size() * model.units_per_row + 24 * model.variables.n_columns


def chunks(n_rows: int, bytes_per_row: int, max_bytes: int) -> Iterator[slice]:
    """Cut ``n_rows`` into slices that fit the memory bound (always at least one row).

    Example:
        >>> list(chunks(5, 10, 20))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, max_bytes // bytes_per_row)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
