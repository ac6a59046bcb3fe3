"""Single cells: which ones make a row unlikely, and which ones are worth asking for (Lindley 1956)."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.check_inputs import check_flags, missing_cells
from nadek.inference.decoders.chunking import Progress, bytes_per_row, chunks
from nadek.inference.decoders.full import products_in
from nadek.inference.orderings import UNSEEN, in_stages
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode

SURE_DECIMALS = 3
"""Decimals of a surprise by which cells are ordered: others may be those of rounding, which differ by the batch."""


EQUAL = 1e-9
"""Log-probabilities so near are equal: they may differ by rounding."""


class Explanation(NamedTuple):
    """Observed cells given all others, returned by `explain_cells`; NaN where missing."""

    log_prob: Float[Tensor, "B D"]
    """float64, nats: log-probability of the observed level, or of a value that is none."""
    expected: Float[Tensor, "B D"]
    """float64: code of the most probable level."""
    surprise: Float[Tensor, "B D"]
    """float64, nats, at least 0: minus the log-probability of all levels that are at most as probable as the observed
    one. A surprise of s or more comes up once in exp(s) cells, whatever the variable. Numbers are compared by the
    density of their codes, per bin and not per unit."""

    def oddest(self, n: int) -> list[tuple[int, int]]:
        """Return rows and variables of the most surprising cells, n at most; equal ones as they come."""
        surprise, n_variables = self.surprise.round(decimals=SURE_DECIMALS).flatten(), self.surprise.shape[1]
        order = surprise.nan_to_num(-1, posinf=torch.inf).argsort(descending=True, stable=True)
        return [divmod(place, n_variables) for place in order[: min(n, int((~surprise.isnan()).sum()))].tolist()]

    def oddest_of_rows(self) -> list[tuple[int, int]]:
        """Return the rows that have a cell, with the variable of the most surprising one."""
        surprise = self.surprise.round(decimals=SURE_DECIMALS).nan_to_num(-1, posinf=torch.inf)
        most, variable = surprise.max(1)
        return [(row, variable[row].item()) for row in (most >= 0).nonzero().squeeze(1).tolist()]


@evaluation_mode
def explain_cells(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    *,
    outwards: Float[Tensor, "B D"] | None = None,
    own: Float[Tensor, "B D"] | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Return each observed cell's log-probability given all others.

    It takes one pass of the network a cell. The log-probabilities do not add up to that of the row.

    Args:
        model: a NADE-k; a fixed-order NADE serves for rows with a single value, of the first variable in its ordering.
        x: codes, NaN for a missing value.
        outwards: log-probabilities, given the codes, of numbers at least as far outside as the observed ones, in nats;
            and of values without a code, which other cells are not judged by.
        own: log-probabilities of the observed numbers, given the density of their codes; -inf for those without a step.
        progress: called with (rows done, rows in all).

    Raises:
        TypeError: if ``x`` is no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, and on rows in which a fixed-order
            model cannot condition on all other cells.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.tensor([0.9, 0.1, 0.5]), generator=torch.Generator())
        >>> explain_cells(model, torch.tensor([[0, 0, torch.nan]])).expected
        tensor([[1., 0., nan]], dtype=torch.float64)
    """
    missing = missing_cells(model, x)
    report = progress or (lambda done, total: None)
    place = torch.arange(x.shape[1], device=x.device)
    cells = Explanation(*torch.full((3, *x.shape), torch.nan, dtype=torch.float64, device=x.device))
    values = x.masked_fill(missing, 0)
    new = torch.zeros_like(missing) if outwards is None else missing & (outwards < 0)
    row, variable = (~missing | new).nonzero(as_tuple=True)
    for part in chunks(len(row), bytes_per_row(model)):
        r, j = row[part], variable[part]
        itself, unknown = j[:, None] == place, missing[r]
        if model.own_ordering is not None:
            in_stages(model, model.own_ordering, unknown.long() * UNSEEN + itself)  # refuses what it cannot answer
        scores = cell_scores(model, values[r], unknown | itself, j)
        levels, log_p = model.variables.level_log_probs(scores, j), model.variables.log_prob(scores, values[r, j], j)
        farther, is_new = torch.zeros_like(log_p) if outwards is None else outwards[r, j], new[r, j]
        cells.log_prob[r, j], cells.expected[r, j] = torch.where(is_new, farther, log_p), levels.argmax(-1).double()
        p = _up_to(model, scores, log_p + farther + EQUAL, j, tails=outwards is not None)
        if own is not None:
            p = p.maximum((log_p + own[r, j]).exp())
        is_outside = (farther < 0) | (p == 0)  # no float is as small as some of them
        outside = torch.where(is_outside, log_p + farther - math.log(2), -torch.inf)
        most = torch.where(is_new, farther, torch.maximum(p.log(), outside))
        cells.surprise[r, j] = most.neg().clamp(min=0) + 0.0  # no -0.0
        report(int(r[-1]), len(x))
    report(len(x), len(x))
    return cells


def _up_to(
    model: ConditionalModel, scores: Tensor, most: Tensor, variable: Tensor, *, tails: bool
) -> Float[Tensor, " N"]:
    """Return the probabilities of all values of at most a log-probability, or log-density."""
    if model.variables.densities is not None:
        return model.variables.densities.up_to(scores, most, variable, tails=tails)
    levels = model.variables.level_log_probs(scores, variable)
    return torch.where(levels <= most.unsqueeze(-1), levels.exp(), 0).sum(-1)


def cell_scores(
    model: ConditionalModel,
    x: Shaped[Tensor, "N D"],
    missing: Bool[Tensor, "N D"],
    variable: Int[Tensor, " N"],
    *,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "N ..."]:
    """Return the scores of one variable a row (float64), by one pass of the whole network."""
    with products_in(dtype, x.device):
        logits = model(x, missing)[-1]
    return model.variables.scores(logits, variable).double()


@evaluation_mode
def expected_information(
    model: ConditionalModel, x: Float[Tensor, "B D"], target: Bool[Tensor, " D"] | None = None
) -> Float[Tensor, "B D"]:
    """Return the expected information of each unknown cell about others, in nats.

    For an unknown cell j of a row it is the sum over the unknown targets t other than j of the mutual information of j
    and t, given the observed cells::

        sum over v of p(j = v) KL( p(t | j = v) || sum over w of p(j = w) p(t | j = w) )

    and, if j is itself a target, its own entropy. The expectation is exact over the model's conditionals, and looks one
    question ahead. Information that targets share is counted for each of them.

    Args:
        model: a NADE-k of every ordering.
        x: codes, NaN for an unknown value.
        target: True for the variables to learn about. None: all others; then no cell's own entropy counts.

    Returns:
        float64, at least 0; NaN for observed cells.

    Raises:
        TypeError: if ``x`` or ``target`` is no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, on a row whose targets are all
            observed, and on a model of one ordering.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.tensor([0.5, 0.5, 0.5]))
        >>> gain = expected_information(model, torch.tensor([[1, torch.nan, torch.nan]]))
        >>> gain.isnan().tolist(), bool((gain[0, 1:] >= 0).all())
        ([[True, False, False]], True)
    """
    missing = missing_cells(model, x)
    if model.config.ordering is not None:
        raise ValueError("this model knows one ordering only: train a NADE-k to ask it for the next question")
    if target is not None:
        check_flags("target", target, x.shape[1:])
        target = target.to(x.device)
        if (settled := ~(missing & target).any(1)).any():
            row = int(settled.nonzero()[0])
            raise ValueError(f"target: expected an unknown cell of it in every row, found none in row {row + 1}")
    out = torch.full(x.shape, torch.nan, dtype=torch.float64, device=x.device)
    a_question = bytes_per_row(model) + 8 * x.shape[1] * (5 * max(model.levels) + 1)
    n_answers = int((missing * torch.tensor(model.levels, device=x.device)).sum(1).max()) if len(x) else 0
    for rows in chunks(len(x), max(1, n_answers) * a_question):
        out[rows] = _information(model, x[rows], missing[rows], target, a_question)
    return out


def _information(
    model: ConditionalModel, x: Tensor, missing: Tensor, target: Tensor | None, a_question: int
) -> Float[Tensor, "B D"]:
    """Compute the distributions now and after each level of each unknown cell, in one pass over both."""
    levels = torch.tensor(model.levels, device=x.device)
    row, variable = missing.nonzero(as_tuple=True)
    gain = torch.full(missing.shape, torch.nan, dtype=torch.float64, device=x.device)
    for part in chunks(len(row), max(model.levels) * a_question):
        (asked, r), j = row[part].unique_consecutive(return_inverse=True), variable[part]
        # a question: a cell, and a level that may be the answer
        cell, level = (torch.arange(max(model.levels), device=x.device) < levels[j][:, None]).nonzero(as_tuple=True)
        question = len(asked) + torch.arange(len(cell), device=x.device)
        rows = torch.cat([asked, asked[r[cell]]])
        answered, unknown = x[rows], missing[rows]
        answered[question, j[cell]] = level.to(x.dtype)
        unknown[question, j[cell]] = False
        both = model.variables.level_probabilities(model(answered, unknown)[-1].double())  # [A + Q, D, L]
        now, then = both[: len(asked)], both[len(asked) :]
        weight = now[r[cell], j[cell], level]
        counted = unknown[len(asked) :] if target is None else unknown[len(asked) :] & target
        gained = weight * (_divergence(then, weight, cell) * counted).sum(1)
        own = torch.zeros(len(r), dtype=torch.float64, device=x.device)
        if target is not None:
            own -= torch.xlogy(now, now).sum(2)[r, j] * target[j]
        gain[row[part], j] = own.index_add_(0, cell, gained)
    return gain


def _divergence(
    then: Float[Tensor, "Q D L"], weight: Float[Tensor, " Q"], cell: Int[Tensor, " Q"]
) -> Float[Tensor, "Q D"]:
    """Return the KL divergence of each answer's distribution from their mean over the answers of one cell."""
    mean = then.new_zeros(int(cell[-1]) + 1, *then.shape[1:])
    mean.index_add_(0, cell, weight[:, None, None] * then)
    mean.clamp_(min=torch.finfo(then.dtype).tiny)  # so that an answer of probability 0 counts 0 times a finite number
    return (torch.xlogy(then, then) - torch.xlogy(then, mean[cell])).sum(2).clamp(min=0)
