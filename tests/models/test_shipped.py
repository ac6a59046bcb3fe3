"""The models that come with the package: whole, small, and the ones that their records are about."""

import json
from pathlib import Path

import pytest
import torch

from nadek import load, pretrained
from nadek.checkpoints import load_saved
from nadek.inference.likelihood import log_prob
from nadek.inference.orderings import random_orderings
from nadek.inference.sampling import sample
from support.command import ok

ROOT = Path(__file__).resolve().parents[2]
MODELS = pretrained.names()


def test_there_are_models():
    assert MODELS == ["caltech101-unet", "mnist-nade5-2hl", "mnist-nade5-2hl-taught", "mnist-unet"]


@pytest.mark.parametrize("name", MODELS)
def test_shipped_model_matches_its_record(name):
    metrics = load_saved(name).metrics
    record = json.loads((ROOT / "paper" / "results" / f"{metrics['record']}.json").read_text())
    assert {key: metrics[key] for key in ("commit", "config", "seconds")} == {
        key: record[key] for key in ("commit", "config", "seconds")
    }
    assert not metrics["diverged"]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_samples_are_more_likely_than_noise(name):
    model = load(name)
    orderings = random_orderings(1, model.n_variables, generator=torch.Generator().manual_seed(0))
    written = sample(model, 1, chunk=16, generator=torch.Generator().manual_seed(1))
    noise = torch.rand(1, model.n_variables, generator=torch.Generator().manual_seed(2)) < written.float().mean()
    ours, of_noise = (log_prob(model, x, orderings=orderings) for x in (written, noise.float()))
    assert ours > of_noise + 100


@pytest.mark.parametrize("name", MODELS)
def test_shipped_model_has_card_and_size(name):
    folder = ROOT / "src" / "nadek" / "pretrained" / name
    card = (folder / "README.md").read_text()
    for heading in ("## Data", "## Training", "## How good it is", "## Limits"):
        assert heading in card
    assert f'nadek.load("{name}")' in card
    assert sum(file.stat().st_size for file in folder.iterdir()) < 8e6


def test_folder_hides_shipped_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(MODELS[0]).mkdir()
    with pytest.raises(ValueError, match=f"{MODELS[0]} is not a model folder: .* hides the model of this name that"):
        load(MODELS[0])
    Path("other").mkdir()
    with pytest.raises(ValueError, match=r"other is not a model folder: it has no config\.json$"):
        load("other")


@pytest.mark.slow
def test_command_samples_from_shipped_model(tmp_path):
    ok("sample", "mnist-nade5-2hl", "-n", 1, "-o", tmp_path / "rows.csv")
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 2
