"""Panels of lines of measured points: models along a training, or along a number of steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from nadek.figures.style import DPI, INK, LINES, PAPER, RULE, STYLE, settled

SHORT = 20
"""Lines of at most this many points show them."""

LEVEL = (0, (4, 3))
"""Dashes of level lines."""


@dataclass(frozen=True)
class Line:
    """Heights y at positions x, with standard errors; None where one is missing.

    A line without positions is level: drawn over the whole width at its one height, in the colour of the line
    ``beside``, if that is drawn.
    """

    x: Sequence[float | int]
    y: Sequence[float | None]
    errors: Sequence[float | None] | None = None
    beside: str | None = None


def lines(
    panels: Mapping[str, Mapping[str, Line]],
    *,
    x_label: str,
    y_label: str,
    mark: float | int | None = None,
    skip: float = 0.0,
    shared: bool = True,
) -> Figure:
    """Draw lines in panels; a line looks the same in all of them, and short ones show their points.

    A vertical line stands at ``mark``. The height need not fit the first part ``skip`` (0 to 1) of the lines: the start
    of a training is steep. Lines that take a colour again are dashed and have hollow points.
    """
    names = list(dict.fromkeys(name for by_name in panels.values() for name in by_name))
    looks = _looks(names, {name: line.beside for by_name in panels.values() for name, line in by_name.items()})
    with rc_context(STYLE):
        figure = Figure(figsize=(0.6 + 2.9 * len(panels), 2.6 + 0.13 * len(names)), dpi=DPI, layout="constrained")
        every_axes = figure.subplots(1, len(panels), sharey=shared, squeeze=False)[0]
        every_axes[0].set_ylabel(y_label)
        for axes, (title, by_name) in zip(every_axes, panels.items(), strict=True):
            axes.set_title(title, loc="left", color=INK, fontsize=8)
            axes.set_xlabel(x_label)
            axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
            axes.ticklabel_format(axis="y", useOffset=False)
            if mark is not None:
                axes.axvline(mark, color=RULE, linewidth=0.8, zorder=0)
            for name, line in by_name.items():
                _draw(axes, line, looks[name])
            shown = panels.values() if shared else [by_name]
            axes.set_ylim(*_limits([line for one in shown for line in one.values()], skip))
        handles = [
            _handle([by_name[name] for by_name in panels.values() if name in by_name], looks[name]) for name in names
        ]
        _legend_below(figure, handles, names)
        return settled(figure)


def _legend_below(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """A legend under a picture, in as many columns as its width has room for, three at most."""
    entry = 0.6 + 0.06 * max(map(len, names))  # inches: the line and the space around it, and its name
    columns = max(1, min(len(names), 3, int(figure.get_figwidth() / entry)))
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False)


def _looks(names: Sequence[str], beside: Mapping[str, str | None]) -> dict[str, dict[str, Any]]:
    """Return the look of each line; one beside another leaves its own colour to the next."""
    own = [name for name in names if beside[name] not in names]
    looks: dict[str, dict[str, Any]] = {}
    for place, name in enumerate(own):
        colour, again = LINES[place % len(LINES)], place >= len(LINES)
        dashes = (0, (2, 1.5)) if again else "-"
        looks[name] = {"color": colour, "linestyle": dashes, "markerfacecolor": PAPER if again else colour}
    return {name: looks[name if name in looks else str(beside[name])] for name in names}


def _draw(axes: Axes, line: Line, look: Mapping[str, Any]) -> None:
    values = _values(line)
    if not len(line.x):
        axes.axhline(values[0], color=look["color"], linewidth=1.0, linestyle=LEVEL)
        error = line.errors[0] if line.errors else None
        if error is not None:
            axes.axhspan(values[0] - error, values[0] + error, color=look["color"], alpha=0.15, linewidth=0)
        return
    finite = np.isfinite(values)
    x = np.asarray(line.x, dtype=np.float64)[finite]
    axes.plot(x, values[finite], linewidth=1.1, marker="o" if len(line.x) <= SHORT else None, markersize=2.5, **look)
    if line.errors is not None:
        errors = np.array([np.nan if error is None else error for error in line.errors], dtype=np.float64)[finite]
        axes.fill_between(
            x, values[finite] - errors, values[finite] + errors, color=look["color"], alpha=0.15, linewidth=0
        )


def _handle(same_name: Sequence[Line], look: Mapping[str, Any]) -> Line2D:
    """Return the legend's line: with points where shown, without a line for single points, dashed if level."""
    level = not any(len(line.x) for line in same_name)
    single = all(len(line.x) > 0 and np.isfinite(_values(line)).sum() == 1 for line in same_name)
    length = next((len(line.x) for line in same_name if len(line.x)), None)
    marker = "o" if length is not None and length <= SHORT else None
    style = {**look, "linestyle": "none"} if single else {**look, "linestyle": LEVEL} if level else look
    return Line2D([], [], linewidth=1.2, marker=marker, markersize=2.5, **style)


def _values(line: Line) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in line.y], dtype=np.float64)


def _limits(shown: Sequence[Line], skip: float) -> tuple[float, float]:
    late = np.concatenate([_values(line)[int(skip * len(line.y)) :] for line in shown])
    late = late[np.isfinite(late)]
    pad = 0.06 * (late.max() - late.min()) or 0.5
    return float(late.min() - pad), float(late.max() + pad)
