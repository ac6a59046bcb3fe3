"""The paper's figure of three structures of NADE-k, unfolded over their steps."""

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from nadek.figures.style import DPI, FRAME, IMPUTED, INK, MISSING, PAPER, QUIET, STYLE, settled

WIDE, TALL = 0.3, 0.34
Place = tuple[float, float]


def structures() -> Figure:
    """Draw the three structures beside one another.

    One hidden layer (n = 2, k = 2), two (n = 3, k = 2), and as in a deep Boltzmann machine (n = 2, k = 3). Time goes to
    the right and layers upwards. The dark half of a visible layer is observed and stays the same.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 2.3), dpi=DPI, layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=[3, 3, 4])
        _deep(left, "one hidden layer: n = 2, k = 2", depth=1, steps=2)
        _deep(middle, "two hidden layers: n = 3, k = 2", depth=2, steps=2)
        _alternating(right, "as in a deep Boltzmann machine: n = 2, k = 3", steps=3)
        return settled(figure)


def _deep(axes: Axes, title: str, *, depth: int, steps: int) -> None:
    """Draw steps that go up through the hidden layers and down again."""
    _frame(axes, title, wide=2.0 * steps, tall=2.0)
    upward = ["W", "U"][:depth]
    for step in range(steps):
        path = [(2 * step + 2 * level / (depth + 1), float(level)) for level in range(depth + 1)]
        for start, end, name in zip(path, path[1:], upward, strict=False):
            _arrow(axes, start, end, name)
        _arrow(axes, path[-1], (2.0 * step + 2, 0.0), "V")
        for level, place in enumerate(path[1:], 1):
            _layer(axes, place, rf"$h_{level}^{{\langle {step + 1} \rangle}}$" if depth > 1 else _at("h", step + 1))
    for step in range(steps + 1):
        _layer(axes, (2.0 * step, 0.0), _at("v", step), observed=True)


def _alternating(axes: Axes, title: str, *, steps: int) -> None:
    """Draw steps whose lower hidden layer reads the layers beside it."""
    _frame(axes, title, wide=2.0 * steps, tall=2.0)
    for step in range(1, steps + 1):
        below, lower, upper = (2.0 * step - 2, 0.0), (2.0 * step - 1, 1.0), (2.0 * step, 2.0)
        _arrow(axes, below, lower, "W")
        _arrow(axes, lower, (2.0 * step, 0.0), "$W^T$")
        if step > 1:
            _arrow(axes, (2.0 * step - 2, 2.0), lower, "$U^T$")
        if step < steps:  # after the last step nothing reads it
            _arrow(axes, lower, upper, "U")
            _layer(axes, upper, rf"$h_2^{{\langle {step} \rangle}}$")
        _layer(axes, lower, rf"$h_1^{{\langle {step} \rangle}}$")
    for step in range(steps + 1):
        _layer(axes, (2.0 * step, 0.0), _at("v", step), observed=True)


def _at(name: str, step: int) -> str:
    return rf"${name}^{{\langle {step} \rangle}}$"


def _frame(axes: Axes, title: str, *, wide: float, tall: float) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=7)
    axes.set_xlim(-0.6, wide + 0.6)
    axes.set_ylim(-0.75, tall + 0.5)
    axes.set_axis_off()


def _layer(axes: Axes, place: Place, name: str, *, observed: bool = False) -> None:
    """Draw a layer as a box; of a visible layer one half is dark."""
    x, y = place[0] - WIDE, place[1] - TALL / 2
    if observed:
        axes.add_patch(Rectangle((x, y), WIDE, TALL, facecolor=INK, linewidth=0, zorder=3))
        axes.add_patch(Rectangle((x + WIDE, y), WIDE, TALL, facecolor=MISSING, linewidth=0, zorder=3))
        axes.text(place[0], y - 0.12, name, ha="center", va="top", color=INK)
        return
    style = "round,pad=0,rounding_size=0.1"
    box = FancyBboxPatch((x, y), 2 * WIDE, TALL, boxstyle=style, facecolor=PAPER, edgecolor=IMPUTED, linewidth=0.9)
    axes.add_patch(box).set_zorder(3)
    axes.text(*place, name, ha="center", va="center", color=INK, fontsize=6, zorder=4)


def _arrow(axes: Axes, start: Place, end: Place, name: str) -> None:
    arrow = FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=6, shrinkA=9, shrinkB=9, color=QUIET)
    arrow.set_linewidth(0.8)
    axes.add_patch(arrow)
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    box = {"facecolor": PAPER, "edgecolor": FRAME, "linewidth": 0.0, "pad": 0.8}
    axes.text(*middle, name, ha="center", va="center", fontsize=6, bbox=box)
