"""Training costs in nats a row, for every step of the network, and the distribution of their masks.

A cost is an unbiased estimate of -log p(x | o) averaged over orderings. The paper's two objectives differ in the
steps they count: fine-tuning takes the last (Eq. 4), pretraining the mean of all (Eq. 10).
Equation numbers are those of the paper: Raiko, Yao, Cho and Bengio (2014).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.inference.orderings import rank_of
from nadek.models import IterativeNADE
from nadek.models.base import ConditionalModel
from nadek.models.binary_variables import BinaryVariables
from nadek.models.cores import Core
from nadek.utils.configs import check_range, convert_options

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

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "tilt", least=0, below=1)

    def sample(
        self, observed: Bool[Tensor, "B D"], *, own: slice = slice(None), generator: torch.Generator | None = None
    ) -> Bool[Tensor, "b D"]:
        """Draw the missing cells of each row: True where a cell is hidden, or was never observed.

        Each row needs an observed cell. Returned are the ``own`` rows, all of them by default; the generator draws
        numbers for all of them in any case.
        """
        n_rows, device = observed.shape[0], observed.device
        n_observed = observed.sum(dim=1, keepdim=True)
        u = torch.rand(n_rows, 1, dtype=torch.float64, device=device, generator=generator)
        if self.stratified:
            strata = torch.randperm(n_rows, device=device, generator=generator).unsqueeze(1)
            u = (strata + u) / n_rows
        n_shown = (self._part_shown(u) * n_observed).long()  # 0..n-1; n where u was rounded to 1
        n_shown = n_shown.minimum((n_observed - 1).clamp(min=0))
        size = 2**14 if device.type == "cpu" else n_rows  # there parts draw the numbers that all would draw
        first, stop, _ = own.indices(n_rows)
        hidden = []
        for start in range(0, n_rows or 1, size):
            shown = observed[start : start + size]
            # float64, as two equal keys would hide one cell too many; cells that were never observed come last
            keys = torch.rand(shown.shape, dtype=torch.float64, device=device, generator=generator)
            rows = slice(max(0, first - start), max(0, stop - start))
            keys, last = keys[rows].masked_fill_(~shown[rows], 2.0), n_shown[start : start + size][rows]
            # on a CPU by NumPy, whose sort is vectorised
            ordered = torch.from_numpy(np.sort(keys.numpy(), axis=1)) if keys.is_cpu else keys.sort(dim=1).values
            hidden.append(keys >= ordered.gather(1, last))
        return torch.cat(hidden)

    def _part_shown(self, u: Float[Tensor, "B 1"]) -> Float[Tensor, "B 1"]:
        """Transform uniform numbers to the part that is shown."""
        if self.law == "holes":
            return u.sqrt()
        return 1 - (1 - u) ** (1 / (1 - self.tilt)) if self.tilt else u

    def weight(
        self, n_hidden: Int[Tensor, "*B"], n_observed: Int[Tensor, "*B"] | int, *, dtype: torch.dtype
    ) -> Float[Tensor, "*B"]:
        """Return the factor on each row's summed cost; ``n / m`` under the paper's law (Eq. 4).

        Of n observed cells m are hidden.
        """
        weight: Tensor = n_observed / n_hidden.to(dtype)
        if self.law == "holes":
            return weight.sqrt() / MEAN_ROOT
        if self.tilt:
            most, least = n_hidden.double() / n_observed, (n_hidden.double() - 1) / n_observed
            probability = most ** (1 - self.tilt) - least ** (1 - self.tilt)  # of hiding so many cells
            weight = (weight / (n_observed * probability)).to(dtype)
        return weight


PAPER = MaskDistribution()
"""The mask distribution of the paper's objective (Eq. 4)."""


Objective = Literal["last_step", "all_steps", "fixed_order"]


def step_costs(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    missing: Bool[Tensor, "B D"],
    observed: Bool[Tensor, "B D"] | None = None,
    *,
    masks: MaskDistribution = PAPER,
    teacher_logits: Float[Tensor, "B C"] | None = None,
    smoothing: Float[Tensor, " D"] | None = None,
    first: int = 0,
    **options: Any,  # noqa: ANN401 - of the forward pass
) -> Float[Tensor, "k B"]:
    """Return the order-agnostic cost of each row after every step from ``first`` on, in nats (Eq. 4 and 10).

    The targets are the hidden cells that were observed; ``missing`` was drawn from ``masks``. With a teacher it is
    the cross-entropy with its distribution, the same aim with less noise (Hinton, Vinyals and Dean 2015). The factors
    ``smoothing`` add that with equally frequent levels (label smoothing, Szegedy and others 2016). The ``options`` are
    those of `IterativeNADE.forward`.
    """
    targets = missing if observed is None else missing & observed
    n_observed = x.shape[1] if observed is None else observed.sum(1)
    weight = masks.weight(targets.sum(1), n_observed, dtype=_precise(model.b.dtype))
    outputs = model(x, missing, **options)
    costs = list[Tensor]()
    for output in outputs[first:]:
        logits = output.to(_precise(output.dtype))
        if teacher_logits is None:
            cell_costs = model.variables.costs(logits, x)
        else:
            cell_costs = model.variables.cross_entropy(logits, teacher_logits.to(logits.dtype))
        if smoothing is not None:
            cell_costs = cell_costs + smoothing * model.variables.cross_entropy(logits, torch.zeros_like(logits))
        # a product with the 0/1 targets, not a selection: missing cells may hold anything finite, and shapes stay fixed
        costs.append(weight * (cell_costs * targets).sum(1))
    return torch.stack(costs)


def fixed_order_costs(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    ordering: Int[Tensor, " D"],
    *,
    start: int = 0,
    stride: int = 1,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "1 B"]:
    """Return the exact -log p(x | ordering), the objective of classic NADE, in nats.

    For one step and binary variables the first layer of all D conditionals is one cumulative sum (Larochelle and Murray
    2011). A stride above 1 makes it an estimate, unbiased if ``start`` is uniform on 0 to stride - 1.
    """
    visited, counted = x[:, ordering].to(model.b.dtype), ordering[start::stride].expand(len(x), -1)
    is_plain = model.steps == 1 and isinstance(model.variables, BinaryVariables) and model.can_decode_incrementally
    if is_plain and isinstance(model, IterativeNADE) and model.confidence is None and model.first_guess is None:
        scores = _one_step_conditionals(model, visited, ordering, start, stride, generator)
    else:
        positions = torch.arange(start, x.shape[1], stride, device=x.device)
        shape = (*counted.shape, len(ordering))  # an evaluation for each position of each row
        missing = rank_of(ordering) >= positions[:, None]
        logits = model(x.unsqueeze(1).expand(shape), missing.expand(shape), generator=generator)[-1]
        scores = model.variables.scores(logits, counted)
    scores = scores.to(_precise(scores.dtype))
    return -stride * model.variables.log_prob(scores, visited[:, start::stride], counted).sum(1).unsqueeze(0)


def l2_penalty(model: nn.Module) -> Float[Tensor, ""]:
    """Return the sum of squares of all weight matrices, not of biases."""
    squares = [p.square().sum() for p in model.parameters() if p.ndim >= 2]
    return torch.stack(squares).sum()


def _precise(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of costs: at least float32, as rounded weights leave a bias."""
    return torch.promote_types(dtype, torch.float32)


def _one_step_conditionals(
    model: IterativeNADE,
    visited: Float[Tensor, "B D"],
    ordering: Int[Tensor, " D"],
    start: int,
    stride: int,
    generator: torch.Generator | None,
) -> Float[Tensor, "B n"]:
    """Return the logits of every stride-th variable given all before it, by a cumulative sum over stretches."""
    counted = ordering[start::stride]
    n, gap = len(counted), stride - start  # the first stretch is filled up with zeros, to be as long as the others

    def stretches(weight: Tensor) -> Float[Tensor, "n s H"]:
        return F.pad(weight.t()[ordering], (0, 0, gap, 0))[: n * stride].view(n, stride, -1)

    revealed = F.pad(visited - model.fill[ordering], (gap, 0))[:, : n * stride].view(-1, n, stride)
    nothing_seen = model.c + model.fill @ model.W.t()
    added = (revealed.transpose(0, 1) @ stretches(model.W)).to(model.c.dtype)  # [n, B, H]
    if model.A is not None:
        nothing_seen = nothing_seen + model.A.sum(1)
        added = added - stretches(model.A).sum(1, keepdim=True)
    core: Core = model.core
    h, _ = core(nothing_seen + added.cumsum(0), None, generator=generator)
    return (h @ model.output_weight[counted].unsqueeze(2)).squeeze(2).t() + model.b[counted]
