"""Exact log-likelihoods, and an unbiased estimate.

A trained model is a family of distributions, one for each ordering. The paper's "Log-Prob." is the mean over orderings;
its ensemble (EoNADE) is the mixture. Equations: Raiko, Yao, Cho and Bengio (2014).
"""

import math
from typing import Literal, TypedDict, Unpack

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from nadek.inference.check_inputs import as_count, check_flags, complete_rows, missing_cells
from nadek.inference.chunk_sizes import Chunk
from nadek.inference.decoders.chunking import Progress, bytes_per_row, chunks
from nadek.inference.order_agnostic import MaskDistribution, step_costs
from nadek.inference.orderings import GIVEN, UNSEEN, VISITED, Ordering, Orderings, as_ordering, as_orderings
from nadek.inference.score_rows import DecoderName, score_rows
from nadek.models.base import ConditionalModel
from nadek.models.codes import check_tensor
from nadek.models.evaluation import evaluation_mode

Reduction = Literal["mean", "mixture"]


class DecodingOptions(TypedDict, total=False):
    """Options of the computation; see the example of `nadek.log_prob`."""

    decoder: DecoderName
    """Decoder: "auto", "incremental" (rows that share an ordering), "full" (the whole network at every position) or
    "batched" (the same for many positions at once; it suits few rows). All agree up to rounding. Default: "auto"."""
    chunk: Chunk
    """Score the distribution in which so many variables at a time are independent, given those before: the one that
    `nadek.sample` draws from with this option. A list has the size of each chunk (see
    `nadek.inference.cheapest_chunks`). For complete rows only. Default: 1."""
    dtype: torch.dtype | None
    """Dtype of the matrix products; default: the model's own. For a float32 model, torch.bfloat16 and torch.float16 are
    quicker; errors are up to a few tenths of a nat on single rows, thousandths on means. Sums are always float64."""
    progress: Progress | None
    """Called after each chunk with (rows done, rows in all), both counted over all orderings."""


@evaluation_mode
def log_prob(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    *,
    ordering: Ordering | None = None,
    orderings: Orderings | int | None = None,
    given: Bool[Tensor, " D"] | None = None,
    reduce: Reduction | None = None,
    generator: torch.Generator | None = None,
    **options: Unpack[DecodingOptions],
) -> Float[Tensor, "*M B"]:
    """Return the exact log-likelihood of rows, in nats (float64).

    Along one ordering o it is (Eq. 2)::

        log p(x | o) = sum over i = 1..D of log p(x[o_i] | x[o_1], ..., x[o_(i-1)])

    With M orderings the result has a row for each, unless ``reduce`` says otherwise::

        "mean":     1/M sum over o of log p(x | o)      the paper's "Log-Prob."
        "mixture":  log 1/M sum over o of p(x | o)      the ensemble over orderings (EoNADE, Eq. 9)

    A missing value (NaN) is summed out: the result is the log-likelihood of the observed cells. With ``given`` it is::

        log p(observed cells not in given | observed cells in given, o)

    A model of every ordering visits the given cells first, then the other observed cells, each in the relative order
    of o. So each ordering defines a proper distribution, and so does the mixture. The chain rule
    log p(a) + log p(b | a) = log p(a, b) holds along one ordering that visits a before b, not for the mixture.

    Args:
        model: any conditional model. A fixed-order model answers for its own ordering only, where that visits the
            given cells first and the missing ones last.
        x: codes [B, D] (0 and 1 of binary variables), NaN for a missing value.
        ordering: one ordering for all rows [D], or one a row [B, D]; the result is [B]. Default: the model's own.
        orderings: M orderings [M, D], or a number M of orderings to draw (a fixed-order model has one and ignores the
            number); the result is [M, B].
        given: True for the variables to condition on [D].
        reduce: "mean" or "mixture" over orderings; the result is [B].
        generator: source of the orderings that are drawn, on the device of ``x``.
        **options: how to compute; see `DecodingOptions`.

    Raises:
        TypeError: if ``model`` is no network, or ``x``, ``given`` or ``dtype`` is of another type.
        ValueError: on a wrong number of columns, values that are no codes, wrong orderings or none, cells that a
            fixed-order model cannot condition on, and options that do not suit the model.

    Example:
        Exact, along one ordering:

        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.full((3,), 0.5), generator=torch.Generator().manual_seed(0))
        >>> x = torch.tensor([[0, 1, 1], [1, 0, 0]])
        >>> log_prob(model, x, ordering=[2, 0, 1], decoder="full").shape
        torch.Size([2])

        Under the mixture of six drawn orderings:

        >>> log_prob(model, x, orderings=6, reduce="mixture").shape
        torch.Size([2])

        Of the observed cells alone, and given the first variable:

        >>> log_prob(model, torch.tensor([[0, torch.nan, 1], [torch.nan] * 3]), orderings=2)[:, 1]
        tensor([0., 0.], dtype=torch.float64)
        >>> log_prob(model, x, given=torch.tensor([True, False, False]), orderings=2).shape
        torch.Size([2, 2])
    """
    missing, unknown = missing_cells(model, x), options.keys() - DecodingOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"expected options of log_prob, found {', '.join(sorted(unknown))}")
    if orderings is None:
        if reduce is not None:
            raise ValueError(f"reduce: expected none for a single ordering (see orderings), found {reduce!r}")
        along = as_ordering(model, x, ordering).unsqueeze(0)
    elif ordering is not None:
        raise ValueError("ordering: expected either ordering or orderings, found both")
    else:
        along = as_orderings(model, orderings, device=x.device, generator=generator)
    stage = torch.full_like(missing, VISITED, dtype=torch.uint8)
    if given is not None:
        check_flags("given", given, x.shape[1:])
        stage[:, given.to(x.device)] = GIVEN
    stage[missing] = UNSEEN
    table = score_rows(model, x.masked_fill(missing, 0), along, stage, **options)
    return table[0] if orderings is None else reduce_orderings(table, reduce)


def reduce_orderings(log_probs: Float[Tensor, "M B"], reduce: Reduction | None = "mixture") -> Float[Tensor, "*M B"]:
    """Return the mean or the mixture (Eq. 9) over orderings of log-likelihoods, in nats.

    Args:
        log_probs: log-likelihoods, orderings by rows.
        reduce: see `log_prob`.

    Raises:
        TypeError: if they are no tensor.
        ValueError: on another shape, and on an unknown reduction.

    Example:
        >>> reduce_orderings(torch.tensor([[0.5, 1.0], [0.25, 1.0]]).log()).exp()
        tensor([0.3750, 1.0000])
    """
    check_table(log_probs)
    if reduce is None:
        return log_probs
    if reduce == "mean":
        return log_probs.mean(dim=0)
    if reduce == "mixture":
        return log_probs.logsumexp(dim=0) - math.log(log_probs.shape[0])
    raise ValueError(f"reduce: expected mean, mixture or None, found {reduce!r}")


def check_table(log_probs: Tensor) -> None:
    """Check that log-likelihoods are a table, orderings by rows."""
    check_tensor(log_probs, "log_probs")
    if log_probs.ndim != 2:
        expected = "expected a matrix, orderings by rows (of one ordering log_prob(...)[None])"
        raise ValueError(f"log_probs: {expected}, found an array of shape {tuple(log_probs.shape)}")


@evaluation_mode
def estimate_log_prob(
    model: ConditionalModel, x: Shaped[Tensor, "B D"], *, n_masks: int = 1, generator: torch.Generator | None = None
) -> Float[Tensor, " B"]:
    """Return an unbiased estimate of the mean log-likelihood over all orderings (Eq. 4).

    It samples positions: one network evaluation a mask, where the exact value takes D. A single row's value is noisy;
    the mean over rows is good to its standard error. Use it to watch a training, and to screen.

    Args:
        model: a conditional model of every ordering.
        x: complete rows of codes (0 and 1 of binary variables).
        n_masks: number of masks for each row.
        generator: source of the masks, on the device of ``x``.

    Returns:
        Nats, float64.

    Raises:
        TypeError: if ``n_masks`` is no whole number.
        ValueError: if it is below 1, for a fixed-order model, for one with continuous variables, on missing values,
            and on rows as `log_prob`.

    Example:
        >>> from nadek.models import nade_k
        >>> estimate_log_prob(nade_k(3, hidden=(4,)), torch.tensor([[0, 1, 1], [1, 0, 0]]), n_masks=10).shape
        torch.Size([2])
    """
    if model.config.ordering is not None:
        message = "expected a model of every ordering, found one that knows one only"
        raise ValueError(f"{message}; log_prob is exact for that")
    if model.variables.knots is not None:  # whose costs are no densities
        raise ValueError("expected a model of discrete variables, found numbers; log_prob is exact for them")
    n_masks = as_count("n_masks", n_masks)
    x = complete_rows(model, x)
    return log_probs_by_steps(model, x, steps=model.steps, masks=n_masks, generator=generator)[-1]


@evaluation_mode
def log_probs_by_steps(
    model: ConditionalModel, x: Shaped[Tensor, "B D"], *, steps: int, masks: int, generator: torch.Generator | None
) -> Float[Tensor, "k B"]:
    """Return `estimate_log_prob` of a model with 1, 2, ... steps.

    All numbers of steps see the same masks, so their differences are much less noisy than each one.
    """
    total = torch.zeros(steps, len(x), dtype=torch.float64, device=x.device)
    for _ in range(masks):
        missing = MaskDistribution(stratified=True).sample(torch.ones_like(x, dtype=torch.bool), generator=generator)
        for rows in chunks(len(x), bytes_per_row(model) * (steps + 1)):
            total[:, rows] -= step_costs(model, x[rows], missing[rows], steps=steps).double()
    return total / masks
