"""Independent samples, conditional samples, imputation, and one-pass probabilities of missing cells.

Conditioning visits the observed variables first (the paper, after Eq. 9), so every draw is exact for the
ordering it was drawn along: there is no Markov chain, nothing to burn in.
Equation numbers are those of the paper: Raiko, Yao, Cho and Bengio (2014).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders import MAX_BYTES, bytes_per_row, chunks
from nadek.inference.decoding import as_count, as_orderings, check_chunk, walk_apart, walk_together
from nadek.inference.missing_patterns import check_flags, groups, in_stages, missing_cells
from nadek.inference.orderings import Orderings, random_orderings
from nadek.models.base import ConditionalModel
from nadek.models.codes import check_codes
from nadek.models.evaluation import evaluation_mode
from nadek.models.variables import Variables

PROBABILITIES = 2**24
"""Of all levels of all cells: so many at a time, see `rows_at_once`."""

ROWS_AN_ORDERING = 1024
"""So many rows with different holes share an ordering; the next ones get another."""
ABLE = "can fill in cells that come last in it; found observed cells after missing ones"

Choose = Callable[[Variables, Tensor], Tensor]
"""Gives codes [B] for the scores of one variable a row (see `nadek.models.variables`)."""


class Completed(NamedTuple):
    """Rows without holes, and how likely what was filled in is."""

    x: Float[Tensor, "B D"]
    """Codes; observed cells are what they were."""
    log_prob: Float[Tensor, " B"]
    """float64, nats: ``log p(what was filled in | observed cells)``, 0 for a row without holes."""


def draws(generator: torch.Generator | None) -> Choose:
    """The choice that makes a completion a sample."""
    return lambda variables, scores: variables.sample(scores, generator)


@evaluation_mode
def sample(
    model: ConditionalModel,
    n_samples: int,
    *,
    orderings: Orderings | int | None = None,
    chunk: int = 1,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
) -> Shaped[Tensor, "n D"]:
    """Draw independent samples: for each an ordering, then one variable after the other.

    Args:
        model: any conditional network.
        n_samples: how many.
        orderings: the orderings of the mixture to sample from, or how many to draw for it. Samples that fell on
            the same ordering share the fast path, so few orderings are quicker. None: a fresh ordering for every
            sample, that is the mixture over all D! orderings.
        chunk: draw so many variables at once, as if they were independent given those before: quicker, and less
            faithful. `nadek.inference.likelihood.log_prob` with the same option is the exact log-likelihood of such
            samples.
        max_bytes: bound on the working memory.
        generator: source of orderings and draws, on the device of the model.

    Returns:
        uint8 codes (0 and 1 of binary variables).

    Raises:
        TypeError: on numbers that are not whole.
        ValueError: if there is to be no sample, no ordering or no variable at once, or orderings are none, or not
            the one that a fixed-order model knows.
    """
    n_samples = as_count("n_samples", n_samples)
    check_chunk(chunk)
    device = model.b.device
    choose = draws(generator)
    nothing = torch.full((n_samples, model.n_variables), torch.nan, device=device)
    if orderings is None and model.config.ordering is None:
        drawn = impute(model, nothing, share=False, chunk=chunk, max_bytes=max_bytes, generator=generator)
        return drawn.to(torch.uint8)
    choices = as_orderings(model, 1 if orderings is None else orderings, device=device, generator=generator)
    chosen = torch.randint(choices.shape[0], (n_samples,), device=device, generator=generator)
    for index in range(choices.shape[0]):
        rows = (chosen == index).nonzero().squeeze(1)
        nothing[rows] = _complete(model, nothing[rows], choices[index], choose, chunk, max_bytes).x
    return nothing.to(torch.uint8)


@evaluation_mode
def impute(
    model: ConditionalModel,
    x: Float[Tensor, "B D"],
    *,
    share: bool = True,
    chunk: int = 1,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "B D"]:
    """Fill the missing cells of every row with a joint draw from p(x_missing | x_observed).

    Args:
        model: a NADE-k of every ordering; a fixed-order NADE serves where the missing cells come last in its ordering.
        x: codes and NaN for missing, any pattern in every row; a row of NaN becomes a fresh sample.
        share: let rows share an ordering (drawn for them), which is much quicker; their completions are still
            separate draws. Rows with the same pattern share it wholly, others as far as they miss the same cells: each
            visits what it misses in that order, after all that it has. Otherwise every row gets its own.
        chunk: draw up to so many variables of the ordering at once, as if they were independent given those before.
        max_bytes: bound on the working memory.
        generator: source of orderings and draws, on the device of ``x``.

    Returns:
        A copy of ``x`` without NaN; observed cells are untouched.

    Raises:
        TypeError: on rows that are no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, and on a pattern that a
            fixed-order model cannot condition on.
    """
    choose = draws(generator)
    return complete(model, x, choose, share=share, chunk=chunk, max_bytes=max_bytes, generator=generator).x


@evaluation_mode
def complete(
    model: ConditionalModel,
    x: Float[Tensor, "B D"],
    choose: Choose,
    *,
    ordering: Int[Tensor, " D"] | None = None,
    share: bool = True,
    chunk: int = 1,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
) -> Completed:
    """Fill the missing cells of every row, one after the other, with what is chosen from their scores.

    What `impute` does with draws; other choices are in `nadek.inference`.

    Args:
        model: any conditional network.
        x: codes and NaN for missing, any pattern in every row.
        choose: gives codes for scores.
        ordering: of the missing cells, the same for all rows (the observed ones come first anyway); drawn when None.
        share: see `impute`, as ``chunk``.
        chunk: how many variables to choose at once.
        max_bytes: bound on the working memory.
        generator: source of the orderings, where they are drawn; on the device of ``x``.
    """
    check_chunk(chunk)
    missing = missing_cells(model, x)
    incomplete = missing.any(1).nonzero().squeeze(1)
    out, log_prob = x.clone(), torch.zeros(x.shape[0], dtype=torch.float64, device=x.device)
    for chosen, alike in groups(missing[incomplete], share=share):
        for some in chosen.split(ROWS_AN_ORDERING) if share and not alike else (chosen,):
            rows = incomplete[some]
            along = _orderings(model, missing[rows], ordering, share, generator)
            out[rows], log_prob[rows] = _complete(model, x[rows], along, choose, chunk, max_bytes)
    return Completed(out, log_prob)


@evaluation_mode
def missing_probabilities(model: ConditionalModel, x: Float[Tensor, "B D"]) -> Float[Tensor, "B C"]:
    """Probability of 1 in every missing column given the row's observed cells, in one pass (Eq. 8).

    Each is the marginal of its cell; they do not form a joint (that is what `impute` draws from).

    Args:
        model: any conditional network.
        x: codes and NaN for missing.

    Returns:
        The probabilities in the columns of missing cells, what the columns are in the observed ones; a binary
        variable has one column, any other one a level.

    Raises:
        TypeError: on rows that are no tensor.
        ValueError: on a wrong number of columns, and on values that are no codes.
    """
    missing = missing_cells(model, x)
    _check_marginals(model, missing)
    out = model.variables.encode(x).to(x.dtype, copy=True)
    for rows, logits in _one_pass(model, x, missing):
        hidden = model.variables.expand(missing[rows])
        out[rows] = torch.where(hidden, model.variables.probabilities(logits).to(x.dtype), out[rows])
    return out


@evaluation_mode
def level_probabilities(model: ConditionalModel, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D L"]:
    """Probability of every level of every cell given the row's observed cells, in one pass (Eq. 8).

    Args:
        model: any conditional network.
        x: codes and NaN for missing.

    Returns:
        For each cell a distribution over levels in float64, so that it sums to 1 as NumPy wants it; L is the largest
        number of levels (0 beyond a variable's own). An observed cell has probability 1 on what it is. All of it is
        much larger than the table where one variable has many levels: ask for `rows_at_once` then.

    Raises:
        TypeError: on rows that are no tensor.
        ValueError: on a wrong number of columns, and on values that are no codes.
    """
    missing = missing_cells(model, x)
    _check_marginals(model, missing)
    out = (x.unsqueeze(-1) == torch.arange(max(model.levels), device=x.device)).double()
    for rows, logits in _one_pass(model, x, missing):
        probabilities = model.variables.level_probabilities(logits).double()
        probabilities /= probabilities.sum(-1, keepdim=True)
        out[rows] = torch.where(missing[rows].unsqueeze(-1), probabilities, out[rows])
    return out


def rows_at_once(model: ConditionalModel) -> int:
    """How many rows to ask `level_probabilities` of, where what it gives is cut down to what a table needs."""
    return max(1, PROBABILITIES // (model.n_variables * max(model.levels)))


@evaluation_mode
def reconstruction_probabilities(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    missing: Bool[Tensor, "B D"] | None = None,
    *,
    steps: int | None = None,
) -> Float[Tensor, "states B C"]:
    """The states v<0>, v<1>, ..., v<k> of the inference, observed cells clamped (Eq. 5 and 7).

    Args:
        model: any conditional network.
        x: codes and NaN for missing.
        missing: True where a value is to be predicted, too, whatever stands there; None: only where x is NaN.
        steps: how many steps; the model's own number when None.

    Returns:
        The fill of missing cells first, then their probabilities after each step, as `missing_probabilities` gives
        them after the last.

    Raises:
        TypeError: on rows or flags that are no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, and on flags that are none.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), steps=5, mean=torch.tensor([0.5, 0.5, 0.5]))
        >>> states = reconstruction_probabilities(model, torch.tensor([[1, torch.nan, 0]]))
        >>> states.shape, states[0]
        (torch.Size([6, 1, 3]), tensor([[1.0000, 0.5000, 0.0000]]))
    """
    check_codes(x)
    also = torch.zeros_like(x, dtype=torch.bool) if missing is None else missing
    check_flags("missing", also, x.shape)
    missing = also | missing_cells(model, x.masked_fill(also, 0))
    observed, hidden = model.variables.encode(x).to(model.b.dtype), model.variables.expand(missing)
    outputs = model(x, missing, steps=steps)
    states = [model.fill.expand_as(observed), *(model.variables.probabilities(logits) for logits in outputs)]
    return torch.stack([torch.where(hidden, v, observed) for v in states])


def _check_marginals(model: ConditionalModel, missing: Bool[Tensor, "B D"]) -> None:
    """Refuse what a network of one ordering does not know: probabilities of cells that have others after them.

    Raises:
        ValueError: names the first such row.
    """
    if model.config.ordering is None:
        return
    *before, last = model.config.ordering
    others = missing[:, before].any(1)
    if others.any():
        raise ValueError(
            f"a model of one ordering tells in one pass how likely its last variable ({last}) is, given all others;"
            f" found other cells missing in the row at index {int(others.nonzero()[0])}. Draws (impute) serve where the"
            " missing cells come last in its ordering"
        )


def _complete(
    model: ConditionalModel, x: Tensor, ordering: Tensor, choose: Choose, chunk: int, max_bytes: int
) -> Completed:
    """Choose what is missing from ``x`` along one shared ordering [D] or one a row [B, D]."""
    out = torch.empty_like(x)
    log_prob = torch.empty(x.shape[0], dtype=torch.float64, device=x.device)
    draw = partial(choose, model.variables)
    for rows in chunks(x.shape[0], bytes_per_row(model), max_bytes):
        some, hole = x[rows], x[rows].isnan()
        if ordering.ndim == 1:
            walked = walk_together(model, some, ordering, hole.long(), draw=draw, chunk=chunk)
        else:
            walked = walk_apart(model, some, ordering[rows], hole.long(), draw=draw, chunk=chunk)
        out[rows], log_prob[rows] = walked.values.to(x.dtype), walked.log_probs.sum(1)
    return Completed(out, log_prob)


def _orderings(
    model: ConditionalModel,
    missing: Bool[Tensor, "B D"],
    ordering: Int[Tensor, " D"] | None,
    share: bool,  # noqa: FBT001
    generator: torch.Generator | None,
) -> Int[Tensor, "*rows D"]:
    """One ordering for all rows, or one a row with the observed cells first; a fixed-order model has only its own."""
    ordering = model.own_ordering if ordering is None else ordering
    if ordering is None:
        n = 1 if share else len(missing)
        found = random_orderings(n, model.n_variables, device=missing.device, generator=generator)
    else:
        found = ordering.expand(1 if share else len(missing), -1)
    if share and model.config.ordering is None:
        return found[0]
    each = in_stages(model, found, missing, able=ABLE)
    return found[0] if share else each


def _one_pass(model: ConditionalModel, x: Tensor, missing: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Rows, and their logits after the last step [rows, C], chunk by chunk."""
    for rows in chunks(x.shape[0], bytes_per_row(model), MAX_BYTES):
        yield rows, model(x[rows], missing[rows])[-1]
