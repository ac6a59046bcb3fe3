"""Optimizer steps in other parameters than the model's own. The model stays the same.

Centring (Montavon and Mueller 2012; the enhanced gradient of Cho, Raiko and Ilin 2013 is close to it): where a column
is mostly 1, its gradient in W is about that of the bias c. In the parameters W and ``c' = c + W centre`` of
``u = W (v - centre) + c'`` it is not. There the gradient of W is ``g(W) - g(c) centre'``, and c must give back what W
moves by.

Ordinal variables: levels in an order learn from their neighbours (`nadek.models.ordinal_kernel`). With ``W = U R`` and
a symmetric R the gradient of U is that of W times R.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE
from nadek.training.prepare import Rows

MEAN_FLAG = 0.5
"""Mean of the mask input: the objectives hide every cell half of the time."""


@torch.no_grad()
def mean_input(model: ConditionalModel, rows: Rows) -> Float[Tensor, " C"]:
    """Return the mean input of each column in training.

    It is half the mean of the observed values plus half the value that stands for missing cells.
    """
    if not isinstance(model, IterativeNADE):
        raise ValueError(f"centred: a {type(model).__name__} has no matrix that reads columns; leave the option out")
    total, count = torch.zeros_like(model.fill), torch.zeros_like(model.fill)
    for part in rows.parts():
        shown = torch.ones_like(part.values, dtype=torch.bool) if part.observed is None else part.observed
        shown_columns = model.variables.expand(shown)
        total += (model.variables.encode(part.values) * shown_columns).sum(0)
        count += shown_columns.sum(0)
    return 0.5 * (total / count.clamp(min=1) + model.fill)


@contextmanager
def preconditioned(model: ConditionalModel, centre: Float[Tensor, " C"] | None = None) -> Iterator[None]:
    """Precondition the optimizer's step inside of the block."""
    with _centred(model, centre), _ordinal(model):
        yield


@contextmanager
def _centred(model: ConditionalModel, centre: Tensor | None) -> Iterator[None]:
    """Make an optimizer's step one in the centred parameters."""
    if centre is None or not isinstance(model, IterativeNADE):
        yield
        return
    readers = [(model.W, centre)]
    if model.A is not None:
        readers.append((model.A, torch.full_like(model.A[0], MEAN_FLAG)))
    with torch.no_grad():
        for weight, mean in readers:
            assert weight.grad is not None  # the network reads through it, and adds c, in every step
            assert model.c.grad is not None
            weight.grad.addr_(model.c.grad, mean, alpha=-1.0)
        before = [weight @ mean for weight, mean in readers]
    yield
    with torch.no_grad():
        for (weight, mean), product in zip(readers, before, strict=True):
            model.c.sub_(weight @ mean - product)


@contextmanager
def _ordinal(model: ConditionalModel) -> Iterator[None]:
    """Make an optimizer's step one in the parameters that neighbouring levels share; frozen ones stay."""
    if not isinstance(model, IterativeNADE) or not model.config.ordinal:
        yield
        return
    both = [(weight, dim) for weight, dim in ((model.W, 1), (model.V, 0)) if weight is not None]
    trainable = [(weight, weight.grad, dim) for weight, dim in both if weight.grad is not None]
    for weight, gradient, dim in trainable:
        model.ordinal_kernel.multiply(weight, dim=dim, inverse=True)
        model.ordinal_kernel.multiply(gradient, dim=dim)
    yield
    for weight, _, dim in trainable:
        model.ordinal_kernel.multiply(weight, dim=dim)
