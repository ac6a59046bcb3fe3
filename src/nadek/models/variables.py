"""Variables, and the columns they take in a model.

A row is a vector of D codes, one a variable: 0 to levels - 1. A variable of two levels is *binary*: one column, whose
logit is that of level 1. Any other is *categorical*: one column a level (one-hot), with a softmax over their logits;
its columns are masked together. Where every variable is binary, C = D, and the columns are the codes.

The levels of a *continuous* variable are knots along a line of numbers, and a code may lie between two of them: 2.3
has the weights 0.7 and 0.3 for the knots 2 and 3. The model reads these weights in place of one-hot columns, and
learns to predict them. The logarithm of its density is a linear spline, ``s (0.7 l_2 + 0.3 l_3)`` at 2.3, but for a
constant and a bend (see `nadek.models.knot_densities`); l are the logits, and the factor s comes from rows that were
not learnt (`nadek.training.fit_sharpness`). Knots of a single number have no codes around them.

The layers above speak of variables, and call a `Variables` where columns matter:

- ``encode``, ``expand``: codes and masks as columns;
- ``probabilities``, ``level_probabilities``, ``costs``, ``cross_entropy``, ``mix_logits``: all variables at once, from
  the logits of all columns;
- ``scores``, ``log_prob``, ``level_log_probs``, ``sample``: one variable a row, as decoding visits it;
- ``permute``, ``column_order``, ``first_column``, ``columns``, ``scores_at``, ``probabilities_from``, ``mix_scores``,
  and ``places`` of ``encode`` and ``expand``: consecutive variables of a decoder that permuted the columns.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.kernels.cpu import whole_vectors
from nadek.kernels.linear import add_product, affine
from nadek.models.binary_variables import LOG_ZERO, BinaryVariables, LogMeans, clamped_mean, log_mix
from nadek.models.knot_densities import UNFITTED, KnotDensities, Shape

Knots: TypeAlias = Sequence[Sequence[int | float] | None] | None
"""For each continuous variable its knots that stand for a single number, and ``k + 0.5`` where no number lies between k
and k + 1; None for others; None without any."""

ALL = slice(None)

SPREAD = 4
"""Variables share a table unless the widest of them is so many times as wide."""


class MixedVariables(nn.Module):
    """Binary variables with one column, others with a softmax.

    A binary variable is a softmax over (0, its logit). So each variable has a score for each of its levels. Variables
    with about as many levels share a table of scores, as one for all would be as wide as the widest of them. Its rows
    fill whole vector registers: a softmax over 7 numbers takes six times as long as one over 8. What becomes of the
    scores of a row of data is a row of *cells*, table after table. ``cell`` [D, L] is the place of each level among
    them, where L is the largest number of levels.
    """

    def __init__(self, levels: Sequence[int], knots: Knots = None, shape: Shape = UNFITTED) -> None:
        super().__init__()
        self.levels, self.knots = tuple(levels), knots
        self.n_uniforms = 1 if knots is None else 2
        self._starts = list(accumulate((1 if n == 2 else n for n in levels), initial=0))
        self.n_columns, self.n_cells = self._starts[-1], 0
        # level 0 of a binary variable has no column
        columns = [(j, k) for j, n in enumerate(levels) for k in range(int(n == 2), n)]
        variable, level = (torch.tensor(part) for part in zip(*columns, strict=True))
        # 0 stands for a logit of 0, which level 0 of a binary variable has, and the last place for -infinity
        column = torch.full((len(levels), whole_vectors(max(levels))), 1 + self.n_columns)
        column[:, 0] = 0
        column[variable, level] = 1 + torch.arange(self.n_columns)
        self._tables, fixed = _tables(levels), partial(nn.Buffer, persistent=False)
        first, in_table = torch.zeros(2, len(levels), dtype=torch.long)
        for index, (members, width) in enumerate(self._tables):
            self.register_buffer(f"table_{index}", column[members, :width], persistent=False)
            first[members] = self.n_cells + width * torch.arange(len(members))
            in_table[members] = index
            self.n_cells += width * len(members)
        n_levels, column = torch.tensor(self.levels), column[:, : max(levels)]
        every = torch.arange(column.shape[1])
        cell = torch.where(every < n_levels[:, None], first[:, None] + every, self.n_cells)
        self.column, self.cell, self.top = fixed(column), fixed(cell), fixed(n_levels - 1)
        self.variable, self.level, self.logistic = fixed(variable), fixed(level), fixed((n_levels == 2)[variable])
        self.densities = None if knots is None else KnotDensities(levels, knots, shape)
        self.place, self.in_table = fixed(cell[variable, level]), fixed(in_table[variable])

    @property
    def bends(self) -> Sequence[float]:
        """See `BinaryVariables`."""
        return () if self.densities is None else self.densities.bends.tolist()

    def encode(self, x: Shaped[Tensor, "*batch D"], places: slice | None = None) -> Shaped[Tensor, "*batch C"]:
        """See `BinaryVariables`; booleans where no variable is continuous."""
        level = self.level if places is None else self.level[self.columns(places)]
        codes = self.expand(x, places)
        return codes == level if self.knots is None else (1 - (codes - level).abs()).clamp(min=0)

    def one_hot(self, x: Shaped[Tensor, "*batch D"], places: slice | None = None) -> Bool[Tensor, "*batch C"]:
        """See `BinaryVariables`."""
        return self.encode(x if self.knots is None else x.round(), places) == 1

    def expand(self, mask: Shaped[Tensor, "*batch D"], places: slice | None = None) -> Shaped[Tensor, "*batch C"]:
        """See `BinaryVariables`."""
        variable = self.variable if places is None else self.variable[self.columns(places)] - places.start
        return mask.index_select(-1, variable)

    def probabilities(self, logits: Float[Tensor, "*batch c"], first: int = 0) -> Float[Tensor, "*batch c"]:
        """See `BinaryVariables`."""
        return self._of_columns(self._cells(logits, first), first)

    def probabilities_from(
        self, h: Float[Tensor, "B H"], V: Float[Tensor, "c H"], b: Float[Tensor, "*#B c"], first: int
    ) -> Float[Tensor, "B c"]:
        """See `BinaryVariables`."""
        return self.probabilities(affine(h, V, b) if b.ndim == 1 else add_product(b, h, V), first)

    def level_probabilities(self, logits: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch D L"]:
        """See `BinaryVariables`; 0 for levels that do not exist, and sharpened ones of knots."""
        if self.densities is None:
            return self._of_levels(self._cells(logits))
        variable = torch.arange(len(self.levels), device=logits.device)
        return self.densities.probabilities(_padded(logits)[..., self.column], variable)

    def costs(self, logits: Float[Tensor, "*batch C"], x: Shaped[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """See `BinaryVariables`."""
        log_probs, first = self._cells(logits, log=True), self.cell[:, 0]
        if self.knots is not None:
            levels, weights = _around(x, self.top)
            cells = (first.unsqueeze(-1) + levels).flatten(-2)
            return -(weights * log_probs.gather(-1, cells).view_as(weights)).sum(-1)
        return -log_probs.gather(-1, first + x.long().clamp(min=0).minimum(self.top))

    def cross_entropy(
        self, logits: Float[Tensor, "*batch C"], teacher_logits: Float[Tensor, "*batch C"]
    ) -> Float[Tensor, "*batch D"]:
        """See `BinaryVariables`."""
        probabilities, log_probs = self._cells(teacher_logits), self._cells(logits, log=True)
        # a level that a variable does not have has 0 and -infinity
        return -self._of_levels(probabilities * log_probs.clamp(min=LOG_ZERO)).sum(-1)

    def mix_logits(
        self, logits: Float[Tensor, "*batch C"], means: LogMeans, certainty: Float[Tensor, "*batch #C"]
    ) -> Float[Tensor, "*batch C"]:
        """See `BinaryVariables`."""
        one = log_mix(self._of_columns(self._cells(logits, log=True)), means.one, certainty)
        zero = log_mix(F.logsigmoid(-logits), means.zero, certainty)
        return one - torch.where(self.logistic, zero, 0)

    def mix_scores(
        self, scores: Float[Tensor, "B w L"], means: LogMeans, certainty: Float[Tensor, "B _"], places: slice
    ) -> Float[Tensor, "B w L"]:
        """See `BinaryVariables`."""
        first = [start - self._starts[places.start] for start in self._starts[places]]
        levels, is_binary = self.scores_at(means.one, places), self.top[places] == 1
        levels[..., 0] = torch.where(is_binary, means.zero[:, first], levels[..., 0])  # it has no column
        if certainty.shape[-1] > 1:  # all columns of a variable have the same
            certainty = certainty[:, first]
        return log_mix(scores.log_softmax(-1), levels, certainty.unsqueeze(-1))

    def scores(self, logits: Float[Tensor, "*batch C"], variable: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch L"]:
        """Return one variable's unnormalised log-probabilities a row."""
        return _padded(logits).gather(-1, self.column[variable])

    def scores_at(self, logits: Float[Tensor, "*batch c"], places: slice) -> Float[Tensor, "*batch w L"]:
        """See `BinaryVariables`."""
        return self._scores(_padded(logits), self.column[places, : max(self.levels[places])], places.start)

    def log_prob(
        self, scores: Float[Tensor, "*batch L"], level: Shaped[Tensor, "*batch"], variable: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch"]:
        """See `BinaryVariables`; for a code between two levels a log-density, see above."""
        if self.densities is not None:
            return self.densities.log_prob(scores, level, variable)
        return scores.log_softmax(-1).gather(-1, level.long().unsqueeze(-1)).squeeze(-1)

    def level_log_probs(
        self, scores: Float[Tensor, "*batch L"], variable: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch L"]:
        """See `BinaryVariables`; -infinity for levels that do not exist, and log-densities at knots."""
        return scores.log_softmax(-1) if self.densities is None else self.densities.log_densities(scores, variable)

    def sample(
        self, scores: Float[Tensor, "*batch L"], variable: Int[Tensor, "*batch"], u: Float[Tensor, "*batch n"]
    ) -> Float[Tensor, "*batch"]:
        """See `BinaryVariables`."""
        if self.densities is not None:
            return self.densities.sample(scores, variable, u)
        below = scores.softmax(-1).cumsum(-1)
        level = (u[..., :1] >= below).sum(-1).minimum(self.top[variable])  # the sum may be less than 1
        return level.to(scores.dtype)

    def permute(self, ordering: Int[Tensor, " D"]) -> "MixedVariables":
        """See `BinaryVariables`."""
        order = ordering.tolist()
        levels = [self.levels[j] for j in order]
        if self.knots is None or self.densities is None:
            return MixedVariables(levels).to(self.column.device)
        densities, knots = self.densities, [self.knots[j] for j in order]
        sharpness, bends = (each[ordering].tolist() for each in (densities.sharpness, densities.bends))
        return MixedVariables(levels, knots, Shape(sharpness, densities.focus, bends)).to(self.column.device)

    def column_order(self, ordering: Int[Tensor, " D"]) -> Int[Tensor, " C"]:
        """See `BinaryVariables`."""
        spans = [range(self._starts[j], self._starts[j + 1]) for j in ordering.tolist()]
        return torch.tensor([column for span in spans for column in span], device=ordering.device)

    def first_column(self, variable: int) -> int:
        """See `BinaryVariables`."""
        return self._starts[variable]

    def columns(self, places: slice) -> slice:
        """See `BinaryVariables`."""
        return slice(self._starts[places.start], self._starts[places.stop])

    def uniform_mean(self) -> Float[Tensor, " C"]:
        """See `BinaryVariables`."""
        return (self.top + 1).to(torch.get_default_dtype()).reciprocal()[self.variable]

    def logits_of_mean(self, mean: Float[Tensor, " C"]) -> Float[Tensor, " C"]:
        """See `BinaryVariables`."""
        mean = clamped_mean(mean)
        return torch.where(self.logistic, torch.logit(mean), mean.log())

    def _cells(self, logits: Tensor, first: int = 0, *, log: bool = False) -> Float[Tensor, "*batch n"]:
        """Return (log-)probabilities of all levels, from variable ``first`` on."""
        padded, parts = _padded(logits), list[Tensor]()
        for index, (members, _) in enumerate(self._tables):
            scores = self._scores(padded, self.get_buffer(f"table_{index}")[bisect_left(members, first) :], first)
            parts.append((scores.log_softmax(-1) if log else scores.softmax(-1)).flatten(-2))
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)

    def _scores(self, padded: Tensor, column: Int[Tensor, "w W"], first: int) -> Float[Tensor, "*batch w W"]:
        """Return a table's scores; the logits begin at ``first``."""
        if (end := padded.shape[-1] - 1) <= self.n_columns:
            column = (column - self._starts[first]).clamp(0, end)
        return padded.index_select(-1, column.flatten()).unflatten(-1, column.shape)

    def _of_columns(self, cells: Float[Tensor, "*batch n"], first: int = 0) -> Float[Tensor, "*batch c"]:
        """Return cells as columns, from variable ``first`` on."""
        columns = slice(self._starts[first], None)
        place = self.place[columns]
        if first:
            absent = accumulate(bisect_left(members, first) * width for members, width in self._tables)
            place = place - torch.tensor(list(absent), device=place.device)[self.in_table[columns]]
        return cells.index_select(-1, place)

    def _of_levels(self, cells: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch D L"]:
        """Return cells by variable and level, or 0."""
        return F.pad(cells, (0, 1)).index_select(-1, self.cell.flatten()).unflatten(-1, self.cell.shape)


Variables = BinaryVariables | MixedVariables


def variables_of(levels: Sequence[int], knots: Knots = None, shape: Shape = UNFITTED) -> Variables:
    """Return the variables with these numbers of levels, some of them continuous."""
    if set(levels) == {2} and knots is None:
        return BinaryVariables(len(levels))
    return MixedVariables(levels, knots, shape)


def _tables(levels: Sequence[int]) -> list[tuple[list[int], int]]:
    """Return the variables of each table, and its width."""
    tables, rest = list[tuple[list[int], int]](), {j: whole_vectors(n) for j, n in enumerate(levels)}
    while rest:
        width = max(rest.values())
        tables.append(([j for j in rest if rest[j] * SPREAD > width], width))
        rest = {j: n for j, n in rest.items() if n * SPREAD <= width}
    return tables


def _padded(logits: Float[Tensor, "*batch c"]) -> Float[Tensor, "*batch c+2"]:
    """Return logits between 0 and -infinity, see `MixedVariables`."""
    return F.pad(F.pad(logits, (1, 0)), (0, 1), value=-torch.inf)


def _around(
    codes: Float[Tensor, "*batch"], top: Tensor | int
) -> tuple[Int[Tensor, "*batch 2"], Float[Tensor, "*batch 2"]]:
    """Return the levels around codes, and their weights."""
    below = codes.long().clamp(min=0).clamp(max=top)
    part = codes - below
    return torch.stack([below, (below + 1).clamp(max=top)], -1), torch.stack([1 - part, part], -1)


def masked_columns(columns: Shaped[Tensor, "*batch C"], hidden: Bool[Tensor, "*batch C"]) -> Shaped[Tensor, "*batch C"]:
    """Return columns with 0 where hidden, NaN too."""
    # a product is many times faster than masked_fill, but keeps NaN
    return columns.masked_fill(hidden, 0) if columns.is_floating_point() else columns * ~hidden
