"""Restricted Boltzmann machines: constants against enumeration, training towards the data, and mean field."""

import warnings

import pytest
import torch

from nadek_paper.rbm import RBM, AISConfig, RBMConfig, _gradient, fit_rbm, gibbs, log_partition
from support.paper_rows import StopError, exact_log_partition, machine, states


def test_exact_constant_sums_all_states(generator):
    small = machine(3, 4, generator)
    energies = [(small.b @ v + small.c @ h + h @ small.W @ v).item() for v in states(4) for h in states(3)]
    expected = torch.tensor(energies, dtype=torch.float64).logsumexp(0).item()
    assert exact_log_partition(small) == pytest.approx(expected)
    assert exact_log_partition(RBM(small.W.t(), small.c, small.b)) == pytest.approx(expected)
    assert small.log_weight(states(4)).logsumexp(0).item() == pytest.approx(expected)


@pytest.mark.parametrize("mean", [0.5, 0.1])
def test_annealing_finds_the_constant(mean, generator):
    small = machine(6, 20, generator)
    config = AISConfig(chains=400, temperatures=300)
    estimate = log_partition(small, torch.full((20,), mean), config)
    assert estimate.value == pytest.approx(exact_log_partition(small), abs=4 * estimate.error)
    assert 0.001 < estimate.error < 0.2
    assert log_partition(small, torch.full((20,), mean), config) == estimate


def test_error_bar_is_calibrated(generator):
    small = machine(5, 8, generator, scale=0.7)
    exact = exact_log_partition(small)
    runs = [
        log_partition(small, torch.full((8,), 0.5), AISConfig(chains=50, temperatures=20, seed=s)) for s in range(40)
    ]
    scaled = torch.tensor([(run.value - exact) / run.error for run in runs])
    assert 0.6 < scaled.std().item() < 1.6
    assert abs(scaled.mean().item()) < 0.6


def test_independent_units_need_one_temperature(generator):
    c = torch.tensor([0.5, -1.0], dtype=torch.float64)
    b = torch.randn(5, generator=generator, dtype=torch.float64)
    alone = RBM(torch.zeros(2, 5, dtype=torch.float64), b, c)
    estimate = log_partition(alone, torch.sigmoid(b), AISConfig(chains=2, temperatures=1))
    assert estimate.value == pytest.approx(exact_log_partition(alone))
    assert estimate.error == pytest.approx(0)


def test_gibbs_keeps_the_distribution(generator):
    small = machine(3, 3, generator)
    p = (small.log_weight(states(3)) - exact_log_partition(small)).exp()
    v = gibbs(small, torch.zeros(20_000, 3, dtype=torch.float64), 30, generator)
    shares = torch.bincount((v @ torch.tensor([4.0, 2.0, 1.0], dtype=torch.float64)).long(), minlength=8) / 20_000
    assert torch.allclose(shares.double(), p, atol=0.015)


def test_gradient_is_of_the_likelihood(generator):
    """With all states, as often as they are probable, in place of chains."""
    small = machine(2, 3, generator)
    v = states(3)[[1, 3, 3, 6]]
    p = (small.log_weight(states(3)) - exact_log_partition(small)).exp()
    dreamt = states(3).repeat_interleave((p * 200_000).round().long(), 0)
    gradient = _gradient(small, v, dreamt)
    leaves = [tensor.clone().requires_grad_() for tensor in (small.W, small.b, small.c)]
    mine = RBM(*leaves)
    (mine.log_weight(v).mean() - mine.log_weight(states(3)).logsumexp(0)).backward()
    h_mean, v_mean = torch.sigmoid(small.hidden_logits(v)).mean(0), v.mean(0)
    dW, db, dc = (leaf.grad for leaf in leaves)
    centred = dW - torch.outer(dc, v_mean) - torch.outer(h_mean, db)  # Cho, Raiko and Ilin (2013), the centred form
    assert torch.allclose(gradient.W, centred, atol=1e-3)
    assert torch.allclose(gradient.b, db - h_mean @ centred, atol=1e-3)
    assert torch.allclose(gradient.c, dc - centred @ v_mean, atol=1e-3)


@pytest.mark.parametrize("chains", ["persistent", "data"])
def test_rbm_learns_patterns(chains, generator):
    patterns = torch.tensor([[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    x = patterns[torch.randint(2, (400,), generator=generator)]
    config = RBMConfig(hidden=4, epochs=60, batch_size=50, lr=0.2, ema_decay=0.95, chains=chains, gibbs_steps=5, seed=1)
    errors = []
    learnt = fit_rbm(x, config, on_epoch=lambda state, moved: errors.append(moved)).average
    log_p = learnt.log_weight(x) - exact_log_partition(learnt)
    assert log_p.mean() > -1.5  # the best is -log 2; independent units have -4.2
    assert errors[-1] < errors[0]


def test_fit_resumes_exactly(generator):
    x = (torch.rand(60, 5, generator=generator) < 0.4).float()
    config = RBMConfig(hidden=3, epochs=3, batch_size=20)
    whole = fit_rbm(x, config)
    kept = {}

    def stop(state, _):
        kept["state"] = state
        raise StopError

    before = torch.get_rng_state()
    with pytest.raises(StopError):
        fit_rbm(x, config, on_epoch=stop)
    for _ in range(2):  # the state stays as it is
        resumed = fit_rbm(x, config, resume=kept["state"])
        assert torch.equal(resumed.average.W, whole.average.W)
    assert torch.equal(resumed.chains, whole.chains)
    assert torch.equal(torch.get_rng_state(), before)


def test_short_training_shortens_the_average(generator):
    x = (torch.rand(60, 5, generator=generator) < 0.4).float()
    short = fit_rbm(x, RBMConfig(hidden=3, epochs=10, batch_size=10))
    chosen = fit_rbm(x, RBMConfig(hidden=3, epochs=10, batch_size=10, ema_decay=1 - 5 / 60))
    assert torch.equal(short.average.W, chosen.average.W)


def test_missing_values_are_refused_by_an_rbm():
    with pytest.raises(ValueError, match="without missing values"):
        fit_rbm(torch.tensor([[0.0, torch.nan]]), RBMConfig(hidden=1, epochs=1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBMConfig(hidden=0, epochs=1), "hidden: expected at least 1, found 0"),
        (lambda: RBMConfig(hidden=1, epochs=1, lr=-1.0), "lr: expected a number of at least 0, found -1.0"),
        (lambda: RBMConfig(hidden=1, epochs=1, momentum=5.0), "momentum: expected at least 0 and below 1, found 5.0"),
        (lambda: RBMConfig(hidden=1, epochs=1, l2=float("nan")), "l2: expected a number of at least 0, found nan"),
        (lambda: AISConfig(chains=1), "chains: expected at least 2, found 1"),
    ],
)
def test_numbers_out_of_range(make, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make()


def test_agrees_with_package_rbms(generator):
    """The package rbms (extra "paper"): free energies, the exact constant and its own annealing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it uses torch.jit
        classes = pytest.importorskip("rbms.bernoulli_bernoulli.classes")
        ais = pytest.importorskip("rbms.partition_function.ais")
    small = machine(5, 12, generator, scale=0.5, dtype=torch.float32)
    theirs = classes.BBRBM(weight_matrix=small.W.t().contiguous(), vbias=small.b, hbias=small.c)
    v = (torch.rand(20, 12, generator=generator) < 0.5).float()
    assert torch.allclose(-theirs.compute_energy_visibles(v).double(), small.log_weight(v), atol=1e-4)
    before = torch.get_rng_state()
    torch.manual_seed(0)
    reference = ais.compute_partition_function_ais(2000, 300, theirs)
    torch.set_rng_state(before)
    assert reference == pytest.approx(exact_log_partition(small), abs=0.05)
    mine = log_partition(small, torch.full((12,), 0.5), AISConfig(chains=1000, temperatures=300))
    assert reference == pytest.approx(mine.value, abs=0.05)
