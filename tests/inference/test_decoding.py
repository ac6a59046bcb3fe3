"""Rows with different holes that walk together, and several variables visited at once: against the slow twins."""

import pytest
import torch

from nadek.inference import log_prob
from nadek.inference.decoders.chunking import bytes_per_row
from nadek.inference.decoders.full import FullDecoder
from nadek.inference.decoders.incremental import IncrementalDecoder, RaggedDecoder
from nadek.inference.decoding import SharedPrefixes, decode, decode_rows
from nadek.inference.likelihood import reduce_orderings
from nadek.inference.orderings import in_stages
from nadek.inference.row_random import row_keys
from nadek.inference.sampling import complete, draws, impute, level_probabilities, sample
from nadek.models import nade_k
from support.models import any_order, close, every_model, frequencies, p_value, rows, seeded, with_columns
from zoo import build, decoders_of, orderings_of

NAN = torch.nan


def some_rows(model, n, generator):
    return (torch.randint(0, 12, (n, model.n_variables), generator=generator) % torch.tensor(model.levels)).double()


def stages(model, n, ordering, generator):
    """What n rows do with each cell, at random; in turn along its ordering where the model knows that one only."""
    stage = torch.randint(0, 3, (n, model.n_variables), generator=generator)
    stage[0], stage[1], stage[2] = 1, 0, 2
    if model.config.ordering is not None:
        stage = stage.sort(1).values[:, ordering.argsort()]
    return stage


# Rows with different stages


@every_model
@pytest.mark.parametrize("n_variables", [1, 7])
def test_ragged_rows_equal_separate_rows(name, n_variables, generator):
    """The twin: for every row an ordering of its own, and the whole network at every position."""
    model = build(name, n_variables)
    for ordering in orderings_of(model, 2, generator):
        x, stage = some_rows(model, 40, generator), stages(model, 40, ordering, generator)
        found = decode_rows(model, x, ordering, stage)
        own = in_stages(model, ordering, stage)
        twin = decode(FullDecoder(model, own), x.gather(1, own), own).log_probs
        expected = torch.zeros_like(twin).scatter_(1, own, twin)
        close(found.log_probs, expected.masked_fill(stage != 1, 0))
        assert torch.equal(found.values, x)


@with_columns
@pytest.mark.parametrize("chunk", [1, 3, 9])
def test_ragged_decoder_equals_full_decoder(name, chunk, generator):
    model = build(name, 7)
    ordering = orderings_of(model, 1, generator)[0]
    x, stage = some_rows(model, 40, generator), stages(model, 40, ordering, generator)
    given, along, variable = x[:, ordering], stage[:, ordering], ordering.expand(40, -1)
    fast = decode(RaggedDecoder(model, ordering, along), given, variable, stage=along, chunk=chunk)
    slow = decode(FullDecoder(model, variable), given, variable, stage=along, chunk=chunk)
    close(fast.log_probs, slow.log_probs)
    close(decode_rows(model, x, ordering.expand(40, -1), stage, chunk=chunk).log_probs[:, ordering], slow.log_probs)


@pytest.mark.slow
@any_order
def test_ragged_draws_follow_their_conditionals(name, monkeypatch):
    monkeypatch.setattr("nadek.inference.sampling.SHARE_FROM", 10**9)
    model, candidates = build(name, 3, noise=0.5), rows(build(name, 3))
    x = torch.full((12_000, 3), NAN, dtype=torch.float64)
    x[::2, 1], x[1::2, 0] = 1 % model.levels[1], 0
    ordering = torch.tensor([2, 0, 1])
    found = complete(model, x, draws(model, row_keys(0, torch.arange(len(x)))), ordering)
    for part, own in ((slice(0, None, 2), (1, 2, 0)), (slice(1, None, 2), (0, 2, 1))):
        joint = log_prob(model, candidates, ordering=torch.tensor(own))
        fits = ((candidates == x[part][0]) | x[part][0].isnan()).all(1)
        assert p_value(frequencies(model, found.values[part])[fits.numpy()], joint[fits].exp()) > 1e-3
        along = log_prob(model, found.values[part], ordering=torch.tensor(own))
        close(found.log_probs[part].sum(1), along - joint[fits].logsumexp(0))


def test_a_given_ordering_is_followed():
    model = build("mixed", 6)
    x = torch.full((20, 6), NAN, dtype=torch.float64)
    x[:, 2] = 0
    found = {}
    for ordering in (torch.arange(6), torch.arange(6).flip(0), torch.arange(6).flip(0).expand(20, -1)):
        drawn = impute(model, x, ordering=ordering, generator=seeded(3))
        keys = row_keys(int(torch.randint(2**63 - 1, (1,), generator=seeded(3))), torch.arange(20))
        assert torch.equal(drawn, complete(model, x, draws(model, keys), ordering).values)
        found[ordering.ndim, int(ordering.flatten()[0])] = drawn
    assert not torch.equal(found[1, 0], found[1, 5])
    assert torch.equal(found[1, 5], found[2, 5])
    with pytest.raises(ValueError, match="ordering: expected a permutation"):
        impute(model, x, ordering=torch.zeros(6, dtype=torch.int64))


def test_incomplete_rows_share_an_ordering(generator, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "nadek.inference.sampling.decode_rows", lambda *a, **o: asked.append(a[2]) or decode_rows(*a, **o)
    )
    x = rows(build("mixed", 6)).masked_fill(torch.rand(144, 6, generator=generator) < 0.5, NAN)
    x[:10] = NAN
    for _ in range(3):
        assert not impute(build("mixed", 6), x, generator=generator).isnan().any()
    assert len(asked) > 3
    assert len({tuple(o.tolist()) for o in asked}) == 3


# Rows in the same state


def test_each_state_is_scored_once():
    model = build("mixed", 5)
    x = rows(model).repeat(4, 1)
    asked = []
    decoder = IncrementalDecoder(model, torch.arange(5), len(x))
    inner = decoder.scores
    decoder.scores = lambda positions, given: asked.append(len(x[given])) or inner(positions, given)
    decode(decoder, x, torch.arange(5).expand(x.shape))
    assert asked == [1, 2, 6, 6, 24]
    assert decoder.shared
    assert not FullDecoder(model, torch.arange(5).expand(3, -1)).shared


def test_states_come_in_few_sizes(generator):
    """Products are compiled, and kept, for each size: with one for each number of states memory would grow."""
    sizes = set()
    for n_rows in range(1, 3000, 7):
        prefixes, codes = SharedPrefixes(n_rows), torch.randint(n_rows // 2 + 1, (n_rows, 1), generator=generator)
        prefixes.append(codes.double())
        for some in (slice(None), torch.arange(0, n_rows, 2)):
            rows, state = prefixes.states(some)
            assert torch.equal(codes[rows][state], codes[some])
            sizes.add(len(codes[rows]))
    assert max(sizes) > 1000
    assert len(sizes) < 200
    alone = SharedPrefixes(100, distinct=True)
    rows, state = alone.states(torch.arange(33, 66))
    assert rows.tolist() == [*range(33, 66), 65]
    assert rows[state].tolist() == list(range(33, 66))


# Several variables at once


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("chunk", [2, 3, 5, 99])
def test_chunked_probabilities_sum_to_one(name, chunk, generator):
    model = build(name, 5)
    x = rows(model)
    for ordering in orderings_of(model, 2, generator):
        plain, *others = (
            log_prob(model, x, ordering=ordering, decoder=decoder, chunk=chunk) for decoder in decoders_of(name)
        )
        assert plain.exp().sum().item() == pytest.approx(1, abs=1e-12)
        for other in others:
            close(other, plain)


@pytest.mark.parametrize("name", ["nade-5 1hl", "mixed"])
def test_memory_bound_keeps_chunks(name, bound_memory):
    model = build(name, 5)
    x, ordering = rows(model)[:2], torch.tensor([3, 0, 4, 1, 2])
    whole = log_prob(model, x, ordering=ordering, decoder="full", chunk=2)
    bound_memory(3 * len(x) * bytes_per_row(model))  # three positions
    close(log_prob(model, x, ordering=ordering, decoder="batched", chunk=2), whole)


@pytest.mark.parametrize("name", ["nade-5 1hl", "mixed"])
def test_chunked_samples_follow_the_mixture(name, generator):
    model = build(name, 3)
    drawn = sample(model, 20_000, chunk=2, generator=generator)
    orderings = torch.tensor([[0, 1, 2], [0, 2, 1], [1, 2, 0], [1, 0, 2], [2, 0, 1], [2, 1, 0]])
    table = torch.stack([log_prob(model, rows(model), ordering=o, chunk=2) for o in orderings])
    assert p_value(frequencies(model, drawn), reduce_orderings(table).exp()) > 1e-3


def test_chunks_cost_likelihood(generator):
    """Of rows that the model itself draws: the difference is a divergence, so it is positive."""
    model = nade_k(12, hidden=(20,), steps=2, mean=torch.full((12,), 0.5), generator=generator).double()
    with torch.no_grad():
        model.W += torch.randn(model.W.shape, generator=generator, dtype=torch.float64)
        model.V += torch.randn(model.V.shape, generator=generator, dtype=torch.float64)
    ordering = torch.randperm(12, generator=generator)[None]
    x = sample(model, 2000, orderings=ordering, generator=generator)
    exact = log_prob(model, x, orderings=ordering)[0].mean()
    costs = [exact - log_prob(model, x, ordering=ordering[0], chunk=chunk).mean() for chunk in (1, 2, 4, 12)]
    assert costs[0] == 0
    assert costs == sorted(costs)
    assert costs[1] > 0.01


@any_order
def test_one_chunk_equals_marginals(name, generator):
    model = build(name, 5)
    x = some_rows(model, 30, generator)
    x = x.masked_fill(torch.rand(x.shape, generator=generator) < 0.5, NAN)
    found = complete(model, x, draws(model, row_keys(0, torch.arange(len(x)))), torch.arange(5), chunk=5)
    each = level_probabilities(model, x).gather(2, found.values.long().unsqueeze(2)).squeeze(2)
    close(found.log_probs, each.masked_fill(~x.isnan(), 1).log())


def test_many_states_fit_reduced_precision():
    n_rows, n_states, n_bits = 321, 288, 9  # a multiple of an eighth of the rows that is more than all of them
    code = torch.arange(n_rows) % n_states
    x = torch.cat([(code[:, None] >> torch.arange(n_bits)) & 1, torch.zeros(n_rows, 3, dtype=torch.long)], dim=1)
    model = nade_k(n_bits + 3, hidden=(8,), steps=2, generator=torch.Generator().manual_seed(0))
    ordering = torch.arange(n_bits + 3)
    close(log_prob(model, x, ordering=ordering, dtype=torch.bfloat16), log_prob(model, x, ordering=ordering), atol=0.2)
