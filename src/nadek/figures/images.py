"""Pictures of rows that are images: samples, filters, and the inference at work."""

import math

import numpy as np
from jaxtyping import Bool, Float, Real
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from nadek.figures.style import DPI, FRAME, IMPUTED, INK, LINE, MARGIN, MISSING, PAPER, SIGNED, SPACE, STYLE, TILE

SCALE = 0.99
"""The part of a filter's weights that its scale holds."""


def samples(x: Real[np.ndarray, "N D"], *, image_shape: tuple[int, int]) -> Figure:
    """Return a figure of images in a grid.

    Args:
        x: values or probabilities in 0 to 1, NaN = missing (pale blue), shape [N, D].
        image_shape: height and width of an image in pixels; their product is D.

    Raises:
        ValueError: if x is empty or leaves 0 to 1, or image_shape does not fit D.

    Example:
        >>> from nadek import datasets
        >>> samples(datasets.load("digits").train[:12], image_shape=(8, 8)).get_size_inches().round(1).tolist()
        [1.5, 1.9]
    """
    _check_images("x", x, image_shape)
    return _grid(_shade(x, INK), image_shape)


def filters(weights: Real[np.ndarray, "n D"], *, image_shape: tuple[int, int]) -> Figure:
    """Return a figure of weights as images, each on its own symmetric scale.

    They are red above zero and blue below. The few largest weights of a filter may lie beyond its scale: one of them
    alone would make all others pale. See the example of `samples`.

    Args:
        weights: one hidden unit a row, shape [n, D], such as ``model.W.detach().numpy()``.
        image_shape: height and width of an image in pixels; their product is D.

    Raises:
        ValueError: if there are no weights, or image_shape does not fit D.
    """
    _check_images("weights", weights, image_shape)
    large = np.quantile(np.abs(weights), SCALE, axis=1, keepdims=True)
    return _grid(SIGNED(0.5 + 0.5 * weights / np.where(large > 0, large, 1))[..., :3], image_shape)


def inpainting(
    x: Real[np.ndarray, "N D"],
    missing: Bool[np.ndarray, "N D"],
    trajectory: Float[np.ndarray, "times N D"],
    *,
    image_shape: tuple[int, int],
    completed: Real[np.ndarray, "N D"] | None = None,
) -> Figure:
    """Return a figure of the steps that fill in missing pixels (NADE-k paper, v⟨0⟩ to v⟨k⟩).

    A row shows the data, what the model was given, its probabilities before step 1 and after each step, and one
    completed sample. Ink is given, blue comes from the model, pale blue has no value.

    Args:
        x: the data, in 0 to 1, NaN where not known, shape [N, D].
        missing: True where a value was to be predicted, shape [N, D].
        trajectory: probabilities v⟨0⟩ to v⟨k⟩, shape [k + 1, N, D]; where nothing is missing, x is drawn.
        image_shape: height and width of an image in pixels; their product is D.
        completed: a sample given the observed values, shape [N, D].

    Raises:
        ValueError: if a shape does not fit, or a value leaves 0 to 1.

    Example:
        >>> x, missing = np.eye(4).reshape(1, 16), np.arange(16).reshape(1, 16) > 7
        >>> figure = inpainting(x, missing, np.full((3, 1, 16), 0.5), image_shape=(4, 4))
        >>> [text.get_text() for text in figure.axes[0].texts][:2]
        ['data', 'given']
    """
    _check_images("x", x, image_shape)
    sample = [] if completed is None else [completed]
    for name, array in {"missing": missing, "trajectory": trajectory, "completed": completed}.items():
        if array is not None and array.shape[-2:] != x.shape:
            raise ValueError(f"{name} must end in the shape of x, {x.shape}, found {array.shape}")
    ink, hidden = _shade(x, INK), missing[..., None]
    columns = [ink, np.where(hidden, to_rgb(MISSING), ink)]
    columns += [np.where(hidden, _shade(values, IMPUTED), ink) for values in (*trajectory, *sample)]
    heads = ["data", "given", *(rf"$v^{{\langle {t} \rangle}}$" for t in range(len(trajectory)))]
    heads += ["sample"] * len(sample)
    tiles = np.stack(columns, axis=1).reshape(len(x), len(columns), *image_shape, 3)
    return _columns(tiles, heads, starts=[0, 2, 2 + len(trajectory)])


def _check_images(name: str, x: Real[np.ndarray, "..."], image_shape: tuple[int, int]) -> None:
    """Refuse what is no table of such images."""
    if x.ndim != 2 or x.size == 0:
        raise ValueError(f"{name} must be a table of at least one image, found shape {x.shape}")
    height, width = image_shape
    if height * width != x.shape[1]:
        raise ValueError(f"image_shape {image_shape} has {height * width} pixels, {name} has {x.shape[1]} columns")


def _shade(values: Real[np.ndarray, "*any"], full: str) -> Float[np.ndarray, "*any 3"]:
    """Colours from paper at 0 to `full` at 1, and that of a missing value at NaN."""
    if (values < 0).any() or (values > 1).any():
        raise ValueError(f"values must be in 0 to 1, found {np.nanmin(values):g} to {np.nanmax(values):g}")
    paper, end, unknown = (np.array(to_rgb(colour)) for colour in (PAPER, full, MISSING))
    level = values[..., None].astype(np.float64)
    return np.where(np.isnan(level), unknown, paper + level * (end - paper))


def _scale(height: int, width: int) -> int:
    """Dots a pixel: images of every shape cover about the same area, and large ones are drawn dot by dot."""
    return max(1, round(TILE / math.sqrt(height * width)))


def _mosaic(tiles: Float[np.ndarray, "R C h w 3"]) -> Float[np.ndarray, "H W 3"]:
    """One picture of a grid of images, every pixel a whole number of dots, with hairlines around them."""
    rows, columns, height, width, _ = tiles.shape
    scale = _scale(height, width)
    tall, wide = height * scale, width * scale
    grid = np.full((rows, tall + LINE, columns, wide + LINE, 3), to_rgb(FRAME))
    grid[:, LINE:, :, LINE:] = tiles.repeat(scale, axis=2).repeat(scale, axis=3).transpose(0, 2, 1, 3, 4)
    picture = np.full((rows * (tall + LINE) + LINE, columns * (wide + LINE) + LINE, 3), to_rgb(FRAME))
    picture[:-LINE, :-LINE] = grid.reshape(rows * (tall + LINE), columns * (wide + LINE), 3)
    return picture


def _canvas(picture: Float[np.ndarray, "H W 3"], *, top: int = 0) -> tuple[Figure, Axes]:
    """A figure that shows a picture dot by dot, and its axes, whose units are dots."""
    height, width, _ = picture.shape
    full_width, full_height = width + 2 * MARGIN, height + top + 2 * MARGIN
    figure = Figure(figsize=(full_width / DPI, full_height / DPI), dpi=DPI)
    axes = figure.add_axes((MARGIN / full_width, MARGIN / full_height, width / full_width, height / full_height))
    axes.imshow(picture, extent=(0, width, height, 0), interpolation="none", aspect="auto")
    axes.set_axis_off()
    return figure, axes


def _grid(colours: Float[np.ndarray, "N D 3"], image_shape: tuple[int, int]) -> Figure:
    """A figure of N images; what the last row lacks stays paper."""
    count, pixels, _ = colours.shape
    columns = min(count, max(1, round(math.sqrt(count * image_shape[0] / image_shape[1]))))
    tiles = np.concatenate([colours, np.ones((-count % columns, pixels, 3))])
    figure, _ = _canvas(_mosaic(tiles.reshape(-1, columns, *image_shape, 3)))
    return figure


def _columns(tiles: Float[np.ndarray, "R C h w 3"], heads: list[str], starts: list[int]) -> Figure:
    """A figure of a grid of images with a head over each column and a space where a group of them starts."""
    groups = [_mosaic(group) for group in np.split(tiles, starts[1:], axis=1) if group.shape[1]]
    space = np.ones((groups[0].shape[0], SPACE, 3))
    parts = [part for group in groups for part in (group, space)][:-1]
    pitch = LINE + tiles.shape[3] * _scale(*tiles.shape[2:4])
    upright = pitch < 0.7 * TILE
    with rc_context(STYLE):
        figure, axes = _canvas(np.concatenate(parts, axis=1), top=90 if upright else 24)
        for place, head in enumerate(heads):
            group = sum(place >= start for start in starts) - 1
            centre = place * pitch + pitch / 2 + group * (SPACE + LINE) + LINE / 2
            size = 8 if head.startswith("$") else 6.5
            axes.text(centre, -14, head, fontsize=size, ha="center", va="baseline", rotation=90 * upright)
    return figure
