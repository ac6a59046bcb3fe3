"""Deep belief networks: an RBM over another one's hidden units.

They are by Hinton, Osindero and Teh (2006). The top RBM is the joint distribution of the hidden units h. The first one
gives p(v | h), and its own p(h | v) is where importance sampling draws h from (Murray and Salakhutdinov 2008).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from nadek_paper.importance import log_bernoulli
from nadek_paper.rbm import RBM, draw


@dataclass(frozen=True)
class DBN:
    """A DBN: the hidden units of ``first`` are ``top``'s visible ones."""

    first: RBM
    top: RBM

    def log_weights(self, v: Shaped[Tensor, "B D"], n: int, generator: torch.Generator) -> Float[Tensor, "n B"]:
        """Return log p(v, h) - log q(h | v) of n draws.

        They are in nats, without the constant of ``top``.
        """
        v = v.to(self.first.W)
        logits = self.first.hidden_logits(v).expand(n, -1, -1)
        h = draw(logits, generator)
        log_p = log_bernoulli(self.first.visible_logits(h), v) - log_bernoulli(logits, h)
        return self.top.log_weight(h.flatten(0, 1)).view(n, len(v)) + log_p
