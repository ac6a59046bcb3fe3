"""Incremental decoders: only products that the next logit needs."""

import copy

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from nadek.inference.decoders.full import Rows
from nadek.inference.orderings import UNSEEN
from nadek.kernels.linear import add_product, block_size, prepack_weight, uses_sigmoid
from nadek.models import IterativeNADE
from nadek.models.cores import Core, Deep
from nadek.models.first_guess import Evidence
from nadek.models.layers import is_modified
from nadek.models.variables import ALL


class IncrementalDecoder:
    """Compute only what the next logit needs, for rows that share one ordering.

    A running sum [B, H], ``seen = c + A missing + W x_observed``, follows what is revealed. The first step adds
    another one, ``filled = W fill_missing``; where there is no other step, this one follows ``A missing``. The steps
    between predict the missing variables only, the last one computes the logits asked for.
    """

    def __init__(
        self, model: IterativeNADE, ordering: Int[Tensor, " D"], n_rows: int, *, dtype: torch.dtype | None = None
    ) -> None:
        exact = model.b.dtype
        dtype = exact if dtype is None else dtype
        self.steps, self.block = model.steps, block_size(dtype, model.W.device, n_rows * model.W.numel())
        self.variables, columns = model.variables, model.variables.column_order(ordering)
        self.along = model.variables.permute(ordering)
        self.shared, self.fill = True, model.fill[columns]
        W, V, b = model.W.t()[columns].contiguous(), model.output_weight[columns].contiguous(), model.b[columns]
        A = None if model.A is None else model.A.t()[ordering]
        seen = (model.c if A is None else model.c + A.sum(0)).expand(n_rows, -1).clone()
        core = model.core if dtype == exact else copy.deepcopy(model.core).to(dtype)
        twin = sigmoid_core(core) if dtype == exact and uses_sigmoid(seen) else None
        if twin is not None:  # the same logits from half of tanh + 1, which is a sigmoid of twice its sums
            core, W, A, seen = twin, 2 * W, A if A is None else 2 * A, 2 * seen
            V, b = 2 * V, (b.double() - V.double().sum(1)).to(exact)
        self.core: Core = core
        self.W_exact, self.V_exact, self.b_exact, self.A = W, V, b, A
        self.W, self.V, self.b = (weight.to(dtype) for weight in (W, V, b))
        self.first_guess = None
        if model.first_guess is not None:
            self.first_guess, self.bias = model.first_guess.permute(ordering, model.variables), model.b[columns]
            self.fill = self.fill.masked_fill(self.first_guess.is_guessed, 0)
            self.evidence = self.first_guess.no_evidence(n_rows)
        self.seen, self.filled = seen, (self.fill @ W).unsqueeze(0)
        self.dtype, self.all_seen = dtype, len(ordering)
        self.confidence, self.n_revealed = model.confidence, model.b.new_zeros(n_rows)
        self.missing: Tensor | None = None  # 1 for the columns that a row misses, else 0; None if all miss the same
        self._packed: tuple[int, Tensor, Tensor] | None = None

    def scores(self, positions: slice, rows: Rows = ALL) -> Float[Tensor, "n w ..."]:
        """See `Decoder`."""
        guess = None if self.first_guess is None else self.first_guess.logits(self.evidence.select(rows))
        h, columns = self._hidden(positions.start, rows, guess), self.along.columns(positions)
        logits = torch.addmm(self.b_exact[columns], h.to(self.seen.dtype), self.V_exact[columns].t())
        logits = logits if guess is None else logits + guess[:, columns]
        if self.confidence is not None:
            logits = self.confidence(self.n_revealed[rows] / len(self.along.levels)).unsqueeze(1) * logits
        return self.along.scores_at(logits, positions)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Decoder`; all rows are shown the same variables."""
        assert where is None
        shown = self.along.encode(value, positions).to(self.seen.dtype)
        self._add(positions, shown, self.fill[self.along.columns(positions)].unsqueeze(0))

    def _hidden(self, position: int, rows: Rows, guess: Tensor | None) -> Tensor:
        seen, fill = self.seen[rows], self.filled[rows] if len(self.filled) > 1 else self.filled
        u, base = (seen + fill).to(self.dtype), seen.to(self.dtype)
        if self.steps == 1 and guess is None:
            return self.core(u, None)[0]
        first = min(position, self.all_seen)
        low = first - first % self.block
        start = self.along.first_column(low)
        W, V = self._weights(start)
        b, n_revealed = self.b[start:], self.along.first_column(position) - start
        missing = None if self.missing is None else self.missing[rows, start:]

        def add_missing(base: Tensor, v: Tensor) -> Tensor:
            if missing is None:
                v[:, :n_revealed] = 0  # already part of the sum
            else:
                v *= missing
            return add_product(base, v, W)

        if guess is not None and self.first_guess is not None:
            b = b + guess[:, start:].to(self.dtype)
            v = self.along.probabilities((self.bias + guess)[:, start:], low)
            u = add_missing(u, (v * self.first_guess.is_guessed[start:]).to(self.dtype))
        h, state = self.core(u, None)
        for _ in range(self.steps - 1):
            h, state = self.core(add_missing(base, self.along.probabilities_from(h, V, b, low)), state)
        return h

    def _add(self, positions: slice, shown: Tensor, filled: Tensor, where: Tensor | None = None) -> None:
        """Update sums and counts: ``shown`` replaces the fill there."""
        columns = self.W_exact[self.along.columns(positions)]
        # a single column is an outer product, which is quicker
        add_ = Tensor.addcmul_ if len(columns) == 1 else Tensor.addmm_
        add_(self.seen, shown, columns)
        add_(self.filled, -filled, columns)
        if self.A is not None:
            A = self.A[positions]
            total = self.filled if self.steps == 1 else self.seen  # a single step reads their sum only
            total -= A.sum(0) if where is None else where.to(A.dtype) @ A
        if self.first_guess is not None:
            revealed = shown.new_ones(1, positions.stop - positions.start) if where is None else where
            more = self.first_guess.evidence(shown, revealed, positions, self.along.columns(positions))
            self.evidence = Evidence(self.evidence.total + more.total, self.evidence.precision + more.precision)
        if self.confidence is not None:
            self.n_revealed += positions.stop - positions.start if where is None else where.sum(1)

    def _weights(self, start: int) -> tuple[Tensor, Tensor]:
        """Return W and V from column ``start`` on, packed once for a whole block of positions."""
        if self._packed is None or self._packed[0] != start:
            W, V = self.W[start:].t(), self.V[start:]
            if self.block > 1:
                W, V = prepack_weight(W, len(self.seen)), prepack_weight(V, len(self.seen))
            self._packed = start, W, V
        return self._packed[1:]


class RaggedDecoder(IncrementalDecoder):
    """Decode rows that share an ordering but differ in what is given, visited or never seen.

    Given variables enter the sums at the start. Columns are left out where every row has them by then; among the
    others, those that a row has are set to 0. ``stage`` is in visiting order.
    """

    def __init__(
        self,
        model: IterativeNADE,
        ordering: Int[Tensor, " D"],
        stage: Shaped[Tensor, "B D"],
        *,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(model, ordering, len(stage), dtype=dtype)
        self.filled = self.filled.repeat(len(stage), 1)
        unseen = (stage == UNSEEN).any(0).nonzero()
        self.all_seen = int(unseen[0]) if len(unseen) else stage.shape[1]
        if self.steps > 1 or self.first_guess is not None:
            self.missing = torch.ones(len(stage), len(self.b), dtype=self.dtype, device=self.b.device)

    def reveal(self, positions: slice, value: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """See `Decoder`."""
        where = torch.ones_like(value, dtype=torch.bool) if where is None else where
        columns, hidden = self.along.columns(positions), ~self.along.expand(where, positions)
        shown = self.along.encode(value, positions).to(self.seen.dtype).masked_fill(hidden, 0)
        self._add(positions, shown, self.fill[columns] * ~hidden, where)
        if self.missing is not None:
            self.missing[:, columns] *= hidden


@torch.no_grad()
def sigmoid_core(core: Core) -> Deep | None:
    """Return a sigmoid core that replaces a tanh core.

    As ``tanh(u) = 2 sigmoid(2 u) - 1``, it returns ``(h + 1) / 2`` for ``2 u`` where the core returns ``h`` for ``u``.
    The scaling then is in the weights and not in every call.
    """
    if not isinstance(core, Deep) or core.activation != "tanh" or not _is_plain(core):
        return None
    if core.training and core.dropout > 0:
        return None
    twin = copy.deepcopy(core).eval()
    twin.activation = "sigmoid"
    for layer in twin.layers:
        assert isinstance(layer, nn.Linear)
        weight, bias = layer.weight.double(), layer.bias.double()
        layer.weight = nn.Parameter((4 * weight).to(layer.weight))
        layer.bias = nn.Parameter((2 * (bias - weight.sum(1))).to(layer.bias))
    return twin


def _is_plain(core: nn.Module) -> bool:
    """Return True for a core of this package without hooks, and without weights that are computed from others."""
    plain = (Deep, nn.Linear, nn.ModuleList)
    return all(type(part) in plain and not is_modified(part) for part in core.modules())
