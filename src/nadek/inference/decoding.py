"""The decoding loop behind scoring, sampling, conditioning and imputing.

Visit the variables in the ordering. Get the scores of the next one from a decoder (`nadek.inference.decoders`), choose
its value (the given one, or a draw), and reveal it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.chunk_sizes import Chunk, chunk_slices
from nadek.inference.decoders.full import Decoder, Rows
from nadek.inference.decoders.select import select_decoder
from nadek.inference.orderings import GIVEN, VISITED, rank_of, shared_stages
from nadek.models.base import ConditionalModel
from nadek.models.variables import ALL

Draw = Callable[[Tensor, Tensor, Rows], Tensor]
"""Function from scores, and the indices of their variables and rows, to codes (see `nadek.models.variables`)."""

WORTH = 0.9
"""States are followed no longer once there are so many for each row: they never become fewer again."""


FEW_SIZES = 5
"""Binary digits of numbers of states: products are compiled, and kept, for each size that comes (`nadek.kernels`)."""


class SharedPrefixes:
    """Track which rows share the same revealed values, for which the network is run once.

    A conditional depends on the revealed values only. Along a shared ordering all rows begin in one state, and rows of
    few variables stay together for long: 16 binary variables have at most 256 states up to the ninth.

    Example:
        >>> prefixes = SharedPrefixes(5)
        >>> prefixes.append(torch.tensor([[1], [0], [1], [1], [0]]))
        >>> rows, state = prefixes.states(slice(None))
        >>> len(rows), state.tolist()
        (2, [1, 0, 1, 1, 0])
    """

    def __init__(self, n_rows: int, *, distinct: bool = False, device: torch.device | str | None = None) -> None:
        self._follow(torch.zeros(n_rows, dtype=torch.long, device=device), n_rows if distinct else 1)

    def append(self, codes: Shaped[Tensor, "B w"], where: Bool[Tensor, "B w"] | None = None) -> None:
        """Add revealed codes; rows with another code part. Nothing is revealed where ``where`` is False."""
        for column in range(codes.shape[1]):
            if self.state is None:
                return
            code = codes[:, column].nan_to_num(0).unique(return_inverse=True)[1] + 1
            if where is not None:
                code = code * where[:, column]
            distinct, state = (self.state * (len(codes) + 1) + code).unique(return_inverse=True)
            self._follow(state, len(distinct))

    def states(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return a row for each state among all or some rows, and the state of each of these rows.

        The last state may come again (see `FEW_SIZES`).
        """
        if self.state is None:
            return (rows, ALL) if isinstance(rows, slice) else (_padded(rows), slice(len(rows)))
        state, n_states = self.state, self.n_states
        if isinstance(rows, slice):
            rows = torch.arange(len(state), device=state.device)
        else:
            distinct, state = state[rows].unique(return_inverse=True)
            n_states = len(distinct)
        return _padded(rows.new_empty(n_states).scatter_(0, state, rows)), state

    def _follow(self, state: Tensor, n_states: int) -> None:
        self.n_states = n_states
        self.state: Tensor | None = None if n_states > WORTH * len(state) else state


def _padded(rows: Int[Tensor, " n"]) -> Int[Tensor, " m"]:
    """Return rows, the last one again up to a number of few digits."""
    n = len(rows)
    more = -n % 2 ** max(0, n.bit_length() - FEW_SIZES)
    return torch.cat([rows, rows[-1:].expand(more)]) if more else rows


class Decoded(NamedTuple):
    """Values and their conditional log-probabilities."""

    values: Float[Tensor, "B D"]
    """The given and the chosen codes."""
    log_probs: Float[Tensor, "B D"]
    """float64, nats: log p(value i | values before i); 0 where a variable was not visited."""


@torch.no_grad()
def decode(
    decoder: Decoder,
    given: Shaped[Tensor, "B D"],
    variable: Int[Tensor, "B D"],
    *,
    start: int = 0,
    stop: int | None = None,
    stage: Shaped[Tensor, "B D"] | None = None,
    draw: Draw | None = None,
    chunk: Chunk = 1,
    turn: Sequence[int] | None = None,
) -> Decoded:
    """Visit every ``variable`` once, **in visiting order**; NaN in ``given`` asks for a draw.

    Positions before ``start`` are revealed without a score. Rows that differ have a stage a cell (see
    `nadek.inference.orderings`). Variables within a chunk are independent, given those before it; chunks are cut by
    ``turn``, increasing numbers of the positions (None: 0, 1 and so on).
    """
    values = given.double()
    log_probs = torch.zeros(given.shape, dtype=torch.float64, device=given.device)
    stop = given.shape[1] if stop is None else stop
    prefixes = SharedPrefixes(len(given), distinct=not decoder.shared, device=given.device)

    def reveal(positions: slice, where: Tensor | None) -> None:
        decoder.reveal(positions, values[:, positions], where)
        prefixes.append(values[:, positions], where)

    if stage is not None:
        reveal(slice(0, given.shape[1]), stage == GIVEN)
    elif start > 0:
        reveal(slice(0, start), None)
    for positions in chunk_slices(chunk, start, stop, turn):
        visited = None if stage is None else stage[:, positions] == VISITED
        rows = ALL if visited is None else visited.any(1).nonzero().squeeze(1)
        if not isinstance(rows, slice) and len(rows) == 0:
            continue
        distinct, state = prefixes.states(rows)
        scores = decoder.scores(positions, distinct).double()[state]
        value = values[rows, positions]
        if draw is not None:
            value = torch.where(value.isnan(), draw(scores, variable[rows, positions], rows), value)
            values[rows, positions] = value
        log_p = decoder.variables.log_prob(scores, value, variable[rows, positions])
        log_probs[rows, positions] = log_p if visited is None else log_p.masked_fill(~visited[rows], 0)
        if positions.stop < stop:
            reveal(positions, visited)
    if draw is not None and log_probs.isnan().any():  # checked once, at the end: a check a position is slow
        raise ValueError("nothing can be drawn from this model: expected probabilities, found NaN; its weights are bad")
    return Decoded(values, log_probs)


def decode_rows(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    ordering: Int[Tensor, "*rows D"],
    stage: Shaped[Tensor, "B D"],
    *,
    draw: Draw | None = None,
    chunk: Chunk = 1,
    dtype: torch.dtype | None = None,
) -> Decoded:
    """Decode rows in their own stages, along one ordering [D] or one a row [B, D].

    Rows of one ordering visit their variables in the same relative order; NaN asks for a draw. The result is **in the
    order of the columns of** ``x``.
    """
    shared, start, stop, turn = ordering.ndim == 1, 0, x.shape[1], None
    if shared:
        rank = rank_of(ordering)
        ordering, start, stop = shared_stages(ordering, stage)
        turn = rank[ordering].tolist()  # so that a row's chunks do not depend on the other rows
    along = ordering.expand(x.shape)
    given, along_stage = x.gather(1, along), stage.gather(1, along)
    alike = shared and bool((along_stage == along_stage[:1]).all())
    differing = None if alike else along_stage
    decoder = select_decoder(model, ordering, len(x), stage=differing, dtype=dtype)
    decoded = decode(decoder, given, along, start=start, stop=stop, stage=differing, draw=draw, chunk=chunk, turn=turn)
    back = rank_of(ordering).expand(x.shape)
    return Decoded(decoded.values.gather(1, back), decoded.log_probs.gather(1, back))
