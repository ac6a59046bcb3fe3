"""Expected information of a cell about others (Lindley 1956)."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nadek.inference.check_inputs import check_flags, missing_cells
from nadek.inference.decoders.chunking import MAX_BYTES, bytes_per_row, chunks
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode


@evaluation_mode
def expected_information(
    model: ConditionalModel,
    x: Float[Tensor, "B D"],
    target: Bool[Tensor, " D"] | None = None,
    *,
    max_bytes: int = MAX_BYTES,
) -> Float[Tensor, "B D"]:
    """Return the expected information of each unknown cell about others, in nats.

    For an unknown cell j of a row it is the sum over the unknown targets t other than j of the mutual information of j
    and t, given the observed cells:

        sum over v of p(j = v) KL( p(t | j = v) || sum over w of p(j = w) p(t | j = w) )

    and, if j is itself a target, its own entropy. The expectation is exact over the model's conditionals, and looks one
    question ahead. Information that targets share is counted for each of them.

    Args:
        model: a NADE-k of every ordering.
        x: codes, NaN for an unknown value.
        target: True for the variables to learn about. None: all others; then no cell's own entropy counts.
        max_bytes: bound on the working memory.

    Returns:
        float64, at least 0; NaN for observed cells.

    Raises:
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
            message = f"expected an unknown cell of it in every row, found none in the row at index {row}"
            raise ValueError(f"target: {message}")
    out = torch.full(x.shape, torch.nan, dtype=torch.float64, device=x.device)
    levels = torch.tensor(model.levels, device=x.device)
    a_question = bytes_per_row(model) + 8 * x.shape[1] * (5 * max(model.levels) + 1)
    n_answers = int((missing * levels).sum(1).max()) if len(x) else 0
    parts = partial(chunks, bytes_per_row=max(model.levels) * a_question, max_bytes=max_bytes)
    for rows in chunks(len(x), max(1, n_answers) * a_question, max_bytes):
        out[rows] = _information(model, x[rows], missing[rows], target, levels, parts)
    return out


def _information(
    model: ConditionalModel,
    x: Tensor,
    missing: Tensor,
    target: Tensor | None,
    levels: Int[Tensor, " D"],
    parts: Callable[[int], Iterator[slice]],
) -> Float[Tensor, "B D"]:
    """Run one pass for the current distribution, and one for each level of each unknown cell."""
    now = model.variables.level_probabilities(model(x, missing)[-1].double())  # [B, D, L]
    row, variable = missing.nonzero(as_tuple=True)
    gain = torch.full(missing.shape, torch.nan, dtype=torch.float64, device=x.device)
    for part in parts(len(row)):
        r, j = row[part], variable[part]
        gain[r, j] = _gained(model, x[r], missing[r], j, now[r, j], target, levels[j])
    if target is not None:
        gain += -torch.xlogy(now, now).sum(2) * target
    return gain


def _gained(
    model: ConditionalModel,
    x: Tensor,
    missing: Tensor,
    variable: Int[Tensor, " N"],
    likely: Float[Tensor, "N L"],
    target: Tensor | None,
    levels: Int[Tensor, " N"],
) -> Float[Tensor, " N"]:
    """Return the expected information of one cell a row about other cells of the row."""
    here, level = (torch.arange(likely.shape[1], device=x.device) < levels[:, None]).nonzero(as_tuple=True)
    question = torch.arange(len(here), device=x.device)
    answered, unknown = x[here], missing[here]
    answered[question, variable[here]] = level.to(x.dtype)
    unknown[question, variable[here]] = False
    then = model.variables.level_probabilities(model(answered, unknown)[-1].double())  # [Q, D, L]
    weight = likely[here, level]
    counted = unknown if target is None else unknown & target
    gained = weight * (_divergence(then, weight, here) * counted).sum(1)
    return torch.zeros(len(x), dtype=torch.float64, device=x.device).index_add_(0, here, gained)


def _divergence(
    then: Float[Tensor, "Q D L"], weight: Float[Tensor, " Q"], cell: Int[Tensor, " Q"]
) -> Float[Tensor, "Q D"]:
    """Return the KL divergence of each answer's distribution from their mean over the answers of one cell."""
    mean = then.new_zeros(int(cell[-1]) + 1, *then.shape[1:])
    mean.index_add_(0, cell, weight[:, None, None] * then)
    mean.clamp_(min=torch.finfo(then.dtype).tiny)  # so that an answer of probability 0 counts 0 times a finite number
    return (torch.xlogy(then, then) - torch.xlogy(then, mean[cell])).sum(2).clamp(min=0)
