"""The figures have the parts they promise, are written the same every time, and refuse what does not fit."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from nadek import figures
from nadek.figures import style


def images(n, dim, seed=0):
    return np.random.default_rng(seed).random((n, dim))


def epoch(number, steps=3, phase="pretrain", validation=True):
    costs = [90 + 100 / number + 5 / (t + 1) for t in range(steps)]
    return {"epoch": number, "phase": phase, "train": costs, "validation": costs if validation else None}


def picture(figure):
    (axes,) = figure.axes
    (image,) = axes.images
    return np.asarray(image.get_array())


def heads(figure):
    return [text.get_text() for text in figure.axes[0].texts if text.get_text()]


def steps_named(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize(("n", "shape", "n_columns"), [(1, (4, 6), 1), (7, (4, 6), 2), (9, (3, 1), 5), (2, (1, 8), 1)])
def test_samples(n, shape, n_columns):
    figure = figures.samples(images(n, shape[0] * shape[1]), image_shape=shape)
    assert isinstance(figure, Figure)
    scale = max(1, round(style.TILE / np.sqrt(shape[0] * shape[1])))
    n_rows = -(-n // n_columns)
    size = n_rows * (shape[0] * scale + style.LINE), n_columns * (shape[1] * scale + style.LINE)
    assert picture(figure).shape == (size[0] + style.LINE, size[1] + style.LINE, 3)


def test_values_become_colours():
    x = np.array([[0.0, 1.0, np.nan, 1.0]])
    shown = picture(figures.samples(x, image_shape=(2, 2)))
    quarter = shown.shape[0] // 4
    expected = [style.PAPER, style.INK, style.MISSING, style.INK]
    found = [shown[i, j] for i in (quarter, 3 * quarter) for j in (quarter, 3 * quarter)]
    np.testing.assert_allclose(found, [to_rgb(colour) for colour in expected])


@pytest.mark.parametrize("completed", [False, True])
@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("shape", [(4, 6), (24, 1)])
def test_inpainting(completed, times, shape):
    x, missing = images(3, 24), images(3, 24, seed=1) < 0.5
    trajectory = np.stack([images(3, 24, seed=t) for t in range(times)])
    sample = np.round(x) if completed else None
    figure = figures.inpainting(x, missing, trajectory, image_shape=shape, completed=sample)
    assert len(heads(figure)) == 2 + times + completed
    assert heads(figure)[:2] == ["data", "given"]


def test_inpainting_without_missing_shows_data():
    x, trajectory = images(2, 16), images(2, 16, seed=1)[None]
    none = np.zeros(x.shape, dtype=bool)
    draw = figures.inpainting
    np.testing.assert_array_equal(
        picture(draw(x, none, trajectory, image_shape=(4, 4))),
        picture(draw(x, none, 1 - trajectory, image_shape=(4, 4))),
    )


@pytest.mark.parametrize(("count", "steps"), [(1, 1), (1, 4), (2, 1), (30, 10)])
def test_training_curves(count, steps):
    figure = figures.training_curves([epoch(i + 1, steps) for i in range(count)])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["training", "validation"]
    for axes in figure.axes:
        assert len(axes.lines) == steps
        assert steps_named(figure) == [f"step {t + 1}" for t in range(steps)]
        low, high = axes.get_ylim()
        ends = [line.get_ydata()[-1] for line in axes.lines]
        assert low < min(ends) <= max(ends) < high


def test_curves_without_validation():
    assert len(figures.training_curves([epoch(1, validation=False), epoch(2, validation=False)]).axes) == 1
    sparse = figures.training_curves([epoch(i, validation=i % 5 == 0) for i in range(1, 21)])
    assert [len(axes.lines[0].get_xdata()) for axes in sparse.axes] == [20, 4]


def test_legend_names_every_step_once():
    records = [epoch(i) for i in range(1, 21)] + [epoch(i, phase="finetune") for i in range(21, 41)]
    for record in records[20:]:
        record["train"] = record["train"][-1:]
    figure = figures.training_curves(records)
    assert steps_named(figure) == ["step 1", "step 2", "step 3"]
    assert [line.get_xdata()[-1] for line in figure.axes[0].lines[1:]] == [20, 20, 40]
    only_last = [epoch(i) | {"train": [90.0]} for i in range(1, 21)]
    assert steps_named(figures.training_curves(only_last)) == ["step 1", "step 2", "step 3"]


def test_curves_mark_phases_and_ignore_start():
    records = [epoch(i) for i in range(1, 51)] + [epoch(i, phase="finetune") for i in range(51, 101)]
    records[0]["train"] = [1e6] * 3
    axes = figures.training_curves(records).axes[0]
    assert axes.lines[0].get_xdata()[0] == 50.5
    assert {"pretrain", "finetune"} <= {text.get_text() for text in axes.texts}
    assert axes.get_ylim()[1] < 250
    assert axes.lines[1].get_xdata()[-1] == 100


def test_curves_of_a_diverged_run():
    records = [epoch(i) for i in range(1, 31)]
    for record in records[2:]:
        record["train"] = record["validation"] = [np.nan] * 3
    for record in records:
        record["train"] = [np.nan, *record["train"][1:]]
    figure = figures.training_curves(records)
    assert [line.get_label() for line in figure.axes[0].lines] == ["step 2", "step 3"]
    assert steps_named(figure) == ["step 1", "step 2", "step 3"]  # the first has validation costs
    assert np.isfinite(figure.axes[0].get_ylim()).all()


def test_filters():
    weights = images(12, 24) - 0.5
    weights[1] = 0
    figure = figures.filters(weights, image_shape=(4, 6))
    scaled = figures.filters(weights * 7.0, image_shape=(4, 6))
    np.testing.assert_allclose(picture(figure), picture(scaled), atol=0.02)
    assert picture(figures.filters(weights[1:2], image_shape=(4, 6)))[5:-5, 5:-5].min() > 0.98


EVERY_FIGURE = {
    "samples": lambda: figures.samples(images(3, 12), image_shape=(3, 4)),
    "filters": lambda: figures.filters(images(3, 12), image_shape=(3, 4)),
    "inpainting": lambda: figures.inpainting(
        images(2, 12), images(2, 12) < 0.5, images(2, 12)[None], image_shape=(3, 4)
    ),
    "training_curves": lambda: figures.training_curves([epoch(1), epoch(2), epoch(3, phase="finetune")]),
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("name", EVERY_FIGURE)
def test_save_is_reproducible(name, suffix, tmp_path):
    settings = dict(mpl.rcParams)
    figure = EVERY_FIGURE[name]()
    first = figures.save(figure, tmp_path / f"first{suffix}").read_bytes()
    again = figures.save(figure, str(tmp_path / f"again{suffix}")).read_bytes()
    anew = figures.save(EVERY_FIGURE[name](), tmp_path / f"anew{suffix.upper()}").read_bytes()
    assert first == again == anew
    assert len(first) > 500
    assert len(list(tmp_path.iterdir())) == 3
    assert dict(mpl.rcParams) == settings


def test_save_errors(tmp_path):
    figure = EVERY_FIGURE["samples"]()
    with pytest.raises(ValueError, match=r"one of \.png, \.svg, \.pdf, found 'a\.jpg'"):
        figures.save(figure, tmp_path / "a.jpg")
    with pytest.raises(FileNotFoundError):
        figures.save(figure, tmp_path / "nowhere" / "a.png")
    assert not list(tmp_path.iterdir())


def test_unfit_arguments_are_refused():
    x = images(2, 12)
    with pytest.raises(ValueError, match=r"image_shape \(4, 4\) has 16 pixels, x has 12 columns"):
        figures.samples(x, image_shape=(4, 4))
    with pytest.raises(ValueError, match="weights has 12 columns"):
        figures.filters(x, image_shape=(4, 4))
    with pytest.raises(ValueError, match=r"in 0 to 1, found 2\.\d+ to 2"):
        figures.samples(x + 2, image_shape=(3, 4))
    with pytest.raises(ValueError, match=r"at least one image, found shape \(0, 12\)"):
        figures.samples(x[:0], image_shape=(3, 4))
    with pytest.raises(ValueError, match=r"at least one image, found shape \(0, 12\)"):
        figures.filters(x[:0], image_shape=(3, 4))
    with pytest.raises(ValueError, match=r"same number of steps in 'train', found \[2, 3\]"):
        figures.training_curves([epoch(1, 2), epoch(2, 3)])
    with pytest.raises(ValueError, match="must hold training costs, found none in 0 records"):
        figures.training_curves([])
