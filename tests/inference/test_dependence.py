"""Variables that the others tell nothing of."""

import numpy as np
import pytest
import torch

from nadek import fit, nade_k, prepare
from nadek.inference.dependence import unrelated_variables
from nadek.training import AdamW, Phase, TrainingConfig
from support.command import ok, write_csv


def rows(n_rows, seed):
    """A coin, its copy with a tenth flipped, another coin, a weak copy, and a rare event."""
    rng = np.random.default_rng(seed)
    coins = rng.random((3, n_rows)) < 0.5
    copies = [np.where(rng.random(n_rows) < part, ~coins[0], coins[0]) for part in (0.1, 0.35)]
    return np.stack([coins[0], copies[0], coins[1], copies[1], rng.random(n_rows) < 0.005], 1).astype(float)


def test_variables_without_relation_are_found():
    model = nade_k(5, hidden=(16,), steps=2, generator=torch.Generator().manual_seed(0))
    config = TrainingConfig(phases=(Phase(epochs=12),), optimizer=AdamW(lr=0.02), batch_size=50)
    fit(model, prepare(torch.from_numpy(rows(1000, 0))), config=config)
    x = torch.from_numpy(rows(200, 1)).float()
    assert unrelated_variables(model, x) == [2]
    assert unrelated_variables(model, x[:29]) == []  # nobody knows
    x[::3, 2] = torch.nan
    x[1::3, 0] = torch.nan
    assert unrelated_variables(model, x) == [2]
    x[:, 2] = torch.nan
    assert unrelated_variables(model, x) == []


@pytest.mark.parametrize(("epochs", "named"), [(10, True), (1, False)])
def test_fit_names_them_after_enough_training(epochs, named, tmp_path):
    table = write_csv(tmp_path / "t.csv", rows(800, 2)[:, :4], "abcd")
    options = ("--hidden", 16, "--steps", 2, "--lr", 0.02, "--epochs", epochs)
    line = f'{tmp_path / "m"}: the other columns tell nothing of "c"; --drop would leave them out'
    shown = ok("fit", table, "-o", tmp_path / "m", *options).err.splitlines()
    assert [one for one in shown if "tell nothing of" in one] == [line] * named
