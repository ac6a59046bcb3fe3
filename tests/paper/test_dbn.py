"""Deep belief networks: likelihoods against enumeration, and the top RBM over the hidden units of the first."""

import math

import pytest
import torch

from nadek_paper.dbn_study import DBN
from nadek_paper.importance import log_bernoulli, sampled_scores
from nadek_paper.rbm import RBM, RBMConfig, fit_rbm
from support.paper_rows import exact_log_partition, machine, states


def exact(model, v):
    """Log p(v) by all states of both layers of hidden units, written out."""
    top, scores = model.top, []
    for h in states(len(model.first.c)):
        joint = [(top.b @ h + top.c @ k + k @ top.W @ h).item() for k in states(len(top.c))]
        log_p = torch.tensor(joint, dtype=torch.float64).logsumexp(0) - exact_log_partition(top)
        p = torch.sigmoid(model.first.W.t() @ h + model.first.b)
        scores.append(log_p + (v * p.log() + (1 - v) * (1 - p).log()).sum(1))
    return torch.stack(scores).logsumexp(0)


def test_exact_probabilities_sum_to_one(generator):
    model = DBN(machine(3, 4, generator), machine(2, 3, generator))
    assert exact(model, states(4)).logsumexp(0).item() == pytest.approx(0)


def test_importance_sampling_finds_the_likelihood_of_a_dbn(generator):
    model = DBN(machine(3, 4, generator), machine(5, 3, generator))
    scores = sampled_scores(model.log_weights, states(4), 10_000)
    log_p = scores.log_p - exact_log_partition(model.top)
    assert torch.allclose(log_p, exact(model, states(4)), atol=0.05)


def test_fewer_draws_bound_from_below(generator):
    model = DBN(machine(3, 4, generator), machine(5, 3, generator))
    v, logits = states(4), model.first.hidden_logits(states(4))
    scores = sampled_scores(model.log_weights, v, 5000)
    assert list(scores.by_draws) == [1, 10, 100, 1000, 5000]
    values = [value - exact_log_partition(model.top) for value in scores.by_draws.values()]
    assert values[:3] == sorted(values[:3])
    assert values[0] < exact(model, v).mean() < values[-1] + 0.05
    q = [log_bernoulli(logits, h) for h in states(3)]
    p = [log_bernoulli(model.first.visible_logits(h[None]), v) + model.top.log_weight(h[None]) for h in states(3)]
    bound = sum(one.exp() * (other - one) for one, other in zip(q, p, strict=True))
    assert scores.by_draws[1] == pytest.approx(bound.mean().item(), abs=0.05)


@pytest.mark.parametrize(("draws", "numbers"), [(1, [1]), (7, [1, 7]), (10, [1, 10]), (60, [1, 10, 60])])
def test_draws_of_a_constant_weight(draws, numbers):
    scores = sampled_scores(lambda v, n, generator: v[:, 0].expand(n, -1), torch.arange(130.0)[:, None], draws)
    assert torch.allclose(scores.log_p, torch.arange(130.0, dtype=torch.float64))
    assert scores.by_draws == {number: pytest.approx(64.5) for number in numbers}


def test_upside_down_copy_is_the_first_rbm(generator):
    """Then draws are from p(h | v) itself: one is enough, for every row."""
    first = machine(3, 4, generator)
    model = DBN(first, RBM(first.W.t(), first.c, first.b))
    scores = sampled_scores(model.log_weights, states(4), 1)
    assert torch.allclose(scores.log_p, first.log_weight(states(4)))


def learn(x, first, config, **options):
    return fit_rbm(x, config, below=first, **options)


def test_top_begins_as_the_first_rbm(generator):
    first = RBM(*(tensor.float() for tensor in vars(machine(3, 4, generator)).values()))
    x = (torch.rand(60, 4, generator=generator) < 0.4).float()
    top = learn(x, first, RBMConfig(hidden=4, epochs=1, lr=0.0)).average
    assert [torch.equal(*pair) for pair in ((top.W, first.W.t()), (top.b, first.c), (top.c, first.b))] == [True] * 3
    wider = learn(x, first, RBMConfig(hidden=6, epochs=1, lr=0.0)).average
    assert torch.equal(wider.W[:4], first.W.t())
    assert 0 < wider.W[4:].abs().max() < 0.1
    with pytest.raises(ValueError, match="hidden: expected at least the 4 visible units below, found 3"):
        learn(x, first, RBMConfig(hidden=3, epochs=1))


def test_top_learns_how_hidden_units_go_together(generator):
    """Each hidden unit of the first layer has two columns to itself; in the data all are alike."""
    W = 8 * torch.eye(3).repeat_interleave(2, 1)
    first = RBM(W, torch.full((6,), -4.0), torch.full((3,), -8.0))
    x = torch.randint(2, (200, 1), generator=generator).float().expand(-1, 6)
    top = learn(x, first, RBMConfig(hidden=6, epochs=30, batch_size=20, lr=0.3, ema_decay=0.9, gibbs_steps=2)).result
    alike = torch.tensor([[0.0] * 6, [1.0] * 6], dtype=torch.float64)
    before, after = (
        exact(DBN(*(RBM(*(tensor.double() for tensor in vars(one).values())) for one in (first, upper))), alike).mean()
        for upper in (RBM(first.W.t(), first.c, first.b), top)
    )
    assert before.item() == pytest.approx(-3 * math.log(2), abs=0.3)
    assert before + 0.3 < after < -math.log(2)
