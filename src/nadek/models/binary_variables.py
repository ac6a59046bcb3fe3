"""Binary variables: one logistic column each."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.kernels.linear import add_product, affine

MEAN_MARGIN = 1e-4
"""Distance of data means from 0 and 1, so that a constant column has finite logits."""


LOG_ZERO = -1e30
"""Logarithm of a probability of 0, finite so that differences and gradients are."""


class LogMeans(NamedTuple):
    """Distribution of each column by itself, as logarithms; a complement of a rounded mean would lose its tail."""

    one: Float[Tensor, "*batch C"]
    zero: Float[Tensor, "*batch C"]
    """Only read in the columns of binary variables."""


class BinaryVariables(nn.Module):
    """D variables of two levels: one column each, logistic."""

    knots = densities = None
    bends: Sequence[float] = ()
    """Of the densities of numbers, one for each variable, or none (see `nadek.models.knot_densities`)."""
    n_uniforms = 1

    def __init__(self, n_variables: int) -> None:
        super().__init__()
        self.levels = (2,) * n_variables
        self.n_columns, self.n_cells = n_variables, 0

    def encode(self, x: Shaped[Tensor, "*batch D"], places: slice | None = None) -> Shaped[Tensor, "*batch C"]:
        """Return codes as columns."""
        return x

    def one_hot(self, x: Shaped[Tensor, "*batch D"], places: slice | None = None) -> Shaped[Tensor, "*batch C"]:
        """Return the nearest levels as columns."""
        return x

    def expand(self, mask: Shaped[Tensor, "*batch D"], places: slice | None = None) -> Shaped[Tensor, "*batch C"]:
        """Repeat a value of each variable for its columns."""
        return mask

    def probabilities(self, logits: Float[Tensor, "*batch c"], first: int = 0) -> Float[Tensor, "*batch c"]:
        """Return the mean of each column (Eq. 8), from variable ``first`` on."""
        return logits.sigmoid()

    def probabilities_from(
        self, h: Float[Tensor, "B H"], V: Float[Tensor, "c H"], b: Float[Tensor, "*#B c"], first: int
    ) -> Float[Tensor, "B c"]:
        """Return `probabilities` from ``h V' + b``; biases may differ by row."""
        return affine(h, V, b, "sigmoid") if b.ndim == 1 else self.probabilities(add_product(b, h, V), first)

    def level_probabilities(self, logits: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch D L"]:
        """Return the probability of each level of each variable."""
        return torch.stack([(-logits).sigmoid(), logits.sigmoid()], dim=-1)

    def costs(self, logits: Float[Tensor, "*batch C"], x: Shaped[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Return the negative log-probability of each code, in nats."""
        return F.binary_cross_entropy_with_logits(logits, x.to(logits.dtype), reduction="none")

    def cross_entropy(
        self, logits: Float[Tensor, "*batch C"], teacher_logits: Float[Tensor, "*batch C"]
    ) -> Float[Tensor, "*batch D"]:
        """Return the expected `costs` under a teacher, in nats."""
        return self.costs(logits, self.probabilities(teacher_logits))

    def mix_logits(
        self, logits: Float[Tensor, "*batch C"], means: LogMeans, certainty: Float[Tensor, "*batch #C"]
    ) -> Float[Tensor, "*batch C"]:
        """Return the logits of a mixture; ``means`` has the weight sigmoid(certainty)."""
        one = log_mix(F.logsigmoid(logits), means.one, certainty)
        return one - log_mix(F.logsigmoid(-logits), means.zero, certainty)

    def mix_scores(
        self, scores: Float[Tensor, "B w"], means: LogMeans, certainty: Float[Tensor, "B _"], places: slice
    ) -> Float[Tensor, "B w"]:
        """Return `mix_logits` of the scores of consecutive variables."""
        return self.mix_logits(scores, means, certainty)

    def scores(self, logits: Float[Tensor, "*batch C"], variable: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return one variable's score a row: its logit."""
        return logits.gather(-1, variable.unsqueeze(-1)).squeeze(-1)

    def scores_at(self, logits: Float[Tensor, "*batch c"], places: slice) -> Float[Tensor, "*batch w"]:
        """Return the scores of consecutive variables."""
        return logits

    def log_prob(
        self, scores: Float[Tensor, "*batch"], level: Shaped[Tensor, "*batch"], variable: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch"]:
        """Return one level's log-probability a row, in nats: the logarithm of Eq. 8, finite for every finite logit."""
        return -F.softplus(scores * (1 - 2 * level.to(scores.dtype)))

    def level_log_probs(
        self, scores: Float[Tensor, "*batch"], variable: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch L"]:
        """Return the log-probability of every level, in nats."""
        return F.logsigmoid(torch.stack([-scores, scores], dim=-1))

    def sample(
        self, scores: Float[Tensor, "*batch"], variable: Int[Tensor, "*batch"], u: Float[Tensor, "*batch n"]
    ) -> Float[Tensor, "*batch"]:
        """Draw a code for each of the scores, of the variables with these indices.

        It follows from ``n_uniforms`` independent numbers in [0, 1).
        """
        return (u[..., 0] >= (-scores).sigmoid()).to(scores.dtype)

    def permute(self, ordering: Int[Tensor, " D"]) -> "BinaryVariables":
        """Return the variables in visiting order."""
        return self

    def column_order(self, ordering: Int[Tensor, " D"]) -> Int[Tensor, " C"]:
        """Return the columns of all variables in visiting order."""
        return ordering

    def first_column(self, variable: int) -> int:
        """Return a variable's first column; C for D."""
        return variable

    def columns(self, places: slice) -> slice:
        """Return the columns of consecutive variables."""
        return places

    def uniform_mean(self) -> Float[Tensor, " C"]:
        """Return column means under equally frequent levels."""
        return torch.full((self.n_columns,), 0.5)

    def logits_of_mean(self, mean: Float[Tensor, " C"]) -> Float[Tensor, " C"]:
        """Return the logits of clamped column means."""
        return torch.logit(clamped_mean(mean))


def clamped_mean(mean: Float[Tensor, " C"]) -> Float[Tensor, " C"]:
    """Return column means, `MEAN_MARGIN` from 0 and 1."""
    return mean.clamp(MEAN_MARGIN, 1 - MEAN_MARGIN)


def log_mix(log_p: Tensor, log_q: Tensor, certainty: Tensor) -> Tensor:
    """Return the logarithm of a mixture of probabilities; q has the weight sigmoid(certainty)."""
    return torch.logaddexp(F.logsigmoid(-certainty) + log_p, F.logsigmoid(certainty) + log_q)
