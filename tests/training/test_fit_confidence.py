"""Confidence fitted on other rows: least cost, known truths, and what is refused."""

import pytest
import torch
from torch.nn.utils import prune
from torch.nn.utils.parametrizations import weight_norm

from nadek.checkpoints import SavedModel, load, save
from nadek.inference import log_prob, sample
from nadek.models import IterativeNADE, ModelConfig, nade, nade_k
from nadek.models.cores import DeepConfig
from nadek.models.memory import MemoryModel
from nadek.tabular.schema import Schema
from nadek.training import fit_confidence, prepare
from nadek.training.costs import prepare_validation, validation_costs
from support.models import rows, seeded
from zoo import build


def penalised(model, cases, n_cases):
    """The cost that the fit minimises."""
    return validation_costs(model, cases)[-1].item() + model.confidence.log_factor.square().sum().item() / 2 / n_cases


@pytest.mark.parametrize("name", ["nade-2 3hl", "mixed", "confident"])
def test_fit_has_least_cost_with_holes(name):
    """The cost by the forward pass of the whole model; cells that were never seen count as not given."""
    network = build(name, 5)
    x = sample(network, 60, generator=seeded()).double()
    with torch.no_grad():
        network.b *= 2
        network.V *= 2  # surer than where these rows came from
    x[torch.rand(x.shape, generator=seeded(1)) < 0.2] = torch.nan
    others = prepare(x, levels=network.levels)
    model = fit_confidence(network, others, knots=3, generator=seeded(2))
    source = seeded(2)
    drawn = torch.randperm(len(others.values), generator=source)
    cases = prepare_validation(others.select(drawn), model, source)
    best = penalised(model, cases, len(cases.missing))
    assert best < validation_costs(network, cases)[-1] - 0.05
    for knot in range(3):
        for shift in (-0.05, 0.05):
            with torch.no_grad():
                model.confidence.log_factor[knot] += shift
                assert penalised(model, cases, len(cases.missing)) > best
                model.confidence.log_factor[knot] -= shift


def test_doubled_logits_are_halved():
    """Independent variables, of which a network is twice as sure as it should be."""
    network = nade_k(4, hidden=(2,), steps=2).double()
    logits = torch.tensor([1.0, -0.5, 2.0, 0.3], dtype=torch.float64)
    with torch.no_grad():
        network.V.zero_()
        network.b.copy_(2 * logits)
    x = (torch.rand(16_000, 4, dtype=torch.float64, generator=seeded()) < logits.sigmoid()).double()
    model = fit_confidence(network, prepare(x), knots=2, generator=seeded())
    given = torch.tensor([0.0, 0.25, 0.5, 0.75], dtype=torch.float64)
    torch.testing.assert_close(model.confidence(given), torch.full_like(given, 0.5), rtol=0, atol=0.05)
    assert network.confidence is None
    assert torch.equal(network.b, model.b)


def test_one_row_leaves_finite_factors():
    """A network that is right about all there is would be infinitely sure of it."""
    network = nade_k(3, hidden=(2,)).double()
    with torch.no_grad():
        network.b.fill_(3.0)
    model = fit_confidence(network, prepare(torch.ones(1, 3)), generator=seeded())
    assert 1 < model.confidence(torch.zeros(1, dtype=torch.float64)) < 20
    x = rows(model)
    assert log_prob(model, x, orderings=2, generator=seeded()).isfinite().all()


def test_confident_model_is_saved(tmp_path):
    config = ModelConfig(n_variables=4, core=DeepConfig(hidden=(3,)), steps=2)
    network = IterativeNADE(config, generator=seeded())
    model = fit_confidence(network, prepare(rows(network)[:5]), knots=3, generator=seeded())
    save(tmp_path, SavedModel(model, Schema()))
    x, again = rows(model), load(tmp_path)
    assert again.config.confidence == 3
    scores = [log_prob(one, x, ordering=[2, 0, 1, 3]) for one in (model, again, network)]
    assert torch.equal(scores[0], scores[1])
    assert (scores[0] - scores[2]).abs().max() > 1e-3


def test_unsuitable_networks_are_refused():
    others = prepare(torch.ones(2, 3))
    memory = MemoryModel(nade_k(3, hidden=(2,)), torch.ones(2, 3, dtype=torch.uint8))
    with pytest.raises(TypeError, match="expected an IterativeNADE without hooks, found MemoryModel"):
        fit_confidence(memory, others, generator=seeded())
    with pytest.raises(ValueError, match="expected a model of every ordering"):
        fit_confidence(nade(3, hidden=2), others, generator=seeded())

    class Own(IterativeNADE):
        pass

    pruned = nade_k(3, hidden=(2,))
    prune.l1_unstructured(pruned, "W", 0.3)
    for other in (Own(ModelConfig(n_variables=3)), pruned, weight_norm(nade_k(3, hidden=(2,)), "W")):
        with pytest.raises(TypeError, match="expected an IterativeNADE without hooks"):
            fit_confidence(other, others, generator=seeded())
    with pytest.raises(ValueError, match="confidence: expected at least 1, found 0"):
        fit_confidence(nade_k(3, hidden=(2,)), others, knots=0, generator=seeded())
