"""Levels in an order: the same model, and each step the one that is taken in the parameters that neighbours share."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from torch import nn
from torch.nn.utils.parametrize import register_parametrization

from nadek import NADEk
from nadek.checkpoints import SavedModel, load, save
from nadek.inference.order_agnostic import step_costs
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import ResidualConfig
from nadek.models.model_config import ImageConfig
from nadek.models.ordinal_kernel import LENGTH_SCALE, NUGGET, OrdinalKernel
from nadek.models.unet import ImageNetwork
from nadek.models.variables import variables_of
from nadek.tabular.columns import Binary, Categorical, Numeric, Ordinal, describe
from nadek.tabular.schema import Schema
from nadek.training import AdamW, Phase, TrainingConfig, fit, prepare
from nadek.training.preconditioning import MEAN_FLAG, Preconditioner
from nadek.utils.configs import decode, encode
from support.models import seeded
from support.optimizers import Descent

LEVELS = (2, 5, 3, 5, 16, 4)
ORDINAL = (0, 1, 3, 4)
"""The first is binary, which has no neighbours; one of five levels, one of three and one of four are none of them."""


def config(**options):
    core = ResidualConfig(width=6, blocks=1)
    made = {"n_variables": len(LEVELS), "levels": LEVELS, "ordinal": ORDINAL, "core": core, "steps": 2}
    return ModelConfig(**(made | options))


def network(**options):
    return IterativeNADE(config(**options), generator=seeded(1)).double()


def codes(n=40):
    return (torch.rand(n, len(LEVELS), generator=seeded(2)) * torch.tensor(LEVELS)).floor()


def cost(model):
    missing = torch.rand(40, len(LEVELS), generator=seeded(3)) < 0.5
    missing[:, 0] = True
    return step_costs(model, codes().double(), missing)[-1].mean()


def dense_root(parts=((1, 0, 5), (3, 0, 5), (4, 0, 16))):
    """R as one matrix over all columns: the slow way, a kernel's eigenvectors for each part of a variable's levels."""
    variables = variables_of(LEVELS)
    root = torch.eye(variables.n_columns, dtype=torch.float64)
    for j, first, n in parts:
        start = variables.first_column(j) + first
        kernel = [[math.exp(-0.5 * ((a - b) / (n - 1) / LENGTH_SCALE) ** 2) for a in range(n)] for b in range(n)]
        mixed = (1 - NUGGET) * np.array(kernel) + NUGGET * np.eye(n)
        values, vectors = np.linalg.eigh(mixed)
        block = vectors @ np.diag(np.sqrt(values)) @ vectors.T
        root[start : start + n, start : start + n] = torch.from_numpy(block)
    return root


@pytest.mark.parametrize("has_gaps", [False, True])
def test_solve_inverts_multiply_by_root(has_gaps):
    knots = [None, (), None, (0, 2.5), (9.5, 12.5), None] if has_gaps else None  # a knot of one number is a neighbour
    parts = [[(1, 0, 5), (3, 0, 3), (3, 3, 2), (4, 0, 10), (4, 10, 3), (4, 13, 3)]] if has_gaps else []
    root, kernel = dense_root(*parts), OrdinalKernel(variables_of(LEVELS, knots), ORDINAL)
    weight = torch.randn(7, len(root), dtype=torch.float64, generator=seeded())
    spread, turned = kernel.multiply(weight, dim=1), kernel.multiply(weight.t(), dim=0)
    torch.testing.assert_close(spread, weight @ root, rtol=0, atol=1e-12)
    torch.testing.assert_close(turned, root @ weight.t(), rtol=0, atol=1e-12)
    torch.testing.assert_close(kernel.multiply(spread, dim=1, inverse=True), weight, rtol=0, atol=1e-11)
    torch.testing.assert_close(kernel.multiply(turned, dim=0, inverse=True), weight.t(), rtol=0, atol=1e-11)


class Shared(nn.Module):
    """W and V from the parameters that neighbours share."""

    def __init__(self, root, *, rows):
        super().__init__()
        self.root, self.inverse, self.rows = root, torch.linalg.inv(root), rows

    def forward(self, u):
        """W, or V."""
        return self.root @ u if self.rows else u @ self.root

    def right_inverse(self, weight):
        """What W, or V, begins as."""
        return self.inverse @ weight if self.rows else weight @ self.inverse


class Centred(nn.Module):
    """The bias c from that of centred inputs."""

    def __init__(self, taken_off):
        super().__init__()
        self.taken_off = taken_off

    def forward(self, bias):
        """The bias c."""
        return bias - self.taken_off()

    def right_inverse(self, c):
        """What c begins as."""
        return c + self.taken_off()


def twin_of(model, centre):
    """The same network, whose optimizer never hears of W, V and c."""
    root = dense_root()
    register_parametrization(model, "W", Shared(root, rows=False))
    if model.V is not None:
        register_parametrization(model, "V", Shared(root, rows=True))
    if centre is not None:
        flags = 0 if model.A is None else MEAN_FLAG

        def taken_off():
            return model.W @ centre + (flags * model.A.sum(1) if flags else 0)

        register_parametrization(model, "c", Centred(taken_off))
    return model


STRUCTURES = {"free": {}, "tied": {"tied": True}, "mean fill": {"fill": "mean"}, "mask input": {"mask_input": True}}


@pytest.mark.parametrize("options", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("optimizer", [Descent(), AdamW(lr=0.01, weight_decay=0.1)])
@pytest.mark.parametrize("is_centred", [False, True])
def test_steps_equal_those_of_shared_parameters(options, optimizer, is_centred):
    centre = torch.rand(len(dense_root()), dtype=torch.float64, generator=seeded(4)) if is_centred else None
    model, twin = network(**options), twin_of(network(**options), centre)
    before = model.W.detach().clone()
    ours, theirs, preconditioner = optimizer.build(model), optimizer.build(twin), Preconditioner(model, centre)
    for _ in range(4):
        for one in (ours, theirs):
            one.zero_grad()
        cost(model).backward()
        preconditioner.step(ours)
        cost(twin).backward()
        theirs.step()
    for name in [name for name in ("W", "V", "A", "c") if getattr(model, name) is not None]:
        torch.testing.assert_close(getattr(model, name), getattr(twin, name), rtol=1e-8, atol=1e-9)
    assert not torch.allclose(model.W, before, atol=1e-3)


def test_fresh_ordinal_weights_are_smooth():
    levels = (40, 40)
    core = ResidualConfig(width=500, blocks=1)
    plain = ModelConfig(n_variables=2, levels=levels, core=core)
    one, other = (
        IterativeNADE(plain, generator=seeded(1)),
        IterativeNADE(replace(plain, ordinal=(1,)), generator=seeded(1)),
    )
    assert torch.equal(one.W[:, :40], other.W[:, :40])
    assert torch.equal(one.V[:40], other.V[:40])
    for weight in (other.W.detach(), other.V.detach().t()):
        free, smooth = weight[:, :40], weight[:, 40:]
        assert smooth.std() == pytest.approx(free.std().item(), rel=0.1)
        assert smooth.diff(dim=1).std() < 0.2 * free.diff(dim=1).std()


def test_steps_without_ordinal_variables_are_ordinary():
    for ordinal in (None, (), (0,)):
        model, moved = network(ordinal=ordinal), network(ordinal=ordinal)
        for one, step in ((model, lambda optimizer: optimizer.step()), (moved, Preconditioner(moved).step)):
            cost(one).backward()
            step(Descent().build(one))
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), moved.parameters(), strict=True))


@pytest.mark.parametrize("name", ["W", "V"])
def test_frozen_weights_of_ordered_levels_stay(name):
    model = network().float()
    getattr(model, name).requires_grad_(False)
    before = getattr(model, name).clone()
    training = TrainingConfig(phases=(Phase(epochs=2),), batch_size=10, ema_decay=0.0)
    other = model.V if name == "W" else model.W
    was = other.detach().clone()
    fit(model, prepare(codes(), levels=LEVELS), config=training)
    assert torch.equal(getattr(model, name), before)
    assert not torch.equal(other, was)


def test_resumed_training_is_identical():
    training = TrainingConfig(phases=(Phase(epochs=6),), batch_size=10, centred=True)
    rows, states = prepare(codes(), levels=LEVELS), []
    whole, halved = network().float(), network().float()
    fit(whole, rows, config=training, save_state=states.append, save_every=0.0)
    fit(halved, rows, config=training, resume=states[3])
    assert len(states) == 6
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), halved.parameters(), strict=True))


def test_loaded_ordinal_model_learns(tmp_path):
    """Loaded models are built without memory first; what neighbours share must not stay without."""
    save(tmp_path / "model", SavedModel(network().float().eval(), Schema()))
    model = load(tmp_path / "model")
    before = model.W.detach().clone()
    fit(model, prepare(codes(), levels=LEVELS), config=TrainingConfig(phases=(Phase(epochs=1),), ema_decay=0.0))
    assert torch.isfinite(model.W).all()
    assert not torch.equal(model.W, before)


def test_an_autocast_around_changes_nothing():
    with torch.autocast("cpu", torch.bfloat16):
        made = IterativeNADE(config(), generator=seeded(1))
    assert torch.equal(made.W, IterativeNADE(config(), generator=seeded(1)).W)
    images = ImageNetwork(ImageConfig(image_shape=(2, 4), channels=(4,), dense=4))
    Preconditioner(images).step(Descent().build(images))  # a network of images has no such kernel


def test_a_model_keeps_its_order(tmp_path):
    made = config()
    assert decode(ModelConfig, encode(made)) == made
    assert "ordinal" not in encode(config(ordinal=None))  # models and records from before it say the same as today
    model = network().float().eval()
    save(tmp_path / "model", SavedModel(model, Schema()))
    assert load(tmp_path / "model").config.ordinal == ORDINAL


@pytest.mark.parametrize(
    ("ordinal", "message"), [((0, 6), "from 0 to 5"), ((-1,), "from 0 to 5"), ((1, 1), "each at most once")]
)
def test_wrong_ordinal_indices_are_refused(ordinal, message):
    with pytest.raises(ValueError, match=f"ordinal: expected .*{message}"):
        config(ordinal=ordinal)


def table(n, seed=0):
    """Two numbers that hang together, one that is a count, an answer, and a kind without an order."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    numbers = hidden[:, None] + 0.3 * rng.normal(size=(n, 2))
    count = rng.poisson(np.exp(0.5 * hidden))
    kind = rng.integers(0, 3, size=n)
    return np.column_stack([numbers, count, hidden > 0, kind]).astype(float)


def test_estimators_know_which_columns_are_numbers():
    model = NADEk(max_iter=1, categorical_features=[4], random_state=0).fit(table(200))
    kinds = [type(column) for column in model.columns_]
    assert kinds == [Numeric, Numeric, Numeric, Binary, Categorical]
    assert model.network_.config.ordinal == (0, 1, 2)


ANSWERS = ["never", "now and then", "often", "always"]


def answers(n, *, ordered, seed=0):
    """A question with four answers, twice, and a colour."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    codes_of_answers = [np.clip(np.round(1.5 + hidden + 0.5 * rng.normal(size=n)), 0, 3).astype(int) for _ in range(2)]
    frame = {
        f"q{j}": pd.Categorical.from_codes(codes, ANSWERS, ordered=ordered) for j, codes in enumerate(codes_of_answers)
    }
    colours = pd.Categorical(rng.choice(["red", "green", "blue"], size=n))
    return pd.DataFrame(frame | {"colour": colours})


@pytest.mark.slow
def test_ordered_answers_keep_their_order(tmp_path):
    frame = answers(200, ordered=True)
    frame.loc[3, "q0"] = None
    model = NADEk(max_iter=2, random_state=0).fit(frame)
    assert model.columns_[0] == Ordinal(levels=tuple(ANSWERS))
    assert isinstance(model.columns_[2], Categorical)
    assert model.network_.config.ordinal == (0, 1)
    assert describe(model.columns_[0]) == "ordinal, 4 levels from 'never' to 'always'"
    arrow = pa.Table.from_pandas(frame)
    again = NADEk(max_iter=2, random_state=0).fit(arrow)
    assert again.columns_[:2] == model.columns_[:2]
    model.save(tmp_path / "model")
    other = NADEk.load(tmp_path / "model")
    assert other.columns_ == model.columns_
    np.testing.assert_allclose(other.score_samples(frame), model.score_samples(frame), rtol=1e-6)
    assert set(other.sample(50, random_state=0)["q0"]) <= set(ANSWERS)


def test_unordered_types_stay_categorical():
    for frame in (answers(50, ordered=False), pl.from_pandas(answers(50, ordered=True))):
        model = NADEk(max_iter=1, random_state=0).fit(frame)
        assert {type(column) for column in model.columns_} == {Categorical}
        assert model.network_.config.ordinal is None
    stage = pd.Categorical([3, 1, 2, 3, 1, 2] * 20, categories=[3, 2, 1], ordered=True)
    model = NADEk(max_iter=1, random_state=0).fit(pd.DataFrame({"stage": stage, "x": [0, 1] * 60}))
    assert model.columns_[0] == Ordinal(levels=(3, 2, 1))


@pytest.mark.slow
def test_ordinal_kernel_pays_for_few_rows(monkeypatch):
    """Held out, in nats a row, where no first guess helps; by much more than seeds change."""
    monkeypatch.setattr("nadek.training.defaults._factors", lambda *_: None)

    def score():
        options = {"max_iter": 100, "categorical_features": [4], "n_orderings": 32}
        return np.mean([NADEk(**options, random_state=seed).fit(table(150)).score(table(500, 1)) for seed in range(3)])

    sharing = score()
    monkeypatch.setattr("nadek.models.ordinal_kernel.MIN_LEVELS", 1000)
    assert sharing > score() + 0.2
