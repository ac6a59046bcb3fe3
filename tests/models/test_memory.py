"""A memory beside a network: what it says by the formula, cell by cell, and when it is worth having."""

import json
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import torch

import reference
from nadek import NADEk, NADEkImputer
from nadek.checkpoints import load, load_saved
from nadek.inference.likelihood import log_prob
from nadek.inference.order_agnostic import step_costs
from nadek.inference.sampling import level_probabilities
from nadek.models import IterativeNADE, ModelConfig, nade, nade_k
from nadek.models.cores import DeepConfig
from nadek.models.memory import MemoryModel
from nadek.models.model_config import MemoryConfig
from nadek.models.registry import build as build_network
from nadek.models.variables import variables_of
from nadek.training import Gain, Phase, TrainingConfig, add_memory, fit, prepare
from nadek.training.costs import prepare_validation
from support.command import nadek, ok
from support.models import seeded
from zoo import build

FIT_MEMORY = sys.modules["nadek.training.fit_memory"]
LEVELS = (2, 3, 1, 4, 2)


@pytest.fixture(autouse=True)
def few_judges(monkeypatch):
    """Enough for tables as small as these, and quicker."""
    monkeypatch.setattr(FIT_MEMORY, "FIT_CASES", 600)


def codes(n, levels=LEVELS, seed=1):
    return (torch.rand(n, len(levels), generator=seeded(seed)) * torch.tensor(levels)).to(torch.uint8)


def network(levels=LEVELS, seed=2):
    mean = torch.rand(variables_of(levels).n_columns, generator=seeded(seed)) * 0.6 + 0.2
    config = ModelConfig(n_variables=len(levels), levels=levels, core=DeepConfig(hidden=(5,)), steps=2)
    return IterativeNADE(config, mean, generator=seeded(seed)).double().eval()


def again_and_again(n, *, kinds=30, D=14, noise=0.0):
    """Rows of which the same few come up again and again, and which have nothing else in common."""
    rng = np.random.default_rng(3)
    rows = (rng.random((kinds, D)) < 0.5).astype(float)[rng.integers(0, kinds, n)]
    return np.abs(rows - (rng.random(rows.shape) < noise))


def by_hand(model, x, missing):
    """Probabilities of the levels of every variable of one row, by loops over rows and cells."""
    rows, seen = model.rows.numpy(), model.seen.numpy().astype(float)
    observed = np.ones(rows.shape, dtype=bool) if model.known is None else model.known.numpy()
    differing = []
    for j, n in enumerate(model.levels):
        weights = [seen[observed[:, j] & (rows[:, j] == level)].sum() for level in range(n)]
        share = np.array(weights) / max(1, sum(weights))
        differing.append(1 - (share**2).sum() if sum(weights) else 0.0)
    counts = np.zeros(len(rows))
    for i, row in enumerate(rows):
        apart = 0.0
        for j in range(len(row)):
            if not missing[j]:
                apart += float(row[j] != x[j]) if observed[i, j] else differing[j]
        counts[i] = seen[i] * np.exp(-float(model.decay) * apart)
    logits = model.network(torch.tensor(x)[None], torch.tensor(missing)[None])[-1][0].detach().numpy()
    distributions = []
    for j, of_network in enumerate(reference.level_log_probs(model.levels, logits)):
        total = counts[observed[:, j]].sum()
        if total == 0:
            distributions.append(np.exp(of_network))
            continue
        of_memory = [counts[observed[:, j] & (rows[:, j] == level)].sum() / total for level in range(model.levels[j])]
        certainty = float(model.trust[0]) + float(model.trust[1]) * np.log(total)
        share = 1 / (1 + np.exp(-certainty))
        distributions.append((1 - share) * np.exp(of_network) + share * np.array(of_memory))
    return distributions


@pytest.mark.parametrize("name", ["memory", "memory, mixed, with holes"])
def test_prediction_equals_formula(name):
    model = build(name, 5)
    rng = np.random.default_rng(0)
    for _ in range(8):
        x = np.array([rng.integers(n) for n in model.levels], dtype=float)
        missing = rng.random(5) < 0.5
        missing[rng.integers(5)] = True
        expected = by_hand(model, x, missing)
        p = level_probabilities(model, torch.tensor(np.where(missing, np.nan, x))[None])[0].numpy()
        for j in np.flatnonzero(missing):
            np.testing.assert_allclose(p[j, : model.levels[j]], expected[j], atol=1e-12)


def test_cell_without_stored_values_follows_network():
    rows, observed = codes(6), torch.ones(6, 5, dtype=torch.bool)
    observed[:, 1] = False
    model = MemoryModel(network(), rows, observed, decay=1.0, trust=(3.0, 1.0))
    x, missing = codes(4, seed=9), torch.tensor([True, True, False, False, True]).expand(4, -1)
    alone, both = model.network(x, missing)[-1].softmax(-1), model(x, missing)[-1].softmax(-1)
    of_it = slice(1, 4)
    torch.testing.assert_close(*(p[:, of_it] / p[:, of_it].sum(1, keepdim=True) for p in (both, alone)))
    assert (both[:, 0] - alone[:, 0]).abs().max() > 1e-3


def test_memory_is_exact_under_autocast():
    model = MemoryModel(nade_k(600, hidden=(4,), generator=seeded()), codes(5, (2,) * 600))
    x, missing = codes(3, (2,) * 600, seed=4), torch.rand(3, 600, generator=seeded()) < 0.3
    with torch.autocast("cpu", torch.bfloat16):
        coarse = model(x, missing)[-1]
    exact = model(x, missing)[-1]
    assert (coarse - exact).abs().max() < 0.1
    differs = (x[:, None] != model.rows) & ~missing[:, None]
    assert torch.equal(model.hamming_distance(x, missing), differs.sum(-1).float())


def test_one_memory_is_enough():
    with pytest.raises(TypeError, match="without a memory, found one that has one"):
        MemoryModel(build("memory", 4), codes(3, (2,) * 4))


def test_memory_config_delegates_to_network():
    config = build("memory", 4).config
    assert (config.n_variables, config.steps, config.ordering, config.levels) == (4, 3, None, None)
    with pytest.raises(ValueError, match="n_rows: expected at least 1, found 0"):
        MemoryConfig(network=config.network, n_rows=0)
    assert build_network(config).base_model.config == config.network


def test_training_changes_base_model_only():
    rows = torch.from_numpy(again_and_again(60, D=6))
    model = MemoryModel(nade_k(6, hidden=(5,), generator=seeded()), rows.to(torch.uint8))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fit(model, prepare(rows), config=TrainingConfig(phases=(Phase(epochs=2),)))
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name, _ in model.named_parameters()}


# What is learnt of it


def learnt(x, others, *, levels=None, seed=0):
    levels = (2,) * x.shape[1] if levels is None else levels
    alone = network(levels)
    rows, judges = prepare(x, levels=levels), prepare(others, levels=levels, training=False)
    return add_memory(alone, rows, judges, generator=seeded(seed)), rows, judges


def test_memory_pays_for_recurring_rows_only():
    x = torch.from_numpy(again_and_again(400))
    (model, gain), *_ = learnt(x[:300], x[300:])
    assert gain.is_worth_it
    assert gain.after < 0.6 * gain.before
    assert len(model.rows) == 30
    assert model.seen.sum() == 300
    noise = (torch.rand(400, 14, generator=seeded()) < 0.5).double()
    truth = network((2,) * 14)
    with torch.no_grad():
        for parameter in truth.parameters():
            parameter.zero_()  # one half, everywhere
    rows, judges = prepare(noise[:300]), prepare(noise[300:], training=False)
    _, gain = add_memory(truth, rows, judges, generator=seeded())
    assert not gain.is_worth_it
    assert abs(gain.after - gain.before) < 0.01


def test_fitted_memory_is_in_eval_mode():
    x, alone = torch.from_numpy(again_and_again(40)), network((2,) * 14).train()
    model, _ = add_memory(alone, prepare(x[:30]), prepare(x[30:], training=False), generator=seeded())
    assert not any(module.training for module in model.modules())


@pytest.mark.parametrize("holes", [False, True])
def test_gain_equals_difference_of_costs(holes):
    """Learnt from costs that were taken apart; the whole network has the same ones."""
    x, others = codes(80).double(), codes(50, seed=5).double()
    if holes:
        x[torch.rand(x.shape, generator=seeded(6)) < 0.3] = torch.nan
        others[torch.rand(others.shape, generator=seeded(7)) < 0.3] = torch.nan
    (model, gain), rows, judges = learnt(x, others, levels=LEVELS)
    same = seeded()
    torch.randperm(len(rows.values), generator=same)
    validation = prepare_validation(judges, model, same, min_rows=FIT_MEMORY.FIT_CASES)
    for network_, expected in ((model.network, gain.before), (model, gain.after)):
        cost = step_costs(network_, validation.rows.values, validation.missing, validation.rows.observed)[-1].mean()
        assert cost.item() == pytest.approx(expected, abs=1e-10)


def test_no_other_trust_is_better():
    x = torch.from_numpy(again_and_again(400, kinds=60, noise=0.1))
    (model, gain), _, judges = learnt(x[:300], x[300:])
    same = seeded()
    torch.randperm(300, generator=same)
    validation = prepare_validation(judges, model, same, min_rows=FIT_MEMORY.FIT_CASES)

    def cost():
        return step_costs(model, validation.rows.values, validation.missing)[-1].mean().item()

    assert cost() == pytest.approx(gain.after, abs=1e-10)
    for k, change in ((0, 0.2), (0, -0.2), (1, 0.05), (1, -0.05)):
        model.trust[k] += change
        assert cost() > gain.after
        model.trust[k] -= change
    best = model.decay.item()
    for decay in set(FIT_MEMORY.DECAYS) - {best}:
        model.decay.fill_(decay)
        assert cost() > gain.after


def test_stored_rows_are_capped(monkeypatch):
    monkeypatch.setattr(FIT_MEMORY, "MAX_ROWS", 40)
    x = codes(100).double()
    (model, _), *_ = learnt(x, codes(50, seed=5).double(), levels=LEVELS)
    assert model.seen.sum() == 40
    assert {tuple(row) for row in model.rows.tolist()} <= {tuple(row) for row in x.long().tolist()}


def test_different_missing_cells_make_different_rows():
    x = torch.tensor([[1.0, 0.0], [1.0, torch.nan], [1.0, 0.0], [1.0, torch.nan], [0.0, 1.0]])
    (model, _), *_ = learnt(x, x, levels=(2, 2))
    stored = sorted(zip(model.rows.tolist(), model.known.tolist(), model.seen.tolist(), strict=True))
    assert stored == [([0, 1], [True, True], 1), ([1, 0], [True, False], 2), ([1, 0], [True, True], 2)]


def test_cell_missing_in_all_stored_rows(monkeypatch):
    x = codes(60).double()
    x[:, 3] = torch.where(torch.arange(60) == 0, x[:, 3], torch.nan)
    monkeypatch.setattr(FIT_MEMORY, "MAX_ROWS", 10)
    for seed in range(20):  # until the row that knows it is left out
        (model, gain), *_ = learnt(x, codes(50, seed=5).double(), levels=LEVELS, seed=seed)
        assert np.isfinite([gain.before, gain.after, gain.error, *model.trust.tolist()]).all()
        if not model.known[:, 3].any():
            break
    else:
        raise AssertionError("it was always among them")
    alone, both = (level_probabilities(one, torch.full((1, 5), torch.nan).double()) for one in (model.network, model))
    torch.testing.assert_close(both[0, 3], alone[0, 3])


def test_fixed_order_network_cannot_have_memory(tmp_path):
    x = codes(20, (2,) * 4).double()
    with pytest.raises(ValueError, match="expected a model of every ordering"):
        add_memory(nade(4, hidden=3, ordering=(0, 1, 2, 3)), prepare(x), prepare(x), generator=seeded())
    table(tmp_path / "t.csv")
    ordered = ("--set", "model.ordering=[0,1,2,3,4,5]", "--set", "model.steps=1", "--hidden", 4)
    result = nadek("fit", tmp_path / "t.csv", "-o", tmp_path / "m", "--epochs", 1, "--memory", *ordered)
    assert result.error.startswith("memory: expected a model of every ordering")


def test_gain_must_be_certain_and_large():
    assert Gain(10.0, 9.0, 0.1).is_worth_it
    assert not Gain(10.0, 9.0, 0.6).is_worth_it
    assert not Gain(10.0, 9.9, 0.001).is_worth_it


# Estimators


def fitted(estimator, X, **options):
    return estimator(**{"max_iter": 3, "training": {"width": 16}, "random_state": 0} | options).fit(X)


@pytest.mark.slow
def test_imputer_keeps_useful_memory_only(capsys):
    X = again_and_again(600)
    imputer = fitted(NADEkImputer, X, verbose=1)
    assert "memory of 30 rows  validation" in capsys.readouterr().out
    assert isinstance(imputer.network_, MemoryModel)
    assert imputer.network_.config.n_rows == 30
    noise = np.random.default_rng(0).integers(0, 2, (600, 14)).astype(float)
    assert isinstance(fitted(NADEkImputer, noise, max_iter=40, verbose=1).network_, IterativeNADE)
    assert capsys.readouterr().out.endswith("with it: left out\n")
    assert isinstance(fitted(NADEkImputer, X, memory=False).network_, IterativeNADE)
    assert isinstance(fitted(NADEkImputer, X[:300]).network_, IterativeNADE)  # too few are held out to tell
    assert isinstance(fitted(NADEk, X).network_, IterativeNADE)
    hidden = np.random.default_rng(1).random(X.shape) < 0.3
    filled = imputer.transform(np.where(hidden, np.nan, X))
    without = fitted(NADEkImputer, X, memory=False).transform(np.where(hidden, np.nan, X))
    assert np.abs(filled - X)[hidden].mean() < 0.3 * np.abs(without - X)[hidden].mean()


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.slow
def test_estimator_with_memory_works_and_reloads(holes, tmp_path):
    X = pd.DataFrame(again_and_again(600, D=6), columns=list("abcdef"))
    X["f"] = X["f"].map({0.0: "no", 1.0: "yes"})
    X["g"] = np.where(X["a"] == 1, "red", np.where(X["b"] == 1, "green", "blue"))
    X = X.mask(np.random.default_rng(0).random(X.shape) < holes)
    model = fitted(NADEk, X, memory=True, n_orderings=3)
    assert model.network_.config.holes == (holes > 0)
    assert np.isfinite(model.score_samples(X[:40])).all()
    assert len(model.sample(5, random_state=0)) == 5
    row = pd.DataFrame([[1.0, 0.0, *[None] * 5]], columns=X.columns)
    assert np.isfinite(model.suggest_next(row).iloc[0, 2:]).all()
    model.save(tmp_path / "model")
    same = [NADEk.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    imputer = NADEkImputer.load(tmp_path / "model")
    assert not imputer.transform(X).isna().any().any()
    for one in same:
        assert isinstance(one.network_, MemoryModel)
        np.testing.assert_allclose(one.score_samples(X[:40]), model.score_samples(X[:40]), atol=1e-5)


def test_missing_cell_is_not_stored():
    """What a training row had no value for, its own memory cannot tell; only others like it can."""
    X = again_and_again(600)
    X[0, 3] = np.nan
    imputer = fitted(NADEkImputer, X, memory=True)
    observed = imputer.network_.known
    assert observed is not None
    assert not observed.all()
    others = X[1:][(np.delete(X[1:], 3, 1) == np.delete(X[0], 3)).all(1), 3]
    assert abs(imputer.transform(X[:1])[0, 3] - others.mean()) < 0.2


def test_warm_start_makes_a_new_memory():
    X = again_and_again(600)
    model = fitted(NADEk, X, memory=True, warm_start=True)
    first = model.network_.base_model.W.clone()
    model.fit(X)
    assert isinstance(model.network_, MemoryModel)
    assert not torch.equal(model.network_.base_model.W, first)
    model.set_params(memory=False).fit(X)
    assert isinstance(model.network_, IterativeNADE)


def test_memory_needs_rows_held_out():
    X = again_and_again(100)
    with pytest.raises(
        ValueError, match=r"^memory: expected validation rows, which decide how far it is trusted; found none"
    ):
        fitted(NADEk, X, memory=True, training={"width": 16, "early_stopping": False})
    assert isinstance(fitted(NADEkImputer, X, training={"width": 16, "early_stopping": False}).network_, IterativeNADE)
    assert isinstance(fitted(NADEk, X, memory=True).network_, MemoryModel)
    with pytest.raises(ValueError, match="memory: expected one of 'auto', True, False, found 'yes'"):
        fitted(NADEk, X, memory="yes")


def test_saving_rows_that_nobody_asked_to_keep_warns(tmp_path):
    imputer = fitted(NADEkImputer, again_and_again(100), memory=True)
    imputer.save(tmp_path / "model")
    imputer.set_params(memory="auto")
    with pytest.warns(UserWarning, match=r": the model holds \d+ different rows of the training table; memory=False"):
        imputer.save(tmp_path / "model")
    fitted(NADEkImputer, again_and_again(100)).save(tmp_path / "model")  # too few are held out for a memory


# Command line


def table(path, n=300):
    pd.DataFrame(again_and_again(n, D=6).astype(int), columns=list("abcdef")).to_csv(path, index=False)


@pytest.mark.slow
def test_command_fit_adds_memory(tmp_path):
    table(tmp_path / "t.csv")
    fit_it = ("fit", tmp_path / "t.csv", "--epochs", 2)
    assert "different training rows: validation" in ok(*fit_it, "-o", tmp_path / "m", "--memory").err
    saved = load_saved(tmp_path / "m")
    assert isinstance(saved.model, MemoryModel)
    assert saved.metrics["memory"]["after"] < saved.metrics["memory"]["before"]
    assert "holds training rows" in ok("info", tmp_path / "m").out
    assert json.loads(ok("info", tmp_path / "m", "--json").out)["model"]["kind"] == "memory"
    for verb in ("score", "impute"):
        ok(verb, tmp_path / "m", tmp_path / "t.csv")
    ok(*fit_it, "-o", tmp_path / "n", "--set", f"start={tmp_path / 'm'}")  # from the network inside
    assert isinstance(load(tmp_path / "n"), IterativeNADE)
    assert "nothing is left to do" in ok(*fit_it, "-o", tmp_path / "m", "--memory", "--resume").err


@pytest.mark.parametrize("decoder", ["full", "incremental"])
@pytest.mark.parametrize("levels", [None, (2, 3, 2, 5, 2, 2, 3, 2)])
@pytest.mark.parametrize("seed", range(4))
def test_rare_rows_of_a_memory_score_alike_in_float32(seed, levels, decoder):
    """Nearly deterministic tables: complements are far below the rounding of 1."""
    generator = seeded(seed)
    config = ModelConfig(n_variables=8, levels=levels, core=DeepConfig(hidden=(8,)), steps=2)
    rows = torch.tensor([[0] * 8, [1] * 8], dtype=torch.uint8)
    counts = torch.tensor([3000, 3000])
    rare = (torch.rand(16, 8, generator=generator) < 0.3).long()
    rare[0], rare[1] = torch.tensor([1] * 7 + [0]), torch.tensor([0] + [1] * 7)
    scores = []
    for dtype in (torch.float32, torch.float64):
        network = IterativeNADE(config, generator=seeded(seed)).to(dtype)
        with torch.no_grad():
            network.W *= 6
            network.b += 12 * (torch.rand(network.b.shape, generator=seeded(seed)) - 0.5)
        model = MemoryModel(network, rows, None, counts, decay=8.0, trust=(5.0 + 5 * seed, 1.0)).eval()
        ordering = torch.randperm(8, generator=seeded(seed))
        scores.append(log_prob(model, rare, ordering=ordering, decoder=decoder))
    assert scores[1].min() < -20
    torch.testing.assert_close(scores[0], scores[1], rtol=2e-4, atol=1e-4)


def test_a_memory_begins_as_its_network_does():
    """Both begin from the first guess of numbers, which depends on the row."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)).cumsum(1), columns=["a", "b"])
    model = NADEk(memory=True, max_iter=1, random_state=0).fit(frame).network_
    x, missing = model.rows[:5].to(model.b.dtype), torch.tensor([False, True]).expand(5, 2)
    assert torch.equal(model.first_state(x, missing), model.network.first_state(x, missing))
    assert len(model.first_state(x, missing).unique(dim=0)) > 1
