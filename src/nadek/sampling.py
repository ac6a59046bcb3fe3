"""Independent samples, conditional samples, imputation, and one-pass probabilities of missing cells.

Conditioning visits the observed variables first (the paper, after Eq. ensemble), so every draw is exact for the
ordering it was drawn along: there is no Markov chain, nothing to burn in.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.conditional import ConditionalNetwork, asking
from nadek.orderings import observed_first
from nadek.paths import MAX_BYTES, PlainPath, bytes_per_row, chunks, shared_path
from nadek.patterns import groups, in_stages, missing_cells
from nadek.variables import Variables
from nadek.walk import as_orderings, walk

Choose = Callable[[Variables, Tensor], Tensor]
"""Gives codes [B] for the scores of one variable a row (see `nadek.variables`)."""


class Completed(NamedTuple):
    """Rows without holes, and how likely what was filled in is."""

    x: Float[Tensor, "B D"]
    """Codes; observed cells are what they were."""
    log_prob: Float[Tensor, " B"]
    """float64, nats: ``log p(what was filled in | observed cells)``, 0 for a row without holes."""


def draws(generator: torch.Generator | None) -> Choose:
    """The choice that makes a completion a sample."""
    return lambda variables, scores: variables.draw(scores, generator)


@asking
def sample(
    model: ConditionalNetwork,
    n_samples: int,
    *,
    orderings: Int[Tensor, "O D"] | int | None = None,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
) -> Shaped[Tensor, "n D"]:
    """Draw independent samples: for each an ordering, then one variable after the other.

    Args:
        model: a NADE-k.
        n_samples: how many.
        orderings: the orderings of the mixture to sample from, or how many to draw for it. Samples that fell on
            the same ordering share the fast path, so few orderings are quicker. None: a fresh ordering for every
            sample, that is the mixture over all D! orderings.
        max_bytes: bound on the working memory.
        generator: source of orderings and draws, on the device of the model.

    Returns:
        uint8 codes (0 and 1 of binary variables).
    """
    if n_samples < 1:
        raise ValueError(f"n_samples: expected at least 1, found {n_samples}")
    device = model.b.device
    choose = draws(generator)
    nothing = torch.full((n_samples, model.n_variables), torch.nan, device=device)
    if orderings is None and model.config.ordering is None:
        return impute(model, nothing, share=False, max_bytes=max_bytes, generator=generator).to(torch.uint8)
    choices = as_orderings(model, 1 if orderings is None else orderings, device=device, generator=generator)
    chosen = torch.randint(choices.shape[0], (n_samples,), device=device, generator=generator)
    for index in range(choices.shape[0]):
        rows = (chosen == index).nonzero().squeeze(1)
        nothing[rows] = _complete(model, nothing[rows], choices[index], choose, max_bytes).x
    return nothing.to(torch.uint8)


@asking
def impute(
    model: ConditionalNetwork,
    x: Float[Tensor, "B D"],
    *,
    share: bool = True,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "B D"]:
    """Fill the missing cells of every row with a joint draw from p(x_missing | x_observed).

    Args:
        model: a NADE-k of every ordering; a fixed-order NADE serves where the missing cells come last in its ordering.
        x: codes and NaN for missing, any pattern in every row; a row of NaN becomes a fresh sample.
        share: let rows with the same pattern share an ordering (drawn for them), which is much quicker; their
            completions are still separate draws. Otherwise every row gets its own.
        max_bytes: bound on the working memory.
        generator: source of orderings and draws, on the device of ``x``.

    Returns:
        A copy of ``x`` without NaN; observed cells are untouched.

    Raises:
        ValueError: on a wrong number of columns, on values that are no codes, and on a pattern that a
            fixed-order model cannot condition on.
    """
    orderings = partial(_conditioning_orderings, model, generator=generator)
    return complete(model, x, draws(generator), orderings, share=share, max_bytes=max_bytes).x


@asking
def complete(
    model: ConditionalNetwork,
    x: Float[Tensor, "B D"],
    choose: Choose,
    orderings: Callable[[Tensor], Tensor],
    *,
    share: bool = True,
    max_bytes: int = MAX_BYTES,
) -> Completed:
    """Fill the missing cells of every row, one after the other, with what is chosen from their scores.

    What `impute` does with draws; other choices are in `nadek.queries`.

    Args:
        model: a NADE-k.
        x: codes and NaN for missing, any pattern in every row.
        choose: gives codes [B] for scores of one variable a row.
        orderings: gives orderings [B, D] that visit the observed cells first, for rows with such holes [B, D].
        share: ask for one ordering for all rows with the same pattern, which is much quicker.
        max_bytes: bound on the working memory.
    """
    missing = missing_cells(model, x)
    incomplete = missing.any(1).nonzero().squeeze(1)
    out, log_prob = x.clone(), torch.zeros(x.shape[0], dtype=torch.float64, device=x.device)
    for chosen, shared in groups(missing[incomplete], share=share):
        rows = incomplete[chosen]
        found = orderings(missing[rows[:1]] if shared else missing[rows])
        filled = _complete(model, x[rows], found[0] if shared else found, choose, max_bytes)
        out[rows], log_prob[rows] = filled
    return Completed(out, log_prob)


@asking
def missing_probabilities(model: ConditionalNetwork, x: Float[Tensor, "B D"]) -> Float[Tensor, "B C"]:
    """Probability of 1 in every missing column given the row's observed cells, in one pass (Eq. v_to_prob).

    Each is the marginal of its cell; they do not form a joint (that is what `impute` draws from).

    Args:
        model: a NADE-k.
        x: codes and NaN for missing.

    Returns:
        The probabilities in the columns of missing cells, what the columns are in the observed ones; a binary
        variable has one column, any other one a level.
    """
    missing = missing_cells(model, x)
    logits = _one_pass(model, x, missing)
    observed = model.variables.encode(x).to(x.dtype)
    return torch.where(model.variables.spread(missing), model.variables.probabilities(logits).to(x.dtype), observed)


@asking
def level_probabilities(model: ConditionalNetwork, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D L"]:
    """Probability of every level of every cell given the row's observed cells, in one pass (Eq. v_to_prob).

    Args:
        model: a NADE-k.
        x: codes and NaN for missing.

    Returns:
        For each cell a distribution over levels, L being the largest number of levels (0 beyond a variable's own);
        an observed cell has probability 1 on what it is.
    """
    missing = missing_cells(model, x)
    probabilities = model.variables.level_probabilities(_one_pass(model, x, missing)).to(x.dtype)
    observed = x.unsqueeze(-1) == torch.arange(probabilities.shape[-1], device=x.device)
    return torch.where(missing.unsqueeze(-1), probabilities, observed.to(x.dtype))


@asking
def reconstruction_probabilities(
    model: ConditionalNetwork, x: Shaped[Tensor, "B D"], missing: Bool[Tensor, "B D"], *, steps: int | None = None
) -> Float[Tensor, "states B C"]:
    """The states v<0>, v<1>, ..., v<k> of the inference, observed cells clamped (Eq. v0 and iter_v), for pictures.

    Args:
        model: a NADE-k.
        x: codes; anything where missing.
        missing: True where a value is to be predicted.
        steps: how many steps; the model's own number when None.
    """
    observed, hidden = model.variables.encode(x).to(model.b.dtype), model.variables.spread(missing)
    outputs = model(x, missing, steps=steps)
    states = [model.fill.expand_as(observed), *(model.variables.probabilities(logits) for logits in outputs)]
    return torch.stack([torch.where(hidden, v, observed) for v in states])


def _complete(model: ConditionalNetwork, x: Tensor, ordering: Tensor, choose: Choose, max_bytes: int) -> Completed:
    """Choose what is missing from ``x`` along one shared ordering [D] or one a row [B, D], observed cells first."""
    out = torch.empty_like(x)
    log_prob = torch.empty(x.shape[0], dtype=torch.float64, device=x.device)
    for rows in chunks(x.shape[0], bytes_per_row(model), max_bytes):
        n_rows = rows.stop - rows.start
        per_row = ordering.expand(n_rows, -1) if ordering.ndim == 1 else ordering[rows]
        path = shared_path(model, ordering, n_rows) if ordering.ndim == 1 else PlainPath(model, per_row)
        given = x[rows].gather(1, per_row)
        hole = given.isnan()
        # rows with fewer missing cells than others just take what is given until their first missing one
        start = int((~hole).sum(1).min())
        walked = walk(path, given, start=start, draw=partial(choose, path.variables))
        out[rows] = torch.empty_like(given).scatter_(1, per_row, walked.values.to(x.dtype))
        log_prob[rows] = walked.log_probs.masked_fill(~hole, 0).sum(1)
    return Completed(out, log_prob)


def _conditioning_orderings(
    model: ConditionalNetwork, missing: Bool[Tensor, "B D"], *, generator: torch.Generator | None
) -> Int[Tensor, "B D"]:
    """Orderings that visit the observed cells first; a fixed-order model has none but its own."""
    if model.config.ordering is None:
        return observed_first(missing, generator=generator)
    own = torch.tensor(model.config.ordering, device=missing.device)
    able = "can fill in cells that come last in it; found observed cells after missing ones"
    return in_stages(model, own, missing, able=able)


def _one_pass(model: ConditionalNetwork, x: Tensor, missing: Tensor) -> Float[Tensor, "B C"]:
    """Logits of the last step, chunk by chunk."""
    rows = chunks(x.shape[0], bytes_per_row(model), MAX_BYTES)
    return torch.cat([model(x[r], missing[r])[-1] for r in rows])
