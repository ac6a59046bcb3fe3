"""Curves and comparisons in numbers."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from nadek.figures.style import ACCENT, DPI, FRAME, INK, LINES, RULE, STEPS, STYLE, legend_below, settled

NAME_WIDTH, NAME_HEIGHT = 0.12, 0.054
"""How much of a panel the name of a step takes."""


def training_curves(epochs: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the cost of each step while training, and on the validation data where there are any.

    Steps go from light to dark and a vertical line marks a new phase. A phase that counts the last step only has no
    training costs of the others: their curves end, and are named, where it begins. The height fits what comes after
    the first tenth of the epochs; a curve may come in through the top.

    Args:
        epochs: a record an epoch, in order: "epoch" (number), "phase" (name), "train" and "validation" (costs of
            steps 1 to k in nats, None where not measured).

    Raises:
        ValueError: if there are no epochs, or no training costs, or the number of steps changes (other than to the
            last step alone).
    """
    panels = {"training": _costs(epochs, "train"), "validation": _costs(epochs, "validation")}
    if not np.isfinite(panels["training"]).any():
        raise ValueError(f"epochs must hold training costs, found none in {len(epochs)} records")
    panels = {name: costs for name, costs in panels.items() if np.isfinite(costs).any()}
    phases = [str(record.get("phase", "")) for record in epochs]
    position = np.array([record["epoch"] for record in epochs], dtype=np.float64)
    if (np.diff(position) <= 0).any():  # each phase counts from 1
        position = np.arange(1.0, len(epochs) + 1)
    with rc_context(STYLE):
        figure = Figure(figsize=(0.5 + 2.9 * len(panels), 2.5), dpi=DPI, layout="constrained")
        every_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        every_axes[0].set_ylim(*_limits(np.concatenate(list(panels.values()), axis=1)))
        every_axes[0].set_ylabel("cost (nats)")
        edge = max(0.5, 0.02 * (position[-1] - position[0]))
        for axes, (name, costs) in zip(every_axes, panels.items(), strict=True):
            axes.set_title(name, loc="left", color=INK, fontsize=8, pad=15 if len(set(phases)) > 1 else 5)
            axes.set_xlabel("epoch")
            axes.set_xlim(position[0] - edge, position[-1] + edge)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
            _draw_phases(axes, position, phases)
            _draw_costs(axes, position, costs)
        return settled(figure)


def model_comparison(rows: Sequence[tuple[str, float, float | None]]) -> Figure:
    """Draw the mean log-likelihood of models as dots with error bars, the best on top.

    Args:
        rows: label, mean log-likelihood in nats, and its standard error (or None) of each model.

    Raises:
        ValueError: if there are no rows.
    """
    if not rows:
        raise ValueError("rows must hold at least one model, found none")
    ranked = sorted(rows, key=lambda row: row[1], reverse=True)
    with rc_context(STYLE):
        figure = Figure(figsize=(5.0, 0.5 + 0.22 * len(rows)), dpi=DPI, layout="constrained")
        axes = figure.subplots()
        for place, (_, mean, error) in enumerate(ranked):
            colour = INK if place else ACCENT
            axes.axhline(place, color=FRAME, linewidth=0.6, zorder=0)
            axes.errorbar(mean, place, xerr=error, fmt="o", color=colour, markersize=4, elinewidth=1.2)
            value = (f"{mean:.2f}" if error is None else f"{mean:.2f} ± {error:.2f}").replace("-", "−")
            transform = axes.get_yaxis_transform()
            axes.text(1.03, place, value, transform=transform, va="center_baseline", color=colour)
        axes.set_yticks(range(len(ranked)), [label for label, _, _ in ranked], color=INK)
        axes.set_ylim(len(ranked) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.set_xlabel("mean log-likelihood (nats)")
        return settled(figure)


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
        legend_below(figure, handles, names)
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
        axes.text(
            where, 1.02, phases[i].replace("_", " "), transform=axes.get_xaxis_transform(), fontsize=6, va="bottom"
        )


def _draw_costs(axes: Axes, position: Float[np.ndarray, " E"], costs: Float[np.ndarray, "E k"]) -> None:
    """Draw a line a step, with its name where it ends: beside the panel, or inside where others go on."""
    colours = STEPS(np.linspace(0, 1, costs.shape[1]) if costs.shape[1] > 1 else [1.0])
    ends: dict[int, list[int]] = {}
    for step, cost in enumerate(costs.T):
        finite = np.flatnonzero(np.isfinite(cost))
        marker = "o" if len(finite) < 3 else None
        axes.plot(position[finite], cost[finite], color=colours[step], linewidth=1.1, marker=marker, markersize=3)
        if len(finite):
            ends.setdefault(int(finite[-1]), []).append(step)
    left, right = axes.get_xlim()
    for end, steps in ends.items():
        if end == max(ends):
            x, heights = 1.02, _spread(costs[end, steps], *axes.get_ylim())
        else:
            x = ((position[end] + position[end + 1]) / 2 - left) / (right - left) + 0.01
            near = (position >= position[end]) & (position <= left + (x + NAME_WIDTH) * (right - left))
            heights = _stacked(costs[end, steps], float(np.nanmax(costs[near])), *axes.get_ylim())
        for step, height in zip(steps, heights, strict=True):
            transform, name = axes.get_yaxis_transform(), f"step {step + 1}"
            axes.text(x, height, name, transform=transform, color=colours[step], fontsize=6, va="center")


def _stacked(ends: Float[np.ndarray, " k"], curves: float, low: float, high: float) -> Float[np.ndarray, " k"]:
    """Heights of labels in the order of the ends of their curves: above all curves there, as far as there is room."""
    least = NAME_HEIGHT * (high - low)
    top = min(curves + least * (len(ends) - 0.3), high - least / 2)
    heights: Float[np.ndarray, " k"] = np.empty(len(ends))
    heights[np.argsort(-ends, kind="stable")] = top - least * np.arange(len(ends))
    return heights


def _spread(ends: Float[np.ndarray, " k"], low: float, high: float) -> Float[np.ndarray, " k"]:
    """Heights of labels: close to the ends of their curves and in the same order, but not on one another."""
    least = NAME_HEIGHT * (high - low)
    order = np.argsort(ends, kind="stable")
    heights: Float[np.ndarray, " k"] = np.clip(ends[order], low, high)
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + least)
    heights -= min(heights.mean() - ends.mean(), heights[0] - low - least / 3)
    heights[order] = heights.copy()
    return heights
