"""What else a model can be asked, against enumeration of all rows (float64)."""

import itertools
import math
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import unwrap  # what users call, whose annotations nobody checks

import numpy as np
import pytest
import torch

from nadek.inference import beam, expected_information, explain_cells, greedy, log_prob
from nadek.inference.likelihood import estimate_log_prob
from nadek.inference.orderings import as_orderings
from nadek.inference.sampling import (
    SHARE_FROM,
    impute,
    level_probabilities,
    missing_probabilities,
    reconstruction_probabilities,
    sample,
)
from nadek.inference.score_rows import FEW_ROWS, SCORE_FROM
from nadek.inference.summary import summarise
from nadek.models import ImageConfig, ImageNetwork, IterativeNADE, ModelConfig, nade_k
from nadek.training import prepare
from support.models import any_order, close, every_model, rows, seeded
from zoo import build, orderings_of

NAN = torch.nan
three_kinds = pytest.mark.parametrize("name", ["nade-5 1hl", "categorical", "mixed", "mixed, residual"])


def holed(model, generator, *, part=0.4):
    """Every row there is with holes anywhere; some rows share a pattern, the first has none, the second only holes."""
    x = rows(model).repeat(2, 1)
    x[torch.rand(x.shape, generator=generator) < part] = NAN
    x[: SHARE_FROM + 2, 1:3] = NAN
    x[0], x[1] = rows(model)[0], NAN
    return x


def agreeing(candidates, row):
    """Which candidates have the values of a row, where it has any."""
    return ((candidates == row) | row.isnan()).all(1)


def staged(ordering, *stages):
    """The ordering with the cells of each stage in turn first, by the slow way."""
    return torch.tensor(list(dict.fromkeys(j for stage in stages for j in ordering.tolist() if stage[j])))


# Marginals


@pytest.mark.slow
@any_order
def test_marginals_are_sums_of_joints(name, generator):
    model = build(name, 4)
    x, candidates = holed(model, generator), rows(model)
    orderings = orderings_of(model, 2, generator)
    found = log_prob(model, x, orderings=orderings)
    for o, ordering in enumerate(orderings):
        for i, row in enumerate(x[:16]):
            along = staged(ordering, ~row.isnan(), row.isnan())
            joint = log_prob(model, candidates[agreeing(candidates, row)], ordering=along)
            close(found[o, i], joint.logsumexp(0))
    one = int(x.isnan().any(1).nonzero()[0])
    alike = x[one].expand(SCORE_FROM + 1, -1)
    close(log_prob(model, alike, orderings=orderings), found[:, [one]].expand(-1, len(alike)))


@any_order
def test_empty_rows_have_probability_one(name, generator):
    model = build(name, 4)
    nothing = torch.full((SCORE_FROM + 1, 4), NAN)
    for few in (1, len(nothing)):
        assert (log_prob(model, nothing[:few], orderings=2, generator=generator) == 0).all()


@pytest.mark.slow
@every_model
def test_marginals_in_chunks_report_progress(name, generator, bound_memory):
    model = build(name, 4)
    x = rows(model)[:24]
    last = [3] if model.config.ordering is None else [model.config.ordering[-1]]
    x[::2, last] = NAN
    orderings, told = orderings_of(model, 2, generator), []
    found = log_prob(model, x, orderings=orderings, progress=lambda *done: told.append(done))
    bound_memory(1)
    close(log_prob(model, x, orderings=orderings), found)
    assert told[-1] == (found.numel(), found.numel())
    assert told == sorted(told)


@any_order
def test_batched_few_rows_equal_decoded_ones(name, generator, monkeypatch, bound_memory):
    model = build(name, 4)
    x, orderings = holed(model, generator)[:FEW_ROWS], orderings_of(model, 2, generator)
    given = torch.tensor([True, False, False, True])
    few = [log_prob(model, x, given=given, orderings=orderings)]
    bound_memory(1)
    few.append(log_prob(model, x, given=given, orderings=orderings))
    monkeypatch.setattr("nadek.inference.score_rows.FEW_ROWS", 0)
    walked = log_prob(model, x, given=given, orderings=orderings)
    for found in few:
        close(found, walked)


# Conditionals


@pytest.mark.slow
@any_order
def test_conditionals_are_ratios_of_joints(name, generator):
    model = build(name, 4)
    x, candidates = holed(model, generator, part=0.25), rows(model)
    given = torch.tensor([False, True, True, False])
    orderings = orderings_of(model, 2, generator)
    found = log_prob(model, x, given=given, orderings=orderings)
    for o, ordering in enumerate(orderings):
        for i, row in enumerate(x[:16]):
            known = ~row.isnan()
            along = staged(ordering, known & given, known & ~given, ~known)
            joint = log_prob(model, candidates, ordering=along)
            condition = torch.where(given, row, NAN)
            both, one = (joint[agreeing(candidates, r)].logsumexp(0) for r in (row, condition))
            close(found[o, i], both - one)


@any_order
def test_chain_rule_holds_along_one_ordering(name, generator):
    model = build(name, 4)
    x, given = holed(model, generator), torch.tensor([True, False, True, False])
    base = torch.stack([staged(o, given, ~given) for o in orderings_of(model, 3, generator)])
    condition = torch.where(given, x, NAN)
    parts = log_prob(model, condition, orderings=base) + log_prob(model, x, given=given, orderings=base)
    close(parts, log_prob(model, x, orderings=base))


def test_all_given_has_probability_one(generator):
    model = build("mixed", 4)
    x = holed(model, generator)
    assert (log_prob(model, x, given=torch.ones(4, dtype=torch.bool), orderings=2, generator=generator) == 0).all()


# Single cells


@pytest.mark.slow
@any_order
def test_cell_given_others_is_joint_ratio(name, generator, bound_memory):
    model = build(name, 4)
    x, candidates = holed(model, generator)[:16], rows(model)
    found = explain_cells(model, x).log_prob
    assert torch.equal(found.isnan(), x.isnan())
    for i, j in itertools.product(range(2, 16, 2), range(4)):
        row, known = x[i], ~x[i].isnan()
        if known[j]:
            itself = torch.arange(4) == j
            joint = log_prob(model, candidates, ordering=staged(torch.arange(4), known & ~itself, itself, ~known))
            both, one = (joint[agreeing(candidates, r)].logsumexp(0) for r in (row, row.masked_fill(itself, NAN)))
            close(found[i, j], both - one)
    bound_memory(1)
    close(explain_cells(model, x).log_prob, found)


@three_kinds
def test_expected_level_is_most_probable(name, generator):
    model = build(name, 4)
    x = holed(model, generator)[:16]
    found = explain_cells(model, x)
    for j, n in enumerate(model.levels):
        levels = x.repeat(n, 1, 1)
        levels[:, :, j] = torch.arange(n)[:, None]
        p = torch.stack([explain_cells(model, each).log_prob[:, j] for each in levels])
        level = p.argmax(0).double().masked_fill(x[:, j].isnan(), NAN)
        assert torch.equal(found.expected[:, j].nan_to_num(-1), level.nan_to_num(-1))
        at_most = torch.where(p <= found.log_prob[:, j] + 1e-12, p, -torch.inf).logsumexp(0)
        close(found.surprise[:, j], -at_most.masked_fill(x[:, j].isnan(), NAN))
    ranked = found.oddest(1000)
    assert len(ranked) == (~x.isnan()).sum()
    surprises = [found.surprise[place].item() for place in ranked]
    ordered = [round(surprise, 3) for surprise in surprises]  # others are equal, see `SURE_DECIMALS`
    assert ordered == sorted(ordered, reverse=True)


# Completions


@three_kinds
def test_completion_log_prob_is_joint_difference(name, generator):
    model = build(name, 4)
    x = holed(model, generator)
    ordering = orderings_of(model, 1, generator)[0]
    for found in (
        greedy(model, x, ordering=ordering),
        beam(model, x, width=3, ordering=ordering),
    ):
        assert torch.equal(found.x[~x.isnan()], x[~x.isnan()])
        assert ((found.x >= 0) & (found.x < torch.tensor(model.levels))).all()
        along = torch.stack([staged(ordering, ~row.isnan(), row.isnan()) for row in x])
        joint = log_prob(model, found.x, ordering=along, decoder="full")
        close(found.log_prob, joint - log_prob(model, x, orderings=ordering[None])[0])
        assert found.log_prob[0] == 0


@three_kinds
def test_greedy_takes_the_best_level(name):
    """By hand, with joints along the ordering; the last cell of it is left to choose."""
    model = build(name, 4)
    candidates, ordering = rows(model), torch.tensor([2, 0, 3, 1])
    x = torch.full((1, 4), NAN, dtype=torch.float64)
    expected = x.clone()
    for j in ordering:
        levels = expected.repeat(model.levels[j], 1)
        levels[:, j] = torch.arange(model.levels[j])
        joint = log_prob(model, candidates, ordering=ordering)
        p = torch.stack([joint[agreeing(candidates, row)].logsumexp(0) for row in levels])
        expected[0, j] = p.argmax()
    assert torch.equal(greedy(model, x, ordering=ordering).x, expected)
    assert torch.equal(greedy(model, x.repeat(SHARE_FROM, 1), ordering=ordering).x[:1], expected)
    assert torch.equal(beam(model, x, width=1, ordering=ordering).x, expected)


@pytest.mark.slow
@any_order
def test_full_width_beam_is_exact(name, generator, bound_memory):
    model = build(name, 4)
    x, candidates = holed(model, generator)[:14], rows(model)
    ordering = orderings_of(model, 1, generator)[0]
    found = beam(model, x, width=math.prod(model.levels), ordering=ordering)
    for i, row in enumerate(x):
        along = staged(ordering, ~row.isnan(), row.isnan())
        possible = candidates[agreeing(candidates, row)]
        joint = log_prob(model, possible, ordering=along)
        assert torch.equal(found.x[i], possible[joint.argmax()])
        close(found.log_prob[i], joint.max() - joint.logsumexp(0))
    bound_memory(1)
    chunked = beam(model, x, width=math.prod(model.levels), ordering=ordering)
    assert torch.equal(chunked.x, found.x)


@three_kinds
def test_most_certain_first_chooses_cell_and_level(name, generator, bound_memory):
    model = build(name, 4)
    x = holed(model, generator)[:14]
    found = greedy(model, x, most_certain_first=True)
    for i, start in enumerate(x):
        row, total = start[None].clone(), 0.0
        while row.isnan().any():
            tried = []
            for j in row[0].isnan().nonzero().flatten().tolist():
                levels = row.repeat(model.levels[j], 1)
                levels[:, j] = torch.arange(model.levels[j])
                p = explain_cells(model, levels).log_prob[:, j]
                tried.append((p.max().item(), j, p.argmax().item()))
            best, j, level = max(tried, key=lambda t: t[0])
            row[0, j], total = level, total + best
        assert torch.equal(found.x[i], row[0])
        assert found.log_prob[i].item() == pytest.approx(total, abs=1e-11)
    bound_memory(1)
    close(greedy(model, x, most_certain_first=True).log_prob, found.log_prob)


# Questions


def information(model, row):
    """Mutual information of each two unknown cells [D, D], entropies on the diagonal; by enumeration of joints."""
    candidates, known, place = rows(model), ~row.isnan(), torch.arange(len(row))
    found = torch.zeros(len(row), len(row), dtype=torch.float64)
    for j, t in (~known[:, None] & ~known).nonzero().tolist():
        along = staged(place, known, place == j, place == t, ~known)
        p = log_prob(model, candidates, ordering=along).exp() * agreeing(candidates, row)
        table = torch.zeros(model.levels[j], model.levels[t], dtype=torch.float64)
        table.index_put_((candidates[:, j].long(), candidates[:, t].long()), p / p.sum(), accumulate=True)
        found[j, t] = torch.xlogy(table, table / (table.sum(1, keepdim=True) * table.sum(0))).sum()
    return found


@pytest.mark.slow
@any_order
def test_information_equals_brute_force(name, generator, bound_memory):
    model = build(name, 4)
    x = holed(model, generator, part=0.5)[1:20:3]
    x[:, 3] = NAN
    between = torch.stack([information(model, row) for row in x])
    target = torch.tensor([True, False, False, True])
    found = expected_information(model, x, target)
    close(found, between[:, :, target].sum(2).masked_fill(~x.isnan(), NAN))
    of_others = between.sum(2) - between.diagonal(dim1=1, dim2=2)
    close(expected_information(model, x), of_others.masked_fill(~x.isnan(), NAN))
    assert (found.nan_to_num(0) >= 0).all()
    bound_memory(1)
    close(expected_information(model, x, target), found)


def test_impossible_answers_give_finite_information():
    """Of a model that is sure of everything: levels have probability 0 and 1, whatever was answered."""
    model = build("mixed", 4)
    with torch.no_grad():
        model.V *= 1e5
    found = expected_information(model, torch.full((1, 4), NAN, dtype=torch.float64))
    close(found, torch.zeros(1, 4, dtype=torch.float64))
    assert expected_information(model, rows(model)[:2]).isnan().all()
    assert expected_information(model, rows(model)[:0]).shape == (0, 4)


# Models of one ordering


def test_fixed_order_answers_along_its_ordering():
    model = build("fixed-order nade", 4)
    own = torch.tensor(model.config.ordering)
    x, candidates = rows(model), rows(model)
    x[:12, own[2:]] = NAN
    joint = log_prob(model, candidates)
    expected = torch.stack([joint[agreeing(candidates, row)].logsumexp(0) for row in x])
    close(log_prob(model, x, orderings=5), expected[None])
    given = torch.zeros(4, dtype=torch.bool)
    given[own[0]] = True
    alone = torch.stack([joint[agreeing(candidates, torch.where(given, r, NAN))].logsumexp(0) for r in x])
    close(log_prob(model, x, given=given, orderings=1), (expected - alone)[None])
    single = torch.full((2, 4), NAN, dtype=torch.float64)
    single[:, own[0]] = torch.tensor([0.0, 1])
    close(explain_cells(model, single).log_prob[:, own[0]], log_prob(model, single, orderings=1)[0])
    found = beam(model, x, width=4)
    possible = [joint.masked_fill(~agreeing(candidates, row), -torch.inf) for row in x]
    assert torch.equal(found.x, torch.stack([candidates[p.argmax()] for p in possible]))
    assert greedy(model, x).x.isfinite().all()


def test_fixed_order_refuses_other_stages():
    model = build("fixed-order nade", 4)
    own = torch.tensor(model.config.ordering)
    x = rows(model)[:2]
    x[1, own[0]] = NAN
    given = torch.zeros(4, dtype=torch.bool)
    given[own[3]] = True
    one = "this model knows one ordering only"
    for ask in (
        lambda: log_prob(model, x, orderings=1),
        lambda: log_prob(model, x[:1], given=given, orderings=1),
        lambda: explain_cells(model, x[:1]).log_prob,
        lambda: expected_information(model, x),
        lambda: greedy(model, x),
        lambda: beam(model, x, width=2),
    ):
        with pytest.raises(ValueError, match=one):
            ask()
    with pytest.raises(ValueError, match="most_certain_first: expected a model of every ordering"):
        greedy(model, x, most_certain_first=True)


def test_fixed_order_refuses_other_orderings():
    """They would look like those that it was trained for."""
    model = build("fixed-order nade", 4)
    own, x = torch.tensor(model.config.ordering), rows(model)
    expected = log_prob(model, x)
    close(log_prob(model, x, ordering=own.expand(len(x), -1)), expected)
    close(log_prob(model, x, orderings=own[None])[0], expected)
    other = own.repeat(len(x), 1)
    other[3] = own.flip(0)
    for ordering in (own.flip(0), other):
        with pytest.raises(ValueError, match="ordering: this model knows one ordering only, expected that"):
            log_prob(model, x, ordering=ordering)
    for ask in (lambda: log_prob(model, x, orderings=other[2:4]), lambda: sample(model, 3, orderings=other[2:4])):
        with pytest.raises(ValueError, match="orderings: this model knows one ordering only, expected that"):
            ask()
    with pytest.raises(ValueError, match=r"expected a model of every ordering, found .*; log_prob is exact"):
        estimate_log_prob(model, x)


# Mistakes


@pytest.mark.parametrize("name", ["nade-5 1hl", "mixed", "images"])
def test_empty_table_gives_empty_answers(name):
    model = build(name, 4)
    nothing = torch.empty(0, 4)
    assert missing_probabilities(model, nothing).shape == (0, model.variables.n_columns)
    assert level_probabilities(model, nothing).shape == (0, 4, max(model.levels))
    for completed in (greedy(model, nothing), beam(model, nothing, width=2)):
        assert completed.x.shape == (0, 4)
        assert completed.log_prob.shape == (0,)


def test_wrong_inputs_are_named():
    model = build("mixed", 4)
    x = rows(model)[:3]
    x[1, 2] = NAN
    flags = torch.tensor([True, False, False, False])
    cases = [
        (lambda: log_prob(model, x[:, :3], orderings=1), "expected rows of 4 variables"),
        (lambda: log_prob(model, x + 7, orderings=1), "in the cell at index"),
        (lambda: log_prob(model, x, orderings=0), "orderings: expected at least 1, found 0"),
        (lambda: log_prob(model, x, orderings=torch.tensor([[0, 1, 2, 2]])), "expected permutations"),
        (lambda: greedy(model, x, ordering=torch.arange(4), most_certain_first=True), "expected none beside it"),
        (lambda: beam(model, x, width=0), "width: expected at least 1, found 0"),
        (lambda: expected_information(model, x, flags), "found none in row 1"),
    ]
    for ask, told in cases:
        with pytest.raises(ValueError, match=told):
            ask()


OWN = r"^dtype: expected torch\.float64 \(the model's own, as None\), found "


@pytest.mark.parametrize("few", [True, False])
def test_dtype_must_suit_the_model(few):
    """Whatever way is taken: some cast to it, others ask PyTorch for it, which does not know all of them."""
    exact, single = build("mixed", 4), build("mixed", 4).float()
    x = rows(exact)[: FEW_ROWS if few else None]
    ordering, given = torch.tensor([2, 0, 3, 1]), torch.tensor([True, False, False, True])
    asked = [
        *(partial(unwrap(log_prob), ordering=ordering, decoder=d) for d in ("full", "batched", "incremental")),
        partial(unwrap(log_prob), orderings=ordering[None]),
        partial(unwrap(log_prob), given=given, orderings=ordering[None]),
    ]
    for ask in asked:
        assert torch.equal(ask(exact, x, dtype=torch.float64), ask(exact, x))
        assert torch.equal(ask(single, x, dtype=torch.float32), ask(single, x))
        for dtype in (torch.bfloat16, torch.float16):
            close(ask(single, x, dtype=dtype), ask(exact, x), atol=0.5)
            with pytest.raises(ValueError, match=OWN + str(dtype)):
                ask(exact, x, dtype=dtype)
        for dtype in (torch.float64, torch.int64):
            with pytest.raises(ValueError, match=rf"^dtype: expected torch.float32 .* or torch.float16, found {dtype}"):
                ask(single, x, dtype=dtype)
    for ask in asked[:3]:
        with pytest.raises(TypeError, match=r"^dtype: expected one of PyTorch's, .*, found 'bfloat16'"):
            ask(single, x, dtype="bfloat16")


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.complex64])
def test_unsupported_dtypes_are_refused(dtype):
    model = build("mixed", 4)
    x, ordering = rows(model)[:3].to(dtype), torch.arange(4)
    for ask in (
        lambda: unwrap(log_prob)(model, x, ordering=ordering),
        lambda: unwrap(explain_cells)(model, x),
        lambda: unwrap(level_probabilities)(model, x),
        lambda: unwrap(reconstruction_probabilities)(model, x),
        lambda: unwrap(prepare)(x, levels=model.levels),
    ):
        with pytest.raises(TypeError, match=f"^x: expected numbers in one of bool, uint8, .*, found {dtype}"):
            ask()


@pytest.mark.parametrize("ask", [impute, level_probabilities, lambda model, x: prepare(x, levels=model.levels)])
def test_codes_that_would_be_rounded_are_refused(ask):
    model = IterativeNADE(ModelConfig(n_variables=2, levels=(300, 2)))
    x = torch.tensor([[257.0, torch.nan], [0, 1]])
    ask(model, x.half())
    with pytest.raises(TypeError, match=r"^x: expected a dtype that tells the codes 0 to 299 apart, found torch.bf"):
        ask(model, x.bfloat16())
    with pytest.raises(TypeError, match=r"^x: expected a dense tensor, found a torch.sparse_coo one: x.to_dense\(\)"):
        ask(model, x.to_sparse())


@pytest.mark.parametrize("steps", [0, -1, 2.5, True])
def test_numbers_of_steps_are_whole_and_above_0(steps):
    with pytest.raises(ValueError, match=rf"^steps: expected a whole number of at least 1, found {steps}"):
        unwrap(IterativeNADE.steps_or)(build("mixed", 4), steps)
    for model in (build("mixed", 4), ImageNetwork(ImageConfig(image_shape=(2, 2), channels=(4,), dense=0))):
        with pytest.raises(ValueError, match=r"^steps: expected a whole number of at least 1, found 0"):
            model(torch.ones(1, 4), torch.ones(1, 4) > 0, steps=0)


def test_unknown_options_are_those_of_the_function_asked():
    with pytest.raises(TypeError, match=r"^expected options of log_prob, found chunks, orders"):
        unwrap(log_prob)(build("mixed", 4), torch.zeros(1, 4), orders=2, chunks=1)


@pytest.mark.parametrize(("count", "found"), [(2.0, "2.0"), (2.5, "2.5"), (True, "True"), ("2", "'2'"), (None, "None")])
def test_counts_must_be_whole_numbers(count, found, generator):
    model, ordering = build("nade-5 1hl", 3), torch.arange(3)
    x = torch.zeros(2, 3)
    asked = {
        "n_samples": lambda count: unwrap(sample)(model, count),
        "width": lambda count: unwrap(beam)(model, x, width=count),
        "n_masks": lambda count: unwrap(estimate_log_prob)(model, x, n_masks=count),
        "chunk": lambda n: unwrap(log_prob)(model, x, ordering=ordering, chunk=n, decoder="batched"),
    }
    if not isinstance(count, str | None):
        asked["orderings"] = lambda count: unwrap(as_orderings)(model, count, generator=generator)
    for name, ask in asked.items():
        ask(np.int64(2))
        with pytest.raises(TypeError, match=f"^{name}: expected a whole number, found {re.escape(found)}$"):
            ask(count)


# Orderings of other types


def test_orderings_need_integer_dtype():
    model = build("nade-5 1hl", 3)
    x, ordering = rows(model), torch.tensor([2, 0, 1])
    for codes, along in ((x, ordering.to(torch.int16)), (x.bool(), ordering), (x.long(), ordering)):
        assert torch.equal(log_prob(model, codes, ordering=along), log_prob(model, x, ordering=ordering))
    each = ordering.expand(len(x), -1)
    wrong = [
        lambda: log_prob(model, x[:, :2], ordering=ordering[:2].bool()),
        lambda: greedy(model, x, ordering=each),
        lambda: expected_information(model, torch.full((1, 3), NAN), torch.tensor([3, 0, 0])),
        lambda: summarise(log_prob(model, x[:0], orderings=3)),
    ]
    for ask in wrong:
        with pytest.raises((ValueError, TypeError)) as error:
            ask()
        assert str(error.value)


# What is asked stays as it is


@pytest.mark.parametrize("name", ["nade-5 1hl", "mixed"])
def test_input_rows_stay_unchanged(name, generator):
    model = build(name, 3)
    x = holed(model, generator)
    x[0, 0] = NAN  # a hole in every row, which a beam needs not, but questions do
    before, ordering = x.clone(), orderings_of(model, 1, seeded())[0]
    given = torch.tensor([True, False, False])
    asked = [
        missing_probabilities,
        level_probabilities,
        impute,
        greedy,
        lambda model, x: beam(model, x, width=2),
        lambda model, x: log_prob(model, x, orderings=ordering[None]),
        lambda model, x: log_prob(model, x, given=given, orderings=ordering[None]),
        expected_information,
        explain_cells,
    ]
    for function in asked:
        function(model, x)
        close(x, before, atol=0)


def test_fixed_order_refuses_early_marginals():
    model = build("fixed-order nade", 3)
    *_, last = model.config.ordering
    x = rows(model)
    x[:, last] = NAN
    found, ordering = missing_probabilities(model, x), torch.tensor(model.config.ordering)
    asked = torch.where(x.isnan(), 1.0, x)
    close(found[:, last].log(), log_prob(model, asked, given=~x[0].isnan(), orderings=ordering[None])[0])
    x[2] = NAN
    for function in (missing_probabilities, level_probabilities):
        with pytest.raises(ValueError, match=rf"its last variable \({last}\).* missing in the row at index 2"):
            function(model, x)


@pytest.mark.parametrize("name", ["nade-5 1hl", "mixed", "images"])
def test_last_state_equals_one_pass(name, generator):
    """What is flagged is hidden besides the holes, whatever stands there, and what is observed are codes."""
    model = build(name, 4)
    x = holed(model, generator)
    close(reconstruction_probabilities(model, x)[-1], missing_probabilities(model, x))
    flags = torch.zeros_like(x, dtype=torch.bool)
    flags[:, 1] = True
    close(
        reconstruction_probabilities(model, x.masked_fill(flags, 99), flags)[-1],
        missing_probabilities(model, x.masked_fill(flags, NAN)),
    )
    for wrong in (x + 7, x - 1, x.nan_to_num(0) + 0.5):
        with pytest.raises(ValueError, match="in the cell at index"):
            reconstruction_probabilities(model, wrong, flags)
    with pytest.raises(ValueError, match=r"expected rows of 4 variables, found an array of shape \(\d+, 3\)"):
        reconstruction_probabilities(model, x[:, :3])


@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-11), (torch.float32, 1e-4)])
def test_number_of_threads_costs_rounding_only(dtype, near, generator):
    """Products large enough for PyTorch to share them out."""
    model = nade_k(12, hidden=(128,), steps=3, generator=generator).to(dtype)
    x = torch.randint(0, 2, (300, 12), generator=generator).to(dtype)
    x[::2, :4] = NAN
    orderings, scores, before = orderings_of(model, 2, generator), [], torch.get_num_threads()
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            scores.append(log_prob(model, x, orderings=orderings))
    finally:
        torch.set_num_threads(before)
    close(*scores, atol=near)


def test_threads_share_a_model():
    """One that is being built or trained drops units, and goes on doing so when all have theirs."""
    model = build("nade-5 1hl", 3).train()
    for part in model.modules():
        part.dropout = 0.5
    frozen = model.core.layers.eval()
    x, ordering = rows(model), orderings_of(model, 1, seeded())[0]
    expected = log_prob(model, x, ordering=ordering)

    def ask(_):
        return [log_prob(model, x, ordering=ordering) for _ in range(20)]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(ask, range(8)):
            assert all(torch.equal(each, expected) for each in found)
    assert model.training
    assert model.core.training
    assert not frozen.training


def test_summary_is_a_table_in_notebooks():
    shown = summarise(torch.tensor([[-2.0, -4.0], [-3.0, -5.0]]))._repr_html_()
    assert shown.startswith("<table><tr><th>mean</th><td>-3.5</td></tr>")
    assert shown.count("<tr>") == 9
