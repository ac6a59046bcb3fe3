"""What is hidden from a row while training, and what costs add up; that they estimate log p stands in the contract."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

import reference
from nadek.inference import estimate_log_prob, log_prob
from nadek.inference.order_agnostic import MEAN_ROOT, PAPER, MaskDistribution, fixed_order_costs, l2_penalty, step_costs
from nadek.models import IterativeNADE, ModelConfig, nade_k
from nadek.models.cores import DeepConfig, ResidualConfig
from nadek.models.layers import drop
from nadek.training import prepare
from nadek.training.fit_factors import fit_factors
from support.models import every_model, seeded
from zoo import build

STRATIFIED = MaskDistribution(stratified=True)


def code(rows):
    """The number that the bits of each row are."""
    return (rows.long() * 2 ** torch.arange(rows.shape[1] - 1, -1, -1)).sum(1).numpy()


# The mask law


def probability(size, n, tilt=0.0, law="orderings"):
    """P(hidden = S) for a set of so many cells out of n: 1 / (n C(n, |S|)) without a tilt."""
    if law == "holes":
        return (2 * (n - size) + 1) / n**2 / math.comb(n, size)
    return ((size / n) ** (1 - tilt) - ((size - 1) / n) ** (1 - tilt)) / math.comb(n, size)


@pytest.mark.parametrize("options", [{}, {"tilt": 0.6}, {"law": "holes"}], ids=["plain", "tilted", "holes"])
@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("cells", ["1111", "1011", "0110"])
def test_masks_follow_their_law(cells, stratified, options, generator):
    """Over the sets of observed cells, and never-observed cells are missing too."""
    observed = torch.tensor([cell == "1" for cell in cells])
    n, draws = int(observed.sum()), 100_000
    missing = MaskDistribution(stratified=stratified, **options).sample(observed.expand(draws, -1), generator=generator)
    assert missing[:, ~observed].all()
    hidden = reference.all_rows((2,) * 4).astype(bool) & observed.numpy()
    sets = np.unique(hidden[hidden.any(1)], axis=0)
    expected = np.array([probability(int(s.sum()), n, **options) for s in sets])
    assert expected.sum() == pytest.approx(1)
    counts = np.bincount(code(missing & observed), minlength=16)[code(torch.from_numpy(sets))]
    assert counts.sum() == draws  # nothing but these sets: never the empty one
    # sizes are spread evenly when stratified, so the statistic is smaller than chi-square: only the upper tail counts
    assert stats.chisquare(counts, expected * draws).pvalue > 1e-3


@pytest.mark.parametrize(("name", "value"), [("law", "ordering"), ("law", None), ("tilt", 1.0)])
def test_unknown_law_of_masks_is_refused(name, value):
    masks = MaskDistribution()
    object.__setattr__(masks, name, value)  # a type check of the tests would come first
    with pytest.raises(ValueError, match=f"^{name}: expected .*, found {value!r}"):
        masks.__post_init__()


@pytest.mark.parametrize("options", [*({"tilt": tilt} for tilt in (0.0, 0.5, 0.95, 0.999)), {"law": "holes"}])
@pytest.mark.parametrize("cells", ["1111", "1011"])
def test_every_mask_hides_something(cells, options, generator, monkeypatch):
    """Also where the number drawn is so near to one that its power is one."""
    observed = torch.tensor([cell == "1" for cell in cells]).expand(6, -1)
    real = torch.rand
    for largest in (1 - 2**-28, 1 - 2**-53):
        monkeypatch.setattr(torch, "rand", lambda *shape, u=largest, **told: real(*shape, **told).fill_(u))
        assert (MaskDistribution(**options).sample(observed) & observed).any(1).all()
    monkeypatch.undo()
    for _ in range(50):
        missing = MaskDistribution(stratified=True, **options).sample(observed, generator=generator)
        assert (missing & observed).any(1).all()


def test_stratified_rows_follow_the_law(generator):
    observed = torch.ones(6, 4, dtype=torch.bool)
    sizes = torch.stack([STRATIFIED.sample(observed, generator=generator).sum(1) for _ in range(4_000)])
    for row in range(6):
        counts = np.bincount(sizes[:, row], minlength=5)[1:]
        assert stats.chisquare(counts).pvalue > 1e-3


def test_stratified_batch_covers_every_count(generator):
    missing = STRATIFIED.sample(torch.ones(12, 4, dtype=torch.bool), generator=generator)
    assert np.bincount(missing.sum(1), minlength=5).tolist() == [0, 3, 3, 3, 3]
    assert PAPER.sample(torch.ones(50, 1, dtype=torch.bool), generator=generator).all()


# Costs


@every_model
def test_tilt_keeps_the_expected_cost(name, generator):
    """Summed over all sets that can be hidden: the weights undo exactly what the draw prefers. Rows with holes, too."""
    model, x = build(name, 4), torch.from_numpy(reference.all_rows((2,) * 4))
    observed = torch.rand(x.shape, generator=generator) < 0.7
    observed[~observed.any(1)] = True
    x, n = x.masked_fill(~observed, 0), observed.sum(1)

    def expected(tilt):
        total = torch.zeros(model.steps, len(x), dtype=torch.float64)
        for hidden in torch.from_numpy(reference.all_rows((2,) * 4)).bool():
            targets = hidden & observed
            rows = ((~hidden | observed).all(1) & targets.any(1)).nonzero().squeeze(1)  # this set can be hidden there
            chances = torch.tensor(
                [probability(int(hidden.sum()), int(of), tilt) for of in n[rows]], dtype=torch.float64
            )
            costs = step_costs(
                model, x[rows], targets[rows] | ~observed[rows], observed[rows], masks=MaskDistribution(tilt=tilt)
            )
            total[:, rows] += chances * costs
        return total

    torch.testing.assert_close(expected(0.6), expected(0.0), rtol=1e-12, atol=1e-12)


@every_model
def test_holes_weigh_by_root_of_targets(name, generator):
    """Whatever tilt there is elsewhere: the law has one of its own. Rows with holes, too."""
    model, x = build(name, 5), torch.from_numpy(reference.all_rows((2,) * 5))
    observed = torch.rand(x.shape, generator=generator) < 0.7
    observed[:, 0] = True
    missing = MaskDistribution("holes").sample(observed, generator=generator)
    share = (missing & observed).sum(1) / observed.sum(1)
    expected = step_costs(model, x, missing, observed) * share.double().sqrt() * 15 / 8
    for tilt in (0.0, 0.5):
        found = step_costs(model, x, missing, observed, masks=MaskDistribution("holes", tilt))
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)


def test_holes_cost_nats_a_row():
    n = 5_000
    share, chances = np.arange(1, n + 1) / n, [(2 * (n - m) + 1) / n**2 for m in range(1, n + 1)]
    assert np.sqrt(share) @ chances == pytest.approx(MEAN_ROOT, rel=1e-3)


@every_model
def test_penalty_sums_squares_of_matrices(name):
    model = build(name, 4)
    expected = sum((p.detach().numpy() ** 2).sum() for p in model.parameters() if p.ndim >= 2)
    assert l2_penalty(model).item() == pytest.approx(expected, rel=1e-12)


def test_bfloat16_logits_cost_float32():
    model = nade_k(4, hidden=(6,), steps=2, generator=torch.Generator().manual_seed(0))
    x, missing = torch.zeros(3, 4, dtype=torch.uint8), torch.ones(3, 4, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        assert model(x, missing)[-1].dtype == torch.bfloat16
        assert step_costs(model, x, missing).dtype == torch.float32
        assert fixed_order_costs(model, x, torch.arange(4)).dtype == torch.float32


@pytest.mark.parametrize("tilt", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_reduced_precision_keeps_row_weights(dtype, tilt):
    """A network of zeros thinks the same in every dtype: only the weights n / (number of targets) could differ."""
    model = nade_k(50, hidden=(3,), steps=1)
    with torch.no_grad():
        for value in model.parameters():
            value.zero_()
    x, missing = torch.zeros(50, 50, dtype=torch.uint8), torch.ones(50, 50).tril().bool()
    expected = step_costs(model, x, missing, masks=MaskDistribution(tilt=tilt))
    order = torch.arange(50)
    exact = fixed_order_costs(model, x, order)
    model = model.to(dtype)
    torch.testing.assert_close(
        step_costs(model, x, missing, masks=MaskDistribution(tilt=tilt)), expected, rtol=1e-6, atol=0
    )
    torch.testing.assert_close(fixed_order_costs(model, x, order), exact, rtol=1e-6, atol=0)


def test_fixed_order_costs_count_the_first_guess(generator):
    options = {"core": DeepConfig(hidden=(4,)), "steps": 1, "fill": "zero", "ordering": (1, 0, 2, 3)}
    model = IterativeNADE(ModelConfig(n_variables=4, factors=2, **options), generator=generator).double()
    x = torch.from_numpy(reference.all_rows((2,) * 4)).double()
    fit_factors(model, prepare(x[[0, 3, 3, 12, 12, 15]]))
    torch.testing.assert_close(-fixed_order_costs(model, x, model.own_ordering)[0], log_prob(model, x))


def test_no_rows_have_no_estimates():
    assert estimate_log_prob(nade_k(4, hidden=(3,)), torch.zeros(0, 4)).shape == (0,)


# Dropout


@pytest.fixture(params=[DeepConfig(hidden=(16, 16), dropout=0.5), ResidualConfig(width=16, dropout=0.5)])
def dropping(request, generator):
    """A model with dropout, rows and masks."""
    model = IterativeNADE(ModelConfig(n_variables=6, core=request.param, steps=2), generator=generator)
    x = torch.from_numpy(reference.all_rows((2,) * 6))
    return model, x, PAPER.sample(torch.ones(x.shape, dtype=torch.bool), generator=generator)


def test_dropout_acts_while_training_only(dropping):
    model, x, missing = dropping
    assert torch.equal(*(step_costs(model.eval(), x, missing, generator=seeded(s)) for s in (1, 2)))
    assert not torch.equal(*(step_costs(model.train(), x, missing, generator=seeded(s)) for s in (1, 2)))


def test_dropout_keeps_the_expected_activation(generator):
    """Inverted dropout: what is kept is scaled up, so that the mean over masks is the undropped activation."""
    core = DeepConfig(hidden=(4,), dropout=0.25).build().train()
    u = torch.tensor([[-1.0, -0.2, 0.3, 2.0]]).expand(20_000, -1)
    h, _ = core(u, None, generator=generator)
    assert (h == 0).double().mean().item() == pytest.approx(0.25, abs=0.01)
    torch.testing.assert_close(h.mean(0), torch.tanh(u[0]), rtol=0, atol=0.03)


@pytest.mark.parametrize("rate", [0.001, 0.5, 0.9, 0.999999])
def test_dropout_drops_its_rate(rate, generator):
    mask = drop(torch.ones(30_001, 3), rate, generator) > 0
    assert 1 - mask.double().mean(0).numpy() == pytest.approx(rate, abs=5 * (rate * (1 - rate) / 30_001) ** 0.5 + 2e-4)


@pytest.mark.parametrize("own", [slice(0, 5), slice(3, 9), slice(16_380, 16_390), slice(1), slice(0, 0), slice(None)])
def test_own_rows_are_those_of_all(own):
    observed = torch.rand(16_400, 3, generator=seeded()) < 0.8
    observed[:, 0] = True
    everything, some = (STRATIFIED.sample(observed, generator=seeded(1), own=rows) for rows in (slice(None), own))
    assert torch.equal(some, everything[own])
