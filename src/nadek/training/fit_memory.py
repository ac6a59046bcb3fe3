"""Fitting of the memory beside a network (`nadek.models.memory`).

The three numbers of a memory are fitted on rows that are not in it: only they show if rows come up again. Each decay
is tried with the trust that minimises the order-agnostic cost of these rows.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from nadek.inference.decoders.chunking import bytes_per_row, chunks
from nadek.models.base import ConditionalModel
from nadek.models.binary_variables import LogMeans, log_mix
from nadek.models.codes import code_dtype
from nadek.models.evaluation import evaluation_mode
from nadek.models.memory import MemoryModel
from nadek.models.model_config import check_every_ordering
from nadek.training.costs import Validation, cell_weights, prepare_validation
from nadek.training.prepare import Rows

DECAYS = (1.0, 2.0, 4.0, 8.0)
"""Candidates for the penalty of a differing cell, in nats."""
MAX_ROWS = 20_000
"""Largest number of remembered rows; of more, some are chosen at random."""
FIT_ROWS, FIT_CASES = 4096, 1024
"""Largest number of rows to fit a memory on, and least number with the repeated ones, which hide other cells."""
START = (-1.0, 0.3)
"""Trust before the fit."""
MIN_LOG_SLOPE = -10.0
"""Least logarithm of the trust's slope: a slope of 0 would count rows that do not know a cell."""
MAX_EVIDENCE = 1e6
"""Value of -log S where no remembered row knows a cell."""
MIN_GAIN = 0.02
"""Part of the cost that a memory must save."""


@dataclass(frozen=True)
class Gain:
    """Gain by a memory on rows that it does not hold, returned by `add_memory`.

    Attributes:
        before: mean cost without it, in nats a row.
        after: with it.
        error: standard error of the difference, over the rows.
    """

    before: float
    after: float
    error: float

    @property
    def is_worth_it(self) -> bool:
        """True if the gain is significant, and at least `MIN_GAIN` of the cost."""
        gain = self.before - self.after
        return gain >= max(2 * self.error, MIN_GAIN * self.before)


def add_memory(
    network: ConditionalModel, train: Rows, others: Rows, *, generator: torch.Generator
) -> tuple[MemoryModel, Gain]:
    """Add a fitted memory to a trained network.

    Args:
        network: without a memory; the result holds it, not a copy, and both are then in eval mode.
        train: the rows to remember, on its device.
        others: similar rows that are not among them, to fit the memory on.
        generator: source of the masks and of the choice of rows.

    Returns:
        The network with its memory, and the gain on the others.

    Raises:
        TypeError: for a network with a memory.
        ValueError: for a fixed-order network.

    Example:
        >>> from nadek import nade_k, prepare
        >>> rows = prepare(torch.tensor([[0, 0, 1], [1, 1, 0]]).repeat(100, 1))
        >>> train, others = rows.select(slice(100)), rows.select(slice(100, None))
        >>> model, gain = add_memory(nade_k(3, hidden=(4,)), train, others, generator=torch.Generator())
        >>> len(model.rows), gain.is_worth_it
        (2, True)
    """
    model, gain = _with_memory(network, train, others, generator=generator)
    return model.eval(), gain


@evaluation_mode
def _with_memory(
    network: ConditionalModel, train: Rows, others: Rows, *, generator: torch.Generator
) -> tuple[MemoryModel, Gain]:
    check_every_ordering(network.config, "memory")
    model = MemoryModel(network, *_unique_rows(train, code_dtype(network.levels), generator))
    others = others.sample(FIT_ROWS, generator) if len(others.values) > FIT_ROWS else others  # tables may be sorted
    validation = prepare_validation(others, network, generator, min_rows=FIT_CASES)
    parts = chunks(len(validation.missing), bytes_per_row(model))
    scored = zip(*(_score(model, validation, rows) for rows in parts), strict=True)
    alone, memories, evidences = (torch.cat(part, -2) for part in scored)
    weight = cell_weights(validation)
    before = (weight * alone).sum(1)
    fits = [_fit_trust(alone, memory, evidence, weight) for memory, evidence in zip(memories, evidences, strict=True)]
    best = min(range(len(DECAYS)), key=lambda i: fits[i][1].mean().item())
    trust, after = fits[best]
    model.decay.fill_(DECAYS[best])
    model.trust.copy_(trust)
    n_rows = len(others.values)
    difference = (before - after).view(-1, n_rows).mean(0)  # the rows were repeated, with other masks
    error = difference.std() / n_rows**0.5 if n_rows > 1 else torch.tensor(torch.inf)
    return model, Gain(before.mean().item(), after.mean().item(), error.item())


def _score(
    model: MemoryModel, validation: Validation, rows: slice
) -> tuple[Float[Tensor, "V D"], Float[Tensor, "k V D"], Float[Tensor, "k V #D"]]:
    """Return the costs of cells under the network; under the memory, and its log S, for every decay."""
    x, missing, variables = validation.rows.values[rows], validation.missing[rows], model.variables
    logits = model.network(x, missing)[-1].double()
    distance, certain = model.hamming_distance(x, missing), logits.new_full((len(x), 1), torch.inf)
    answers, evidence = zip(*(model.kernel_average(model.stored, distance, decay) for decay in DECAYS), strict=True)
    means = [LogMeans(one.double(), zero.double()) for one, zero in answers]
    costs = [variables.costs(variables.mix_logits(logits, answer, certain), x) for answer in means]
    first = [variables.first_column(j) if model.config.holes else 0 for j in range(model.n_variables)]  # of its columns
    finite = [value.double()[:, first].clamp(min=-MAX_EVIDENCE) for value in evidence]  # infinity has no gradient
    return variables.costs(logits, x), torch.stack(costs), torch.stack(finite)


def _fit_trust(
    network: Tensor, memory: Tensor, evidence: Tensor, weight: Tensor
) -> tuple[Float[Tensor, " 2"], Float[Tensor, " V"]]:
    """Return the trust of the least mean cost, and the rows' costs."""
    from scipy.optimize import minimize  # here: its import takes most of a second

    def trust(free: Tensor) -> Tensor:
        return torch.stack([free[0], free[1].exp()])  # a positive slope: more evidence never counts for less

    def costs(free: Tensor) -> Tensor:
        level, slope = trust(free)
        certainty = level + slope * evidence
        return -(weight * log_mix(-network, -memory, certainty)).sum(1)

    @torch.enable_grad()
    def mean_and_gradient(free: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        variable = torch.tensor(free, device=network.device, requires_grad=True)
        mean = costs(variable).mean()
        (gradient,) = torch.autograd.grad(mean, variable)
        return mean.item(), gradient.cpu().numpy()

    start, bounds = (START[0], math.log(START[1])), ((None, None), (MIN_LOG_SLOPE, None))
    free = torch.tensor(minimize(mean_and_gradient, start, jac=True, bounds=bounds).x, device=network.device)
    return trust(free), costs(free)


def _unique_rows(train: Rows, dtype: torch.dtype, generator: torch.Generator) -> tuple[Tensor, Tensor | None, Tensor]:
    some = train.sample(MAX_ROWS, generator)
    levels = some.values.round().short()
    cells = levels if some.observed is None else torch.where(some.observed, levels, -1)
    rows, counts = cells.unique(dim=0, return_counts=True)
    return rows.clamp(min=0).to(dtype), None if some.observed is None else rows >= 0, counts
