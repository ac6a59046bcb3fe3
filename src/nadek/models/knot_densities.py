"""Densities of codes that lie between two levels, see `nadek.models.variables`.

Levels are *joined* where codes lie between them. A *stretch* is a level that is joined to none (a category, or a knot
of a single number), or as many levels as are joined. It has the probability that the softmax of the scores gives to its
levels: that is what the network learns.

Within a stretch the scores, times a factor, are logarithms of densities at the levels, but for a common term. The
factor is the *sharpness* of the variable times ``1 + focus / (v + 1/4)``, where v is the variance of the level under
the softmax. For the network learns a number as weights of two levels, a variance of 1/4 at most. So the surer it is,
the more of its spread is owed to that, and the narrower the density may be.

Between two levels the logarithm runs straight. So the probability that lies there is the logarithmic mean
of the two densities, ``(p - q) / (log p - log q)``. A level counts itself, too: whole where it is joined to none, and
half at an end of joined ones, where half of its numbers have its own code.
"""

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

FLAT = 1e-6
"""Difference of log-densities below which the one between them is even."""

VARIANCE_OF_ONE = 0.25
"""Most variance of the level that the weights of one number have."""


class KnotDensities(nn.Module):
    """Densities of all variables of a model.

    Args:
        levels: number of levels of each variable.
        knots: its knots of a single number, and ``k + 0.5`` where no number lies between k and k + 1; None for
            variables that are not continuous.
        sharpness: factor on the scores of each variable; None for 1.
        focus: adds to the factor where the scores are sure, see above.
    """

    def __init__(
        self,
        levels: Sequence[int],
        knots: Sequence[Sequence[int | float] | None],
        sharpness: Sequence[float] | None = None,
        focus: float = 0.0,
    ) -> None:
        super().__init__()
        joined = torch.zeros(len(levels), max(levels), dtype=torch.bool)
        for j, (n, apart) in enumerate(zip(levels, knots, strict=True)):
            for k in range(0 if apart is None else n - 1):
                joined[j, k] = not {k, k + 0.5, k + 1} & set(apart or ())
        outer = torch.zeros_like(joined)
        outer[:, 0] = joined[:, 0]
        outer[range(len(levels)), [n - 1 for n in levels]] = joined[range(len(levels)), [n - 2 for n in levels]]
        stretch = F.pad(~joined[:, :-1], (1, 0)).cumsum(1)
        fixed = partial(nn.Buffer, persistent=False)
        self.joined, self.own = fixed(joined), fixed(1 - (joined.double() + joined.roll(1, 1).double()) / 2)
        self.outer, self.stretch = fixed(outer), fixed(stretch)
        self.sharpness = fixed(torch.tensor([1.0] * len(levels) if sharpness is None else sharpness))
        self.focus = focus

    def log_densities(
        self, scores: Float[Tensor, "*batch L"], variable: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch L"]:
        """Return log-densities at the levels of one variable a row, in nats."""
        return self._log_parts(scores, variable)[0]

    def probabilities(
        self, scores: Float[Tensor, "*batch L"], variable: Int[Tensor, "*#batch"]
    ) -> Float[Tensor, "*batch L"]:
        """Return probabilities of levels, sharpened within each stretch."""
        scores, sharpened = scores.log_softmax(-1), self._sharpened(scores, variable)
        return (sharpened + self._sums(scores, variable) - self._sums(sharpened, variable)).exp()

    def sample(
        self, scores: Float[Tensor, "*batch L"], variable: Int[Tensor, "*batch"], u: Float[Tensor, "*batch 2"]
    ) -> Float[Tensor, "*batch"]:
        """Return a code for each row."""
        scores, parts = self._log_parts(scores, variable)
        below = parts.exp().cumsum(-1)
        last = 2 * (scores > -torch.inf).sum(-1) - 2  # the sum may be less than 1
        part = (u[..., :1] >= below).sum(-1).minimum(last)
        level, is_between = part // 2, part % 2
        rise = scores.gather(-1, torch.stack([level, level + is_between], -1)).diff(dim=-1).squeeze(-1)
        return level + is_between * _risen(u[..., 1], rise)

    def up_to(
        self,
        log_densities: Float[Tensor, "*batch L"],
        most: Float[Tensor, "*batch"],
        variable: Int[Tensor, "*batch"],
        *,
        tails: bool,
    ) -> Float[Tensor, "*batch"]:
        """Return the probability of at most a log-density.

        With ``tails`` the numbers of an outermost code are ever less likely outwards, down to a density of 0.
        """
        p, most = log_densities.exp(), most.unsqueeze(-1)
        above = self._next(log_densities, variable)
        low, high = torch.minimum(log_densities, above), torch.maximum(log_densities, above)
        reached, width = high.minimum(most), high - low
        rising = reached.exp() * -torch.expm1(low - reached) / width.clamp(min=FLAT)
        between = torch.where(most < low, 0, torch.where(width < FLAT, p, rising))
        farther = torch.where(self._at(self.outer, log_densities, variable), most.exp(), 0) if tails else 0.0
        own = self._at(self.own, log_densities, variable) * torch.where(log_densities <= most, p, farther)
        return (own + torch.where(self._at(self.joined, log_densities, variable), between, 0)).sum(-1)

    def _at(self, table: Tensor, scores: Tensor, variable: Tensor) -> Tensor:
        """Return the rows of a table of levels; scores may have fewer levels, where none has more."""
        return table[:, : scores.shape[-1]][variable]

    def _sharpened(self, scores: Tensor, variable: Tensor) -> Tensor:
        """Return the scores times their factor."""
        sharpness = self.sharpness[variable].to(scores.dtype).unsqueeze(-1)
        if not self.focus:
            return scores * sharpness
        p, level = scores.softmax(-1), torch.arange(scores.shape[-1], dtype=scores.dtype, device=scores.device)
        variance = (p * (level - (p * level).sum(-1, keepdim=True)).square()).sum(-1, keepdim=True)
        return scores * (sharpness * (1 + self.focus / (variance + VARIANCE_OF_ONE)))

    def _next(self, scores: Tensor, variable: Tensor) -> Tensor:
        """Return the scores of the next levels, and a level's own where it is not joined to it."""
        return torch.where(self._at(self.joined, scores, variable), scores.roll(-1, -1), scores)

    def _sums(self, logs: Tensor, variable: Tensor) -> Float[Tensor, "*batch L"]:
        """Return logarithms of sums over each level's stretch."""
        place = self._at(self.stretch, logs, variable).expand_as(logs)
        most = torch.full_like(logs, torch.finfo(logs.dtype).min).scatter_reduce(-1, place, logs, "amax")
        total = torch.zeros_like(logs).scatter_add(-1, place, (logs - most.gather(-1, place)).exp())
        return (most + total.clamp(min=1).log()).gather(-1, place)  # levels that do not exist have finite sums, too

    def _log_parts(
        self, scores: Tensor, variable: Tensor
    ) -> tuple[Float[Tensor, "*batch L"], Float[Tensor, "*batch m"]]:
        """Return log-densities, and log-probabilities of each level and of what lies between it and the next."""
        mass, scores = self._sums(scores.log_softmax(-1), variable), self._sharpened(scores, variable)
        joined, above = self._at(self.joined, scores, variable), self._next(scores, variable)
        difference = torch.where(joined, (above - scores).abs(), 0)
        fallen = -torch.expm1(-difference) / difference.clamp(min=FLAT)
        between = torch.maximum(scores, above) + torch.where(difference < FLAT, 1 - difference / 2, fallen).log()
        own = scores + self._at(self.own, scores, variable).to(scores.dtype).log()
        between = between.masked_fill(~joined, -torch.inf)
        term = mass - self._sums(torch.logaddexp(own, between), variable)
        return scores + term, torch.stack([own + term, between + term], -1).flatten(-2)


def _risen(u: Float[Tensor, "*batch"], rise: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Return numbers in [0, 1] of the density ``exp(rise s)``, from even ones."""
    down = -rise.abs().clamp(min=FLAT)
    fallen = torch.log1p(torch.where(rise > 0, 1 - u, u) * torch.expm1(down)) / down
    return torch.where(rise > 0, 1 - fallen, fallen).clamp(0, 1)
