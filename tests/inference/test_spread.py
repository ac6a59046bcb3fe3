"""Orderings that spread out: by a plain reference, their distances, and what is refused."""

import inspect
from collections import Counter

import numpy as np
import pytest
import torch

from nadek.inference import image_distances, information_distances, log_prob, spread_orderings
from nadek.models import nade, nade_k
from support.models import p_value, seeded


def test_each_variable_is_farthest_from_those_before():
    distances = torch.cdist(*(torch.rand(30, 2, dtype=torch.float64, generator=seeded()),) * 2)
    orderings = spread_orderings(40, distances, generator=seeded(1))
    assert orderings.sort(1).values.equal(torch.arange(30).expand(40, 30))
    assert len(orderings[:, 0].unique()) > 10
    table = distances.numpy()
    for ordering in orderings.numpy():
        for position in range(1, 30):
            nearest = table[ordering[:position]].min(0)
            nearest[ordering[:position]] = -1
            assert ordering[position] == nearest.argmax()


def test_image_begins_with_rough_picture():
    distances = image_distances((28, 28))
    assert distances[0, -1] == pytest.approx(27 * 2**0.5)
    assert distances[5 * 28 + 3, 9 * 28 + 6] == 5
    for ordering in spread_orderings(3, distances, generator=seeded()):
        among_first = distances[ordering[:64]][:, ordering[:64]].fill_diagonal_(torch.inf)
        assert among_first.min() > 2.8  # 64 pixels drawn at random nearly always touch


def test_ties_are_drawn():
    """With equal distances all orderings are equally frequent; equal places are visited at last."""
    orderings = spread_orderings(6000, torch.ones(3, 3), generator=seeded())
    counts = Counter(map(tuple, orderings.tolist()))
    assert len(counts) == 6
    assert p_value(np.array(list(counts.values())), np.ones(6)) > 1e-3
    twins = torch.tensor([0.0, 0.0, 0.0, 9.0, 5.0])
    late = spread_orderings(200, (twins[:, None] - twins).abs(), generator=seeded())
    assert (late[:, -2:] < 3).all()
    assert set(late[:, -1].tolist()) == {0, 1, 2}


def mutual_information(a, b):
    """Of two columns of codes, and their joint entropy, from the definition."""
    pairs = [(u, v) for u, v in zip(a, b, strict=True) if u == u and v == v]
    n = len(pairs)
    both, first, second = Counter(pairs), Counter(u for u, _ in pairs), Counter(v for _, v in pairs)
    information = sum(c / n * np.log(c * n / (first[u] * second[v])) for (u, v), c in both.items())
    return information, -sum(c / n * np.log(c / n) for c in both.values())


def test_information_of_pairs_with_holes(bound_memory):
    levels = (2, 3, 5, 1)
    x = (torch.rand(80, 4, generator=seeded()) * torch.tensor(levels)).floor()
    x[:, 1] = (x[:, 1] + x[:, 2]) % 3
    x[torch.rand(80, 4, generator=seeded(1)) < 0.3] = torch.nan
    bound_memory(16 * sum(levels) * 7)  # few rows at once
    distances = information_distances(x, levels)
    for a in range(4):
        for b in range(4):
            information, entropy = mutual_information(x[:, a].tolist(), x[:, b].tolist())
            expected = 0 if a == b else 1 - (information / entropy if entropy > 0 else 0)
            assert distances[a, b].item() == pytest.approx(expected, abs=1e-12)
    assert torch.equal(distances, distances.t())
    assert spread_orderings(2, distances, generator=seeded()).shape == (2, 4)


def test_numbers_count_as_their_knots():
    x, knots = torch.tensor([[0.2, 0.0], [0.4, 0.0], [1.7, 1.0], [1.6, 1.0]]), ((), None)
    expected = information_distances(x.round(), (3, 2))
    assert torch.equal(information_distances(x, (3, 2), knots), expected)
    assert expected[0, 1] == 0


def test_pairs_without_a_common_row_are_far():
    x = torch.tensor([[0.0, torch.nan], [1.0, torch.nan], [torch.nan, 0.0], [torch.nan, 1.0]])
    assert information_distances(x).tolist() == [[0, 1], [1, 0]]


def test_models_take_them():
    model = nade_k(6, hidden=(4,), generator=seeded()).double()
    x, orderings = torch.zeros(3, 6), spread_orderings(4, image_distances((2, 3)), generator=seeded())
    scores = log_prob(model, x, orderings=orderings)
    assert torch.equal(scores[2], log_prob(model, x, ordering=orderings[2]))
    with pytest.raises(ValueError, match="knows one ordering only"):
        log_prob(nade(6, hidden=3), x, orderings=orderings)


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (torch.zeros(2, 3), r"square table of finite numbers.*found an array of shape \(2, 3\)"),
        (torch.zeros(2, 2, dtype=torch.long), "type torch.int64"),
        (torch.tensor([[0.0, torch.nan], [1.0, 0.0]]), "found nan for variables 0 and 1"),
    ],
)
def test_bad_distances_are_refused(distances, message):
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(spread_orderings)(2, distances)  # behind the shape hook


def test_other_bad_distances_are_refused():
    with pytest.raises(ValueError, match="n: expected at least 1, found 0"):
        spread_orderings(0, torch.zeros(2, 2))
    with pytest.raises(ValueError, match="image_shape: expected height and width"):
        image_distances((0, 3))
    with pytest.raises(ValueError, match="a number of levels for each column"):
        information_distances(torch.zeros(3, 2), (2, 2, 2))
    with pytest.raises(ValueError, match="expected 0, 1 or NaN"):
        information_distances(torch.full((3, 2), 2))
