"""Rows with missing cells as if they were whole, against enumeration of all rows (float64)."""

import torch

from nadek.inference import log_prob, whole_rows
from nadek.inference.orderings import rank_of
from nadek.inference.whole_rows import as_whole_rows, draw_rows, expectation_by_rank
from support.models import close, every_model, frequencies, p_value, rows
from zoo import build

NAN = torch.nan


@every_model
def test_drawn_rows_have_the_log_probabilities_of_their_cells(name, monkeypatch):
    monkeypatch.setattr(whole_rows, "N_DRAWN", 600)
    model = build(name, 4)
    drawn = draw_rows(model, seed=3)
    ordering, x = drawn.rank.argsort(1), drawn.x.double()
    upto = [log_prob(model, x.masked_fill(drawn.rank >= n, NAN), ordering=ordering) for n in range(5)]
    parts = torch.stack(upto, 1).diff(dim=1)  # by place
    close(drawn.log_probs, parts.gather(1, drawn.rank))
    if len(ordering.unique(dim=0)) == 1:
        every = rows(model)
        assert p_value(frequencies(model, x), log_prob(model, every, ordering=ordering[0]).exp()) > 1e-3
    else:
        assert torch.equal(rank_of(ordering), drawn.rank)


def test_expectation_is_a_line_by_the_number_of_cells_before():
    rank = torch.tensor([[0, 1, 5], [1, 0, 5], [2, 2, 5]])
    log_probs = torch.tensor([[-3.0, -1.0, -7.0], [-2.0, -1.0, -8.0], [-1.0, -1.0, -9.0]], dtype=torch.float64)
    first, slope = expectation_by_rank(log_probs, rank)
    close(first, torch.tensor([-3.0, -1.0, -8.0], dtype=torch.float64))
    close(slope, torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64))


def test_rows_with_holes_are_compared_with_whole_ones():
    expected = torch.tensor([[-1.0, -2.0, -5.0, -8.0], [0.0, 0.0, 1.0, 1.0]], dtype=torch.float64)
    x = torch.tensor([[0, 1, 0, 1], [NAN, 1, NAN, NAN], [NAN] * 4, [NAN, NAN, 0, 1]])
    log_probs = torch.tensor([-18.0, -3.0, 0.0, -12.0], dtype=torch.float64)
    whole = -16 + 2 * 1.5
    scores = [-18.0, whole - 1 * 2, whole, whole + (-12 + 13 - 1) * 2**0.5]
    close(as_whole_rows(log_probs, ~x.isnan(), expected), torch.tensor(scores, dtype=torch.float64))
