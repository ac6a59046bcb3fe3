"""The RBM: p(v, h) proportional to exp(b'v + c'h + h'Wv), with binary v and h."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from nadek.kernels.linear import affine


@dataclass(frozen=True)
class RBM:
    """The parameters of an RBM.

    Attributes:
        W: weights between hidden and visible units [H, D].
        b: visible biases [D].
        c: hidden biases [H].
    """

    W: Tensor
    b: Tensor
    c: Tensor

    def copy(self) -> "RBM":
        """Return a copy of the parameters."""
        return RBM(self.W.clone(), self.b.clone(), self.c.clone())

    def log_weight(self, v: Shaped[Tensor, "B D"]) -> Float[Tensor, " B"]:
        """Return log p(v) without the normalising constant (nats, float64)."""
        v = v.to(self.W)
        return (v @ self.b).double() + F.softplus(self.hidden_logits(v)).double().sum(1)

    def hidden_logits(self, v: Float[Tensor, "B D"]) -> Float[Tensor, "B H"]:
        """Return the log-odds of the hidden units being 1."""
        return affine(v, self.W, self.c)

    def visible_logits(self, h: Float[Tensor, "B H"]) -> Float[Tensor, "B D"]:
        """Return the log-odds of the visible units being 1."""
        return affine(h, self.W.t(), self.b)


def draw(logits: Float[Tensor, "B N"], generator: torch.Generator) -> Float[Tensor, "B N"]:
    """Draw independent 0 and 1 with these log-odds."""
    uniform = torch.rand(logits.shape, dtype=logits.dtype, device=logits.device, generator=generator)
    return (uniform < torch.sigmoid(logits)).to(logits.dtype)


def gibbs(rbm: RBM, v: Float[Tensor, "B D"], steps: int, generator: torch.Generator) -> Float[Tensor, "B D"]:
    """Draw hidden units and then visible ones, ``steps`` times."""
    for _ in range(steps):
        v = draw(rbm.visible_logits(draw(rbm.hidden_logits(v), generator)), generator)
    return v
