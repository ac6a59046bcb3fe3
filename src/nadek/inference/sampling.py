"""Samples, imputations, and probabilities of missing cells.

Conditioning visits the observed variables first (the paper, after Eq. 9). So every draw is exact for its ordering;
there is no Markov chain. Equations: Raiko, Yao, Cho and Bengio (2014).
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from nadek.inference.check_inputs import as_count, check_flags, missing_cells, row_ids
from nadek.inference.chunk_sizes import Chunk, as_chunk
from nadek.inference.decoders.chunking import bytes_per_row, chunks
from nadek.inference.decoders.full import Rows
from nadek.inference.decoding import Decoded, Draw, decode_rows
from nadek.inference.orderings import VISITED, Orderings, as_ordering, as_orderings, groups, in_stages, random_orderings
from nadek.inference.row_random import BESIDE, CHOICE, LEVEL, TURN, row_keys, uniforms
from nadek.models.base import ConditionalModel
from nadek.models.codes import check_codes, code_dtype
from nadek.models.evaluation import evaluation_mode

PROBABILITIES = 2**24
"""Number of level probabilities to hold at a time; see `rows_at_once`."""

SHARE_FROM = 8
"""From so many rows with one pattern of missing cells on, it pays to decode them by themselves."""


class Completed(NamedTuple):
    """Completed rows and log-probabilities, returned by `greedy` and `beam`."""

    x: Float[Tensor, "B D"]
    """Codes; observed cells are unchanged."""
    log_prob: Float[Tensor, " B"]
    """float64, nats: log p(filled cells | observed cells); 0 for a complete row."""


@evaluation_mode
def sample(
    model: ConditionalModel,
    n_samples: int,
    *,
    orderings: Orderings | int | None = None,
    chunk: Chunk = 1,
    first_row: int = 0,
    generator: torch.Generator | None = None,
) -> Shaped[Tensor, "n D"]:
    """Draw independent samples: an ordering for each, then one variable after the other.

    Args:
        model: any conditional model.
        n_samples: number of samples.
        orderings: orderings of the mixture to sample from, or the number of orderings to draw for it. Samples with the
            same ordering are decoded together, so few orderings are quicker. None draws an ordering for each sample:
            the mixture over all D! orderings.
        chunk: draw so many variables at once, as if they were independent given those before. It is quicker and less
            faithful; `nadek.inference.likelihood.log_prob` with this option is the log-likelihood of such samples. A
            list has the size of each chunk, see `nadek.inference.cheapest_chunks`.
        first_row: index of the first row, where many are drawn in parts, each with a generator of the same seed.
        generator: source of a seed and orderings, on the device of the model. A row follows from that and its index:
            the first rows of many are those of few.

    Returns:
        uint8 codes (0 and 1 of binary variables), int16 beyond 256 levels; floats where a variable is continuous.

    Raises:
        TypeError: on numbers that are not whole.
        ValueError: on numbers below 1, and on orderings that are none or not a fixed-order model's own.

    Example:
        >>> from nadek.models import nade_k
        >>> sample(nade_k(3, hidden=(4,)), 5).shape
        torch.Size([5, 3])
    """
    n_samples = as_count("n_samples", n_samples)
    device, dtype = model.b.device, code_dtype(model.levels, continuous=model.variables.knots is not None)
    out = torch.full((n_samples, model.n_variables), torch.nan, device=device)
    ids = torch.arange(first_row, first_row + n_samples, device=device)
    if orderings is None and model.config.ordering is None:
        return impute(model, out, share=False, chunk=chunk, rows=ids, generator=generator).to(dtype)
    keys = row_keys(_seed(device, generator), ids)
    choices = as_orderings(model, 1 if orderings is None else orderings, device=device, generator=generator)
    chosen = (uniforms(keys, CHOICE, torch.zeros_like(keys)) * len(choices)).long()
    for index, ordering in enumerate(choices):
        rows = (chosen == index).nonzero().squeeze(1)
        out[rows] = complete(model, out[rows], draws(model, keys[rows]), ordering, chunk=chunk).values
    return out.to(dtype)


@evaluation_mode
def impute(
    model: ConditionalModel,
    x: Float[Tensor, "B D"],
    *,
    share: bool = True,
    ordering: Int[Tensor, "*rows D"] | None = None,
    chunk: Chunk = 1,
    rows: Int[Tensor, " B"] | None = None,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "B D"]:
    """Fill the missing cells of each row with a draw from p(missing | observed).

    The draw follows from the state of the generator, the id of the row, and its observed cells. So a table can be
    filled in part by part: begin each part with a generator of the same seed, and pass the ids of its rows.

    Args:
        model: a NADE-k; a fixed-order NADE serves where the missing cells come last in its ordering.
        x: codes, NaN for a missing value; a row of NaN becomes a fresh sample.
        share: let all rows share a drawn ordering, which is much quicker. Completions are separate draws all the same;
            each row visits its missing cells in that order, after all observed ones. False draws an ordering for each
            row.
        ordering: one that all rows share, or one a row, in place of drawn ones.
        chunk: draw up to so many variables at once, as if they were independent given those before.
        rows: ids of the rows, int64; None numbers them from 0. Rows that have one id get the same random numbers.
        generator: source of a seed and the ordering, on the device of ``x``.

    Returns:
        A copy of ``x`` without NaN; observed cells are unchanged.

    Raises:
        TypeError: if ``x`` or ``rows`` is no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, on ids that are not one a row, and on a
            pattern that a fixed-order model cannot condition on.

    Example:
        >>> from nadek.models import nade_k
        >>> impute(nade_k(3, hidden=(4,)), torch.tensor([[1, torch.nan, 0]])).isnan().any()
        tensor(False)
    """
    missing_cells(model, x)  # checks x
    keys = row_keys(_seed(x.device, generator), row_ids(x, rows))
    if ordering is not None:
        ordering = as_ordering(model, x, ordering)
    elif share:
        ordering = random_orderings(1, model.n_variables, device=x.device, generator=generator)[0]
    else:
        ordering = orderings_of(keys, model.n_variables)
    return complete(model, x, draws(model, keys), ordering, chunk=chunk).values


def orderings_of(keys: Int[Tensor, " B"], n_variables: int) -> Int[Tensor, "B D"]:
    """Return an ordering for each row."""
    return uniforms(keys.unsqueeze(1), TURN, torch.arange(n_variables, device=keys.device)).argsort(1)


def draws(model: ConditionalModel, keys: Int[Tensor, " B"]) -> Draw:
    """Return a function that draws codes of rows."""
    uses = torch.tensor([LEVEL, BESIDE][: model.variables.n_uniforms], device=keys.device)

    def draw(scores: Tensor, variable: Tensor, rows: Rows) -> Tensor:
        u = uniforms(keys[rows, None, None], uses, variable.unsqueeze(2))
        return model.variables.sample(scores, variable, u)

    return draw


@evaluation_mode
def complete(
    model: ConditionalModel, x: Float[Tensor, "B D"], draw: Draw, ordering: Int[Tensor, "*rows D"], *, chunk: Chunk = 1
) -> Decoded:
    """Fill the missing cells of each row one by one with what ``draw`` makes of their scores.

    They are visited along ``ordering``, one for all rows or one a row, after all observed ones. A fixed-order model has
    its own.
    """
    chunk, missing = as_chunk(chunk, model.n_variables), missing_cells(model, x)
    if not isinstance(chunk, int) and not missing.all():
        raise ValueError("chunk: expected one size for rows with observed cells, found a list of sizes")
    if (own := model.own_ordering) is not None:
        in_stages(model, own, missing)  # refuses what it cannot answer
        ordering = own
    incomplete = missing.any(1).nonzero().squeeze(1)
    out, log_probs = x.clone(), torch.zeros(x.shape, dtype=torch.float64, device=x.device)
    share = ordering.ndim == 1
    for group in groups(missing[incomplete], SHARE_FROM) if share else (slice(None),):
        rows = incomplete[group]
        for part in chunks(len(rows), bytes_per_row(model)):
            some = rows[part]
            along = ordering if share else in_stages(model, ordering[some], missing[some])

            def own_draw(scores: Tensor, variable: Tensor, rows: Rows, some: Tensor = some) -> Tensor:
                return draw(scores, variable, some[rows])

            decoded = decode_rows(model, x[some], along, missing[some] * VISITED, draw=own_draw, chunk=chunk)
            out[some], log_probs[some] = decoded.values.to(x.dtype), decoded.log_probs
    return Decoded(out, log_probs)


def _seed(device: torch.device, generator: torch.Generator | None) -> int:
    return int(torch.randint(2**63 - 1, (1,), device=device, generator=generator))


@evaluation_mode
def missing_probabilities(model: ConditionalModel, x: Float[Tensor, "B D"]) -> Float[Tensor, "B C"]:
    """Return the probability of 1 in each missing column, in one pass (Eq. 8).

    Each is the marginal of its cell given the observed ones. They form no joint; `impute` draws from that.

    Args:
        model: any conditional model.
        x: codes, NaN for a missing value.

    Returns:
        Probabilities in the columns of missing cells, the encoded values in the others. A binary variable has one
        column, any other variable one a level.

    Raises:
        TypeError: if ``x`` is no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, and on what a fixed-order model
            cannot answer.

    Example:
        >>> from nadek.models import nade_k
        >>> p = missing_probabilities(nade_k(3, hidden=(4,)), torch.tensor([[1, torch.nan, 0]]))
        >>> p[0, [0, 2]].tolist(), bool(0 < p[0, 1] < 1)
        ([1.0, 0.0], True)
    """
    parts = _one_pass(model, x)
    out = model.variables.encode(x).to(x.dtype, copy=True)
    for rows, missing, logits in parts:
        hidden = model.variables.expand(missing)
        out[rows] = torch.where(hidden, model.variables.probabilities(logits).to(x.dtype), out[rows])
    return out


@evaluation_mode
def level_probabilities(model: ConditionalModel, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D L"]:
    """Return the probability of each level of each cell, in one pass (Eq. 8).

    Args:
        model: any conditional model.
        x: codes, NaN for a missing value.

    Returns:
        A distribution over levels for each cell, in float64, so that it sums to 1 to NumPy's precision. L is the
        largest number of levels; levels that a variable lacks have 0, and an observed cell has 1 at its value. This can
        be much larger than the table: pass `rows_at_once` rows at a time.

    Raises:
        TypeError: if ``x`` is no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, and on what a fixed-order model
            cannot answer.

    Example:
        >>> from nadek.models import IterativeNADE, ModelConfig
        >>> model = IterativeNADE(ModelConfig(n_variables=2, levels=(3, 4)))
        >>> p = level_probabilities(model, torch.tensor([[1, torch.nan]]))
        >>> p[0, 0].tolist(), round(float(p[0, 1].sum()), 6)
        ([0.0, 1.0, 0.0, 0.0], 1.0)
    """
    parts = _one_pass(model, x)
    out = (x.double().round().unsqueeze(-1) == torch.arange(max(model.levels), device=x.device)).double()
    for rows, missing, logits in parts:
        probabilities = model.variables.level_probabilities(logits).double()
        probabilities /= probabilities.sum(-1, keepdim=True)
        out[rows] = torch.where(missing.unsqueeze(-1), probabilities, out[rows])
    return out


def rows_at_once(model: ConditionalModel) -> int:
    """Return a number of rows for which `level_probabilities` fits into memory."""
    return max(1, PROBABILITIES // (model.n_variables * max(model.levels)))


@evaluation_mode
def reconstruction_probabilities(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    missing: Bool[Tensor, "B D"] | None = None,
    *,
    steps: int | None = None,
) -> Float[Tensor, "states B C"]:
    """Return the states v<0>, v<1>, ..., v<k> of the inference (Eq. 5 and 7).

    Args:
        model: any conditional model.
        x: codes, NaN for a missing value.
        missing: True for cells to predict in addition to those that are NaN, whatever their value.
        steps: number of steps; None for the model's own.

    Returns:
        First the fill of missing cells, then their probabilities after each step (as `missing_probabilities` gives
        them after the last). Observed cells keep their values.

    Raises:
        TypeError: if ``x`` or ``missing`` is no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, and on flags of another shape.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), steps=5, mean=torch.tensor([0.5, 0.5, 0.5]))
        >>> states = reconstruction_probabilities(model, torch.tensor([[1, torch.nan, 0]]))
        >>> states.shape, states[0]
        (torch.Size([6, 1, 3]), tensor([[1.0000, 0.5000, 0.0000]]))
    """
    check_codes(x)
    extra = torch.zeros_like(x, dtype=torch.bool) if missing is None else missing
    check_flags("missing", extra, x.shape)
    missing = extra | missing_cells(model, x.masked_fill(extra, 0))
    observed, hidden = model.variables.encode(x).to(model.b.dtype), model.variables.expand(missing)
    outputs = model(x, missing, steps=steps)
    first = model.first_state(x, missing).expand_as(observed)
    states = [first, *(model.variables.probabilities(logits) for logits in outputs)]
    return torch.stack([torch.where(hidden, v, observed) for v in states])


def _one_pass(model: ConditionalModel, x: Shaped[Tensor, "B D"]) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Return some rows at a time, where they have missing cells, and the logits."""
    missing, ordering = missing_cells(model, x), model.config.ordering
    if ordering is not None and (others := missing[:, list(ordering[:-1])].any(1)).any():
        raise ValueError(
            f"a model of one ordering tells in one pass how likely its last variable ({ordering[-1]}) is, given all"
            f" others; found other cells missing in the row at index {int(others.nonzero()[0])}. Draws (impute) serve"
            " where the missing cells come last in its ordering"
        )
    return ((rows, missing[rows], model(x[rows], missing[rows])[-1]) for rows in chunks(len(x), bytes_per_row(model)))
