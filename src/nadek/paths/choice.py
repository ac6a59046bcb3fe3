"""Which path rows that share an ordering take."""

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from nadek.conditional import ConditionalNetwork
from nadek.networks import can_be_cut, remembers
from nadek.paths.fast import FastPath
from nadek.paths.path import Path
from nadek.paths.plain import PlainPath
from nadek.paths.ragged import RaggedPath
from nadek.paths.remembering import RememberingPath


def shared_path(
    model: ConditionalNetwork,
    ordering: Int[Tensor, " D"],
    n_rows: int,
    *,
    stage: Shaped[Tensor, "B D"] | None = None,
    dtype: torch.dtype | None = None,
) -> Path:
    """The quickest path for so many rows that share an ordering.

    Args:
        model: any conditional network; one that cannot be cut takes the plain path.
        ordering: the shared ordering.
        n_rows: B.
        stage: see `RaggedPath`, for rows that differ in what they visit.
        dtype: of the matrix products; the model's own when None.
    """
    if remembers(model):
        alone = shared_path(model.network, ordering, n_rows, stage=stage, dtype=dtype)
        return RememberingPath(alone, model, ordering, n_rows)
    if not can_be_cut(model):
        return PlainPath(model, ordering.expand(n_rows, -1), dtype=dtype)
    if stage is None:
        return FastPath(model, ordering, n_rows, dtype=dtype)
    return RaggedPath(model, ordering, stage, dtype=dtype)
