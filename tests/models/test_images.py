"""The network of images: its config, what it reads, sizes that cannot be halved, precision, mirrors, recipes, files."""

import re

import pytest
import torch

from nadek.checkpoints import SavedModel, save
from nadek.estimators import NADEk
from nadek.inference.likelihood import estimate_log_prob, log_prob
from nadek.inference.order_agnostic import step_costs
from nadek.inference.orderings import random_orderings
from nadek.models.model_config import ImageConfig
from nadek.models.unet import ImageNetwork
from nadek.runs.recipe import make_recipe
from nadek.tabular.schema import Schema
from nadek.training import AdamW, Phase, TrainingConfig, fit, prepare
from nadek.training.prepare import mirror_images
from support.models import seeded

SMALL = {"channels": (4, 6), "dense": 8}


def network(shape=(4, 4), mean=None, **options):
    config = ImageConfig(image_shape=shape, **SMALL | options)
    return ImageNetwork(config, mean, generator=seeded(1))


def stripes(n_rows):
    """Images of one column of ones, somewhere: a pixel tells nearly all others."""
    column = torch.randint(4, (n_rows,), generator=seeded())
    return (torch.arange(4) == column[:, None]).float().repeat(1, 4)


def some_missing(x):
    missing = torch.rand(x.shape, generator=seeded()) < 0.5
    missing[:, 0] = True
    return missing


# Config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_shape": (0, 4)}, "image_shape: expected height and width, found (0, 4)"),
        ({"channels": ()}, "channels: expected one scale or more of at least one channel, found ()"),
        ({"channels": (4, 0)}, "channels: expected one scale or more of at least one channel, found (4, 0)"),
        ({"blocks": 0}, "blocks: expected at least 1, found 0"),
        ({"dense": -1}, "dense: expected at least 0, found -1"),
        ({"steps": 0}, "steps: expected at least 1, found 0"),
        ({"dropout": 1.0}, "dropout: expected at least 0 and below 1, found 1.0"),
    ],
)
def test_impossible_config_is_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ImageConfig(**{"image_shape": (4, 4)} | options)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"kind": "pictures"}, "model.kind: expected none or one of images, found 'pictures'"),
        ({"kind": "images", "chanels": [4]}, "unknown option model.chanels; did you mean channels?"),
        ({"kind": "images", "image_shape": [4, 5]}, "the recipe is for 20 variables, the data have 16"),
        ({"kind": "images", "core": {"kind": "deep"}}, "unknown option model.core; known are blocks, channels, dense"),
    ],
)
def test_recipe_mistakes_are_named(model, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make_recipe({"model": model}, n_variables=16, image_shape=(4, 4))


def test_recipe_takes_image_shape_of_data():
    recipe = make_recipe({"model": {"kind": "images"}}, n_variables=35, image_shape=(5, 7))
    config = ImageConfig(image_shape=(5, 7))
    assert recipe.model == config
    assert (config.n_variables, config.ordering, config.levels) == (35, None, None)
    assert ImageConfig(image_shape=(5, 7), channels=(4, 6, 8)).padded == (8, 8)
    with pytest.raises(ValueError, match=r"option model\.image_shape is missing"):
        make_recipe({"model": {"kind": "images"}}, n_variables=12)
    assert make_recipe({}, n_variables=12, image_shape=(3, 4)).model.core.kind == "deep"


# The network


def test_untrained_network_predicts_pixel_means():
    mean = torch.linspace(0.1, 0.9, 16)
    model = network(mean=torch.where(torch.arange(16) == 3, torch.nan, mean))
    with torch.no_grad():
        model.head.zero_()
        p = model(torch.zeros(1, 16), torch.ones(1, 16, dtype=torch.bool))[-1].sigmoid()[0]
    torch.testing.assert_close(p, torch.where(torch.arange(16) == 3, 0.5, mean))


def test_fresh_network_depends_on_generator():
    x, missing = torch.zeros(1, 16), torch.ones(1, 16, dtype=torch.bool)
    first, same = (network(mean=torch.full((16,), 0.3))(x, missing)[-1] for _ in range(2))
    assert torch.equal(first, same)
    assert (first.sigmoid() - 0.3).abs().max() < 0.3


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (3, 2)])
@pytest.mark.parametrize("steps", [1, 2])
def test_odd_image_sizes_work(shape, steps):
    """Sides that cannot be halved are padded; what is around the image is no pixel of it."""
    model = network(shape, steps=steps, channels=(4, 6, 6))
    D = shape[0] * shape[1]
    x = (torch.rand(6, D, generator=seeded()) < 0.5).float()
    missing = some_missing(x)
    outputs = model(x, missing)
    assert [logits.shape for logits in outputs] == [(6, D)] * steps
    assert model(x.masked_fill(missing, torch.nan), missing)[-1].isfinite().all()
    step_costs(model, x, missing)[-1].mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_leading_axes_are_batches():
    model = network()
    x = stripes(6)
    missing = some_missing(x)
    with torch.no_grad():
        flat, folded = model(x, missing)[-1], model(x.view(2, 3, 16), missing.view(2, 3, 16))[-1]
    assert torch.equal(folded.view(6, 16), flat)


def test_chunks_do_not_change_logits(monkeypatch):
    """Where no gradient is recorded, rows go through in pieces."""
    model = network()
    x = stripes(10)
    missing = some_missing(x)
    whole = model(x, missing)[-1].detach()
    monkeypatch.setattr("nadek.models.unet.CHUNK_PIXELS", 3 * 16)
    with torch.no_grad():
        torch.testing.assert_close(model(x, missing)[-1], whole)


def test_dropout_follows_generator_and_mode():
    model = network(dropout=0.5)
    x = stripes(4)
    missing = some_missing(x)
    model.train()
    a, b, c = (model(x, missing, generator=seeded(seed))[-1] for seed in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)
    model.eval()
    assert torch.equal(model(x, missing)[-1], model(x, missing)[-1])


@pytest.mark.parametrize("decoder", ["full", "batched"])
def test_reduced_precision_costs_little(decoder):
    model = network()
    x, ordering = stripes(20), random_orderings(1, 16, generator=seeded())[0]
    exact = log_prob(model, x, ordering=ordering, decoder=decoder)
    coarse = log_prob(model, x, ordering=ordering, decoder=decoder, dtype=torch.bfloat16)
    assert not torch.equal(coarse, exact)
    assert (coarse - exact).abs().max() < 0.2


@pytest.mark.slow
def test_image_network_learns():
    x = stripes(100)
    model = network(mean=x.mean(0))
    run = TrainingConfig(
        phases=(Phase(epochs=30),), optimizer=AdamW(lr=2e-2), batch_size=10, ema_decay=0.0, precision="bfloat16"
    )
    before = estimate_log_prob(model, x, n_masks=4, generator=seeded()).mean()
    fit(model, prepare(x), config=run)
    after = estimate_log_prob(model, x, n_masks=4, generator=seeded()).mean()
    assert before < -5
    assert after > -2.5  # nats; log 4 is what four images take at least


# Mirrored images


def test_mirrored_images():
    x = torch.arange(12).view(2, 6)
    turned = mirror_images(x, torch.tensor([False, True]), (2, 3))
    assert turned.tolist() == [[0, 1, 2, 3, 4, 5], [8, 7, 6, 11, 10, 9]]


@pytest.mark.slow
def test_mirrored_training_learns_both_sides():
    """All rows have their stripe at the left: only a mirror shows it at the right."""
    x = torch.tensor([[1.0, 0, 0, 0] * 4]).repeat(100, 1)
    means = {}
    for mirror in (None, (4, 4)):
        model = network(mean=torch.full((16,), 0.5))
        options = {"phases": (Phase(epochs=10),), "optimizer": AdamW(lr=2e-2), "batch_size": 10, "ema_decay": 0.0}
        run = TrainingConfig(mirror=mirror, **options)
        fit(model, prepare(x), config=run)
        p = model(torch.zeros(1, 16), torch.ones(1, 16, dtype=torch.bool))[-1].sigmoid()[0].view(4, 4).mean(0)
        means[mirror] = p.detach()
    assert means[None][0] > 0.9
    assert means[None][3] < 0.1
    assert (means[4, 4][[0, 3]] - 0.5).abs().max() < 0.2


def test_missing_cells_are_mirrored(monkeypatch):
    """What is observed is 1 everywhere, and 0 stands in the holes."""
    seen = []

    def watched(model, x, missing, observed, **options):
        seen.append((x, observed))
        return step_costs(model, x, missing, observed, **options)

    monkeypatch.setattr("nadek.training.costs.step_costs", watched)
    x = torch.tensor([[1.0, 1.0, torch.nan, torch.nan] * 4, [1.0] * 16]).repeat(20, 1)
    fit(network(), prepare(x), config=TrainingConfig(mirror=(4, 4), phases=(Phase(epochs=1),), batch_size=10))
    assert all(torch.equal(x == 1, observed) for x, observed in seen)
    assert {row[0].item() for x, _ in seen for row in x} == {0, 1}


# Around it


def test_table_estimators_refuse_image_models(tmp_path):
    save(tmp_path, SavedModel(network(), Schema(image_shape=(4, 4))))
    with pytest.raises(ValueError, match="expected a model of a table, found one of images"):
        NADEk.load(tmp_path)
