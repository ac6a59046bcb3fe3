"""Rows with missing cells as if they were whole, against enumeration of all rows (float64)."""

import torch

from nadek.inference import log_prob, whole_rows
from nadek.inference.orderings import rank_of
from nadek.inference.whole_rows import as_whole_rows, expected_log_probs
from support.models import close, every_model, rows, seeded
from zoo import build, orderings_of

NAN = torch.nan


@every_model
def test_expectation_is_that_of_all_rows(name, monkeypatch):
    monkeypatch.setattr(whole_rows, "N_DRAWN", 10_000)
    model = build(name, 4)
    orderings, x = orderings_of(model, 2, seeded(1)), rows(model)
    drawn, expected = expected_log_probs(model, orderings, seed=3)
    assert drawn.shape == (len(drawn), 4)
    exact = torch.zeros(4, dtype=torch.float64)
    for ordering in orderings:
        rank = rank_of(ordering)
        upto = [log_prob(model, x.masked_fill(rank >= n, NAN), ordering=ordering) for n in range(5)]
        for j in range(4):
            exact[j] += (upto[4].exp() * (upto[rank[j] + 1] - upto[rank[j]])).sum() / len(orderings)
    close(expected, exact, atol=0.06)


def test_rows_with_holes_are_compared_with_whole_ones():
    expected = torch.tensor([-1.0, -2.0, -5.0, -8.0], dtype=torch.float64)
    x = torch.tensor([[0, 1, 0, 1], [NAN, 1, NAN, NAN], [NAN] * 4])
    log_probs = torch.tensor([-18.0, -3.0, 0.0], dtype=torch.float64)
    close(as_whole_rows(log_probs, x, expected), torch.tensor([-18.0, -16 - 1 * 2, -16.0], dtype=torch.float64))
