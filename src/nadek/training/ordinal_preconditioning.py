"""Training in which levels in an order learn from their neighbours, see `nadek.models.ordinal_kernel`."""

from collections.abc import Iterator
from contextlib import contextmanager

from nadek.models.base import ConditionalModel
from nadek.models.registry import has_columns


@contextmanager
def neighbourly(model: ConditionalModel) -> Iterator[None]:
    """Around an optimizer's step: make it one in the parameters that neighbours share; an ordinary one without such.

    With ``W = U R`` and a symmetric R the gradient of U is that of W times R. What is frozen stays as it is.
    """
    if not has_columns(model) or not model.config.ordinal:
        yield
        return
    both = [(weight, dim) for weight, dim in ((model.W, 1), (model.V, 0)) if weight is not None]
    learnt = [(weight, weight.grad, dim) for weight, dim in both if weight.grad is not None]
    for weight, gradient, dim in learnt:
        model.neighbours.gather(weight, dim=dim)
        model.neighbours.spread(gradient, dim=dim)
    yield
    for weight, _, dim in learnt:
        model.neighbours.spread(weight, dim=dim)
