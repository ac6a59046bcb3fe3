"""Training as if the network read its inputs with their means taken off. The model stays what it is.

Where a pixel is mostly 1, every gradient of W in its column is about that of the bias c, and the two get in each
other's way. In the parameters W and ``c' = c + W centre`` of ``u = W (v - centre) + c'`` they do not. An optimizer's
step in those is one in ours with two corrections: the gradient of W there is ``g(W) - g(c) centre'``, and what W moves
by must be taken back from c. (Centring: Montavon and Mueller 2012; the enhanced gradient of Cho, Raiko and Ilin 2013
is its kin.)
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.models.base import ConditionalModel
from nadek.models.registry import has_columns
from nadek.training.prepare import Rows

FLAGS = 0.5
"""What the mask input reads on average: the objectives hide every cell half of the time."""


@torch.no_grad()
def centre_of(model: ConditionalModel, rows: Rows) -> Float[Tensor, " C"]:
    """What each column of the network reads on average in training: half its mean, half what stands for missing cells.

    Raises:
        ValueError: if the network has no columns.
    """
    if not has_columns(model):
        raise ValueError(f"centred: a {type(model).__name__} has no matrix that reads columns; leave the option out")
    total, count = torch.zeros_like(model.fill), torch.zeros_like(model.fill)
    for part in torch.arange(len(rows.values), device=rows.values.device).split(8192):
        values, observed = rows.batch(part)
        known = torch.ones_like(values, dtype=torch.bool) if observed is None else observed
        seen = model.variables.spread(known)
        total += (model.variables.encode(values) * seen).sum(0)
        count += seen.sum(0)
    return 0.5 * (total / count.clamp(min=1) + model.fill)


@contextmanager
def centred(model: ConditionalModel, centre: Float[Tensor, " C"] | None) -> Iterator[None]:
    """Around an optimizer's step: make it one in the centred parameters; an ordinary one where there is no centre."""
    if centre is None or not has_columns(model):
        yield
        return
    readers = [(model.W, centre)]
    if model.A is not None:
        readers.append((model.A, torch.full_like(model.A[0], FLAGS)))
    with torch.no_grad():
        for weight, read in readers:
            assert weight.grad is not None  # the network reads through it, and adds c, in every step
            assert model.c.grad is not None
            weight.grad.addr_(model.c.grad, read, alpha=-1.0)
        before = [weight @ read for weight, read in readers]
    yield
    with torch.no_grad():
        for (weight, read), was in zip(readers, before, strict=True):
            model.c.sub_(weight @ read - was)
