"""The contract of the design: what must hold for every model and for every decoder (exact, by enumeration)."""

import itertools

import numpy as np
import pytest
import torch
from torch.nn.utils import prune

import reference
from nadek.inference import beam, explain_cells, greedy, likelihood
from nadek.inference.decoders.chunking import MAX_BYTES, bytes_per_row
from nadek.inference.likelihood import estimate_log_prob, log_prob, reduce_orderings
from nadek.inference.order_agnostic import fixed_order_costs, step_costs
from nadek.inference.orderings import rank_of
from nadek.inference.row_random import row_keys
from nadek.inference.sampling import (
    complete,
    draws,
    impute,
    level_probabilities,
    missing_probabilities,
    reconstruction_probabilities,
    sample,
)
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import DeepConfig
from nadek.models.variables import MixedVariables
from nadek.training import Phase, Rows, TrainingConfig
from nadek.training.costs import Minibatch, batch_costs
from support.models import any_order, every_model, frequencies, p_value, rows, with_columns
from zoo import WITH_COLUMNS, ZOO, build, decoders_of, orderings_of

every_decoder = pytest.mark.parametrize(
    ("name", "decoder"), [(name, decoder) for name in ZOO for decoder in decoders_of(name)]
)


def some_rows(model, n, generator):
    """Rows from all over the enumeration."""
    every = rows(model)
    return every[torch.randperm(len(every), generator=generator)[:n]]


def column_log_probs(model, logits, x):
    """Log-probability of each value of each row [B, D], by the reference."""
    per_row = [reference.level_log_probs(model.levels, row) for row in logits.detach().numpy()]
    chosen = [[p[int(v)] for p, v in zip(ps, row, strict=True)] for ps, row in zip(per_row, x.numpy(), strict=True)]
    return torch.tensor(chosen)


# 1. Normalisation


@pytest.mark.slow
@every_decoder
@pytest.mark.parametrize("n_variables", [1, 2, 7])
def test_probabilities_sum_to_one(name, decoder, n_variables, generator):
    model = build(name, n_variables)
    for ordering in orderings_of(model, 3, generator):
        total = log_prob(model, rows(model), ordering=ordering, decoder=decoder).exp().sum()
        assert total.item() == pytest.approx(1, abs=1e-12)


# 2. All decoders agree, whatever the chunks


@pytest.mark.slow
@every_model
def test_decoders_agree(name, generator):
    model = build(name, 8)
    x = rows(model)
    x = x[torch.randperm(len(x), generator=generator)[:5000]]  # "mixed, wide" has 176,400
    for ordering in orderings_of(model, 3, generator):
        plain, *others = (log_prob(model, x, ordering=ordering, decoder=decoder) for decoder in decoders_of(name))
        for other in others:
            torch.testing.assert_close(other, plain, rtol=0, atol=1e-11)


class Doubled(IterativeNADE):
    """A network of a user's own, which computes something else with the parts of the paper's."""

    def forward(self, x, missing, **options):
        """Logits of twice the size."""
        return [2 * logits for logits in super().forward(x, missing, **options)]


class DoubledStep(IterativeNADE):
    """One that does so in every step."""

    def step(self, *args):
        """Logits of twice the size."""
        logits, state = super().step(*args)
        return 2 * logits, state


@pytest.mark.parametrize("kind", [Doubled, DoubledStep])
@pytest.mark.parametrize("steps", [1, 3])
def test_subclass_is_called_through_its_forward(steps, kind, generator):
    model = kind(ModelConfig(n_variables=8, core=DeepConfig(hidden=(5,)), steps=steps), generator=generator).double()
    x, ordering = rows(model), torch.randperm(8, generator=generator)
    plain, *others = (log_prob(model, x, ordering=ordering, decoder=decoder) for decoder in ("full", "batched", "auto"))
    for other in (*others, -fixed_order_costs(model, x, ordering)[0]):
        torch.testing.assert_close(other, plain, rtol=0, atol=1e-11)
    with pytest.raises(ValueError, match="needs a network that single variables can be cut out of"):
        log_prob(model, x, ordering=ordering, decoder="incremental")
    nothing = torch.full((3, 8), torch.nan, dtype=torch.float64)
    filled = complete(model, nothing, draws(model, row_keys(0, torch.arange(3))), ordering)
    expected = log_prob(model, filled.values, ordering=ordering, decoder="full")
    torch.testing.assert_close(filled.log_probs.sum(1), expected, rtol=0, atol=1e-11)


def hooked(model):
    model.register_forward_hook(lambda model, args, outputs: [2 * logits for logits in outputs])


def hooked_before(model):
    model.register_forward_pre_hook(lambda model, args: (args[0], args[1] | (torch.arange(8) == 3)))


def given_a_forward(model):
    own = model.forward
    model.forward = lambda *args, **options: [2 * logits for logits in own(*args, **options)]


def pruned_and_moved(model):
    prune.l1_unstructured(model, "W", 0.5)
    with torch.no_grad():
        model.W_orig += 1  # W follows when the network is called


@pytest.mark.parametrize("change", [hooked, hooked_before, given_a_forward, pruned_and_moved])
@pytest.mark.parametrize("steps", [1, 3])
def test_modified_network_is_called_as_whole(change, steps, generator):
    config = ModelConfig(n_variables=8, core=DeepConfig(hidden=(5,)), steps=steps)
    model = IterativeNADE(config, generator=generator).double()
    x, ordering = rows(model), torch.randperm(8, generator=generator)
    unchanged = log_prob(model, x, ordering=ordering)
    change(model)
    auto, costs = log_prob(model, x, ordering=ordering), fixed_order_costs(model, x, ordering)[0]
    plain, positions = (log_prob(model, x, ordering=ordering, decoder=decoder) for decoder in ("full", "batched"))
    for other in (auto, positions, -costs):
        torch.testing.assert_close(other, plain, rtol=0, atol=1e-11)
    assert (plain - unchanged).abs().max() > 1e-3
    with pytest.raises(ValueError, match="without hooks"):
        log_prob(model, x, ordering=ordering, decoder="incremental")


def test_level_tables_respect_memory_bound(monkeypatch, generator, bound_memory):
    """One variable of many levels among many of two: every row has a table of all variables and all levels."""
    model = IterativeNADE(
        ModelConfig(n_variables=21, levels=(2,) * 20 + (64,), core=DeepConfig(hidden=(4,)), steps=2),
        torch.full((84,), 0.1),
        generator=generator,
    )
    x, bound, seen, scores = torch.zeros(100, 21), 2**18, [], MixedVariables._scores

    def watched(*arguments):
        table = scores(*arguments)
        seen.append(table.numel() * table.element_size())
        return table

    monkeypatch.setattr(MixedVariables, "_scores", watched)
    bound_memory(bound)
    log_prob(model, x, ordering=torch.arange(21), decoder="full")
    explain_cells(model, x)
    level_probabilities(model, x)
    assert max(seen) <= bound / 4


@pytest.mark.slow
@with_columns
def test_products_in_another_dtype_cost_little(name, generator):
    """More variables than one block of columns, so that the rounded shapes are met too."""
    model = build(name, 70, noise=0.2)
    x = torch.randint(0, 12, (40, 70), generator=generator) % torch.tensor(model.levels)
    ordering = orderings_of(model, 1, generator)[0]
    exact = log_prob(model, x, ordering=ordering, decoder="full")
    for dtype, close in ((torch.float32, 1e-3), (torch.bfloat16, 2.0)):
        coarse = log_prob(model.float(), x, ordering=ordering, decoder="incremental", dtype=dtype)
        assert (coarse - exact).abs().max() < close
        assert abs((coarse - exact).mean()) < close / 2


@every_decoder
def test_rare_rows_score_alike_in_float32(name, decoder, generator):
    """Nearly deterministic models: complements are far below the rounding of 1."""
    exact, rounded = build(name, 6), build(name, 6).float()
    with torch.no_grad():
        for parameter in (exact.b, exact.output_weight if name in WITH_COLUMNS else exact.b):
            parameter *= 8
    rounded.load_state_dict(exact.state_dict())
    x, orderings = some_rows(exact, 64, generator), orderings_of(exact, 2, generator)
    scores = [log_prob(model, x, orderings=orderings, decoder=decoder) for model in (rounded, exact)]
    assert scores[1].min() < -8
    torch.testing.assert_close(*scores, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(*map(reduce_orderings, scores), rtol=1e-4, atol=1e-3)


@pytest.mark.slow
@every_decoder
@pytest.mark.parametrize("n_bytes", [1, 5000])
def test_chunks_change_nothing(name, decoder, n_bytes, generator, bound_memory):
    model = build(name, 6)
    x = rows(model)[::7]
    ordering = orderings_of(model, 1, generator)[0]
    whole = log_prob(model, x, ordering=ordering, decoder=decoder)
    bound_memory(n_bytes)
    chunked = log_prob(model, x, ordering=ordering, decoder=decoder)
    torch.testing.assert_close(chunked, whole, rtol=0, atol=1e-12)


@every_model
@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_batch_does_not_change_a_row(name, dtype, near, generator):
    model = build(name, 6).to(dtype)
    x = rows(model)
    ordering = orderings_of(model, 1, generator)[0]
    alone, together = (log_prob(model, some, ordering=ordering) for some in (x[17:18], x))
    torch.testing.assert_close(alone, together[17:18], rtol=0, atol=near)


@pytest.mark.slow
@any_order
def test_rows_with_own_orderings(name, generator, bound_memory):
    model = build(name, 5)
    x = some_rows(model, 30, generator)
    orderings = orderings_of(model, len(x), generator)
    each = torch.cat([log_prob(model, x[i : i + 1], ordering=o, decoder="full") for i, o in enumerate(orderings)])
    for decoder in ("full", "batched"):
        for n_bytes in (MAX_BYTES, 20 * bytes_per_row(model)):
            bound_memory(n_bytes)
            together = log_prob(model, x, ordering=orderings, decoder=decoder)
            torch.testing.assert_close(together, each, rtol=0, atol=1e-12)


# 3. What is missing is never read, what is observed is


@every_model
def test_a_missing_value_is_never_read(name):
    model = build(name, 6)
    x, missing = torch.tensor([[0.0, 1, 0, 1, 1, 0]], dtype=torch.float64), torch.tensor([[0, 1, 0, 1, 0, 0]]).bool()
    for other in (1.0, -7.5, torch.nan):
        changed = torch.where(missing, other, x)
        for a, b in zip(model(x, missing), model(changed, missing), strict=True):
            assert torch.equal(a, b)
    codes = torch.where(missing, torch.tensor(77), x.long()).to(torch.uint8)
    for a, b in zip(model(x, missing), model(codes, missing), strict=True):
        assert torch.equal(a, b)


@every_model
def test_an_observed_value_is_read(name):
    model = build(name, 6)
    x, missing = torch.tensor([[0.0, 1, 0, 1, 1, 0]], dtype=torch.float64), torch.tensor([[0, 1, 0, 1, 0, 0]]).bool()
    changed = x.clone()
    changed[0, 0] = 1
    assert (model(x, missing)[-1] != model(changed, missing)[-1])[model.variables.expand(missing)].all()


@every_model
def test_observed_values_stay_clamped(name):
    model = build(name, 6)
    x, missing = torch.tensor([[0, 1, 0, 1, 1, 0]]), torch.tensor([[0, 1, 0, 1, 0, 0]]).bool()
    states = reconstruction_probabilities(model, x, missing, steps=4)
    hidden, shown = model.variables.expand(missing), torch.tensor(reference.one_hot(model.levels, x[0].numpy()))
    assert states.shape == (5, 1, model.variables.n_columns)
    assert (states[:, 0, ~hidden[0]] == shown[~hidden[0]]).all()
    first = model.first_state(x, missing).expand(1, -1)  # `fill`, or the first guess, see tests/reference.py
    torch.testing.assert_close(states[0, hidden], first[hidden].to(states.dtype))


# 4. The objectives estimate what decoding computes


@pytest.mark.slow
@any_order
def test_expected_cost_is_mean_log_prob(name):
    """All orderings, all positions, all rows: pins mask law, loss weight and decoding to each other."""
    model, D = build(name, 4), 4
    x = rows(model)
    orderings = torch.tensor(list(itertools.permutations(range(D))))
    missing = torch.stack([rank_of(o) >= shown for o in orderings for shown in range(D)])
    costs = step_costs(model, x.repeat(len(missing), 1), missing.repeat_interleave(len(x), 0))[-1]
    expected = -log_prob(model, x, orderings=orderings).mean(0)
    torch.testing.assert_close(costs.view(-1, len(x)).mean(0), expected, rtol=0, atol=1e-12)


@any_order
def test_pretraining_cost_averages_steps(name, generator):
    model = build(name, 5)
    x = rows(model)
    missing = torch.rand(x.shape, generator=generator) < 0.5
    missing[:, 0] = True
    costs = step_costs(model, x, missing)
    weight = 5 / missing.sum(1).double()
    for t in range(model.steps):
        log_p = column_log_probs(model, model(x, missing, steps=t + 1)[-1], x)
        expected = weight * -(log_p * missing).sum(1)
        torch.testing.assert_close(costs[t], expected, rtol=0, atol=1e-12)
    for objective, counted in (("all_steps", costs), ("last_step", costs[-1:])):
        batch, phase = Minibatch(Rows(x, None, 0), missing), Phase(objective=objective)
        mine = batch_costs(model, batch, phase, TrainingConfig(), teacher=None, generator=generator)
        torch.testing.assert_close(mine, counted, rtol=0, atol=1e-15)


@any_order
def test_missing_values_are_no_targets(name, generator):
    """A column that nobody saw is as good as absent: same cost as on the other columns with it always missing."""
    model = build(name, 5)
    x = rows(model)
    holes = torch.zeros(x.shape, dtype=torch.bool)
    holes[:, 2] = True
    drawn = torch.rand(x.shape, generator=generator) < 0.5
    drawn[:, 0] = True
    missing = drawn | holes
    cost = step_costs(model, x.masked_fill(holes, 0), missing, ~holes)[-1]
    log_p = column_log_probs(model, model(x, missing)[-1], x)
    targets = drawn & ~holes
    torch.testing.assert_close(cost, 4 / targets.sum(1).double() * -(log_p * targets).sum(1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("stride", [1, 2, 4, 6])
@every_model
def test_fixed_order_cost_averages_to_log_prob(name, stride, generator):
    """Over the positions that a stride may start from."""
    model = build(name, 6)
    x = rows(model)
    for ordering in orderings_of(model, 2, generator):
        expected = -log_prob(model, x, ordering=ordering, decoder="full")
        costs = [fixed_order_costs(model, x, ordering, start=start, stride=stride)[0] for start in range(stride)]
        torch.testing.assert_close(torch.stack(costs).mean(0), expected, rtol=0, atol=1e-11)


@pytest.mark.slow
@any_order
def test_the_estimate_is_unbiased(name, generator):
    model = build(name, 4, noise=0.3)
    x = rows(model)[[5]].expand(40_000, -1)
    orderings = torch.tensor(list(itertools.permutations(range(4))))
    exact = log_prob(model, x[:1], orderings=orderings).mean()
    estimate = estimate_log_prob(model, x, generator=generator)
    assert abs(estimate.mean() - exact) < 4 * estimate.std() / len(x) ** 0.5


def test_estimate_respects_memory_bound(monkeypatch, bound_memory):
    model = build("nade-2 3hl", 4)
    x, sizes, costs_of = rows(model), [], likelihood.step_costs
    bound_memory(3 * bytes_per_row(model) * (model.steps + 1))

    def step_costs(model, x, missing, **options):
        sizes.append(len(x))
        return costs_of(model, x, missing, **options)

    whole = estimate_log_prob(model, x[:3], generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(likelihood, "step_costs", step_costs)
    assert estimate_log_prob(model, x, generator=torch.Generator().manual_seed(0)).shape == (len(x),)
    assert max(sizes) == 3
    assert sum(sizes) == len(x)
    assert torch.equal(estimate_log_prob(model, x[:3], generator=torch.Generator().manual_seed(0)), whole)


# 5. Samples follow the likelihood


@pytest.mark.parametrize("chunk", [1, 2, (1, 2)])
@every_model
def test_samples_follow_one_ordering(name, chunk, generator):
    model = build(name, 3, noise=0.5)
    ordering = orderings_of(model, 1, generator)
    drawn = sample(model, 20_000, orderings=ordering, chunk=chunk, generator=generator)
    _assert_frequencies(model, drawn, log_prob(model, rows(model), ordering=ordering[0], chunk=chunk).exp())


@pytest.mark.slow
@any_order
def test_samples_follow_mixture_over_orderings(name, generator):
    model = build(name, 3)
    orderings = torch.tensor(list(itertools.permutations(range(3))))
    drawn = sample(model, 20_000, generator=generator)
    _assert_frequencies(model, drawn, log_prob(model, rows(model), orderings=orderings, reduce="mixture").exp())


def test_samples_follow_mixture_over_given_orderings(generator):
    model, orderings = build("nade-5 1hl", 3), torch.tensor([[0, 1, 2], [2, 1, 0]])
    table = log_prob(model, rows(model), orderings=orderings)
    assert (table[0].exp() - table[1].exp()).abs().max() > 0.05
    drawn = sample(model, 20_000, orderings=orderings, generator=generator)
    _assert_frequencies(model, drawn, reduce_orderings(table).exp())


@pytest.mark.slow
@any_order
@pytest.mark.parametrize("share", [True, False])
def test_imputations_keep_the_evidence(name, share, generator):
    """Along an ordering with the evidence first, p(missing | observed) is a ratio of joints of that ordering."""
    model = build(name, 4)
    x = torch.tensor([[torch.nan, 1.0, torch.nan, 0.0]], dtype=torch.float64).expand(20_000, -1)
    drawn = impute(model, x, share=share, generator=generator)
    assert (drawn[:, [1, 3]] == torch.tensor([1, 0])).all()
    candidates = rows(model)
    fits = (candidates[:, 1] == 1) & (candidates[:, 3] == 0)
    firsts = [(1, 3, 0, 2), (1, 3, 2, 0), (3, 1, 0, 2), (3, 1, 2, 0)]
    if share:  # all rows went along one of them: take the frequencies for what they are under each
        p = [log_prob(model, candidates, ordering=torch.tensor(o))[fits].exp() for o in firsts]
        conditionals = [q / q.sum() for q in p]
        observed = frequencies(model, drawn)[fits.numpy()]
        assert max(p_value(observed, q) for q in conditionals) > 1e-3
    else:
        p = torch.stack([log_prob(model, candidates, ordering=torch.tensor(o))[fits].exp() for o in firsts])
        _assert_frequencies(model, drawn, (p / p.sum(1, keepdim=True)).mean(0), fits)


@any_order
def test_imputation_of_different_patterns(name, generator):
    model = build(name, 6)
    x = some_rows(model, 40, generator)
    x[torch.rand(x.shape, generator=generator) < 0.5] = torch.nan
    x[3], x[4] = torch.nan, rows(model)[4]
    for share in (True, False):
        drawn = impute(model, x, share=share, generator=generator)
        assert torch.equal(drawn[~x.isnan()], x[~x.isnan()])
        assert ((drawn >= 0) & (drawn < torch.tensor(model.levels)) & (drawn == drawn.floor())).all()


@any_order
def test_one_pass_probabilities(name):
    model, D = build(name, 5), 5
    x = torch.tensor([[0.0, torch.nan, 0, torch.nan, 0], [0.0, 1, 0, 0, 0]], dtype=torch.float64)
    candidates = rows(model)
    first = torch.tensor([0, 2, 4, 1, 3])  # observed, then cell 1: its conditional must be the one-pass probability
    joint = log_prob(model, candidates, ordering=first).exp() * (candidates[:, [0, 2, 4]] == 0).all(1)
    of_level = torch.zeros(max(model.levels), dtype=torch.float64).index_add(0, candidates[:, 1].long(), joint)
    p = level_probabilities(model, x)
    torch.testing.assert_close(p[0, 1], of_level / of_level.sum(), rtol=0, atol=1e-12)
    torch.testing.assert_close(p.sum(2), torch.ones(2, D, dtype=torch.float64), rtol=0, atol=1e-12)
    assert torch.equal(p[1].argmax(1), x[1].long())
    assert p[1].max() == p[1].max(1).values.min() == 1
    columns = [p[:, j, 1:2] if n == 2 else p[:, j, :n] for j, n in enumerate(model.levels)]
    torch.testing.assert_close(missing_probabilities(model, x), torch.cat(columns, 1), rtol=0, atol=1e-12)


@any_order
@pytest.mark.parametrize("share", [True, False])
def test_nan_weights_are_not_sampled(name, share, generator):
    """They give scores of NaN, which any comparison takes for a 0."""
    model = build(name, 5)
    x = torch.tensor([[torch.nan] * 5, [0, torch.nan, 0, torch.nan, 0]], dtype=torch.float64)
    model.b.data[0] = torch.nan
    for draw in (lambda: sample(model, 3, generator=generator), lambda: impute(model, x, share=share)):
        with pytest.raises(ValueError, match="expected probabilities, found NaN"):
            draw()


# 6. The mixture over orderings


@any_order
def test_mixture_sums_to_one(name, generator):
    """Averaging logits or per-variable probabilities over orderings would not sum to one."""
    model = build(name, 6)
    table = log_prob(model, rows(model), orderings=orderings_of(model, 5, generator))
    mixed = reduce_orderings(table)
    assert mixed.exp().sum().item() == pytest.approx(1, abs=1e-12)
    assert (mixed >= table.mean(0)).all()


# 7. The paper's equations in NumPy


@pytest.mark.parametrize("name", [name for name in WITH_COLUMNS if isinstance(build(name, 2).config.core, DeepConfig)])
def test_equal_to_a_numpy_reference(name, generator):
    model = build(name, 5)
    x = reference.all_rows(model.levels)
    ordering = orderings_of(model, 1, generator)[0]
    expected = [reference.log_prob(model, row, ordering.numpy()) for row in x]
    np.testing.assert_allclose(log_prob(model, rows(model), ordering=ordering).numpy(), expected, atol=1e-12)
    missing = np.array([True, False, True, True, False])
    states = reconstruction_probabilities(model, rows(model)[9:10], torch.tensor(missing)[None])
    np.testing.assert_allclose(states[:, 0].numpy(), reference.reconstructions(model, x[9], missing), atol=1e-12)


# 8. Gradients and global state


@every_model
def test_every_parameter_gets_a_gradient(name, generator):
    model = build(name, 6)
    x = rows(model)
    missing = torch.rand(x.shape, generator=generator) < 0.5
    missing[:, 0] = True
    step_costs(model, x, missing)[-1].mean().backward()
    silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    # a Boltzmann machine's upper layers are only heard at the next step; with one step they would be silent
    assert silent == []


@any_order
def test_the_global_random_state_is_untouched(name, generator):
    before = torch.random.get_rng_state()
    model = build(name, 4)
    drawn = sample(model, 20, generator=generator).double()
    impute(model, drawn.masked_fill(drawn == 1, torch.nan), generator=generator)
    estimate_log_prob(model, drawn, generator=generator)
    log_prob(model, drawn, orderings=3, generator=generator)
    holes = drawn.masked_fill(drawn == 1, torch.nan)
    greedy(model, holes, generator=generator)
    beam(model, holes, width=2, generator=generator)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_evaluation_restores_mode(generator):
    config = ModelConfig(n_variables=6, core=DeepConfig(hidden=(8,), dropout=0.5))
    model = IterativeNADE(config, generator=generator).double().train()
    x = rows(model)
    ordering = torch.arange(6)
    in_training = log_prob(model, x, ordering=ordering)
    assert model.training
    assert torch.equal(in_training, log_prob(model.eval(), x, ordering=ordering))
    assert not model.training


def _assert_frequencies(model, drawn, probabilities, only=None):
    """Chi-square of the drawn rows against their exact probabilities."""
    counts = frequencies(model, drawn) if only is None else frequencies(model, drawn)[only.numpy()]
    assert counts.sum() == len(drawn)
    assert p_value(counts, probabilities.numpy()) > 1e-3
