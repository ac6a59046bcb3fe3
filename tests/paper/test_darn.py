"""Deep autoregressive networks: likelihoods, bound and gradients against enumeration, and rows of them."""

from dataclasses import replace

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from nadek.runs.data import open_data
from nadek.training import AdamW
from nadek_paper import darn
from nadek_paper.darn import DARN, DARNConfig, DARNRun, WeightNoise
from nadek_paper.darn_study import DARNTraining
from nadek_paper.importance import log_bernoulli, sampled_scores
from nadek_paper.report import markdown_table, summary
from nadek_paper.rows import read_row, read_table, tables
from nadek_paper.workspace import RECIPES
from support.paper_rows import (
    StopError,
    Watched,
    forbidden,
    recipe_text,
    run_row,
    states,
    stop,
    workspace_in,
    write_recipe,
)

SHIPPED = [row for table in tables(RECIPES) for row in read_table(RECIPES / table) if row.darn is not None]
ROW = recipe_text("darn")


def network(n, hidden, generator, scale=1.0):
    model = DARN(torch.rand(n, generator=generator, dtype=torch.float64), hidden, generator=generator)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(scale * torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    return model


def joint(model, v):
    """Log p(v, h) of all h [2^H, B], and log q(h | v)."""
    h = states(model.hidden)[:, None].expand(-1, len(v), -1)
    return model.log_joint(h, v), log_bernoulli(model.posterior_logits(v), h)


def test_joint_probabilities_sum_to_one(generator):
    log_p, log_q = joint(network(4, 3, generator), states(4))
    assert log_p.logsumexp((0, 1)).item() == pytest.approx(0)
    assert torch.allclose(log_q.logsumexp(0), torch.zeros(16, dtype=torch.float64))


@torch.no_grad()
def test_importance_sampling_finds_the_likelihood_of_darn(generator):
    model = network(4, 3, generator, scale=0.7)
    log_p, log_q = joint(model, states(4))
    scores = sampled_scores(model.log_weights, states(4), 10_000)
    assert torch.allclose(scores.log_p, log_p.logsumexp(0), atol=0.1)
    bound = (log_q.exp() * (log_p - log_q)).sum(0).mean().item()
    assert scores.by_draws[1] == pytest.approx(bound, abs=0.05)
    assert bound < scores.by_draws[10] < log_p.logsumexp(0).mean()


def gradients(model, v, monkeypatch):
    """Mean of the estimate and its gradients over all h by their q, and the exact ones."""
    all_h = states(model.hidden)
    monkeypatch.setattr(darn, "draw", lambda logits, generator: all_h)
    rows = v.expand(len(all_h), -1)
    q = log_bernoulli(model.posterior_logits(rows), all_h).exp().detach()
    estimate = (q * model(rows, torch.Generator())).sum()
    log_p, log_q = joint(model, v[None])
    exact = (log_q.exp() * (log_p - log_q)).sum()
    pairs = [torch.autograd.grad(value, [*model.parameters()]) for value in (estimate, exact)]
    names = [name for name, _ in model.named_parameters()]
    return estimate, exact, {name: pair for name, *pair in zip(names, *pairs, strict=True)}


def test_bound_and_its_gradient_are_exact(generator, monkeypatch):
    model, v = network(4, 3, generator), states(4)[6]
    estimate, exact, pairs = gradients(model, v, monkeypatch)
    assert estimate.item() == pytest.approx(exact.item())
    for name, (mine, true) in pairs.items():
        if not name.startswith("encoder"):
            assert torch.allclose(mine, true), name
    assert not torch.allclose(*pairs["encoder"])  # the estimate of Gregor et al. is not exact for q


def test_gradient_of_q_is_exact_without_curvature(generator, monkeypatch):
    model, v = network(4, 3, generator), states(4)[6]
    with torch.no_grad():
        for weight in (model.prior, model.decoder):
            weight.zero_()
    _, _, pairs = gradients(model, v, monkeypatch)
    for name in ("encoder", "encoder_bias"):
        assert torch.allclose(*pairs[name]), name


def test_cost_of_noisy_weights_is_a_divergence(generator):
    model = network(4, 3, generator)
    noise = WeightNoise(model).double()
    expected = 0.0
    for mean, log_std in zip(model.parameters(), noise.log_stds, strict=True):
        with torch.no_grad():
            log_std.normal_(generator=generator)
        spread = ((mean - mean.mean()).square().mean() + (2 * log_std).exp().mean()).sqrt()
        expected += kl_divergence(Normal(mean, log_std.exp()), Normal(mean.mean(), spread)).sum().item()
    assert noise.cost(model).item() == pytest.approx(expected)


def test_noise_has_its_standard_deviations(generator):
    model = network(4, 3, generator)
    noise = WeightNoise(model).double()
    draws = [noise.drawn(model, generator) for _ in range(300)]
    for name, weight in model.named_parameters():
        away = torch.stack([one[name] for one in draws]) - weight
        assert away.std().item() == pytest.approx(0.01, rel=0.15)
        assert away.mean().abs().item() < 0.002


@pytest.mark.parametrize("weight_noise", [False, True])
def test_darn_learns_patterns(weight_noise, generator):
    patterns = torch.tensor([[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    x = patterns[torch.randint(2, (2000, 1), generator=generator)[:, 0]]
    config = DARNConfig(hidden=2, epochs=8, batch_size=50, optimizer=AdamW(lr=5e-2), weight_noise=weight_noise)
    run = DARNRun(x, config)
    while len(run.curve) < config.epochs:
        run.epoch(x[:200])
    assert 0.69 < run.lowest < 1.0  # the best is log 2; independent units have 4.2
    assert run.curve[-1]["validation"] == run.lowest
    assert run.curve[0]["train"] > 2


@pytest.mark.parametrize("weight_noise", [False, True])
def test_training_resumes_exactly(weight_noise, generator):
    x = (torch.rand(60, 5, generator=generator) < 0.4).float()
    config = DARNConfig(hidden=3, epochs=3, batch_size=20, every=1, weight_noise=weight_noise)
    whole, first = DARNRun(x, config), DARNRun(x, config)
    for run, epochs in ((whole, 3), (first, 1)):
        for _ in range(epochs):
            run.epoch(x)
    resumed = DARNRun(x, config, first.state())
    for _ in range(2):
        resumed.epoch(x)
    for name in ("model", "average", "best"):
        for mine, theirs in zip(getattr(resumed, name).parameters(), getattr(whole, name).parameters(), strict=True):
            assert torch.equal(mine, theirs)
    assert [point["validation"] for point in resumed.curve] == [point["validation"] for point in whole.curve]


def test_missing_values_are_refused_by_darn():
    with pytest.raises(ValueError, match="without missing values"):
        DARNRun(torch.tensor([[0.0, torch.nan]]), DARNConfig(hidden=1, epochs=1))


# Rows


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A DARN that was trained: folder, row and record; read only."""
    folder = tmp_path_factory.mktemp("darn")
    row = read_row(write_recipe(folder, "table9/darn.toml", ROW))
    return folder, row, run_row(row, "modern", workspace_in(folder))


@pytest.mark.parametrize("row", SHIPPED, ids=lambda row: row.name)
def test_every_darn_trains(row, generator):
    x = (torch.rand(4, 784, generator=generator) < 0.3).float()
    run = DARNRun(x, replace(row.darn.training, epochs=1, batch_size=2))
    run.epoch(x)
    assert all(weight.isfinite().all() for weight in run.best.parameters())


@torch.no_grad()
def test_record_is_near_exact_likelihood(done):
    folder, row, record = done
    model, x = DARNTraining.of(row, workspace_in(folder)).trained().best, open_data("digits", split="test").x.float()
    h = (torch.arange(256)[:, None, None] >> torch.arange(8) & 1).float().expand(-1, len(x), -1)
    exact = model.log_joint(h, x).logsumexp(0)
    assert exact.mean() - 0.5 < record["test_log_likelihood"] < exact.mean() + 0.1
    assert [line["draws"] for line in record["by_draws"]] == [1, 10, 20]
    assert (record["rows"], record["orderings"], record["epochs"], len(record["curve"])) == (300, None, 3, 3)
    assert ["validation" in point for point in record["curve"]] == [False, True, True]
    line = markdown_table(workspace_in(folder), [row]).splitlines()[2]
    assert line.endswith("| estimate, 300 rows | – | – | – | – |")
    assert summary(workspace_in(folder))["table9"]["darn"]["stale"] is False


def test_finished_darn_is_not_rerun(done, monkeypatch):
    folder, row, record = done
    monkeypatch.setattr("nadek_paper.darn_study.sampled_scores", forbidden)
    assert run_row(row, "modern", workspace_in(folder), watch=Watched(forbidden)) == record


def test_row_resumes(done, tmp_path):
    _, _, record = done
    row = read_row(write_recipe(tmp_path, "table9/darn.toml", ROW))
    with pytest.raises(StopError):
        run_row(row, "modern", workspace_in(tmp_path), watch=Watched(stop))
    again = run_row(row, "modern", workspace_in(tmp_path), watch=(watched := Watched()))
    assert [epoch.epoch for epoch in watched.epochs] == [2, 3]
    assert again["test_log_likelihood"] == record["test_log_likelihood"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("draws = 20", "draws = 0"), "darn: draws: expected at least 1, found 0"),
        (("hidden = 8", "hidden = 0"), "darn.training: hidden: expected at least 1, found 0"),
    ],
)
def test_errors_in_rows_of_darn_are_named(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_row(write_recipe(tmp_path, "table9/darn.toml", ROW.replace(*change)))
