"""Log-loss, Brier score, accuracy, AUROC and calibration of hidden cells."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

Array = NDArray[np.float64]

CLIP = 1e-6
SHRINKAGES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
BINS = 15


def frequencies(train: Array, levels: tuple[int, ...]) -> Array:
    """Return the frequency of each column's levels, [D, L].

    One count is added to each level; beyond a column's levels stands 0.
    """
    counts = np.zeros((len(levels), max(levels)))
    for column, count in enumerate(levels):
        seen = train[:, column][~np.isnan(train[:, column])].astype(np.int64)
        counts[column, :count] = np.bincount(seen, minlength=count) + 1.0
    return counts / counts.sum(1, keepdims=True)


def shrunk(probabilities: Array, towards: Array, weight: float) -> Array:
    """Return probabilities drawn towards the frequencies.

    They are `(1 - weight) p + weight f`, clipped to [CLIP, 1 - CLIP] on the levels that a column has, and sum to one.

    Args:
        probabilities: of a method, [N, D, L].
        towards: the columns' frequencies f, [D, L], 0 where a column has no such level.
        weight: 0 to 1.
    """
    mixed = np.where(towards > 0, ((1 - weight) * probabilities + weight * towards).clip(CLIP, 1 - CLIP), 0.0)
    return mixed / mixed.sum(2, keepdims=True)


def best_shrinkage(probabilities: Array, towards: Array, x: Array, hidden: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the weight with the smallest log-loss, and that log-loss.

    Every method gets such a weight, chosen on validation rows.
    """
    losses = [(cell_losses(shrunk(probabilities, towards, w), x, hidden).mean(), w) for w in SHRINKAGES]
    loss, weight = min(losses)
    return weight, float(loss)


def cell_losses(probabilities: Array, x: Array, hidden: NDArray[np.bool_]) -> Array:
    """Return `-log p(true level)` of every hidden cell, in nats."""
    row, column = hidden.nonzero()
    return -np.log(probabilities[row, column, x[row, column].astype(np.int64)])


def measures(probabilities: Array, x: Array, hidden: NDArray[np.bool_], levels: tuple[int, ...]) -> dict[str, Any]:
    """Return all measures over the hidden cells.

    Args:
        probabilities: of every level of every cell, [N, D, L].
        x: the true codes, [N, D].
        hidden: True for cells that count, [N, D].
        levels: number of levels of each column.

    Returns:
        "log_loss" (nats a cell) and its "standard_error" (over rows), "brier" (half the sum of squares over levels,
        which for two levels is the usual score of one probability), "accuracy", "auroc" (two levels everywhere: of
        all hidden cells together; else one level against the rest, mean over the levels of all columns), "cells",
        and what `reliability` returns.
    """
    row, column = hidden.nonzero()
    p = probabilities[row, column]
    true = x[row, column].astype(np.int64)
    indicator = np.eye(p.shape[1])[true]
    losses = cell_losses(probabilities, x, hidden)
    binary = max(levels) == 2
    levels_there = np.arange(p.shape[1]) < np.array(levels)[column][:, None]
    return {
        "log_loss": float(losses.mean()),
        "standard_error": _standard_error(losses, row),
        "brier": float(((p - indicator) ** 2).sum(1).mean() / 2),
        "accuracy": float((p.argmax(1) == true).mean()),
        "auroc": _auroc(indicator[:, 1], p[:, 1]) if binary else _one_against_rest(indicator, p, column),
        "cells": len(true),
        **reliability(*(each[:, 1] if binary else each[levels_there] for each in (p, indicator))),
    }


def reliability(p: Array, happened: Array) -> dict[str, Any]:
    """Return stated probabilities and frequencies, in bins of equal width.

    Returns:
        "reliability": rows (mean probability, frequency, number of cells) of the bins that are not empty;
        "calibration_error": the mean distance of the two, weighted by cells.
    """
    index = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    count, stated, observed = (np.bincount(index, weights, minlength=BINS) for weights in (None, p, happened))
    full = count > 0
    rows = np.stack([stated[full] / count[full], observed[full] / count[full], count[full]], axis=1)
    error = float(np.abs(rows[:, 0] - rows[:, 1]) @ rows[:, 2] / len(p))
    return {"reliability": rows.tolist(), "calibration_error": error}


def _standard_error(losses: Array, row: NDArray[np.int64]) -> float:
    """Return the standard error of the mean over cells.

    Rows are independent, the cells of a row are not (the ratio estimator).
    """
    number, total = np.bincount(row), np.bincount(row, losses)
    deviations = total - losses.mean() * number
    n_rows = (number > 0).sum()
    return float(np.sqrt((deviations**2).sum() * n_rows / max(n_rows - 1, 1)) / len(losses))


def _auroc(happened: Array, p: Array) -> float | None:
    """Return the AUROC, or None where only one outcome occurs."""
    return float(roc_auc_score(happened, p)) if 0 < happened.sum() < len(happened) else None


def _one_against_rest(indicator: Array, p: Array, column: NDArray[np.int64]) -> float | None:
    """Return the mean AUROC of levels against the rest."""
    every = [
        _auroc(indicator[cells, level], p[cells, level])
        for cells in (column == c for c in np.unique(column))
        for level in range(p.shape[1])
    ]
    areas = [area for area in every if area is not None]
    return float(np.mean(areas)) if areas else None
