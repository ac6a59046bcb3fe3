"""Colours, sizes and type that all pictures share, and how they are written."""

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from nadek.utils.atomic import replacing

PAPER, INK = "#ffffff", "#1c2333"  # a value of 0 and of 1
MISSING, IMPUTED = "#dbe8f5", "#1f5fa8"  # a cell without a value, and a 1 that a model put there
FRAME, RULE, QUIET = "#e4e7ec", "#c3c8d0", "#6b7280"  # hairlines, axes, small text
ACCENT = "#c2542d"  # the one thing to look at
LINES = (ACCENT, "#10335f", "#4a8ac4", "#3f8f5f", "#8a5a9e", "#b8892b", QUIET)  # lines that have no order among them
STEPS = LinearSegmentedColormap.from_list("nadek_steps", ["#9fc3e4", "#4a8ac4", "#10335f"])
SIGNED = LinearSegmentedColormap.from_list("nadek_signed", ["#174a85", "#9dc0e2", PAPER, "#efb79d", "#b0431d"])

DPI = 200
TILE, LINE, SPACE, MARGIN = 84, 2, 14, 24  # dots: an image, a hairline, between groups of columns, around
STYLE: Any = {  # Any: Matplotlib types the names of its settings anew in every version
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "font.size": 7.0,
    "text.color": QUIET,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": RULE,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **{f"{axis}.color": RULE for axis in ("xtick", "ytick")},
    **{f"{axis}.labelcolor": QUIET for axis in ("xtick", "ytick")},
    **{f"{axis}.major.width": 0.6 for axis in ("xtick", "ytick")},
    **{f"{axis}.major.size": 2.5 for axis in ("xtick", "ytick")},
}
_NO_CLOCK: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format of the suffix: whole or not at all, and the same bytes every time.

    Args:
        figure: what one of the functions here returned.
        path: a file that ends in .png, .svg or .pdf, in a folder that exists; replaced if it is there.

    Returns:
        The path.

    Raises:
        ValueError: if the suffix is another one.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from nadek.figures import training_curves
        >>> with TemporaryDirectory() as folder:
        ...     save(training_curves([{"epoch": 1, "train": [90.0]}]), Path(folder) / "curve.png").name
        'curve.png'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _NO_CLOCK:
        raise ValueError(f"path must end in one of {', '.join(_NO_CLOCK)}, found {path.name!r}")
    with replacing(path) as stream, rc_context({**STYLE, "svg.hashsalt": "nadek"}):
        figure.savefig(stream, format=suffix[1:], dpi="figure", metadata=_NO_CLOCK[suffix])
    return path


def settled(figure: Figure) -> Figure:
    """The figure with its layout computed once: every further drawing would move it by a hair."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure
