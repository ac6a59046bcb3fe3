"""Training: optimizers and their schedules, phases, the average, validation, early stopping, and what it refuses."""

import copy
import dataclasses
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune

import reference
from nadek.inference.likelihood import log_prob
from nadek.inference.order_agnostic import MaskDistribution, step_costs
from nadek.inference.orderings import random_orderings
from nadek.models import IterativeNADE, ModelConfig, nade, nade_k, nade_mask, orderless_nade, residual_nade_k
from nadek.models.cores import DeepConfig, ResidualConfig
from nadek.models.model_config import ImageConfig
from nadek.models.registry import build
from nadek.training import (
    AdaDelta,
    AdamW,
    Muon,
    Phase,
    Rows,
    TrainingConfig,
    TrainingDivergedError,
    data_mean,
    fit,
    prepare,
)
from nadek.training.costs import (
    Minibatch,
    batch_costs,
    draw_batch,
    prepare_validation,
    smoothing_of,
    validation_costs,
)
from nadek.training.defaults import SMALL_TABLE, defaults
from nadek.training.optimizer_steps import MuonAdamW, orthogonal
from nadek.training.training_config import epoch_generator, plan_run
from support.models import same, seeded
from support.optimizers import Descent, following

NAN = torch.nan


def patterns(n_rows, n_variables, seed=0):
    """Rows that are one of three patterns, with a few cells flipped: something to learn."""
    generator = seeded(seed)
    prototypes = (torch.rand(3, n_variables, generator=generator) < 0.5).float()
    x = prototypes[torch.randint(3, (n_rows,), generator=generator)]
    return (x - (torch.rand(x.shape, generator=generator) < 0.1).float()).abs()


def small(n_variables=6, **options):
    return nade_k(n_variables, **{"hidden": (8,), "steps": 2, "generator": seeded(1)} | options)


def config(**options):
    usual = {"phases": (Phase(epochs=3),), "optimizer": AdamW(lr=0.01), "batch_size": 20, "ema_decay": 0.0}
    return TrainingConfig(**usual | options)


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def trained(x, *, model=None, validation=None, **options):
    """A small model after training, and its history."""
    model = small(x.shape[1]) if model is None else model
    held_out = None if validation is None else prepare(validation, training=False)
    return model, fit(model, prepare(x), held_out, config=config(**options))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recording(Descent):
    """Plain gradient descent that writes down what training asks of it."""

    progress: list = dataclasses.field(default_factory=list, compare=False)
    built: list = dataclasses.field(default_factory=list, compare=False)
    seen: list = dataclasses.field(default_factory=list, compare=False)

    def build(self, model):
        """The usual optimizer, watched."""
        optimizer = super().build(model)
        self.built.append(len(self.progress))
        optimizer.register_step_post_hook(lambda *_: self.seen.append(weights(model)))
        return optimizer

    def settings(self, progress):
        """The usual settings, written down."""
        if not self.progress or self.progress[-1] != progress:  # once for every parameter group
            self.progress.append(progress)
        return super().settings(progress)


# Optimizers


class Toy(nn.Module):
    """One matrix and one bias."""

    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64))
        self.bias = nn.Parameter(torch.tensor([0.1, -0.3], dtype=torch.float64))


def descend(optimizer_config, gradients):
    """Parameters of a toy after every step; ``gradients`` are those of the matrix, the bias always has 1."""
    toy = Toy()
    optimizer = optimizer_config.build(toy)
    trail = [(toy.matrix.detach().numpy().copy(), toy.bias.detach().numpy().copy())]
    for index, gradient in enumerate(gradients):
        for group in optimizer.param_groups:
            group.update(optimizer_config.settings(index / len(gradients)))
        toy.matrix.grad, toy.bias.grad = torch.from_numpy(gradient), torch.ones(2, dtype=torch.float64)
        optimizer.step()
        trail.append((toy.matrix.detach().numpy().copy(), toy.bias.detach().numpy().copy()))
    return trail


def gradients(n, seed=0):
    drawn = np.random.default_rng(seed).normal(size=(n, 2, 2))
    drawn[:, 1, 1] = 0  # a weight that never has a gradient
    return drawn


def test_adadelta_follows_zeilers_equations():
    drawn, rho, first = gradients(12), 0.95, 1e-3
    trail = descend(AdaDelta(decay=rho, epsilon=first), drawn)
    x, squares, updates = trail[0][0].copy(), np.zeros((2, 2)), np.zeros((2, 2))
    for t, g in enumerate(drawn):
        epsilon = first * (1 - t / len(drawn))
        squares = rho * squares + (1 - rho) * g**2
        delta = -np.sqrt(updates + epsilon) / np.sqrt(squares + epsilon) * g
        updates = rho * updates + (1 - rho) * delta**2
        x += delta
        np.testing.assert_allclose(trail[t + 1][0], x, rtol=1e-12)
    assert trail[-1][0][1, 1] == 0.25  # it never had a gradient


def test_adadelta_stays_finite_without_epsilon():
    assert AdaDelta().settings(1.0)["eps"] > 0
    toy = Toy().float()
    optimizer = AdaDelta().build(toy)
    for group in optimizer.param_groups:
        group.update(AdaDelta().settings(1.0))
    toy.matrix.grad, toy.bias.grad = torch.zeros(2, 2), torch.zeros(2)
    optimizer.step()
    assert toy.matrix.isfinite().all()


def test_adamw_follows_warmup_and_cosine():
    assert AdamW(lr=0.8, warmup=0.0).settings(0.0)["lr"] == pytest.approx(0.8)
    optimizer = AdamW(lr=0.8, warmup=0.2, final=0.1)
    rates = [optimizer.settings(progress)["lr"] for progress in (0.0, 0.1, 0.2, 0.6, 1.0)]
    assert rates == pytest.approx([0, 0.4, 0.8, 0.8 * 0.55, 0.08])  # at 0.6 half of the way down


def test_muon_equalises_directions_of_matrices():
    lr, decay = 0.01, 0.3
    trail = descend(Muon(lr=lr, weight_decay=decay, warmup=0.0, final=1.0), [np.diag([1.0, 0.2])])
    (before, bias), (after, moved) = trail
    update = (after - (1 - lr * decay) * before) / (-0.2 * lr * 2**0.5)  # 0.2 sqrt(longer side): as large as AdamW's
    lengths = np.linalg.svd(update, compute_uv=False)
    assert ((lengths > 0.6) & (lengths < 1.3)).all()  # its iteration stops when they are about 1
    np.testing.assert_allclose(moved, bias - lr, rtol=1e-6)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_muon_takes_filters_for_a_matrix(layout, generator, monkeypatch):
    """As it moves the weights of a dense layer that reads the same patches; twice, so that momentum counts."""
    monkeypatch.setattr("nadek.training.optimizer_steps.has_fast_bfloat16", lambda _: False)
    filters = torch.nn.Conv2d(3, 4, 2).double()
    patches = torch.nn.Linear(12, 4).double()
    patches.weight.data = filters.weight.detach().permute(0, 2, 3, 1).flatten(1).clone()
    patches.bias.data = filters.bias.detach().clone()
    filters.to(memory_format=layout)
    config = Muon(lr=0.05)
    optimizers = [config.build(filters), config.build(patches)]
    for _ in range(2):
        x = torch.randn(6, 3, 2, 2, dtype=torch.float64, generator=generator)
        given = torch.randn(6, 4, dtype=torch.float64, generator=generator)
        for optimizer in optimizers:
            optimizer.zero_grad()
        ((filters(x).flatten(1) - given) ** 2).sum().backward()
        ((patches(x.permute(0, 2, 3, 1).flatten(1)) - given) ** 2).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
    moved = filters.weight.detach().permute(0, 2, 3, 1).flatten(1)
    torch.testing.assert_close(moved, patches.weight.detach())
    torch.testing.assert_close(filters.bias, patches.bias)


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch before 2.9 has no Muon to compare with")
@pytest.mark.parametrize("shape", [(5, 5), (3, 8), (8, 3)])
def test_muon_equals_torch_in_bfloat16(shape, generator, monkeypatch):
    monkeypatch.setattr("nadek.training.optimizer_steps.has_fast_bfloat16", lambda _: True)
    ours, theirs = (torch.nn.Parameter(torch.ones(shape)) for _ in range(2))
    options = {"lr": 0.05, "weight_decay": 0.3, "momentum": 0.9}
    optimizers = (
        MuonAdamW([{"params": [ours], **options}], lr=0.05),
        torch.optim.Muon([theirs], adjust_lr_fn="match_rms_adamw", **options),
    )
    for _ in range(4):
        ours.grad = theirs.grad = torch.randn(shape, generator=generator)
        for optimizer in optimizers:
            optimizer.step()
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize(("quick", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_muon_uses_bfloat16_only_where_fast(quick, dtype, monkeypatch):
    monkeypatch.setattr("nadek.training.optimizer_steps.has_fast_bfloat16", lambda _: quick)
    assert orthogonal(torch.eye(3)).dtype == dtype


def test_adamw_follows_equations_and_decays_matrices():
    drawn, lr, decay = gradients(6), 0.01, 0.3
    optimizer = AdamW(lr=lr, weight_decay=decay, warmup=0.0, final=1.0)
    trail = descend(optimizer, drawn)
    x, bias, m, s = trail[0][0].copy(), trail[0][1].copy(), np.zeros((2, 2)), np.zeros((2, 2))
    for t, g in enumerate(drawn, start=1):
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g**2
        x -= lr * decay * x + lr * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
        bias -= lr  # its gradient is always 1, and it is not decayed
        np.testing.assert_allclose(trail[t][0], x, rtol=1e-9)
        np.testing.assert_allclose(trail[t][1], bias, rtol=1e-6)


# Phases and the schedule


def test_the_schedule_runs_over_all_phases():
    optimizer, first = Recording(), Phase(objective="all_steps", epochs=1)
    trained(patterns(40, 6), optimizer=optimizer, phases=(first, Phase(epochs=3)))
    assert optimizer.progress == pytest.approx([i / 8 for i in range(8)])
    assert optimizer.built == [0]
    optimizer = Recording()  # a fresh phase renews both
    trained(patterns(40, 6), optimizer=optimizer, phases=(first, Phase(epochs=1), Phase(epochs=2, fresh=True)))
    assert optimizer.progress == pytest.approx([0, 0.25, 0.5, 0.75, 0, 0.25, 0.5, 0.75])
    assert optimizer.built == [0, 4]


def test_history_names_phases_and_counted_steps():
    phases = (Phase(objective="all_steps", epochs=2), Phase(objective="last_step", epochs=2))
    options = {"model": small(steps=4), "validation": patterns(20, 6, seed=1), "phases": phases}
    _, history = trained(patterns(40, 6), **options)
    assert [(epoch.epoch, epoch.epochs) for epoch in history] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [epoch.phase for epoch in history] == ["all_steps"] * 2 + ["last_step"] * 2
    assert [len(epoch.train) for epoch in history] == [4, 4, 1, 1]
    assert [len(epoch.validation) for epoch in history] == [4] * 4
    assert all(math.isfinite(cost) for epoch in history for cost in (*epoch.train, *epoch.validation))


def test_epochs_are_logged(caplog):
    caplog.set_level("INFO", logger="nadek")
    _, history = trained(patterns(40, 6), validation=patterns(20, 6, seed=1))
    assert [(record.name, record.getMessage()) for record in caplog.records] == [("nadek", str(e)) for e in history]
    fields = [{name: vars(record)[name] for name in vars(history[0])} for record in caplog.records]
    assert fields == [*map(vars, history)]
    assert str(history[-1]).endswith(f"  best {min(epoch.validation[-1] for epoch in history):.3f}")


def test_a_single_minibatch_counts():
    """At the very beginning of its schedule a warm-up has the rate 0."""
    for optimizer in (AdamW(lr=0.01), Muon()):
        model = small()
        before = weights(model)
        trained(patterns(20, 6), model=model, phases=(Phase(epochs=1),), optimizer=optimizer)
        assert not torch.equal(model.W, before["W"])


# Minibatches


class Watched(Rows):
    """Rows that write down their minibatches."""

    def select(self, rows):
        """The usual minibatch, written down; the check at the end takes a slice, and repeats a copy."""
        if isinstance(rows, torch.Tensor) and hasattr(self, "minibatches"):
            self.minibatches.append(rows.tolist())
        return super().select(rows)


def batches(epochs, **options):
    """The rows of every minibatch, epoch by epoch."""
    rows = Watched(*prepare(patterns(50, 6)))
    rows.minibatches = []
    fit(small(), rows, config=config(phases=(Phase(epochs=epochs),), **options))
    per_epoch = len(rows.minibatches) // epochs
    return [rows.minibatches[i : i + per_epoch] for i in range(0, len(rows.minibatches), per_epoch)]


def test_every_epoch_visits_every_row_once():
    epochs = batches(2)
    assert epochs[0] != epochs[1]
    for epoch in epochs:
        assert [len(rows) for rows in epoch] == [20, 20, 10]
        assert sorted(row for rows in epoch for row in rows) == list(range(50))


def test_shuffle_depends_on_seed_and_epoch():
    assert batches(2, seed=4) == batches(3, seed=4)[:2]
    assert batches(2, seed=4) != batches(2, seed=5)


def test_epoch_seed_follows_from_seed_and_number():
    expected = int(np.random.SeedSequence([3, 1]).generate_state(1, np.uint64)[0]) // 2
    assert epoch_generator(3, 0, device=torch.device("cpu")).initial_seed() == expected


def test_training_and_global_random_state_keep_apart():
    outcomes, core = [], DeepConfig(hidden=(8,), dropout=0.3)
    for seed in (0, 1):
        model = IterativeNADE(ModelConfig(n_variables=6, core=core, steps=2), generator=seeded())
        torch.manual_seed(seed)
        before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 - it is what is watched
        outcomes.append(weights(trained(patterns(40, 6), model=model, validation=patterns(20, 6, seed=1))[0]))
        assert torch.equal(torch.random.get_rng_state(), before[0])
        np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert same(*outcomes)


def test_l2_adds_its_gradient_to_matrices():
    """One minibatch of plain gradient descent: the penalty adds 2 x coefficient x W to the gradient of matrices."""
    x, before = patterns(20, 6), weights(small())
    outcomes = [trained(x, optimizer=Descent(), phases=(Phase(epochs=1),), l2=c) for c in (0.0, 0.05)]
    plain, penalised = (weights(model) for model, _ in outcomes)
    for name in ("W", "V"):
        torch.testing.assert_close(penalised[name], plain[name] - 0.1 * 2 * 0.05 * before[name], atol=1e-6, rtol=0)
    for name in ("b", "c"):
        assert torch.equal(penalised[name], plain[name])
    costs = [history[0].train for _, history in outcomes]
    assert costs[0] == costs[1]  # it is not in them


@pytest.mark.parametrize(("n_ordered", "n_factors"), [(0, None), (1, 11), (20, 12), (100, 50), (300, 64)])
def test_many_ordered_variables_have_many_factors(n_ordered, n_factors):
    model, _ = defaults(500, (*[6] * n_ordered, *[2] * 10), ordinal=range(n_ordered))
    assert model.factors == n_factors


@pytest.mark.parametrize("levels", [(2, 2), (2, 3)])
def test_smoothing_is_answers_besides(levels):
    """Of n answers c had a level: with a answers besides, best without other cells is (c + a / L) / (n + a)."""
    x = torch.tensor([[0, 1], [0, 0], [0, torch.nan], [0, 0], [0, 0]])
    rows = prepare(x, levels=levels)._replace(weights=torch.tensor([0.5, 1, 1, 1, 1.5]))
    model, a = build(ModelConfig(n_variables=2, levels=levels, core=DeepConfig(hidden=(3,)), steps=1)).double(), 2.0
    counts = [[5.0, 0.0], [3.5, 0.5, *[0.0] * (levels[1] - 2)]]
    log_p = [((torch.tensor(c).double() + a / len(c)) / (sum(c) + a)).log() for c in counts]
    logits = torch.cat([(one[1:] - one[0]) if len(one) == 2 else one for one in log_p])
    with torch.no_grad():
        for value in model.parameters():
            value.zero_()
        model.b.copy_(logits)
    options = config(smoothing=a)
    batch = Minibatch(rows, torch.ones_like(rows.shown))
    smoothing = smoothing_of(rows, model, options)
    costs = batch_costs(model, batch, Phase(), options, teacher=None, smoothing=smoothing, generator=seeded())
    costs.sum().backward()
    torch.testing.assert_close(model.b.grad, torch.zeros_like(model.b), rtol=0, atol=1e-6)


@pytest.mark.parametrize("stratified", [False, True])
def test_minibatches_are_stratified_when_told_to(stratified, monkeypatch):
    sizes = []

    def watched(self, observed, **options):
        missing = sample(self, observed, **options)
        sizes.append(np.bincount(missing.sum(1), minlength=7)[1:].tolist())
        return missing

    sample = MaskDistribution.sample
    monkeypatch.setattr(MaskDistribution, "sample", watched)
    trained(patterns(60, 6), batch_size=12, stratified=stratified)
    assert all(size == [2] * 6 for size in sizes[:-1]) == stratified  # the last are those of the check


def test_costs_are_weighed_by_their_tilt(monkeypatch):
    calls = []
    for method in (MaskDistribution.sample, MaskDistribution.weight):

        def watched(self, *arguments, method=method, **options):
            calls.append((method.__name__, self))
            return method(self, *arguments, **options)

        monkeypatch.setattr(MaskDistribution, method.__name__, watched)
    for masks in (None, "holes"):
        calls.clear()
        trained(patterns(20, 6), tilt=0.3, phases=(Phase(epochs=1, masks=masks),), stratified=False)
        law = MaskDistribution(masks or "orderings", 0.3)
        assert calls[:2] == [("sample", law), ("weight", law)]


def test_validation_has_masks_of_last_phase(monkeypatch):
    laws = []

    def watched(*arguments, **options):
        laws.append(options["law"])
        return prepare_validation(*arguments, **options)

    monkeypatch.setattr("nadek.training.loop.prepare_validation", watched)
    x, both = patterns(40, 6), (Phase(epochs=1), Phase(epochs=1, masks="holes"))
    for phases, rows in ((both, x), (both, None), (both[::-1], x)):
        trained(x, validation=rows, phases=phases)
    assert laws == ["holes", "holes", "orderings"]


def test_validation_costs_follow_their_masks():
    """Held to `step_costs` on the same rows and masks, which hide 7/12 of six cells on average, or 91/216."""
    x, (model, _) = patterns(30, 6), trained(patterns(30, 6), phases=(Phase(epochs=1),))
    for law, hidden in (("orderings", 7 / 12), ("holes", 91 / 216)):
        validation = prepare_validation(prepare(x), model, seeded(), law=law, min_rows=60)
        assert validation.missing.double().mean().item() == pytest.approx(hidden, abs=0.02)
        costs = step_costs(model, validation.rows.values, validation.missing, masks=MaskDistribution(law))
        torch.testing.assert_close(validation_costs(model, validation), costs.double().mean(1), rtol=1e-6, atol=0)


@pytest.mark.usefixtures("has_bfloat16")
def test_bfloat16_trains_to_nearly_same_cost():
    x, held_out = patterns(200, 12), patterns(100, 12, seed=1)
    costs = {}
    for precision in ("float32", "bfloat16"):
        model, history = trained(x, validation=held_out, precision=precision, phases=(Phase(epochs=10),))
        costs[precision] = history[-1].validation[-1]
        assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert costs["bfloat16"] != costs["float32"]
    assert costs["bfloat16"] == pytest.approx(costs["float32"], rel=0.02)


def test_bfloat16_is_float32_where_processor_has_none(monkeypatch):
    monkeypatch.setattr("nadek.training.costs.has_fast_bfloat16", lambda _: False)
    runs = [trained(patterns(200, 12), precision=precision)[0] for precision in ("float32", "bfloat16")]
    assert same(*map(weights, runs))


# The average


def test_the_average_follows_its_recursion():
    optimizer, decay = Recording(), 0.7
    model, _ = trained(patterns(40, 6), optimizer=optimizer, ema_decay=decay)
    average, *later = optimizer.seen
    for current in later:
        average = {name: decay * average[name] + (1 - decay) * current[name] for name in average}
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, average[name], rtol=0, atol=1e-6)


def test_short_run_uses_its_default_decay():
    x, options = patterns(40, 6), {"phases": (Phase(epochs=10),)}
    short, _ = trained(x, ema_decay=None, **options)
    named, _ = trained(x, ema_decay=1 - 5 / 20, **options)
    assert same(weights(short), weights(named))


def test_validation_is_of_the_average():
    x, held_out = patterns(40, 6), patterns(20, 6, seed=1)
    histories = [trained(x, validation=held_out, ema_decay=decay)[1] for decay in (0.0, 0.99)]
    assert [epoch.train for epoch in histories[0]] == [epoch.train for epoch in histories[1]]
    assert histories[0][-1].validation != histories[1][-1].validation


# Validation, the best weights, early stopping


def test_unchanged_weights_validate_to_same_bits():
    x, held_out = patterns(40, 6), patterns(20, 6, seed=1)
    _, history = trained(x, validation=held_out, optimizer=AdamW(lr=0.0))
    assert history[0].validation == history[1].validation == history[2].validation
    _, again = trained(x, validation=held_out, optimizer=AdamW(lr=0.0))
    assert again[0].validation == history[0].validation


def test_validation_changes_no_training():
    """Nor does it leave the model in eval mode, where there is no dropout."""
    core = DeepConfig(hidden=(8,), dropout=0.5)
    x, seen = patterns(40, 6), []
    for held_out in (None, patterns(20, 6, seed=1)):
        optimizer = Recording()
        model = IterativeNADE(ModelConfig(n_variables=6, core=core, steps=2), generator=seeded())
        trained(x, model=model, validation=held_out, optimizer=optimizer)
        seen.append(optimizer.seen)
    assert all(same(a, b) for a, b in zip(*seen, strict=True))


def test_the_best_weights_are_kept():
    """Twelve rows and a high rate: it overfits, and the last epoch is not the best."""
    model, after = small(12, hidden=(32,)), []
    history = fit(
        model,
        prepare(patterns(12, 12)),
        prepare(patterns(60, 12, seed=1), training=False),
        config=config(phases=(Phase(epochs=12),), optimizer=Descent(lr=1.0)),
        on_epoch=lambda _: after.append(weights(model)),
    )
    costs = [epoch.validation[-1] for epoch in history]
    best = int(np.argmin(costs))
    assert best < len(costs) - 1
    assert same(weights(model), after[best])
    assert [epoch.best for epoch in history] == np.minimum.accumulate(costs).tolist()


def test_last_weights_stay_without_validation():
    optimizer = Recording()
    model, history = trained(patterns(40, 6), optimizer=optimizer)
    assert same(weights(model), optimizer.seen[-1])
    assert {(epoch.validation, epoch.best) for epoch in history} == {(None, None)}
    assert not model.training


def test_validation_is_due_at_the_end():
    phases = (Phase(epochs=5),)
    _, history = trained(patterns(40, 6), validation=patterns(20, 6, seed=1), validate_every=2, phases=phases)
    assert [epoch.validation is not None for epoch in history] == [False, True, False, True, True]


def test_training_stops_when_patience_ends():
    """A frozen model gets no better after its first validation; only the last phase counts."""
    still, first = {"optimizer": AdamW(lr=0.0), "patience": 2}, Phase(objective="all_steps", epochs=5)
    for phases, n_epochs in (((Phase(epochs=9),), 3), ((first, Phase(epochs=9)), 5 + 2)):
        _, history = trained(patterns(40, 6), validation=patterns(20, 6, seed=1), phases=phases, **still)
        assert len(history) == n_epochs
    improving = {"patience": 1, "phases": (Phase(epochs=6),), "optimizer": AdamW(lr=2e-3, warmup=0.0)}
    _, history = trained(patterns(200, 6), validation=patterns(200, 6), **improving)
    assert len(history) == 6


def test_trained_model_gets_no_worse():
    x, held_out = patterns(40, 6), prepare(patterns(20, 6, seed=1), training=False)
    model, _ = trained(x, validation=patterns(20, 6, seed=1), phases=(Phase(epochs=20),))
    before = weights(model)
    hasty = config(optimizer=Descent(lr=3.0), phases=(Phase(epochs=2),))
    for is_trained in (True, False):
        model.load_state_dict(before)
        history = fit(model, prepare(x), held_out, config=hasty, trained=is_trained)
        assert same(weights(model), before) == is_trained
        assert (history[-1].best < min(epoch.validation[-1] for epoch in history)) == is_trained


def test_what_cannot_be_learnt_is_refused():
    rows, run = prepare(torch.tensor([[0, 4, 1], [1, 2, 0]]), levels=(2, 5, 2)), config(phases=(Phase(epochs=1),))
    options = {"n_variables": 3, "levels": (2, 5, 2), "core": DeepConfig(hidden=(4,))}
    for ordinal, centred in (((1,), False), (None, True)):
        model = IterativeNADE(ModelConfig(**options, ordinal=ordinal))
        prune.l1_unstructured(model, "W", 0.3)
        with pytest.raises(ValueError, match=r"expected W to be learnt itself, .* found it computed from others"):
            fit(model, rows, config=replace(run, centred=centred))
    with torch.inference_mode():
        model = IterativeNADE(ModelConfig(**options))
    with pytest.raises(ValueError, match=r"expected a model made outside torch\.inference_mode"):
        fit(model, rows, config=run)


# Divergence


@pytest.mark.parametrize("rate", [1e30, 1e38])
@pytest.mark.parametrize("validated", [False, True])
@pytest.mark.parametrize(
    ("is_fast", "advice"),
    [(False, "Lower .* longer$"), (True, r"Lower .* float32 products \(now bfloat16\)")],
)
def test_a_diverged_training_stops_with_advice(rate, validated, is_fast, advice, monkeypatch):
    monkeypatch.setattr("nadek.training.costs.has_fast_bfloat16", lambda _: is_fast)
    held_out = patterns(20, 6, seed=1) if validated else None
    model, options = small(), {"optimizer": AdamW(lr=rate), "precision": "bfloat16"}
    with pytest.raises(TrainingDivergedError, match=rf"diverged: the cost is .* in epoch \d. {advice}"):
        trained(patterns(40, 6), model=model, validation=held_out, **options)
    assert all(value.isfinite().all() for value in model.state_dict().values())
    assert not model.training


@pytest.mark.parametrize("validated", [False, True])
def test_divergence_keeps_last_good_weights(validated):
    model, after = small(), []
    held_out = prepare(patterns(20, 6, seed=1), training=False) if validated else None
    breaking = following(lambda progress: 0.1 if progress < 0.66 else 1e30)
    run = config(phases=(Phase(epochs=6),), optimizer=breaking)
    with pytest.raises(TrainingDivergedError, match="in epoch 5") as error:
        fit(model, prepare(patterns(40, 6)), held_out, config=run, on_epoch=lambda _: after.append(weights(model)))
    history = error.value.history
    # without validation: the last weights that a whole epoch of finite costs began with
    assert [epoch.epoch for epoch in history] == ([1, 2, 3, 4] if validated else [1, 2, 3])
    good = int(np.argmin([epoch.validation[-1] for epoch in history])) if validated else 2
    assert [epoch.epoch for epoch in pickle.loads(pickle.dumps(error.value)).history] == [e.epoch for e in history]
    assert same(weights(model), after[good])


def test_broken_last_weights_are_not_returned():
    """The costs of the only epoch were finite; what its one step made of the weights is not."""
    model = small()
    with pytest.raises(TrainingDivergedError, match="the cost is nan in epoch 1"):
        trained(patterns(20, 6), model=model, optimizer=Descent(lr=1e38), l2=1e30, phases=(Phase(epochs=1),))
    assert all(value.isfinite().all() for value in model.state_dict().values())


@pytest.mark.parametrize(
    "make", [small, lambda: nade(6, hidden=8, generator=seeded(1))], ids=["any order", "one order"]
)
@pytest.mark.parametrize("average", [0.0, 0.5])
def test_absurd_last_weights_are_not_returned(average, make):
    """They are finite, and so are the costs of the only epoch, which its one step came after."""
    model = make()
    before, objective = weights(model), "last_step" if model.config.ordering is None else "fixed_order"
    run = {"phases": (Phase(objective=objective, epochs=1),), "optimizer": Descent(lr=1e6), "ema_decay": average}
    with pytest.raises(TrainingDivergedError, match=r"the cost is \d.* in epoch 1\. Lower") as error:
        trained(patterns(20, 6), model=model, **run)
    assert error.value.history == []
    assert same(weights(model), before)
    assert not model.training


# It learns


def four_bits():
    """A random distribution over four bits: probabilities of the 16 rows, and rows that have them as frequencies."""
    counts = np.random.default_rng(0).multinomial(2_000, np.random.default_rng(1).dirichlet(np.ones(16)))
    rows = torch.from_numpy(reference.all_rows((2,) * 4)).float()
    return torch.from_numpy(counts / counts.sum()), rows.repeat_interleave(torch.from_numpy(counts), 0)


def divergences(model, p):
    """Exact KL divergence under several orderings."""
    rows = torch.from_numpy(reference.all_rows((2,) * 4)).float()
    orderings = 1 if model.config.ordering is not None else random_orderings(6, 4, generator=seeded())
    q = log_prob(model, rows, orderings=orderings, generator=seeded()).double()
    return (torch.xlogy(p, p) - p * q).sum(1)


LEARNERS = {
    "nade-2": lambda mean: nade_k(4, hidden=(32,), steps=2, mean=mean, generator=seeded()),
    "nade-mask": lambda mean: nade_mask(4, hidden=(32,), mean=mean, generator=seeded()),
    "residual": lambda mean: residual_nade_k(4, width=16, blocks=1, steps=2, mean=mean, generator=seeded()),
    "nade": lambda mean: nade(4, hidden=32, ordering=[2, 0, 3, 1], mean=mean, generator=seeded()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LEARNERS))
def test_distribution_over_four_bits_is_learnt(name):
    p, x = four_bits()
    model = LEARNERS[name](data_mean(x))
    objective = "last_step" if model.config.ordering is None else "fixed_order"
    before = divergences(model, p)
    phases = (Phase(objective=objective, epochs=200),)
    run = config(phases=phases, batch_size=500, optimizer=AdamW(lr=0.03), ema_decay=0.98)
    fit(model, prepare(x), config=run)
    after = divergences(model, p)
    assert before.min() > 0.2
    assert after.max() < 0.02


def test_constant_columns_stay_finite():
    x = patterns(60, 6)
    x[:, 1], x[:, 4] = 0, 1
    model = small(mean=data_mean(x))
    _, history = trained(x, model=model, validation=x, optimizer=AdamW(lr=0.05), phases=(Phase(epochs=10),))
    assert all(math.isfinite(cost) for epoch in history for cost in (*epoch.train, *epoch.validation))
    rows = torch.from_numpy(reference.all_rows((2,) * 6)).float()
    assert log_prob(model, rows, orderings=3, generator=seeded()).isfinite().all()


@pytest.mark.parametrize("build", [small, orderless_nade, nade, lambda D, **o: residual_nade_k(D, width=8, **o)])
def test_a_single_variable_is_learnt(build):
    x = torch.tensor([[1.0], [1], [1], [0]]).repeat(25, 1)
    model = build(1, generator=seeded())
    objective = "fixed_order" if model.config.ordering is not None else "last_step"
    phases = (Phase(objective=objective, epochs=20),)
    fit(model, prepare(x), prepare(x), config=config(phases=phases, optimizer=AdamW(lr=0.05)))
    p = log_prob(model, torch.tensor([[0.0], [1]]), orderings=1, generator=seeded()).exp()[0]
    assert p.sum().item() == pytest.approx(1, abs=1e-6)
    assert p[1].item() == pytest.approx(0.75, abs=0.02)


# Holes


def with_holes(n_rows, n_variables):
    x = patterns(n_rows, n_variables)
    return x.masked_fill(torch.rand(x.shape, generator=seeded(1)) < 0.3, NAN)


def test_rows_without_values_change_no_training():
    rows = prepare(torch.tensor([[0.0, 1], [NAN, NAN], [1, NAN], [NAN, NAN]]))
    assert rows.n_skipped == 2
    assert rows.values.tolist() == [[0, 1], [1, 0]]
    assert rows.observed.tolist() == [[True, True], [True, False]]
    x = with_holes(40, 6)
    padded = torch.cat([torch.full((1, 6), NAN), x[:10], torch.full((3, 6), NAN), x[10:]])
    assert same(weights(trained(x)[0]), weights(trained(padded)[0]))


@pytest.mark.parametrize(
    ("x", "columns", "message"),
    [
        ([[0.0, NAN, 1], [1, NAN, 1]], "abc", 'column "b" has no value in any row'),
        ([[0.0, NAN, 1], [1, NAN, 1]], None, "column number 1 has no value"),
        ([[0.0, NAN, NAN, NAN]], "abcd", 'columns "b", "c", "d" have no value in any row: leave them out'),
        ([[NAN, 1], [NAN, NAN]], None, "column number 0"),
        (torch.empty(0, 3), None, "no rows to learn from: 0 rows found"),
        ([[NAN, NAN], [NAN, NAN]], None, "no rows to learn from.*2 of them"),
        ([[0.0, 1, NAN], [1, 0, 0.5]], None, r"0, 1 or NaN \(missing\), found 0.5 in the cell at index \(1, 2\)"),
    ],
)
def test_rows_that_teach_nothing_are_refused(x, columns, message):
    with pytest.raises(ValueError, match=message):
        prepare(torch.as_tensor(x), columns=columns)


def test_the_mean_is_of_observed_values():
    torch.testing.assert_close(
        data_mean(torch.tensor([[1.0, NAN, NAN], [0, 1, NAN]])), torch.tensor([0.5, 1.0, NAN]), equal_nan=True
    )
    with pytest.raises(ValueError, match=r"expected a whole number from 0 to 3 or NaN .*, found 1.2"):
        data_mean(torch.tensor([[1.0], [1.2]]), (4,))
    assert prepare(torch.tensor([[0.0, NAN]]), training=False).observed.tolist() == [[True, False]]


# What does not fit together


FIXED = (Phase(objective="fixed_order", epochs=1),)


def one_order():
    return nade(6, hidden=4, generator=seeded())


def of_mixed_levels():
    return IterativeNADE(ModelConfig(n_variables=2, levels=(3, 5)))


def without_parameters():
    model = small()
    for name, value in list(model.named_parameters()):
        delattr(model, name)
        model.register_buffer(name, value.detach())
    return model


@pytest.mark.parametrize(
    ("make", "rows", "held_out", "options", "message"),
    [
        (small, patterns(20, 5), None, {}, "expected 6 columns in the training rows, found 5"),
        (small, patterns(20, 6), patterns(20, 7), {}, "expected 6 columns in the validation rows, found 7"),
        (one_order, with_holes(20, 6), None, {"phases": FIXED}, "needs rows without missing.*in the training rows"),
        (one_order, patterns(20, 6), with_holes(20, 6), {"phases": FIXED}, "without missing.*in the validation rows"),
        (small, patterns(20, 6), None, {"phases": FIXED}, "fixed_order objective needs a model with an ordering"),
        (one_order, patterns(20, 6), None, {}, "one fixed ordering is trained with the fixed_order objective"),
        (one_order, patterns(20, 6), None, {"phases": (Phase(), *FIXED)}, "trained with the fixed_order objective"),
        (small, patterns(20, 6), None, {"stride": 7}, "stride: expected at most 6, the number of columns, found 7"),
        (small, patterns(20, 6), None, {"mirror": (4, 5)}, r"width of 6 pixels of equal levels, found \(4, 5\)"),
        (of_mixed_levels, patterns(20, 2), None, {"mirror": (1, 2)}, r"of equal levels, found \(1, 2\)"),
        (lambda: small().requires_grad_(False), patterns(20, 6), None, {}, "weights to learn, found all frozen"),
        (without_parameters, patterns(20, 6), None, {}, "expected a model with weights to learn"),
    ],
)
def test_unfit_rows_and_models_are_refused(make, rows, held_out, options, message):
    with pytest.raises(ValueError, match=message):
        trained(rows, model=make(), validation=held_out, **options)


def test_codes_beyond_the_levels_are_named():
    rows = prepare(torch.tensor([[0.0, 1.0], [1.0, 4.0]]), levels=(2, 5), columns=("a", "b"))
    message = '^column "b" of the training rows: expected codes from 0 to 1, as the model knows 2 levels, found 4$'
    with pytest.raises(ValueError, match=message):
        fit(small(2), rows, config=config())
    rows = prepare(torch.tensor([[0.5, 1.0], [1.0, 4.0]]), levels=(3, 5), knots=((), None))
    with pytest.raises(ValueError, match="the training rows were prepared with knots, which the model does not have"):
        fit(small(2), rows, config=config())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: config(patience=0), "patience: expected at least 1, found 0"),
        (lambda: config(seed=-1), "seed: expected at least 0, found -1"),
        (lambda: config(stride=0), "stride: expected at least 1, found 0"),
        (lambda: config(validate_every=0), "validate_every: expected at least 1, found 0"),
        (lambda: config(mirror=(-1, -6)), r"mirror: expected the height and width of an image, found \(-1, -6\)"),
        (lambda: config(anneal=0.0), "anneal: expected a part of the epochs, at most 100, found 0.0"),
        (lambda: config(anneal=math.nan), "anneal: expected a part of the epochs, at most 100, found nan"),
        (lambda: config(phases=()), "phases: expected at least one"),
        (lambda: config(phases=(Phase(), Phase(steps=1))), "phases: expected the last one to use the network"),
        (lambda: Phase(epochs=0), "epochs: expected at least 1, found 0"),
        (lambda: Phase(steps=0), "steps: expected at least 1, found 0"),
        (lambda: Phase(objective="fixed_order", steps=1), "the fixed_order objective takes all steps"),
        (lambda: Phase(objective="fixed_order", extra_steps=1), "extra_steps: the fixed_order objective takes all"),
        (lambda: Phase(extra_steps=0), "extra_steps: expected at least 1, found 0"),
        (lambda: Phase(objective="fixed_order", masks="holes"), "masks: the fixed_order objective takes all"),
    ],
)
def test_impossible_options_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_matrix_of_one_column_skips_muon():
    _, history = trained(patterns(40, 1), optimizer=Muon())
    assert len(history) == 3


@pytest.mark.slow
def test_fixed_order_learns_with_stride():
    phases = (Phase(objective="fixed_order", epochs=60),)
    costs = {}
    for stride in (1, 3):
        model = nade(6, hidden=4, generator=seeded())
        _, history = trained(patterns(40, 6), model=model, phases=phases, stride=stride, validation=patterns(40, 6))
        costs[stride] = [epoch.validation[0] for epoch in history]
    assert costs[3] != costs[1]  # it has learnt from other costs
    assert costs[3][-1] < costs[3][0] - 0.5
    assert abs(costs[3][-1] - costs[1][-1]) < 0.3  # towards the same


# What the caller has switched on or off

AROUND = {
    "no gradients": lambda: torch.set_grad_enabled(False),
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("options", [{}, {"l2": 1e-3}, {"centred": True}, {"recompute": True}, {"ema_decay": 0.9}])
def test_training_ignores_callers_torch_modes(options, around):
    x, model = patterns(60, 6), small()
    expected = trained(x, model=small(), validation=patterns(20, 6, 1), **options)
    with around():
        outcome = trained(x, model=model, validation=patterns(20, 6, 1), **options)
        assert torch.is_grad_enabled() == (around is AROUND["autocast"])
    assert same(weights(outcome[0]), weights(expected[0]))
    assert [epoch.train for epoch in outcome[1]] == [epoch.train for epoch in expected[1]]


@pytest.mark.slow
@pytest.mark.parametrize("make", [small, lambda: residual_nade_k(6, width=8, blocks=1, steps=2, generator=seeded(1))])
@pytest.mark.usefixtures("has_bfloat16")
def test_bfloat16_training_ignores_callers_autocast_cache(make):
    """One that keeps reduced weights until the outermost ends would show those of the first minibatch all along."""
    x, options = patterns(200, 6), {"precision": "bfloat16", "phases": (Phase(epochs=8),), "recompute": True}
    expected = trained(x, model=make(), **options)[1][-1].train
    with torch.autocast("cpu", torch.bfloat16):
        cost = trained(x, model=make(), **options)[1][-1].train
    assert cost == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", ["W", "c"])
def test_frozen_weights_stay(name):
    model = small()
    before = weights(model)
    model.get_parameter(name).requires_grad_(False)
    with pytest.raises(ValueError, match=f"^centred: expected W, A and c to be learnt, found {name} frozen"):
        trained(patterns(30, 6), model=model, centred=True)
    trained(patterns(30, 6), model=model)
    assert {key for key, value in weights(model).items() if torch.equal(value, before[key])} >= {name}
    assert not torch.equal(model.V if name == "c" else model.c, before["V" if name == "c" else "c"])


# Phases of fewer steps


def test_one_step_phase_trains_one_step():
    learnt = []
    for steps, phase in ((3, Phase(epochs=2, steps=1)), (1, Phase(epochs=2))):
        states, run = [], config(phases=(phase, Phase(epochs=1)), optimizer=Descent())
        fit(small(steps=steps), prepare(patterns(60, 6)), config=run, save_every=0.0, save_state=states.append)
        learnt.append({name: value for name, value in states[2].tensors.items() if name.startswith("model.")})
    assert learnt[0]
    assert same(*learnt)


def test_one_step_phase_is_not_validated():
    x = patterns(80, 6)
    _, history = trained(x[:60], validation=x[60:], phases=(Phase(epochs=3, steps=1), Phase(epochs=2)))
    assert [epoch.validation is None for epoch in history] == [True, True, True, False, False]
    assert [epoch.best is None for epoch in history] == [True, True, True, False, False]
    assert [len(epoch.train) for epoch in history] == [1, 1, 1, 1, 1]


# Extra steps


@pytest.mark.parametrize(("objective", "steps"), [("last_step", None), ("all_steps", None), ("last_step", 1)])
def test_gradients_of_extra_steps(objective, steps):
    """The answers of the extra steps stand where the data mean would, and get no gradient."""
    quick, x = small(steps=2).double(), patterns(20, 6).double()
    missing = torch.rand(x.shape, generator=seeded()) < 0.6
    missing[:, 0] = True
    slow, phase = copy.deepcopy(quick), Phase(objective=objective, steps=steps, extra_steps=7)
    batch = Minibatch(Rows(x, None, 0), missing, more_steps=3)
    costs = batch_costs(quick, batch, phase, config(), teacher=None, generator=seeded())
    slow.fill = slow(x, missing, steps=3)[-1].sigmoid().detach()
    expected = step_costs(slow, x, missing, steps=steps or 2, recompute=True)[0 if objective == "all_steps" else -1 :]
    torch.testing.assert_close(costs, expected)
    costs.sum().backward()
    expected.sum().backward()
    for one, other in zip(quick.parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize(
    "network",
    [
        ModelConfig(n_variables=6, core=DeepConfig(hidden=(7, 7), dropout=0.4)),
        ModelConfig(n_variables=6, core=ResidualConfig(width=8, blocks=1)),
        ImageConfig(image_shape=(2, 3), channels=(3, 4), dense=5),
    ],
)
def test_detached_steps_are_the_same_steps(network):
    """With dropout or a state that is carried, logits do not change and a gradient flows through the others only."""
    model = build(network, generator=seeded(1)).double().train()
    x, missing = patterns(5, 6).double(), torch.ones(5, 6, dtype=torch.bool)
    expected = model(x, missing, steps=5, generator=seeded())
    gradients = []
    for recompute in (False, True):
        outputs = model(x, missing, steps=5, detached=3, recompute=recompute, generator=seeded())
        assert [logits.requires_grad for logits in outputs] == [False] * 3 + [True] * 2
        torch.testing.assert_close(outputs, expected)
        gradients.append(torch.autograd.grad(outputs[-1].sum(), list(model.parameters())))
    torch.testing.assert_close(*gradients)


def test_extra_steps_are_uniform_and_follow_from_the_generator():
    x, rows = prepare(patterns(20, 6)), torch.arange(20)

    def drawn(extra):
        generator, phase = seeded(), Phase(extra_steps=extra)
        return [draw_batch(x, rows, phase, config(), generator=generator).more_steps for _ in range(400)]

    counts = np.bincount(drawn(3), minlength=4)
    assert len(counts) == 4
    assert (abs(counts - 100) < 4 * 75**0.5).all()  # four standard deviations
    assert drawn(3) == drawn(3)
    assert set(drawn(None)) == {0}


def test_phase_of_extra_steps_can_be_the_last():
    """It is validated after as many steps as the network has."""
    x, phase = patterns(80, 6), Phase(objective="all_steps", epochs=2, steps=2, extra_steps=3)
    _, history = trained(x[:60], model=small(steps=4), validation=x[60:], phases=(phase,))
    assert [(len(epoch.train), len(epoch.validation)) for epoch in history] == [(2, 4), (2, 4)]


def test_default_imputation_phases():
    large, small_table = (defaults(n, (2,) * 20, purpose="imputation")[1].phases for n in (20_000, 400))
    assert [(phase.steps, phase.objective) for phase in large] == [(1, "last_step"), (None, "last_step")]
    assert [phase.steps for phase in small_table] == [1, None]
    assert {phase.masks for phase in (*large, *small_table)} == {"holes"}
    both = [defaults(20_000, (2,) * 20, purpose="imputation", steps=k, epochs=7)[1].phases for k in (1, 2)]
    assert [[(phase.epochs, phase.steps) for phase in phases] for phases in both] == [[(7, None)], [(4, 1), (3, None)]]
    cases = (20, 2, None), (20, 2, 7), (4, 2, None), (24, 2, None), (99, 2, None), (12, 5, None)
    lengths = [defaults(400, (k,) * n, purpose="imputation", epochs=e)[1].anneal for n, k, e in cases]
    assert lengths == [1, None, 0.5, 1.2, 2, 1.5]


@pytest.mark.parametrize("purpose", ["density", "imputation"])
@pytest.mark.parametrize("n_rows", [60, 400, 20_000, 2_000_000])
def test_effort_is_the_length_of_training(n_rows, purpose):
    efforts = ("quick", "default", "thorough")
    chosen = [defaults(n_rows, (2,) * 100, purpose=purpose, effort=effort) for effort in efforts]
    quick, usual, thorough = (training.epochs for _, training in chosen)
    assert (quick, thorough) == pytest.approx((usual / 3, usual * 3), abs=3)
    widths = [model.core.width for model, _ in chosen]
    assert widths[0] == widths[1]
    assert (widths[2] > widths[1]) == (purpose == "imputation" and n_rows >= 5000)
    assert defaults(n_rows, (2,) * 100, purpose=purpose, effort="quick", epochs=7)[1].epochs == 7


FALLING = {"anneal": 0.5, "phases": (Phase(epochs=30, steps=1), Phase(epochs=15))}


@pytest.mark.parametrize(("lr", "epochs"), [(0.0, 4 + 2), (0.01, 30 + 15)])
def test_validation_chooses_the_length(lr, epochs, monkeypatch):
    """A frozen model gains nothing: it takes the least number of minibatches, two an epoch, and half as many."""
    for name, value in {"MINIBATCHES": 8, "EPOCHS": 1, "GAIN": 1e-9}.items():
        monkeypatch.setattr(f"nadek.training.training_config.HELD_{name}", value)
    x, options = patterns(60, 6), FALLING | {"optimizer": Descent(lr=lr)}
    _, history = trained(x[:40], validation=x[40:], **options)
    assert len(history) == epochs
    assert history[-1].epochs == epochs
    assert None not in [epoch.validation for epoch in history]
    best = [epoch.best for epoch in history]
    assert best[-1] == min(epoch.validation[-1] for epoch in history if epoch.epoch > epochs * 2 / 3)


def test_best_weights_of_the_full_rate_stay_candidates(monkeypatch):
    """Few rows of noise are learnt by heart before the rate falls."""
    for name, value in {"MINIBATCHES": 8, "EPOCHS": 100}.items():
        monkeypatch.setattr(f"nadek.training.training_config.HELD_{name}", value)
    x = (torch.rand(120, 6, generator=seeded()) < 0.5).float()
    phases = Phase(epochs=100, steps=1), Phase(epochs=50)
    model, history = trained(x[:20], validation=x[20:], anneal=0.5, phases=phases, optimizer=AdamW(lr=0.03))
    worst = min(epoch.validation[-1] for epoch in history if epoch.epoch > 100)
    rows = prepare_validation(prepare(x[20:], training=False), model, seeded(), min_rows=1024)
    assert history[-1].best < worst - 0.1
    assert validation_costs(model, rows)[-1] == pytest.approx(history[-1].best, abs=0.1)


def test_length_without_validation_is_the_most():
    assert len(trained(patterns(40, 6), **FALLING)[1]) == 30 + 15


def test_rate_is_held_before_it_falls():
    plans = plan_run(config(anneal=0.5, phases=(Phase(epochs=60), Phase(epochs=30))), [1.0] * 40, n_minibatches=100)
    rates = [plan.progress(i, 50, 100, warmup=0.02) for i, plan in enumerate(plans)]
    assert len(plans) == 40 + 20
    assert rates[:40] == [0.02] * 40
    assert 0.02 < rates[40] < rates[59] < 1
    assert plans[0].progress(0, 0, 100, warmup=0.02) == pytest.approx(0.02 * 0.5 / 50)


def test_minibatches_of_a_density_leave_no_small_rest():
    for n_rows in (*range(1, 700), *range(700, SMALL_TABLE, 41)):
        size = defaults(n_rows, (2,) * 3)[1].batch_size
        assert n_rows < 67 or 67 <= size < 150
        assert n_rows % size == 0 or n_rows % size >= size / 2


def test_default_density_phases():
    first, last = Phase(epochs=3, steps=1), Phase(epochs=4)
    learnt = [defaults(n, (2,) * 20, epochs=7)[1].phases for n in (400, 20_000)]
    assert learnt == [(first, last), (dataclasses.replace(first, masks="holes"), last)]


def test_default_weight_decay():
    cases = (100, 0), (1600, 0), (20_000, 0), (1600, 1)
    decays = [defaults(n, (5, 2), ordinal=(j,))[1].optimizer.weight_decay for n, j in cases]
    assert decays == [2.0, 0.5, 0.1, 0.1]  # two levels have no order
