"""What a variable is: its levels, the columns of the network that it takes, and how likely each level is.

A row is a vector of D codes, one a variable: 0 to levels - 1. A variable with two levels is *binary*: one column of
the network, whose logit is that of level 1. Any other is *categorical*: one column a level (one-hot), whose logits go
through a softmax; its columns are shown, hidden and revealed together. A table in which every variable is binary has
as many columns as variables, and codes are what its columns read.

Everything above speaks of variables; where the network's columns matter, it asks a `Variables`:

- ``encode``, ``spread``: codes and holes, as columns;
- ``probabilities``, ``level_probabilities``, ``costs``, ``expected_costs``, ``blended``: of all variables at once, from
  the logits of all columns;
- ``scores``, ``log_prob``, ``level_log_probs``, ``draw``: of one variable a row, as a walk visits it;
- ``ordered``, ``columns``, ``start``, ``encode_at``, ``spread_at``, ``scores_at``, ``probabilities_of``: for a path
  that has permuted the columns, and speaks of variables by their places.
"""

from collections.abc import Sequence
from itertools import accumulate

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.kernels.linear import affine

MEAN_MARGIN = 1e-4
"""Data means are kept this far from 0 and 1, so that a constant column has finite logits."""

CODES = (
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
)
"""What codes may be given in: PyTorch has more types of numbers, and lacks much of its arithmetic for them."""

MAX_LEVELS = 256
"""Of one variable: training rows are bytes."""

WIDE = 16
"""Levels; over fewer PyTorch's softmax in float32 takes up to ten times as long on a CPU, where it is not vectorised.
Of less than half as many the table would become much larger than what bounds on memory count with."""


class BinaryVariables(nn.Module):
    """D variables of two levels: one column each, logistic.

    Args:
        n_variables: D.
    """

    def __init__(self, n_variables: int) -> None:
        super().__init__()
        self.levels = (2,) * n_variables
        self.n_columns, self.n_cells = n_variables, 0

    def encode(self, x: Shaped[Tensor, "*batch D"]) -> Shaped[Tensor, "*batch C"]:
        """The columns that stand for codes."""
        return x

    def spread(self, missing: Shaped[Tensor, "*batch D"]) -> Shaped[Tensor, "*batch C"]:
        """Which columns belong to missing variables; anything else that is told of variables, for their columns."""
        return missing

    def probabilities(self, logits: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """What each column is on average (Eq. 8 of Raiko, Yao, Cho and Bengio 2014)."""
        return logits.sigmoid()

    def probabilities_of(
        self, h: Float[Tensor, "B H"], V: Float[Tensor, "c H"], b: Float[Tensor, " c"], first: int
    ) -> Float[Tensor, "B c"]:
        """The same for the logits ``h V' + b``, which begin with the columns of variable ``first``."""
        return affine(h, V, b, "sigmoid")

    def level_probabilities(self, logits: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch D L"]:
        """Probability of each level of each variable."""
        return torch.stack([(-logits).sigmoid(), logits.sigmoid()], dim=-1)

    def costs(self, logits: Float[Tensor, "*batch C"], x: Shaped[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Negative log-probability of each code, in nats; anything finite may stand where no code is known."""
        return F.binary_cross_entropy_with_logits(logits, x.to(logits.dtype), reduction="none")

    def expected_costs(
        self, logits: Float[Tensor, "*batch C"], taught: Float[Tensor, "*batch C"]
    ) -> Float[Tensor, "*batch D"]:
        """What `costs` is on average where codes follow other logits: the cross-entropy of each variable, in nats."""
        return self.costs(logits, self.probabilities(taught))

    def blended(
        self,
        logits: Float[Tensor, "*batch C"],
        told: Float[Tensor, "*batch C"],
        share: Float[Tensor, "*batch #C"],
    ) -> Float[Tensor, "*batch C"]:
        """Logits of probabilities of which a share is somebody else's.

        Args:
            logits: of the others.
            told: what each column is on average by that one's word.
            share: how far it counts, from 0 to 1.
        """
        return _mixed(logits.sigmoid(), told, share).log() - _mixed((-logits).sigmoid(), 1 - told, share).log()

    def blended_at(
        self, scores: Float[Tensor, "B w"], told: Float[Tensor, "B w"], share: Float[Tensor, "B _"], places: slice
    ) -> Float[Tensor, "B w"]:
        """The same for the scores of some consecutive variables, ``told`` and ``share`` being of their columns."""
        return self.blended(scores, told, share)

    def encode_at(self, x: Shaped[Tensor, "B w"], places: slice) -> Shaped[Tensor, "B c"]:
        """The columns that stand for the codes of some consecutive variables."""
        return x

    def spread_at(self, missing: Bool[Tensor, "B w"], places: slice) -> Bool[Tensor, "B c"]:
        """Which of their columns belong to missing ones."""
        return missing

    def scores(self, logits: Float[Tensor, "*batch C"], variable: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """What decides about one variable a row: its logit."""
        return logits.gather(-1, variable.unsqueeze(-1)).squeeze(-1)

    def scores_at(self, logits: Float[Tensor, "*batch c"], places: slice) -> Float[Tensor, "*batch w"]:
        """The same of some consecutive variables, from the logits of their columns."""
        return logits

    def log_prob(self, scores: Float[Tensor, "*batch"], level: Shaped[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Log-probability in nats of one level a row."""
        return log_bernoulli(scores, level)

    def level_log_probs(self, scores: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch L"]:
        """Log-probability in nats of every level."""
        return F.logsigmoid(torch.stack([-scores, scores], dim=-1))

    def draw(
        self, scores: Float[Tensor, "*batch"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "*batch"]:
        """A level for each of the scores, drawn."""
        u = torch.rand(scores.shape, dtype=scores.dtype, device=scores.device, generator=generator)
        return (u < scores.sigmoid()).to(scores.dtype)

    def ordered(self, ordering: Int[Tensor, " D"]) -> "BinaryVariables":
        """The variables in visiting order."""
        return self

    def columns(self, ordering: Int[Tensor, " D"]) -> Int[Tensor, " C"]:
        """Their columns in visiting order."""
        return ordering

    def start(self, variable: int) -> int:
        """The first column of a variable; the number of columns for the one after the last."""
        return variable

    def uniform(self) -> Float[Tensor, " C"]:
        """The mean of each column when all levels are equally frequent."""
        return torch.full((self.n_columns,), 0.5)

    def bias(self, mean: Float[Tensor, " C"]) -> Float[Tensor, " C"]:
        """The logits under which each column has this mean."""
        return torch.logit(clamped_mean(mean))


class MixedVariables(nn.Module):
    """Variables of any number of levels: one column for a binary one, else one a level, through a softmax.

    All work goes through one table [D, L], L being the largest number of levels: where the logit of each level of
    each variable stands. A binary variable is a softmax over (0, its logit); levels that a variable does not have
    score -infinity.

    Args:
        levels: how many levels each variable has.
    """

    table: Tensor
    absent: Tensor
    variable: Tensor
    level: Tensor
    logistic: Tensor
    top: Tensor

    def __init__(self, levels: Sequence[int]) -> None:
        super().__init__()
        self.levels = tuple(levels)
        widths = [1 if n == 2 else n for n in levels]
        self._starts = list(accumulate(widths, initial=0))
        self.n_columns, self._widest = self._starts[-1], max(levels)
        self.n_cells = len(levels) * self._widest  # of the table, which every row has for itself
        shape = (len(levels), self._widest)
        table, absent = torch.zeros(shape, dtype=torch.long), torch.ones(shape, dtype=torch.bool)
        variable, level = [], []
        for j, n in enumerate(levels):
            absent[j, :n] = False
            shown = [1] if n == 2 else list(range(n))  # level 0 of a binary variable has no column
            for place, k in enumerate(shown):
                table[j, k] = 1 + self._starts[j] + place  # 0 stands for a logit of 0
                variable.append(j)
                level.append(k)
        self._keep("table", table)
        self._keep("absent", absent)
        self._keep("variable", torch.tensor(variable))
        self._keep("level", torch.tensor(level))
        self._keep("logistic", torch.tensor([levels[j] == 2 for j in variable]))
        self._keep("top", torch.tensor([n - 1 for n in levels]))

    def encode(self, x: Shaped[Tensor, "*batch D"]) -> Bool[Tensor, "*batch C"]:
        """See `BinaryVariables`."""
        return x.index_select(-1, self.variable) == self.level

    def spread(self, missing: Shaped[Tensor, "*batch D"]) -> Shaped[Tensor, "*batch C"]:
        """See `BinaryVariables`."""
        return missing.index_select(-1, self.variable)

    def probabilities(self, logits: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """See `BinaryVariables`."""
        return self._of_columns(self._log_levels(logits).exp())

    def probabilities_of(
        self, h: Float[Tensor, "B H"], V: Float[Tensor, "c H"], b: Float[Tensor, " c"], first: int
    ) -> Float[Tensor, "B c"]:
        """See `BinaryVariables`."""
        logits = affine(h, V, b)
        if logits.dtype == torch.float32 and self._widest >= WIDE // 2:
            levels = self._widened(self.scores_at(logits, slice(first, len(self.levels)))).softmax(-1)
        else:
            levels = self._log_levels(logits, first).exp()
        return self._of_columns(levels, first)

    def level_probabilities(self, logits: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch D L"]:
        """See `BinaryVariables`; 0 for levels that a variable does not have."""
        return self._log_levels(logits).exp()

    def costs(self, logits: Float[Tensor, "*batch C"], x: Shaped[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """See `BinaryVariables`."""
        level = x.long().clamp(min=0).minimum(self.top).unsqueeze(-1)
        return -self._log_levels(logits).gather(-1, level).squeeze(-1)

    def expected_costs(
        self, logits: Float[Tensor, "*batch C"], taught: Float[Tensor, "*batch C"]
    ) -> Float[Tensor, "*batch D"]:
        """See `BinaryVariables`."""
        probabilities, log_levels = self.level_probabilities(taught), self._log_levels(logits)
        there = ~self.absent  # a level that a variable does not have has 0 and -infinity
        return -torch.where(there, probabilities * log_levels, 0).sum(-1)

    def blended(
        self,
        logits: Float[Tensor, "*batch C"],
        told: Float[Tensor, "*batch C"],
        share: Float[Tensor, "*batch #C"],
    ) -> Float[Tensor, "*batch C"]:
        """See `BinaryVariables`."""
        mixed = _mixed(self.probabilities(logits), told, share).log()
        other = _mixed((-logits).sigmoid(), 1 - told, share).log()
        return mixed - torch.where(self.logistic, other, 0)

    def blended_at(
        self, scores: Float[Tensor, "B w L"], told: Float[Tensor, "B c"], share: Float[Tensor, "B _"], places: slice
    ) -> Float[Tensor, "B w L"]:
        """See `BinaryVariables`."""
        absent, table = self.absent[places], (self.table[places] - self.start(places.start)).clamp(min=0)
        levels = F.pad(told, (1, 0)).index_select(-1, table.flatten()).unflatten(-1, table.shape).masked_fill(absent, 0)
        levels[..., 0] += 1 - levels.sum(-1)  # level 0 of a binary variable has no column
        first = [self.start(j) - self.start(places.start) for j in range(places.start, places.stop)]  # of their columns
        of_each = share if share.shape[-1] == 1 else share[:, first]
        return _mixed(scores.softmax(-1), levels, of_each.unsqueeze(-1)).log().masked_fill(absent, -torch.inf)

    def encode_at(self, x: Shaped[Tensor, "B w"], places: slice) -> Bool[Tensor, "B c"]:
        """See `BinaryVariables`."""
        return self.spread_at(x, places) == self.level[self._columns(places)]

    def spread_at(self, missing: Shaped[Tensor, "B w"], places: slice) -> Shaped[Tensor, "B c"]:
        """See `BinaryVariables`."""
        return missing.index_select(-1, self.variable[self._columns(places)] - places.start)

    def scores(self, logits: Float[Tensor, "*batch C"], variable: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch L"]:
        """What decides about one variable a row: its levels' log-probabilities, up to a constant."""
        chosen = F.pad(logits, (1, 0)).gather(-1, self.table[variable])
        return chosen.masked_fill(self.absent[variable], -torch.inf)

    def scores_at(self, logits: Float[Tensor, "*batch c"], places: slice) -> Float[Tensor, "*batch w L"]:
        """See `BinaryVariables`."""
        table = (self.table[places] - self.start(places.start)).clamp(min=0)
        scores: Tensor = F.pad(logits, (1, 0)).index_select(-1, table.flatten()).unflatten(-1, table.shape)
        return scores.masked_fill(self.absent[places], -torch.inf)

    def log_prob(self, scores: Float[Tensor, "*batch L"], level: Shaped[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """See `BinaryVariables`."""
        return self.level_log_probs(scores).gather(-1, level.long().unsqueeze(-1)).squeeze(-1)

    def level_log_probs(self, scores: Float[Tensor, "*batch L"]) -> Float[Tensor, "*batch L"]:
        """See `BinaryVariables`; -infinity for levels that a variable does not have."""
        return scores.log_softmax(-1)

    def draw(
        self, scores: Float[Tensor, "*batch L"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "*batch"]:
        """See `BinaryVariables`."""
        each = scores.softmax(-1).reshape(-1, scores.shape[-1])
        return each.multinomial(1, generator=generator).reshape(scores.shape[:-1]).to(scores.dtype)

    def ordered(self, ordering: Int[Tensor, " D"]) -> "MixedVariables":
        """See `BinaryVariables`."""
        return MixedVariables([self.levels[j] for j in ordering.tolist()]).to(self.table.device)

    def columns(self, ordering: Int[Tensor, " D"]) -> Int[Tensor, " C"]:
        """See `BinaryVariables`."""
        spans = [range(self._starts[j], self._starts[j + 1]) for j in ordering.tolist()]
        return torch.tensor([column for span in spans for column in span], device=ordering.device)

    def start(self, variable: int) -> int:
        """See `BinaryVariables`."""
        return self._starts[variable]

    def uniform(self) -> Float[Tensor, " C"]:
        """See `BinaryVariables`."""
        return (self.top + 1).to(torch.get_default_dtype()).reciprocal()[self.variable]

    def bias(self, mean: Float[Tensor, " C"]) -> Float[Tensor, " C"]:
        """See `BinaryVariables`."""
        mean = clamped_mean(mean)
        return torch.where(self.logistic, torch.logit(mean), mean.log())

    def _log_levels(self, logits: Tensor, first: int = 0) -> Float[Tensor, "*batch D L"]:
        """Log-probability of every level of the variables from ``first`` on."""
        return self.scores_at(logits, slice(first, len(self.levels))).log_softmax(-1)

    def _of_columns(self, levels: Float[Tensor, "*batch w L"], first: int = 0) -> Float[Tensor, "*batch c"]:
        """What is known of all levels of the variables from ``first`` on, for those levels that have a column."""
        own = slice(self.start(first), None)
        place = (self.variable[own] - first) * levels.shape[-1] + self.level[own]
        return levels.flatten(-2).index_select(-1, place)

    def _widened(self, scores: Float[Tensor, "*batch w L"]) -> Float[Tensor, "*batch w L2"]:
        """The same with levels that no variable has, so that there are `WIDE` at least."""
        return F.pad(scores, (0, max(0, WIDE - self._widest)), value=-torch.inf)

    def _columns(self, places: slice) -> slice:
        return slice(self.start(places.start), self.start(places.stop))

    def _keep(self, name: str, value: Tensor) -> None:
        """A tensor that moves with the model and is not saved: the levels say it all."""
        self.register_buffer(name, value, persistent=False)


Variables = BinaryVariables | MixedVariables


def variables_of(levels: Sequence[int]) -> Variables:
    """The variables with so many levels each.

    Example:
        >>> variables_of((2, 2)).n_columns, variables_of((2, 3, 1)).n_columns
        (2, 5)
    """
    return BinaryVariables(len(levels)) if set(levels) == {2} else MixedVariables(levels)


def log_bernoulli(logits: Float[Tensor, "*shape"], x: Shaped[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Log-probability in nats of the binary values ``x`` under ``logits``, finite for every finite logit.

    ``log p(x) = -softplus(-logit)`` for x = 1 and ``-softplus(logit)`` for x = 0 (the logarithm of
    Eq. 8 of the paper), in the dtype of the logits.

    Example:
        >>> log_bernoulli(torch.tensor([0.0, 800.0]), torch.tensor([1, 0])).tolist()
        [-0.6931471824645996, -800.0]
    """
    return -F.softplus(logits * (1 - 2 * x.to(logits.dtype)))


def _mixed(p: Tensor, told: Tensor, share: Tensor) -> Tensor:
    """Both together; never 0, of which there is no logarithm."""
    return torch.lerp(p, told, share).clamp(min=torch.finfo(p.dtype).tiny)


def clamped_mean(mean: Float[Tensor, " C"]) -> Float[Tensor, " C"]:
    """The data mean kept away from 0 and 1 by ``MEAN_MARGIN``."""
    return mean.clamp(MEAN_MARGIN, 1 - MEAN_MARGIN)


def check_tensor(x: object, name: str = "x") -> None:
    """Refuse rows, or another option, in a container that is not PyTorch's.

    Raises:
        TypeError: names the type that was found.
    """
    if not isinstance(x, Tensor):
        found = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
        how = f"torch.as_tensor({name}) makes one of an array or a list"
        raise TypeError(f"{name}: expected a tensor, found {found}: {how}")


def check_codes(x: object) -> None:
    """Refuse what cannot be rows of codes, before it is looked into.

    Raises:
        TypeError: on what is no tensor, and on numbers of a type that PyTorch stores but hardly computes with.
    """
    check_tensor(x)
    assert isinstance(x, Tensor)
    if x.dtype not in CODES:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in CODES)
        raise TypeError(f"x: expected numbers in one of {names}, found {x.dtype}: x.float() makes such of them")


def split_missing(
    x: Shaped[Tensor, "*batch D"], levels: Sequence[int] | None = None
) -> tuple[Shaped[Tensor, "*batch D"], Bool[Tensor, "*batch D"]]:
    """Split codes with NaN for missing into (codes with 0 in the holes, where the holes are).

    Args:
        x: codes.
        levels: how many levels each variable has; two each when None.

    Raises:
        TypeError: if they are no tensor, or one of numbers that `check_codes` refuses.
        ValueError: if an observed value is no code of its variable; the message names the first such cell.
    """
    check_codes(x)
    missing = x.isnan()
    values = x.masked_fill(missing, 0)
    if levels is None or set(levels) == {2}:
        bad = (values != 0) & (values != 1)
    else:
        bad = (values < 0) | (values >= torch.tensor(levels, device=x.device))
        if values.is_floating_point():
            bad |= values != values.floor()
    if bad.any():
        cell = tuple(bad.nonzero()[0].tolist())
        top = 1 if levels is None else levels[cell[-1]] - 1
        expected = {0: "0", 1: "0, 1"}.get(top, f"a whole number from 0 to {top}")
        raise ValueError(f"expected {expected} or NaN (missing), found {x[cell].item():g} in the cell at index {cell}")
    return values, missing
