"""Densities of codes that lie between two levels, see `nadek.models.variables`.

Levels are *joined* where codes lie between them. A *stretch* is a level that is joined to none (a category, or a knot
of a single number), or as many levels as are joined. It has the probability that the softmax of the scores gives to its
levels: that is what the network learns.

Within a stretch the scores, times a factor, are logarithms of densities at the levels, but for a common term. The
factor is the *sharpness* of the variable times ``1 + focus / (v + 1/4)``, where v is the variance of the level under
the softmax. For the network learns a number as weights of two levels, a variance of 1/4 at most. So the surer it is,
the more of its spread is owed to that, and the narrower the density may be.

Between two levels the logarithm runs straight, so that a density is no narrower than the way from one to the other, or
it bows up by the *bend* of the variable times ``h(p) = -p log p - (1 - p) log(1 - p)``. This is the entropy of the
weights of a number at the part p of the way. Where the bend is the factor, the logarithm is minus the Kullback-Leibler
divergence of the predicted weights from those of the number, times the factor: however sharp, the density is highest
at the number that was predicted.

A bent way is cut into `PIECES`, and the logarithm runs straight in each. So the probability that lies there is the
logarithmic mean of the two densities, ``(p - q) / (log p - log q)``, divided by the number of pieces. A level counts
itself, too: whole where it is joined to none, and half at an end of joined ones, where half of its numbers have its own
code.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

PIECES = 8
"""Of the way from one level to the next, where the logarithm is bent."""

FLAT = 1e-6
"""Difference of log-densities below which the one between them is even."""

VARIANCE_OF_ONE = 0.25
"""Most variance of the level that the weights of one number have."""


class Shape(NamedTuple):
    """Sharpness, focus and bends of all variables, see above."""

    sharpness: Sequence[float] | None = None
    """Factor on the scores of each variable; None for 1."""
    focus: float = 0.0
    bends: Sequence[float] | None = None
    """Of each variable; None for 0."""


UNFITTED = Shape()
"""The scores themselves, straight between levels."""


class KnotDensities(nn.Module):
    """Densities of all variables of a model.

    Args:
        levels: number of levels of each variable.
        knots: its knots of a single number, and ``k + 0.5`` where no number lies between k and k + 1; None for
            variables that are not continuous.
        shape: their sharpness, focus and bends.
    """

    def __init__(
        self, levels: Sequence[int], knots: Sequence[Sequence[int | float] | None], shape: Shape = UNFITTED
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
        self.sharpness = fixed(torch.tensor(shape.sharpness or [1.0] * len(levels)))
        self.bends = fixed(torch.tensor(shape.bends or [0.0] * len(levels)))
        self.focus = shape.focus

    @property
    def pieces(self) -> int:
        """Pieces between two levels."""
        return PIECES if self.bends.any() else 1

    def log_densities(
        self, scores: Float[Tensor, "*batch L"], variable: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch L"]:
        """Return log-densities at the levels of one variable a row, in nats."""
        return self._log_parts(scores, variable)[0][..., 0]

    def log_prob(
        self, scores: Float[Tensor, "*batch L"], code: Shaped[Tensor, "*batch"], variable: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch"]:
        """Return log-densities of codes, one variable a row."""
        along, _, _ = self._log_parts(scores, variable)
        pieces, level = along.shape[-1] - 1, code.long().clamp(0, scores.shape[-1] - 1)
        inwards = pieces * (code - level)
        piece = inwards.long().clamp(max=pieces - 1)
        place = level * (pieces + 1) + piece
        ends = along.flatten(-2).gather(-1, torch.stack([place, place + 1], -1))
        share = (inwards - piece).to(ends.dtype)
        return torch.where(share > 0, torch.lerp(ends[..., 0], ends[..., 1], share), ends[..., 0])

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
        along, own, between = self._log_parts(scores, variable)
        below = torch.cat([own.unsqueeze(-1), between], -1).exp().flatten(-2).cumsum(-1)
        a_level = along.shape[-1]  # itself, and its pieces
        last = a_level * ((scores > -torch.inf).sum(-1) - 1)  # the sum may be less than 1
        part = (u[..., :1] >= below).sum(-1).minimum(last)
        level, piece = part // a_level, part % a_level - 1
        place = level.unsqueeze(-1) * a_level + torch.stack([piece, piece + 1], -1).clamp(min=0)
        rise = along.flatten(-2).gather(-1, place).diff(dim=-1).squeeze(-1)
        return level + torch.where(piece >= 0, (piece + _risen(u[..., 1], rise)) / (a_level - 1), 0)

    def up_to(
        self,
        scores: Float[Tensor, "*batch L"],
        most: Float[Tensor, "*batch"],
        variable: Int[Tensor, "*batch"],
        *,
        tails: bool,
    ) -> Float[Tensor, "*batch"]:
        """Return the probability of at most a log-density.

        With ``tails`` the numbers of an outermost code are ever less likely outwards, down to a density of 0.
        """
        along, _, _ = self._log_parts(scores, variable)
        log_p, begin, end, most = along[..., 0], along[..., :-1], along[..., 1:], most.unsqueeze(-1)
        low, high, reached = torch.minimum(begin, end), torch.maximum(begin, end), most.unsqueeze(-1)
        reached, width = high.minimum(reached), high - low
        rising = reached.exp() * -torch.expm1(low - reached) / width.clamp(min=FLAT)
        between = torch.where(reached < low, 0, torch.where(width < FLAT, begin.exp(), rising)).mean(-1)
        farther = torch.where(self._at(self.outer, log_p, variable), most.exp(), 0) if tails else 0.0
        own = self._at(self.own, log_p, variable) * torch.where(log_p <= most, log_p.exp(), farther)
        return (own + torch.where(self._at(self.joined, log_p, variable), between, 0)).sum(-1)

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

    def _along(self, scores: Tensor, variable: Tensor) -> Float[Tensor, "*batch L m"]:
        """Return logarithms at both ends of all pieces."""
        joined = self._at(self.joined, scores, variable)
        part = torch.linspace(0, 1, self.pieces + 1, dtype=scores.dtype, device=scores.device)
        rise = torch.where(joined, scores.roll(-1, -1) - scores, 0)
        bend = joined * self.bends[variable].to(scores.dtype).unsqueeze(-1)
        entropy = -torch.xlogy(part, part) - torch.xlogy(1 - part, 1 - part)
        return scores.unsqueeze(-1) + rise.unsqueeze(-1) * part + bend.unsqueeze(-1) * entropy

    def _sums(self, logs: Tensor, variable: Tensor) -> Float[Tensor, "*batch L"]:
        """Return logarithms of sums over each level's stretch."""
        place = self._at(self.stretch, logs, variable).expand_as(logs)
        most = torch.full_like(logs, torch.finfo(logs.dtype).min).scatter_reduce(-1, place, logs, "amax")
        total = torch.zeros_like(logs).scatter_add(-1, place, (logs - most.gather(-1, place)).exp())
        return (most + total.clamp(min=1).log()).gather(-1, place)  # levels that do not exist have finite sums, too

    def _log_parts(
        self, scores: Tensor, variable: Tensor
    ) -> tuple[Float[Tensor, "*batch L m"], Float[Tensor, "*batch L"], Float[Tensor, "*batch L p"]]:
        """Return log-densities on the way to the next level, and log-probabilities of the level and of the pieces."""
        mass, scores = self._sums(scores.log_softmax(-1), variable), self._sharpened(scores, variable)
        along, joined = self._along(scores, variable), self._at(self.joined, scores, variable)
        begin, end = along[..., :-1], along[..., 1:]
        difference = torch.where(joined.unsqueeze(-1), (end - begin).abs(), 0)
        fallen = -torch.expm1(-difference) / difference.clamp(min=FLAT)
        between = torch.maximum(begin, end) + torch.where(difference < FLAT, 1 - difference / 2, fallen).log()
        between = (between - math.log(begin.shape[-1])).masked_fill(~joined.unsqueeze(-1), -torch.inf)
        own = scores + self._at(self.own, scores, variable).to(scores.dtype).log()
        term = mass - self._sums(torch.logaddexp(own, between.logsumexp(-1)), variable)
        return along + term.unsqueeze(-1), own + term, between + term.unsqueeze(-1)


def _risen(u: Float[Tensor, "*batch"], rise: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Return numbers in [0, 1] of the density ``exp(rise s)``, from even ones."""
    down = -rise.abs().clamp(min=FLAT)
    fallen = torch.log1p(torch.where(rise > 0, 1 - u, u) * torch.expm1(down)) / down
    return torch.where(rise > 0, 1 - fallen, fallen).clamp(0, 1)
