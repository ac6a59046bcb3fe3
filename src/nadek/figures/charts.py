"""Curves of a training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from nadek.figures.style import DPI, INK, RULE, STEPS, STYLE, settled


def training_curves(epochs: Sequence[Mapping[str, Any]]) -> Figure:
    """Return a figure of the costs of each step, in training and validation.

    Steps go from light to dark and a vertical line marks a new phase. A phase that counts the last step only has no
    training costs of the others: their curves end where it begins. The height fits what comes after the first tenth of
    the epochs; a curve may come in through the top.

    Args:
        epochs: a record an epoch, in order: "epoch" (number), "phase" (name), "train" and "validation" (costs of
            steps 1 to k in nats, None where not measured).

    Raises:
        ValueError: if there are no epochs, or no training costs, or the number of steps changes (other than to the
            last step alone).

    Example:
        >>> epochs = [{"epoch": n, "phase": "last_step", "train": [90 + 9 / n]} for n in range(1, 20)]
        >>> [axes.get_title(loc="left") for axes in training_curves(epochs).axes]
        ['training']
    """
    panels = {"training": _costs(epochs, "train"), "validation": _costs(epochs, "validation")}
    if not np.isfinite(panels["training"]).any():
        raise ValueError(f"epochs must hold training costs, found none in {len(epochs)} records")
    panels = {name: costs for name, costs in panels.items() if np.isfinite(costs).any()}
    phases = [str(record.get("phase", "")) for record in epochs]
    position = np.array([record["epoch"] for record in epochs], dtype=np.float64)
    with rc_context(STYLE):
        figure = Figure(figsize=(0.5 + 2.9 * len(panels), 2.5), dpi=DPI, layout="constrained")
        every_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        every_axes[0].set_ylim(*_limits(np.concatenate(list(panels.values()), axis=1)))
        every_axes[0].set_ylabel("cost (nats)")
        drawn: list[list[Line2D]] = []
        edge = max(0.5, 0.02 * (position[-1] - position[0]))
        for axes, (name, costs) in zip(every_axes, panels.items(), strict=True):
            axes.set_title(name, loc="left", color=INK, fontsize=8, pad=15 if len(set(phases)) > 1 else 5)
            axes.set_xlabel("epoch")
            axes.set_xlim(position[0] - edge, position[-1] + edge)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
            _draw_phases(axes, position, phases)
            drawn.append(_draw_costs(axes, position, costs))
        figure.legend(handles=max(drawn, key=len), loc="outside right upper", frameon=False)
        return settled(figure)


def _costs(epochs: Sequence[Mapping[str, Any]], key: str) -> Float[np.ndarray, "E k"]:
    """The costs of each epoch and step, NaN where there are none; one cost alone is the last step's."""
    steps = {len(record[key]) for record in epochs if record.get(key) is not None} - {1} or {1}
    if len(steps) > 1:
        raise ValueError(f"epochs must all have the same number of steps in {key!r}, found {sorted(steps)}")
    costs = np.full((len(epochs), steps.pop()), np.nan)
    for row, record in zip(costs, epochs, strict=True):
        if record.get(key) is not None:
            row[-len(record[key]) :] = record[key]
    return costs


def _limits(costs: Float[np.ndarray, "E n"]) -> tuple[float, float]:
    """Limits that hold everything after the first tenth, the last epoch for sure, but not single spikes."""
    late = costs[len(costs) // 10 :]
    late = late[np.isfinite(late)] if np.isfinite(late).any() else costs[np.isfinite(costs)]
    last = costs[-1][np.isfinite(costs[-1])]
    low = late.min()
    high = max([np.percentile(late, 97 if len(costs) >= 10 else 100), *last])
    pad = 0.06 * (high - low) or 0.5
    return low - pad, high + pad


def _draw_phases(axes: Axes, position: Float[np.ndarray, " E"], phases: list[str]) -> None:
    """Mark where a phase starts with a thin line, and name the phases if there are several."""
    starts = [i for i in range(len(phases)) if i == 0 or phases[i] != phases[i - 1]]
    if len(starts) == 1:
        return
    for i in starts:
        where = (position[max(i - 1, 0)] + position[i]) / 2
        if i > 0:
            axes.axvline(where, color=RULE, linewidth=0.8, zorder=0)
        name = phases[i].replace("_", " ")
        axes.text(where, 1.02, name, transform=axes.get_xaxis_transform(), fontsize=6, va="bottom")


def _draw_costs(axes: Axes, position: Float[np.ndarray, " E"], costs: Float[np.ndarray, "E k"]) -> list[Line2D]:
    """Draw a line for each step that has costs, and return these lines."""
    colours = STEPS(np.linspace(0, 1, costs.shape[1]) if costs.shape[1] > 1 else [1.0])
    drawn = []
    for step, cost in enumerate(costs.T):
        finite = np.flatnonzero(np.isfinite(cost))
        if len(finite):
            look = {"color": colours[step], "linewidth": 1.1, "marker": "o" if len(finite) < 3 else None}
            drawn += axes.plot(position[finite], cost[finite], markersize=3, label=f"step {step + 1}", **look)
    return drawn
