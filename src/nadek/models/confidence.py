"""Confidence: a factor on logits.

Raiko, Yao, Cho and Bengio (2014) leave it as an open question: a network may be too sure of itself where few values of
a row are given, and not sure enough where many are. So the factor depends on the part that is given. Scores times
``exp(s(f))`` keep their order; ``s`` is linear between knots, evenly from none given (f = 0) to all (f = 1). With one
knot it is temperature scaling (Guo et al. 2017).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


class Confidence(nn.Module):
    """Learnt factor by the part of variables given.

    It is 1 where all parameters ``log_factor`` are 0, as they are at first.
    """

    def __init__(self, n_knots: int) -> None:
        super().__init__()
        self.log_factor = nn.Parameter(torch.zeros(n_knots))

    def forward(self, part: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return the factor for parts."""
        place = torch.arange(len(self.log_factor), device=part.device)
        weight = (1 - (part.unsqueeze(-1) * (len(place) - 1) - place).abs()).clamp(min=0)
        return (weight * self.log_factor).sum(-1).exp()  # not a product of matrices, which autocast would round

    def of_rows(self, missing: Bool[Tensor, "*batch D"]) -> Float[Tensor, "*batch 1"]:
        """Return the factor of rows by their masks."""
        return self((~missing).to(self.log_factor.dtype).mean(-1, keepdim=True))
