"""Studies of a method beside the usual one: confidence, orderings that spread out, and any number of steps."""

import pytest
import torch

from nadek.checkpoints import SavedModel, load_saved, save
from nadek.inference import (
    cheapest_chunks,
    image_distances,
    log_prob,
    position_losses,
    random_orderings,
    spread_orderings,
)
from nadek.inference.likelihood import log_probs_by_steps
from nadek.models import nade_k
from nadek.runs.data import open_data
from nadek.tabular.schema import Schema
from nadek.training import fit_confidence, prepare
from nadek_paper.any_steps_study import any_steps_study
from nadek_paper.confidence_study import calibration_error, confidence_study
from nadek_paper.spread_study import orderings_along, spread_study
from nadek_paper.steps_at_test import damped
from nadek_paper.studies import run_study
from nadek_paper.workspace import some_rows
from support.models import seeded
from support.paper_rows import workspace_in, write_recipe

CONFIDENCE = """
title = "Confidence"
models = ["MODEL"]
data = "digits"
knots = [1, 3]
shown = 3
rows = 20
orderings = 2
"""
SPREAD = """
title = "Spread"
sets = [{ data = "digits", network = "MODEL", orderings = 2 }]
chunks = [1, 9]
rows = 10
measured_rows = 6
"""
ANY_STEPS = """
title = "Any steps"
data = "digits"
steps = 4
masks = 2
rows = 10
variants = [{ name = "a", phases = [{ epochs = 2, extra_steps = 3 }] }, { name = "b", phases = [{ epochs = 1 }] }]
recipe.model = { n_variables = 64, steps = 2, core = { kind = "deep", hidden = [5] } }
recipe.training = { optimizer = { kind = "adamw" } }
"""


@pytest.fixture
def model(tmp_path):
    """An overconfident network of 8 x 8 pixels."""
    model = nade_k(64, hidden=(5,), steps=2, generator=seeded()).double()
    with torch.no_grad():
        model.b.normal_(0, 2, generator=seeded())
    save(tmp_path / "model", SavedModel(model, Schema(image_shape=(8, 8))))
    write_recipe(tmp_path, "confidence.toml", CONFIDENCE.replace("MODEL", str(tmp_path / "model")))
    write_recipe(tmp_path, "spread.toml", SPREAD.replace("MODEL", str(tmp_path / "model")))
    return model


@pytest.mark.slow
def test_gain_is_that_of_whole_model(model, tmp_path):
    """The study scales logits that it decoded once; here every confidence is decoded by itself."""
    record = run_study(confidence_study(workspace_in(tmp_path)))
    (entry,) = record["models"].values()
    x = open_data("digits", split="valid").x
    x = some_rows(x, len(x))
    fitted, read = x[: len(x) // 2], x[len(x) // 2 :][:20]
    along = random_orderings(2, 64, generator=seeded())
    before = log_prob(model, read, orderings=along)
    assert entry["log_likelihood"] == pytest.approx(before.mean().item(), abs=1e-9)
    for line in entry["by_knots"]:
        tuned = fit_confidence(model, prepare(fitted), knots=line["knots"], generator=seeded())
        gain = (log_prob(tuned, read, orderings=along) - before).mean(0)
        assert gain.mean() > 1
        assert line["gain"] == pytest.approx(gain.mean().item(), abs=1e-9)
        assert line["standard_error"] == pytest.approx(gain.std().item() / 20**0.5, abs=1e-9)
    assert entry["gain"] == entry["by_knots"][1]["gain"]
    assert sum(tenth["gain"] for tenth in entry["tenths"]) == pytest.approx(entry["gain"], abs=1e-9)
    assert all(tenth["error_after"] < tenth["error_before"] for tenth in entry["tenths"])
    assert (record["fitted_rows"], record["rows"]) == (len(fitted), 20)


def test_calibration_error_of_bins():
    p = torch.tensor([0.51, 0.54, 0.9, 1.0], dtype=torch.float64)
    x = torch.tensor([1.0, 0.0, 1.0, 1.0], dtype=torch.float64)
    assert calibration_error(p, x) == pytest.approx((0.05 + 0.1 + 0) / 4)


@pytest.mark.slow
def test_spread_is_compared_with_random(model, tmp_path):
    record = run_study(spread_study(workspace_in(tmp_path)))
    x = some_rows(open_data("digits", split="test").x, 10)
    others = some_rows(open_data("digits", split="valid").x, 6)
    random = random_orderings(2, 64, generator=seeded())
    spread = spread_orderings(2, image_distances((8, 8)), generator=seeded())
    first, one, _, last, sized = record["sets"]["digits"]["lines"]
    assert (first["orderings"], first["at_a_time"], first["passes"], first["gain"]) == ("random", 1, 64, 0)
    assert (last["orderings"], last["at_a_time"], last["sizes"], last["passes"]) == ("spread", 9, "equal", 8)
    scores = [log_prob(model, x, orderings=o, chunk=n).mean(0) for o, n in ((random, 1), (spread, 1), (spread, 9))]
    assert one["log_likelihood"] == pytest.approx(scores[1].mean().item(), abs=1e-9)
    for key, before in (("gain", scores[0]), ("loss", scores[1])):
        difference = scores[2] - before
        assert last[key] == pytest.approx(difference.mean().item(), abs=1e-9)
        assert last[f"{key}_error"] == pytest.approx(difference.std().item() / 10**0.5, abs=1e-9)
    sizes = [cheapest_chunks(position_losses(model, others, o[None]), 8) for o in spread]
    each = [log_prob(model, x, orderings=o[None], chunk=n) for o, n in zip(spread, sizes, strict=True)]
    assert (sized["sizes"], sized["passes"], sizes[0] != sizes[1]) == ("measured", 8, True)
    assert sized["log_likelihood"] == pytest.approx(torch.cat(each).mean().item(), abs=1e-9)


def test_tables_spread_by_mutual_information():
    saved = SavedModel(nade_k(3, hidden=(2,), steps=1, generator=seeded()), Schema())
    train = torch.tensor([[0.0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    along = orderings_along(saved, train, 20)["spread"].tolist()
    assert {o[1] for o in along if o[0] != 2} == {2}  # the twin of the first comes last


def test_any_steps_are_compared_with_the_usual_number(tmp_path):
    write_recipe(tmp_path, "any-steps.toml", ANY_STEPS)
    record = run_study(any_steps_study(workspace_in(tmp_path)))
    assert [entry["epochs"] for entry in record["trainings"].values()] == [2, 1]
    for name, entry in record["trainings"].items():
        model = load_saved(tmp_path / "runs" / f"any-steps-{name}").model
        for split in ("valid", "test"):
            x = some_rows(open_data("digits", split=split).x, 10).float()
            plain, slow = (
                log_probs_by_steps(m, x, steps=4, masks=2, generator=seeded()) for m in (model, damped(model))
            )
            for line, one, other in zip(entry[split], plain, slow, strict=True):
                assert line["log_likelihood"] == pytest.approx(one.mean().item())
                for key, change in (("change", one - plain[1]), ("damped", other - plain[1])):
                    assert line[key] == pytest.approx(change.mean().item(), abs=1e-9)
                    assert line[f"{key}_error"] == pytest.approx(change.std().item() / 10**0.5, abs=1e-9)


def test_unsuitable_studies_are_refused(model, tmp_path):
    write_recipe(tmp_path, "confidence.toml", CONFIDENCE.replace("shown = 3", "shown = 2"))
    with pytest.raises(ValueError, match=r"shown: expected one of the knots \(1, 3\), found 2"):
        confidence_study(workspace_in(tmp_path))
    write_recipe(tmp_path, "spread.toml", SPREAD.replace(', network = "MODEL"', ""))
    with pytest.raises(ValueError, match="digits: expected either a network or a recipe"):
        spread_study(workspace_in(tmp_path))
