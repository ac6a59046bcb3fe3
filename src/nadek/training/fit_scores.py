"""Fitting of what each column adds to the score of a row, on average, so that rows with missing cells are compared."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nadek.inference.row_random import number_uniforms
from nadek.inference.whole_rows import expected_log_probs
from nadek.models.base import ConditionalModel
from nadek.tabular.columns import Column, log_relative_density, within_bins
from nadek.tabular.writeback import decoded


def expected_scores(
    model: ConditionalModel, columns: Sequence[Column], orderings: Int[Tensor, "M D"], *, seed: int
) -> Float[Tensor, " D"]:
    """Return the mean of each column's part of the scores of drawn rows, in nats.

    Numbers count per typical width of a bin.
    """
    codes, expected = expected_log_probs(model, orderings, seed=seed)
    values = decoded(columns, codes.cpu().numpy(), uniforms=number_uniforms(seed, torch.arange(len(codes))))
    names = [str(j) for j in range(len(columns))]
    densities = within_bins(log_relative_density, columns, values, names)
    return expected + torch.from_numpy(densities.mean(0)).to(expected.device)
