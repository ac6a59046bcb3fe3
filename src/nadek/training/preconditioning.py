"""Optimizer steps in other parameters than the model's own. The model stays the same.

Centring (Montavon and Mueller 2012; the enhanced gradient of Cho, Raiko and Ilin 2013 is close to it): where a column
is mostly 1, its gradient in W is about that of the bias c. In the parameters W and ``c' = c + W centre`` of
``u = W (v - centre) + c'`` it is not. There the gradient of W is ``g(W) - g(c) centre'``, and c must give back what W
moves by.

Ordinal variables: levels in an order learn from their neighbours (`nadek.models.ordinal_kernel`). With ``W = U R`` and
a symmetric R the gradient of U is that of W times R.
"""

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
        shown_columns = model.variables.expand(part.shown)
        total += (model.variables.encode(part.values) * shown_columns).sum(0)
        count += shown_columns.sum(0)
    return 0.5 * (total / count.clamp(min=1) + model.fill)


class Preconditioner:
    """Optimizer's steps in other parameters; between them nothing else may move the model.

    Frozen weights stay, and so do the inputs without a ``centre``, which is from `mean_input`.
    """

    def __init__(self, model: ConditionalModel, centre: Float[Tensor, " C"] | None = None) -> None:
        self._readers, self._shared = list[tuple[Tensor, Tensor]](), list[tuple[Tensor, int, Tensor]]()
        if not isinstance(model, IterativeNADE):
            return
        self._kernel, self._bias = model.ordinal_kernel, model.c
        if centre is not None:
            self._readers.append((model.W, centre))
            if model.A is not None:
                self._readers.append((model.A, torch.full_like(model.A[0], MEAN_FLAG)))
        for weight, dim in ((model.W, 1), (model.V, 0)) if model.config.ordinal else ():
            if weight is not None and weight.requires_grad:
                self._shared.append((weight, dim, self._kernel.multiply(weight, dim=dim, inverse=True)))

    @torch.no_grad()
    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Make the optimizer's step one in the other parameters."""
        before = [weight @ mean for weight, mean in self._readers]
        for weight, mean in self._readers:
            assert weight.grad is not None  # the network reads through it, and adds c, in every step
            assert self._bias.grad is not None
            weight.grad.addr_(self._bias.grad, mean, alpha=-1.0)
        for weight, dim, free in self._shared:
            assert weight.grad is not None
            weight.grad = self._kernel.multiply(weight.grad, dim=dim)
            weight.copy_(free)
        optimizer.step()
        for weight, dim, free in self._shared:
            free.copy_(weight)
            weight.copy_(self._kernel.multiply(free, dim=dim))
        for (weight, mean), product in zip(self._readers, before, strict=True):
            self._bias.sub_(weight @ mean - product)
