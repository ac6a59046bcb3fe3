"""Pictures of data, models and training, as Matplotlib figures that `save` writes to a file.

Every function takes arrays or plain records and returns a `matplotlib.figure.Figure`; none touches pyplot or its
global state. Images are rows of D values in row-major order, and show 1 as ink and 0 as paper.

Example:
    >>> import numpy as np
    >>> from nadek import figures
    >>> figures.samples(np.eye(16), image_shape=(4, 4), title="sixteen pixels").axes[0].images[0].get_array().shape
    (346, 346, 3)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nadek.figures.charts import model_comparison, reliability, training_curves
    from nadek.figures.images import filters, inpainting, samples
    from nadek.figures.style import save

__all__ = [
    "Figure",
    "filters",
    "inpainting",
    "model_comparison",
    "reliability",
    "samples",
    "save",
    "training_curves",
]

_HOMES = {
    "matplotlib.figure": ("Figure",),
    "nadek.figures.charts": ("model_comparison", "reliability", "training_curves"),
    "nadek.figures.images": ("filters", "inpainting", "samples"),
    "nadek.figures.style": ("save",),
}
"""Matplotlib takes a quarter of the command line's start: it is loaded with the first picture.

No module here is called as what it holds: Python would put the module in the place of the function."""


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
