"""Distances to the closest of other rows."""

import numpy as np
import pytest
import torch

from nadek.inference import closest_distances
from nadek.inference.decoders import chunking
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import DeepConfig

LEVELS, ORDINAL = (2, 3, 5, 4, 1), (2, 3)
KNOTS = (None, None, (), None, None)


@pytest.fixture
def model():
    config = ModelConfig(n_variables=5, levels=LEVELS, ordinal=ORDINAL, knots=KNOTS, core=DeepConfig(hidden=(4,)))
    return IterativeNADE(config).double()


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, levels, n) for levels in LEVELS]).astype(float)
    codes[:, 2] = rng.random(n) * 4  # a number between knots
    return codes


def slow(row, others):
    """Return the distance to the closest row, cell by cell."""
    cells = [
        np.abs(row[j] - others[:, j]) / (levels - 1) if j in ORDINAL else row[j] != others[:, j]
        for j, levels in enumerate(LEVELS)
    ]
    return np.mean(cells, 0).min()


@pytest.mark.parametrize("most", [None, 4096])
def test_distances_are_those_cell_by_cell(model, most, monkeypatch):
    if most is not None:  # a few rows at a time
        monkeypatch.setattr(chunking, "MAX_BYTES", most)
    x, others = drawn(40, 0), drawn(60, 1)
    x[3] = others[7]
    distances = closest_distances(model, torch.from_numpy(x), torch.from_numpy(others))
    np.testing.assert_allclose(distances.numpy(), [slow(row, others) for row in x], atol=1e-12)
    assert distances[3] == 0


def test_rows_that_are_missing_or_have_missing_cells(model):
    x = torch.from_numpy(drawn(3, 0))
    assert closest_distances(model, x[:0], x).shape == (0,)
    with pytest.raises(ValueError, match="others: expected a row at least, found none"):
        closest_distances(model, x, x[:0])
    x[1, 2] = torch.nan
    with pytest.raises(ValueError, match="expected complete rows"):
        closest_distances(model, x, x[:1])
