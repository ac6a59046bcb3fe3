"""Distances of rows to the closest of others, such as those of drawn rows to training rows."""

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.inference.check_inputs import complete_rows
from nadek.inference.decoders.chunking import chunks
from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE


def closest_distances(
    model: ConditionalModel, x: Float[Tensor, "B D"], others: Float[Tensor, "N D"]
) -> Float[Tensor, " B"]:
    """Return each row's distance to the closest of others.

    The distance of two rows is the mean over their cells (Gower 1971): 0 or 1 for equal or different categories; for
    numbers and ordered levels the part of the way from the first level to the last one. 0 is a copy.

    Args:
        model: the model whose codes the rows have.
        x: complete rows of codes.
        others: rows to be compared with, complete, too.

    Returns:
        Distances from 0 to 1, float64.

    Raises:
        TypeError: if rows are no tensor.
        ValueError: on a wrong number of columns, on values that are no codes, on missing cells, and without others.

    Example:
        >>> from nadek import nade_k
        >>> rows = torch.tensor([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
        >>> closest_distances(nade_k(3, hidden=(4,)), rows, rows[:1])
        tensor([0.0000, 0.6667], dtype=torch.float64)
    """
    here, there = (_features(model, complete_rows(model, rows)) for rows in (x, others))
    if not len(others):
        raise ValueError("others: expected a row at least, found none")
    parts = [torch.cdist(here[some], there, p=1).amin(1) for some in chunks(len(x), 8 * len(others))]
    return torch.cat([here.new_empty(0), *parts]) / model.n_variables


def _features(model: ConditionalModel, x: Tensor) -> Float[Tensor, "B F"]:
    """Return numbers whose absolute differences are those of cells."""
    network = model.base_model
    ordered = set(network.config.ordinal or ()) if isinstance(network, IterativeNADE) else set()
    parts = []
    for j, n in enumerate(model.levels):
        codes = x[:, j : j + 1].double()
        is_number = n <= 2 or j in ordered
        parts.append(codes / max(1, n - 1) if is_number else (codes == torch.arange(n, device=x.device)) / 2.0)
    return torch.cat(parts, 1)
