"""What a network should remember: rows it was trained on, and how far these are to be trusted (`nadek.models.memory`).

The three numbers of a memory are learnt on rows that are not in it: by these alone can be seen whether rows come up
again. The decay is tried out, and for each the trust that makes the order-agnostic cost of these rows least is found.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from nadek.inference.decoders import MAX_BYTES, bytes_per_row, chunks
from nadek.models.base import ConditionalModel, evaluation_mode
from nadek.models.memory import MemoryModel
from nadek.training.prepare import Rows
from nadek.training.validation import Validation, prepare_validation

DECAYS = (1.0, 2.0, 4.0, 8.0)
"""What a known cell that a remembered row has otherwise may cost it, in nats."""
MOST_ROWS = 20_000
"""That are remembered; of more, some are chosen at random."""
JUDGES = 4096
"""Rows at most, and cases at least, from which the use of a memory is learnt."""
START = (-1.0, 0.3)
"""Trust to begin with."""
LEAST = -10.0
"""The logarithm of the least slope of trust: none at all would leave a word to rows that do not know a cell."""
NEVER = 1e6
"""What counts for -log S where no remembered row knows a cell."""
WORTH = 0.02
"""The part of the cost that a memory must spare."""


@dataclass(frozen=True)
class Gain:
    """What a memory brings on rows that it does not hold.

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
        """Whether it is beyond doubt, and at least `WORTH` of the cost: a memory takes space and time."""
        gain = self.before - self.after
        return gain >= max(2 * self.error, WORTH * self.before)


@evaluation_mode
def remember(
    network: ConditionalModel, train: Rows, others: Rows, *, generator: torch.Generator
) -> tuple[MemoryModel, Gain]:
    """Give a trained network a memory.

    Args:
        network: without a memory; it is inside of what comes back, not copied.
        train: the rows to remember, on its device.
        others: like these, and not among them: what is learnt here is learnt from them.
        generator: source of what is hidden from them, and of the rows to remember where these are too many.

    Returns:
        The network with its memory, and what that brings on the others.

    Raises:
        ValueError: on a network of one ordering, which cannot tell of cells that are hidden anywhere.
    """
    if network.config.ordering is not None:
        raise ValueError("memory: expected a network of every ordering, found one that knows one only")
    model, others = MemoryModel(network, *_different(train, generator)), _some(others, generator)
    asked = prepare_validation(others, network, "last_step", generator, at_least=JUDGES)
    found = [_answers(model, asked, rows) for rows in chunks(len(asked.missing), bytes_per_row(model), MAX_BYTES)]
    alone = torch.cat([one.alone for one in found])
    told, evidence = ([torch.cat(parts) for parts in zip(*(one[k] for one in found), strict=True)] for k in (1, 2))
    weight = _weights(asked)
    before = (weight * alone).sum(1)
    tried = [_trusted(alone, *one, weight) for one in zip(told, evidence, strict=True)]
    best = min(range(len(DECAYS)), key=lambda i: tried[i][1].mean().item())
    trust, after = tried[best]
    model.decay.fill_(DECAYS[best])
    model.trust.copy_(trust)
    n_rows = len(others.values)
    difference = (before - after).view(-1, n_rows).mean(0)  # the rows were repeated, with other masks
    error = difference.std() / n_rows**0.5 if n_rows > 1 else torch.tensor(torch.inf)
    return model.eval(), Gain(before.mean().item(), after.mean().item(), error.item())


class _Answers(NamedTuple):
    """What was said of some rows; costs are -log p of what every cell holds, and count where it was hidden."""

    alone: Float[Tensor, "V D"]
    """Costs by the network's word."""
    told: list[Float[Tensor, "V D"]]
    """Costs by the memory's word, for every decay."""
    evidence: list[Float[Tensor, "V D"]]
    """Log S, likewise."""


def _answers(model: MemoryModel, asked: Validation, rows: slice) -> _Answers:
    x, missing, variables = asked.rows.values[rows], asked.missing[rows], model.variables
    logits = model.network(x, missing)[-1].double()
    apart, all_of_it = model.apart(x, missing), logits.new_ones(len(x), 1)
    told, evidence = zip(*(model.recollect(model.lines, apart, decay) for decay in DECAYS), strict=True)
    costs = [variables.costs(variables.blended(logits, one.double(), all_of_it), x) for one in told]
    first = [variables.start(j) if model.config.holes else 0 for j in range(model.n_variables)]  # of its columns
    of_each = [one.double()[:, first].clamp(min=-NEVER) for one in evidence]  # infinity has no gradient
    return _Answers(variables.costs(logits, x), costs, of_each)


def _weights(asked: Validation) -> Float[Tensor, "V D"]:
    """What each cell counts in the order-agnostic cost (Eq. 4), see `nadek.inference.order_agnostic.step_costs`."""
    targets = asked.missing if asked.rows.observed is None else asked.missing & asked.rows.observed
    n_observed = targets.shape[1] if asked.rows.observed is None else asked.rows.observed.sum(1, keepdim=True)
    return targets * (n_observed / targets.sum(1, keepdim=True).double())


def _trusted(
    alone: Tensor, told: Tensor, evidence: Tensor, weight: Tensor
) -> tuple[Float[Tensor, " 2"], Float[Tensor, " V"]]:
    """The trust under which the costs are least on average, and these costs; more evidence never counts for less."""
    free = torch.tensor([START[0], math.log(START[1])], dtype=torch.float64, device=alone.device, requires_grad=True)

    def slope() -> Tensor:
        return free[1].clamp(min=LEAST).exp()

    def costs() -> Tensor:
        certainty = free[0] + slope() * evidence
        p = torch.logaddexp(F.logsigmoid(-certainty) - alone, F.logsigmoid(certainty) - told)
        return -(weight * p).sum(1)

    def closure() -> float:
        optimizer.zero_grad()
        with torch.enable_grad():
            mean = costs().mean()
        mean.backward()
        return mean.item()

    optimizer = torch.optim.LBFGS([free], max_iter=50, line_search_fn="strong_wolfe")
    optimizer.step(closure)
    return torch.stack([free[0], slope()]).detach(), costs().detach()


def _some(others: Rows, generator: torch.Generator) -> Rows:
    """So many of the rows as are asked, chosen at random: tables may be sorted."""
    if len(others.values) <= JUDGES:
        return others
    values, observed = others.batch(
        torch.randperm(len(others.values), generator=generator, device=generator.device)[:JUDGES]
    )
    return others._replace(values=values, observed=observed)


def _different(train: Rows, generator: torch.Generator) -> tuple[Tensor, Tensor | None, Tensor]:
    """Rows, each once, where they have values, and how often each was there."""
    values, observed = train.batch(torch.randperm(len(train.values), generator=generator, device=generator.device))
    values, observed = values[:MOST_ROWS], None if observed is None else observed[:MOST_ROWS]
    cells = values.short() if observed is None else torch.where(observed, values.short(), -1)
    different, seen = cells.unique(dim=0, return_counts=True)
    known = None if observed is None else different >= 0
    return different.clamp(min=0).to(torch.uint8), known, seen
