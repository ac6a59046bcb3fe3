"""The fast path: only the products that the next logit needs."""

import copy

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders.base import ALL, Rows
from nadek.kernels.linear import add_product, block_size, prepack_weight, uses_sigmoid
from nadek.models import IterativeNADE
from nadek.models.fast_cores import prepacked_core, sigmoid_core

PARTS = 8
"""Where products are compiled for their shapes, a number of rows is rounded up to a multiple of this part of all."""


class IncrementalDecoder:
    """Only the products that the next logit needs, for rows that share one ordering.

    The columns of W (and A) and the rows of V are permuted once, so that those of the missing variables come last.
    A running sum [B, H], ``seen = c + A missing + W x_observed``, follows what is revealed by updates of rank 1; the
    first step adds ``W fill_missing`` to it, a vector, since the rows miss the same. The steps between read and predict
    the missing variables only; the last computes the logits asked for. For ``steps`` = 1 nothing but vectors is left,
    and A is part of the vector. Sums and logits keep the dtype of the model. Where products are compiled for their
    shapes (see `nadek.kernels.linear`) the missing columns are rounded up to blocks.

    Args:
        model: a network that can be cut (see `nadek.models.registry`).
        ordering: the ordering [D].
        n_rows: B.
        dtype: of the matrix products; the model's own when None.
    """

    def __init__(
        self, model: IterativeNADE, ordering: Int[Tensor, " D"], n_rows: int, *, dtype: torch.dtype | None = None
    ) -> None:
        exact = model.b.dtype
        dtype = exact if dtype is None else dtype
        self.steps, self.block = model.steps, block_size(dtype, model.W.device, n_rows * model.W.numel())
        self.variables, columns = model.variables.permute(ordering), model.variables.column_order(ordering)
        self.shared, self.fill = True, model.fill[columns]
        W, V, b = model.W.t()[columns].contiguous(), model.output_weight[columns].contiguous(), model.b[columns]
        A = None if model.A is None else model.A.t()[ordering]
        seen = (model.c if A is None else model.c + A.sum(0)).expand(n_rows, -1).clone()
        core = model.core if dtype == exact else copy.deepcopy(model.core).to(dtype)
        twin = sigmoid_core(core) if dtype == exact and uses_sigmoid(seen) else None
        if twin is not None:  # the same logits from half of tanh + 1, which is a sigmoid of twice its sums
            core, W, A, seen = twin, 2 * W, A if A is None else 2 * A, 2 * seen
            V, b = 2 * V, (b.double() - V.double().sum(1)).to(exact)
        self.core = prepacked_core(core, n_rows)
        self.W_exact, self.V_exact, self.b_exact, self.A = W, V, b, A
        self.W, self.V, self.b = (weight.to(dtype) for weight in (W, V, b))
        self.seen, self.guess = seen, (self.fill @ W).unsqueeze(0)
        self.dtype = dtype
        self._near: tuple[int, Tensor, Tensor] | None = None

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """See `Path`."""
        chosen = self._rounded(rows)
        seen, guess = self.seen[chosen], self.guess[chosen] if len(self.guess) > 1 else self.guess
        h, state = self.core((seen + guess).to(self.dtype), None)
        if self.steps > 1:
            low = self._low(positions.start)
            start = self.variables.first_column(low)
            W, V = self._weights(start)
            b = self.b[start:]
            base = seen.to(self.dtype)
            known, missing = (
                self.variables.first_column(positions.start) - start,
                self._missing(positions.start, chosen),
            )
            for _ in range(self.steps - 1):
                v = self.variables.probabilities_from(h, V, b, low)
                if missing is None:
                    v[:, :known] = 0  # revealed already, part of the sum
                else:
                    v *= missing
                h, state = self.core(add_product(base, v, W), state)
        asked, h = self._columns(positions), h if chosen is rows else h[: len(rows)]  # type: ignore[arg-type]
        logits = torch.addmm(self.b_exact[asked], h.to(seen.dtype), self.V_exact[asked].t())
        return self.variables.scores_at(logits, positions)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], told: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Path`; this path's rows are all told the same variables."""
        assert told is None
        shown = self.variables.encode(value, positions).to(self.seen.dtype)
        self._add(positions, shown, self.fill[self._columns(positions)].unsqueeze(0))

    def _add(self, positions: slice, shown: Tensor, guessed: Tensor, told: Tensor | None = None) -> None:
        """Bring the sums up to date with what is shown where the fill stood."""
        columns = self.W_exact[self._columns(positions)]
        # of one column the outer product, which is the quicker as what it is
        add_ = Tensor.addcmul_ if len(columns) == 1 else Tensor.addmm_
        add_(self.seen, shown, columns)
        add_(self.guess, -guessed, columns)
        if self.A is not None:
            A = self.A[positions]
            of_both = self.guess if self.steps == 1 else self.seen  # the quicker one, where nothing else is read
            of_both -= A.sum(0) if told is None else told.to(A.dtype) @ A

    def _low(self, position: int) -> int:
        """The position from which on columns take part in the products: what is before it is known."""
        return position - position % self.block

    def _weights(self, start: int) -> tuple[Tensor, Tensor]:
        """W and V of the columns from some place on, as products read them; kept until others are asked for."""
        if self._near is None or self._near[0] != start:
            W, V = self.W[start:].t(), self.V[start:]
            if self.block > 1:  # worth it for a whole block of positions
                W, V = prepack_weight(W, len(self.seen)), prepack_weight(V, len(self.seen))
            self._near = start, W, V
        return self._near[1:]

    def _missing(self, position: int, rows: Rows) -> Tensor | None:
        """1 where a row misses a column from `_low` on, 0 where not; None: all miss those visited from here on."""
        return None

    def _columns(self, positions: slice) -> slice:
        """The columns, as permuted, of the variables visited at some positions."""
        return slice(self.variables.first_column(positions.start), self.variables.first_column(positions.stop))

    def _rounded(self, rows: Rows) -> Rows:
        """Some rows; where products are compiled, with the first one repeated, so that few different numbers occur."""
        if isinstance(rows, slice) or self.block == 1:
            return rows
        n_rows = len(self.seen)
        extra = -len(rows) % -(-n_rows // PARTS)
        return torch.cat([rows, rows[:1].expand(min(extra, n_rows - len(rows)))])
