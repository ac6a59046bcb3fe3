"""Gradient descent, whose steps tests can follow."""

import dataclasses

import torch

from nadek.training import AdamW


@dataclasses.dataclass(frozen=True, kw_only=True)
class Descent(AdamW):
    """Plain gradient descent at a rate that falls linearly."""

    lr: float = 0.1
    warmup: float = 0.0

    def build(self, model):
        """PyTorch's own."""
        return torch.optim.SGD(model.parameters(), lr=self.lr)

    def settings(self, progress):
        """A straight line down to 0."""
        return {"lr": self.lr * (1 - progress)}


def following(rate, base=Descent):
    """An optimizer whose rate is a function of the progress."""

    class Following(base):
        def settings(self, progress):
            """The rate of now."""
            return {"lr": rate(progress)}

    return Following()
