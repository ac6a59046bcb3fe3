"""Draw docs/pictures/calibration.png from the record of the imputation benchmark.

python benchmarks/imputation_picture.py
"""

import json
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from common import RESULTS
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nadek import figures
from nadek.figures.style import DPI, INK, LINES, RULE, STYLE, settled

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "calibration.png"
PERCENT = "30"
METHODS = ("nadek", "hidden-tree", "neighbours", "ridge", "missforest")
"""Most used and strongest methods, the first in colour."""


def main() -> None:
    """Read the record and draw."""
    results = json.loads((RESULTS / "imputation.json").read_text(encoding="utf-8"))["results"]
    panels = {
        name: {by[PERCENT][m]["title"]: by[PERCENT][m]["reliability"] for m in METHODS if m in by[PERCENT]}
        for name, by in results.items()
        if PERCENT in by
    }
    print(figures.save(reliability(panels), PICTURE))


def reliability(panels: Mapping[str, Mapping[str, Sequence[Sequence[float | int]]]], *, least: int = 50) -> Figure:
    """Draw how often what was said to be so likely came true: on the diagonal it was as likely as said.

    Args:
        panels: for each panel (by its title) and each line in it (by its name) rows (mean probability, how often it
            came true, number of cases), in the order of the probabilities. A line has one colour in all panels; the
            first line of all is the one to look at.
        least: bins with fewer cases are left out.

    Raises:
        ValueError: if there is no panel or no line, or no bin has enough cases.
    """
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    if not any(row[2] >= least for lines in panels.values() for rows in lines.values() for row in rows):
        raise ValueError(f"panels must hold a bin with at least {least} cases, found none in {len(panels)} panels")
    colours = dict(zip(names, cycle(LINES)))
    with rc_context(STYLE):
        figure = Figure(figsize=(0.5 + 1.75 * len(panels), 2.6), dpi=DPI, layout="constrained")
        every_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        every_axes[0].set_ylabel("how often it came true")
        every_axes[0].set_ylim(0, 1)
        for axes, (title, lines) in zip(every_axes, panels.items(), strict=True):
            axes.set_title(title, loc="left", color=INK, fontsize=8)
            axes.set_xlabel("probability said")
            axes.set_xlim(0, 1)
            axes.set_aspect("equal")
            axes.plot([0, 1], [0, 1], color=RULE, linewidth=0.6, zorder=0)
            for name in reversed(list(lines)):  # the first on top
                points = np.array([row[:2] for row in lines[name] if row[2] >= least]).reshape(-1, 2)
                axes.plot(*points.T, "o-", color=colours[name], linewidth=1.0, markersize=2.2)
        handles = [Line2D([], [], color=colours[name], marker="o", markersize=2.2, linewidth=1.0) for name in names]
        figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
        return settled(figure)


if __name__ == "__main__":
    main()
