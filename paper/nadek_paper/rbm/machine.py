"""The machine itself: p(v, h) proportional to exp(b'v + c'h + h'Wv), v and h of 0 and 1."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from nadek.kernels.linear import affine


@dataclass(frozen=True)
class Machine:
    """The parameters of an RBM.

    Attributes:
        W: weights between hidden and visible units [H, D].
        b: visible biases [D].
        c: hidden biases [H].
    """

    W: Tensor
    b: Tensor
    c: Tensor

    def copy(self) -> "Machine":
        """The same parameters in memory of their own."""
        return Machine(self.W.clone(), self.b.clone(), self.c.clone())

    def log_weight(self, v: Shaped[Tensor, "B D"]) -> Float[Tensor, " B"]:
        """Log of the sum over h of exp(b'v + c'h + h'Wv): log p(v) but for the normalising constant (nats, float64)."""
        v = v.to(self.W)
        return (v @ self.b).double() + F.softplus(self.inputs(v)).double().sum(1)

    def inputs(self, v: Float[Tensor, "B D"]) -> Float[Tensor, "B H"]:
        """What the hidden units receive; the sigmoid of it is the probability that they are 1."""
        return affine(v, self.W, self.c)

    def fields(self, h: Float[Tensor, "B H"]) -> Float[Tensor, "B D"]:
        """What the visible units receive."""
        return affine(h, self.W.t(), self.b)


def draw(logits: Float[Tensor, "B N"], generator: torch.Generator) -> Float[Tensor, "B N"]:
    """Independent 0 and 1 with these log-odds."""
    uniform = torch.rand(logits.shape, dtype=logits.dtype, device=logits.device, generator=generator)
    return (uniform < torch.sigmoid(logits)).to(logits.dtype)


def gibbs(machine: Machine, v: Float[Tensor, "B D"], steps: int, generator: torch.Generator) -> Float[Tensor, "B D"]:
    """Draw hidden units and then visible ones, so many times."""
    for _ in range(steps):
        v = draw(machine.fields(draw(machine.inputs(v), generator)), generator)
    return v
