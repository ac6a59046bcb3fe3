"""What one variable is: how likely a value is under its logits, and where a table has holes.

Every variable is binary here: one column, one logit.
"""

from jaxtyping import Bool, Float, Shaped
from torch import Tensor
from torch.nn import functional as F

MEAN_MARGIN = 1e-4
"""Data means are kept this far from 0 and 1, so that a constant column has finite logits."""


def log_bernoulli(logits: Float[Tensor, "*shape"], x: Shaped[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Log-probability in nats of the binary values ``x`` under ``logits``, finite for every finite logit.

    ``log p(x) = -softplus(-logit)`` for x = 1 and ``-softplus(logit)`` for x = 0 (the logarithm of
    Eq. v_to_prob of the paper), in the dtype of the logits.

    Example:
        >>> import torch
        >>> log_bernoulli(torch.tensor([0.0, 800.0]), torch.tensor([1, 0])).tolist()
        [-0.6931471824645996, -800.0]
    """
    return -F.softplus(logits * (1 - 2 * x.to(logits.dtype)))


def clamped_mean(mean: Float[Tensor, " D"]) -> Float[Tensor, " D"]:
    """The data mean kept away from 0 and 1 by ``MEAN_MARGIN``."""
    return mean.clamp(MEAN_MARGIN, 1 - MEAN_MARGIN)


def split_missing(x: Shaped[Tensor, "*shape"]) -> tuple[Shaped[Tensor, "*shape"], Bool[Tensor, "*shape"]]:
    """Split a table with NaN for missing into (values with 0 in the holes, where the holes are).

    Raises:
        ValueError: if an observed value is neither 0 nor 1; the message names the first such cell.
    """
    missing = x.isnan()
    values = x.masked_fill(missing, 0)
    bad = (values != 0) & (values != 1)
    if bad.any():
        cell = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"expected 0, 1 or NaN (missing), found {x[cell].item():g} in the cell at index {cell}")
    return values, missing
