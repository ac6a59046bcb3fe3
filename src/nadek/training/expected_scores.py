"""Mean parts of columns in the scores of rows, so that rows with missing cells are compared.

It stands in the lowest layer that knows models and columns.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.inference.row_random import number_uniforms
from nadek.inference.whole_rows import draw_rows, expectation_by_rank
from nadek.models.base import ConditionalModel
from nadek.tabular.columns import Column, log_relative_density, within_bins
from nadek.tabular.writeback import decoded


def expected_scores(model: ConditionalModel, columns: Sequence[Column], *, seed: int) -> Float[Tensor, "2 D"]:
    """Return the mean of each column's part of the scores of drawn rows, in nats, for `as_whole_rows`.

    Numbers count per typical width of a bin.
    """
    drawn = draw_rows(model, seed=seed)
    values = decoded(columns, drawn.x.cpu().numpy(), uniforms=number_uniforms(seed, torch.arange(len(drawn.x))))
    densities = torch.from_numpy(within_bins(log_relative_density, columns, values))
    return expectation_by_rank(drawn.log_probs + densities.to(drawn.log_probs.device), drawn.rank)
