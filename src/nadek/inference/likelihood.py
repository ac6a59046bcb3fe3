"""Exact log-likelihoods: of one ordering, of many, of their mixture; and a quick unbiased estimate.

A trained model is a family of distributions, one for each ordering. ``log_prob`` is exact for the ordering it
is given. The mean over orderings is what the paper's "Log-Prob." columns report; the ensemble is the logarithm
of the mean of the *joint* probabilities (EoNADE, Eq. 9), again a proper distribution.
Equation numbers are those of the paper: Raiko, Yao, Cho and Bengio (2014).
"""

import math
from collections.abc import Callable, Iterator
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from nadek.inference.decoders import (
    MAX_BYTES,
    NEAR_BYTES,
    FullDecoder,
    Path,
    bytes_per_row,
    chunks,
    products_in,
    shared_path,
)
from nadek.inference.decoding import as_count, as_orderings, check_chunk, walk
from nadek.inference.mask_distribution import MaskDistribution
from nadek.inference.missing_patterns import check_own, missing_cells
from nadek.inference.order_agnostic import step_costs
from nadek.inference.orderings import (
    Ordering,
    Orderings,
    are_permutations,
    as_tensor,
    missing_at,
    rank_of,
)
from nadek.models.base import ConditionalModel
from nadek.models.codes import check_tensor
from nadek.models.evaluation import check_model_and_rows, evaluation_mode
from nadek.models.precision import checked_dtype

PathName = Literal["auto", "fast", "plain", "positions"]
FEW_ROWS = 8
"""Up to so many rows it is quicker to batch over the positions than to walk."""

Progress = Callable[[int, int], None]
"""Told (rows done, rows in all) after each chunk."""


@evaluation_mode
def log_prob(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    ordering: Ordering | None = None,
    *,
    path: PathName = "auto",
    dtype: torch.dtype | None = None,
    chunk: int = 1,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> Float[Tensor, " B"]:
    """Exact log p(x | ordering) of complete rows, in nats, float64 (Eq. 2).

    Args:
        model: any conditional network.
        x: complete rows of codes (0 and 1 of binary variables).
        ordering: one ordering for all rows [D] or one a row [B, D]; a fixed-order model has only its own, which None
            stands for.
        path: how to compute it; all agree up to rounding. "fast" needs a shared ordering; "plain" runs the whole
            network at every position; "positions" does so for many positions at once, which suits few rows.
        dtype: of the matrix products: None for the model's own, or for a float32 model torch.bfloat16, which is quicker
            and errs by up to a few tenths of a nat on single rows and thousandths on means, or torch.float16. Sums are
            always float64.
        chunk: score the distribution in which so many variables at a time are independent given those before: the
            one that `nadek.inference.sampling` draws from with the same option. What it costs in nats is the
            difference to 1.
        max_bytes: bound on the working memory; the rows are scored in chunks that respect it (the fast path takes less
            than it may on a CPU, see `nadek.inference.decoders.NEAR_BYTES`).
        progress: called after each chunk.

    Raises:
        TypeError: on what is no network, on rows that are no tensor of common numbers, and on what is no dtype.
        ValueError: on missing values, values that are no codes, a wrong number of columns, no ordering, or another one
            than a fixed-order model's own, and on a dtype that does not suit the model.

    Example:
        >>> from nadek.models import nade_k
        >>> model = nade_k(3, hidden=(4,), mean=torch.tensor([0.5, 0.5, 0.5]))
        >>> log_prob(model, torch.tensor([[0, 1, 1]]), torch.tensor([2, 0, 1])).shape
        torch.Size([1])
    """
    x = complete_rows(model, x)
    ordering = checked_ordering(model, x, ordering)
    check_chunk(chunk)
    dtype = checked_dtype(model.b.dtype, dtype)
    path = _choose(model, path, x.shape[0], ordering)
    out = torch.empty(x.shape[0], dtype=torch.float64, device=x.device)
    at_once = min(max_bytes, NEAR_BYTES) if path == "fast" and x.device.type == "cpu" else max_bytes
    for rows in chunks(x.shape[0], bytes_per_row(model), at_once):
        along = ordering if ordering.ndim == 1 else ordering[rows]
        out[rows] = _score(model, x[rows], along, path, dtype, chunk, max_bytes)
        if progress is not None:
            progress(rows.stop, x.shape[0])
    return out


def log_probs(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    orderings: Orderings | int,
    *,
    dtype: torch.dtype | None = None,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
    progress: Progress | None = None,
) -> Float[Tensor, "O B"]:
    """Exact log p(x | o) of every row under each of several orderings, in nats, float64.

    Args:
        model: any conditional network.
        x: complete rows of codes (0 and 1 of binary variables).
        orderings: the orderings, or how many to draw (a fixed-order model has one and ignores the number).
        dtype: see `log_prob`.
        max_bytes: see `log_prob`.
        generator: source of the orderings, where they are drawn; on the device of ``x``.
        progress: called with the rows scored, counted over all orderings.

    Raises:
        ValueError: if there is to be no ordering, or what is given is none, or not the one that the model knows; on
            rows as `log_prob`.
    """
    each = each_log_prob(model, x, orderings, dtype=dtype, max_bytes=max_bytes, generator=generator, progress=progress)
    return torch.stack(list(each))


def each_log_prob(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    orderings: Orderings | int,
    *,
    dtype: torch.dtype | None = None,
    max_bytes: int = MAX_BYTES,
    generator: torch.Generator | None = None,
    progress: Progress | None = None,
) -> Iterator[Float[Tensor, " B"]]:
    """What `log_probs` gives, one ordering after the other: for a running estimate, and to stop early.

    Args:
        model: see `log_probs`, as are all others.
        x: complete rows.
        orderings: the orderings, or how many to draw: before the first is scored, so that stopping changes none.
        dtype: of the matrix products.
        max_bytes: bound on the working memory.
        generator: source of the orderings.
        progress: called with the rows scored, counted over all orderings.
    """
    check_model_and_rows(model, x)
    orderings = as_orderings(model, orderings, device=x.device, generator=generator)
    n_rows, total = x.shape[0], orderings.shape[0] * x.shape[0]
    for index in range(orderings.shape[0]):

        def done(rows: int, _: int, before: int = index * n_rows) -> None:
            if progress is not None:
                progress(before + rows, total)

        yield log_prob(model, x, orderings[index], dtype=dtype, max_bytes=max_bytes, progress=done)


def mixture_log_prob(log_probs: Float[Tensor, "O B"]) -> Float[Tensor, " B"]:
    """Log-probability of each row under the uniform mixture over the orderings (EoNADE, Eq. 9), in nats.

    Raises:
        ValueError: on an array of another shape.
    """
    check_matrix(log_probs)
    return log_probs.logsumexp(dim=0) - math.log(log_probs.shape[0])


def check_matrix(log_probs: Tensor) -> None:
    """Refuse log-likelihoods that are no matrix, such as those of one ordering, whose rows would be taken for others.

    Raises:
        TypeError: if they are no tensor.
        ValueError: on an array of another shape.
    """
    check_tensor(log_probs, "log_probs")
    if log_probs.ndim != 2:
        expected = "expected a matrix, orderings by rows (of one ordering log_prob(...)[None])"
        raise ValueError(f"log_probs: {expected}, found an array of shape {tuple(log_probs.shape)}")


@evaluation_mode
def estimate_log_prob(
    model: ConditionalModel,
    x: Shaped[Tensor, "B D"],
    *,
    n_masks: int = 1,
    generator: torch.Generator | None = None,
) -> Float[Tensor, " B"]:
    """Unbiased estimate of the mean of log p(x | o) over all orderings, from sampled positions (Eq. 4).

    A single row's value is noisy; their mean is good to the standard error over rows. One network evaluation a
    mask, where the exact value takes D: for watching a training, and for screening.

    Args:
        model: any conditional network of every ordering.
        x: complete rows of codes (0 and 1 of binary variables).
        n_masks: how many masks to average over for each row.
        generator: source of the masks, on the device of ``x``.

    Raises:
        TypeError: on a number of masks that is not whole.
        ValueError: if there is to be no mask, for a model of one ordering, and on rows as `log_prob`.
    """
    if model.config.ordering is not None:
        found = "expected a model of every ordering, found one that knows one only"
        raise ValueError(f"{found}; log_prob is exact for that")
    n_masks = as_count("n_masks", n_masks)
    x = complete_rows(model, x)
    observed = torch.ones_like(x, dtype=torch.bool)
    total = torch.zeros(x.shape[0], dtype=torch.float64, device=x.device)
    for _ in range(n_masks):
        missing = MaskDistribution(stratified=True).sample(observed, generator=generator)
        for rows in chunks(len(x), bytes_per_row(model) * (model.steps + 1), MAX_BYTES):
            total[rows] -= step_costs(model, x[rows], missing[rows])[-1].double()
    return total / n_masks


def complete_rows(model: ConditionalModel, x: Shaped[Tensor, "B D"]) -> Shaped[Tensor, "B D"]:
    """Check that ``x`` has a code for each variable, and no holes."""
    missing = missing_cells(model, x)
    if missing.any():
        cell = tuple(missing.nonzero()[0].tolist())
        found = f"expected complete rows, found a missing value in the cell at index {cell}"
        raise ValueError(f"{found}; nadek score (in Python marginal_log_probs) sums out what is missing")
    return x


def _score(
    model: ConditionalModel,
    x: Tensor,
    ordering: Tensor,
    path: PathName,
    dtype: torch.dtype | None,
    chunk: int,
    max_bytes: int,
) -> Tensor:
    """Log p(x | ordering) of one chunk of rows along one path."""
    per_row = ordering.expand(x.shape[0], -1)
    if path == "positions":
        return _score_positions(model, x, per_row, dtype, chunk, max_bytes)
    if path == "fast":
        way: Path = shared_path(model, ordering, x.shape[0], dtype=dtype)
    else:
        way = FullDecoder(model, per_row, dtype=dtype)
    return walk(way, x.gather(1, per_row), chunk=chunk).log_probs.sum(1)


def _score_positions(
    model: ConditionalModel, x: Tensor, ordering: Tensor, dtype: torch.dtype | None, chunk: int, max_bytes: int
) -> Tensor:
    """The plain path with many positions in one batch: given x, the D conditionals of a row are independent."""
    n_rows, n_variables = x.shape
    rank = rank_of(ordering)
    total = torch.zeros(n_rows, dtype=torch.float64, device=x.device)
    for positions in chunks(n_variables, n_rows * bytes_per_row(model), max_bytes):
        position = torch.arange(positions.start, positions.stop, device=x.device)
        missing = missing_at(rank, (position - position % chunk)[:, None, None])  # [positions, rows, D]
        with products_in(dtype, x.device):
            logits = model(x.expand(missing.shape), missing)[-1]
        asked = ordering[:, positions]
        scores = model.variables.scores(logits, asked.t())
        total += model.variables.log_prob(scores.double(), x.gather(1, asked).t()).sum(0)
    return total


def _choose(model: ConditionalModel, path: PathName, n_rows: int, ordering: Tensor) -> PathName:
    """Settle what "auto" means for this many rows."""
    if path not in get_args(PathName):
        raise ValueError(f"path: expected one of {', '.join(get_args(PathName))}, found {path!r}")
    if path == "fast" and ordering.ndim == 2:
        raise ValueError("the fast path needs one ordering [D] shared by all rows, found one a row")
    if path == "fast" and not model.can_decode_incrementally:
        needs = "the fast path needs a network that single variables can be cut out of, without hooks on it"
        raise ValueError(f"{needs}; use another path")
    if path != "auto":
        return path
    if n_rows <= FEW_ROWS or not model.can_decode_incrementally:
        return "positions"
    return "fast" if ordering.ndim == 1 else "plain"


def checked_ordering(
    model: ConditionalModel, x: Shaped[Tensor, "B D"], ordering: Ordering | None
) -> Int[Tensor, "*rows D"]:
    """The ordering to use for the rows ``x``, on their device; the model's own when None is given.

    Raises:
        TypeError: if these are no numbers.
        ValueError: if it is no permutation of the variables, neither one for all rows nor one a row, or another one
            than a fixed-order model's own.
    """
    ordering = model.own_ordering if ordering is None else ordering
    if ordering is None:
        raise ValueError("this model answers for every ordering: give one (see nadek.random_orderings)")
    ordering = as_tensor(ordering).to(x.device)
    if ordering.shape not in (x.shape[1:], x.shape) or not are_permutations(ordering):
        raise ValueError(
            f"ordering: expected a permutation of 0..{x.shape[1] - 1}, one for all rows or one a row,"
            f" found an array of shape {tuple(ordering.shape)} and type {ordering.dtype}"
        )
    check_own(model, ordering)
    return ordering.long()
