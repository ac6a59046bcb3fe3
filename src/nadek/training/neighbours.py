"""Training in which levels in an order learn from their neighbours, see `nadek.model.neighbours`."""

from collections.abc import Iterator
from contextlib import contextmanager

from nadek.conditional import ConditionalNetwork
from nadek.model.neighbours import by_column
from nadek.networks import has_columns


@contextmanager
def neighbourly(model: ConditionalNetwork) -> Iterator[None]:
    """Around an optimizer's step: make it one in the parameters that neighbours share; an ordinary one without such.

    With ``W = U R`` and a symmetric R the gradient of U is that of W times R. What is frozen stays as it is.
    """
    if not has_columns(model) or not model.config.ordinal:
        yield
        return
    learnt = [None if weight is None or weight.grad is None else weight for weight in (model.W, model.V)]
    weights = by_column(*learnt)
    for weight in weights:
        model.neighbours.gather(weight)
    for gradient in by_column(*(None if weight is None else weight.grad for weight in learnt)):
        model.neighbours.spread(gradient)
    yield
    for weight in weights:
        model.neighbours.spread(weight)
