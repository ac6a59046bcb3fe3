"""The distribution of training masks, and the weights that make costs estimates of -log p(x).

Equation numbers are those of Raiko, Yao, Cho and Bengio (2014).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

MaskLaw = Literal["orderings", "holes"]
"""Law of the number of hidden cells: the paper's (Eq. 4), or that of missing cells, which hides fewer."""

MEAN_ROOT = 8 / 15
"""Mean of sqrt(m / n) under the law of missing cells, n large: of sqrt(f) where f has the density 2 (1 - f)."""


@dataclass(frozen=True)
class MaskDistribution:
    """A random set of cells to hide from each row, and the weight of its cost.

    A row has n observed cells. The law draws the number m of hidden ones; which m is uniform.

    - Paper (Eq. 4): m is uniform on 1..n. A set S is hidden with probability ``1 / (n C(n, |S|))``.
    - Tilted: ``P(m) = (m/n)^(1-tilt) - ((m-1)/n)^(1-tilt)``. Rows of few targets come more often and count less. The
      expected cost is that of the paper, with less noise.
    - Missing cells: ``P(m) = (2 (n - m) + 1) / n^2``, a third of the cells on average. The weight ``sqrt(n / m)`` lies
      halfway from rows that count alike to targets that count alike. It is another objective, with less noise and the
      same optimum for a network that can be anything.

    Attributes:
        law: "orderings" for the paper's or the tilted law, "holes" for missing cells.
        tilt: 0 for the paper's law, below 1. The law of missing cells ignores it.
        stratified: spread m evenly over the rows of a batch: the same law for each row, less noise in their mean.
    """

    law: MaskLaw = "orderings"
    tilt: float = 0.0
    stratified: bool = False

    def sample(self, observed: Bool[Tensor, "B D"], *, generator: torch.Generator | None = None) -> Bool[Tensor, "B D"]:
        """Draw the missing cells of each row: True where a cell is hidden, or was never observed.

        Each row needs an observed cell.
        """
        n_rows, device = observed.shape[0], observed.device
        n_observed = observed.sum(dim=1, keepdim=True)
        u = torch.rand(n_rows, 1, dtype=torch.float64, device=device, generator=generator)
        if self.stratified:
            strata = torch.randperm(n_rows, device=device, generator=generator).unsqueeze(1)
            u = (strata + u) / n_rows
        n_shown = (self._part_shown(u) * n_observed).long()  # 0..n-1; n where u was rounded to 1
        n_shown = n_shown.minimum((n_observed - 1).clamp(min=0))
        # float64, as two equal keys would hide one cell too many; cells that were never observed come last
        keys = torch.rand(observed.shape, dtype=torch.float64, device=device, generator=generator)
        keys = keys.masked_fill_(~observed, 2.0)
        # on a CPU by NumPy, whose sort is vectorised
        ordered = torch.from_numpy(np.sort(keys.numpy(), axis=1)) if device.type == "cpu" else keys.sort(dim=1).values
        return keys >= ordered.gather(1, n_shown)

    def _part_shown(self, u: Float[Tensor, "B 1"]) -> Float[Tensor, "B 1"]:
        """Transform uniform numbers to the part of each row that is shown."""
        if self.law == "holes":
            return u.sqrt()
        return 1 - (1 - u) ** (1 / (1 - self.tilt)) if self.tilt else u

    def weight(
        self, n_hidden: Int[Tensor, "*B"], n_observed: Int[Tensor, "*B"] | int, *, dtype: torch.dtype = torch.float32
    ) -> Float[Tensor, "*B"]:
        """Return the factor on each row's summed cost; ``n / m`` under the paper's law (Eq. 4).

        Of n observed cells m are hidden.
        """
        weight: Tensor = n_observed / n_hidden.to(dtype)
        if self.law == "holes":
            return weight.sqrt() / MEAN_ROOT
        if self.tilt:
            weight = (weight / (n_observed * self._probability(n_hidden, n_observed))).to(dtype)
        return weight

    def _probability(self, n_hidden: Int[Tensor, "*B"], n_observed: Int[Tensor, "*B"] | int) -> Float[Tensor, "*B"]:
        """Return the probability of hiding so many cells under the tilted law."""
        most, least = n_hidden.double() / n_observed, (n_hidden.double() - 1) / n_observed
        return most ** (1 - self.tilt) - least ** (1 - self.tilt)


PAPER = MaskDistribution()
"""The mask distribution of the paper's objective (Eq. 4)."""
