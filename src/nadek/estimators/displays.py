"""Displays for notebooks, as those of scikit-learn: computed once, then drawn on any axes.

Each has a constructor ``from_...``, which computes and draws, and ``plot``, which draws again. Afterwards ``ax_`` and
``figure_`` are Matplotlib's.
"""

from collections.abc import Sequence
from typing import TypeVar

import matplotlib.pyplot as plt
import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nadek.estimators.cell_answers import CellAnswers
from nadek.inference import expected_information
from nadek.tabular.columns import Numeric, bins_of_number, n_levels, quantiles_of_number
from nadek.tabular.frames import MatrixLike, is_frame, plain_table, read_array, read_frame

QUANTILES = tuple(part / 20 for part in range(1, 20, 2))
"""Parts of the probability whose quantiles are compared with numbers."""


Curve = tuple[Float[np.ndarray, " b"], Float[np.ndarray, " b"], Int[np.ndarray, " b"]]
"""Predicted and observed parts, and the numbers of predictions."""

Shown = TypeVar("Shown", bound="_Display")


class _Display:
    """A picture on axes of its own, or on the user's."""

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self: Shown, ax: Axes | None = None) -> Shown:
        """Draw on some axes, or on new ones."""
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


class MissingDisplay(_Display):
    """Map of the missing cells of a table.

    Attributes:
        missing: True where missing, [N, D].
        names: of the columns.

    Example:
        >>> display = MissingDisplay.from_data(np.array([[1, np.nan], [0, 1]]))
        >>> display.missing.mean(0).tolist()
        [0.0, 0.5]
    """

    def __init__(self, missing: Bool[np.ndarray, "N D"], names: Sequence[str]) -> None:
        self.missing, self.names = missing, list(names)

    @classmethod
    def from_data(cls, X: MatrixLike, *, ax: Axes | None = None) -> "MissingDisplay":
        """Read a table [N, D] and draw it.

        Args:
            X: an array, or a frame of pandas, polars or pyarrow.
            ax: where to draw; None makes new axes.
        """
        X = plain_table(X)
        table = read_frame(X) if is_frame(X) else read_array(np.asarray(X))
        missing = np.stack([table.is_missing(j) for j in range(len(table.cells))], 1)
        return cls(missing, table.labels).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.imshow(self.missing, aspect="auto", interpolation="nearest", cmap="Blues", vmin=0, vmax=1)
        labels = [f"{name} {part:.0%}" for name, part in zip(self.names, self.missing.mean(0), strict=True)]
        ax.set_xticks(range(len(labels)), labels, rotation=45, ha="right")
        ax.set(ylabel="row", title=f"{self.missing.mean():.1%} of the cells are missing")


class CalibrationDisplay(_Display):
    """Curves of how often predictions come true.

    Each cell is predicted from the other cells of its row. Predictions on the diagonal are calibrated.

    Attributes:
        curves: for "categories" and "numbers", where there are some, the predicted and observed parts, and the number
            of predictions, three arrays of at most ten. Of categories: the mean probability of predictions in a tenth
            of the unit interval, and how often such a level was the true one. Of numbers: the probability below a
            predicted quantile, and the part of the numbers that lies there. A frequent number, such as 0, lies there in
            part, where its probability does (Czado, Gneiting and Held 2009).

    Example:
        >>> from nadek import NADEk
        >>> X = np.random.default_rng(0).random((200, 2)) < [0.2, 0.7]
        >>> model = NADEk(max_iter=60, random_state=0).fit(X)
        >>> predicted, observed, n = CalibrationDisplay.from_estimator(model, X).curves["categories"]
        >>> bool(abs(predicted - observed).max() < 0.1)
        True
    """

    def __init__(self, curves: dict[str, Curve]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(cls, estimator: CellAnswers, X: MatrixLike, *, ax: Axes | None = None) -> "CalibrationDisplay":
        """Predict every observed cell of rows, better unseen ones, from the others; D passes.

        Args:
            estimator: fitted, as `nadek.NADEk`.
            X: a table [N, D].
            ax: where to draw; None makes new axes.

        Raises:
            ValueError: if all cells are missing, or the columns are not those of ``fit``.
        """
        table, codes = estimator._read(X)
        numbers = estimator._of_numbers(lambda _, values: values, table)
        chances, hits, below = list[NDArray[np.float64]](), list[NDArray[np.bool_]](), list[NDArray[np.float64]]()
        for place, (_, column) in enumerate(estimator._bent_columns()):
            hidden, observed = codes.clone(), ~codes[:, place].isnan()
            hidden[:, place] = torch.nan
            for rows, levels in estimator._level_probabilities(hidden, observed.nonzero().squeeze(1)):
                p = levels[:, place, : n_levels(column)]
                if isinstance(column, Numeric):
                    below.append(_parts_below(column, p, numbers[rows, place]))
                else:
                    answers = codes[rows, place].long().cpu().numpy()
                    chances.append(p.ravel())
                    hits.append((answers[:, None] == np.arange(p.shape[1])).ravel())
        curves = {}
        if chances:
            curves["categories"] = _by_tenths(np.concatenate(chances), np.concatenate(hits))
        if below:
            parts = np.concatenate(below)
            curves["numbers"] = np.array(QUANTILES), parts.mean(0), np.full(len(QUANTILES), len(parts))
        if not curves:
            raise ValueError("expected rows with some values, found all cells missing")
        return cls(curves).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], color="grey", linestyle=":", label="calibrated")
        for name, (predicted, observed, n) in self.curves.items():
            error = np.sqrt(predicted * (1 - predicted) / n)
            ax.errorbar(predicted, observed, 2 * error, marker="o", capsize=2, label=name)
        ax.set(xlabel="predicted probability", ylabel="observed part", aspect="equal")
        ax.legend()


def _parts_below(
    column: Numeric, p: Float[np.ndarray, "n L"], numbers: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n Q"]:
    """Return the part of each number that lies below the `QUANTILES` of its prediction."""
    bounds, place, rows = quantiles_of_number(column, p, QUANTILES), column.bin_of(numbers), np.arange(len(p))
    below = (np.sign(bounds - numbers[:, None]) + 1) / 2
    up_to = np.insert(bins_of_number(column, p).cumsum(1), 0, 0, axis=1)
    first, last = up_to[rows, place, None], up_to[rows, place + 1, None]
    of_one = ((np.array(QUANTILES) - first) / np.maximum(last - first, np.finfo(float).tiny)).clip(0, 1)
    return np.where(column.is_single[place][:, None], of_one, below)


def _by_tenths(p: Float[np.ndarray, " n"], hit: Bool[np.ndarray, " n"]) -> Curve:
    """Return mean probabilities, parts of hits, and counts."""
    tenth = np.minimum((10 * p).astype(np.int64), 9)
    count, *sums = (np.bincount(tenth, weights=values, minlength=10) for values in (None, p, hit))
    some = count > 0
    return sums[0][some] / count[some], sums[1][some] / count[some], count[some]


class InformationDisplay(_Display):
    """Map of how much each column tells about each other one.

    Attributes:
        information: expected information about the column j from knowing the column i alone, in nats, [D, D]; NaN for
            i = j.
        names: of the columns.

    Example:
        >>> from nadek import NADEk
        >>> coin = np.random.default_rng(0).random(300) < 0.5
        >>> model = NADEk(max_iter=60, random_state=0).fit(np.stack([coin, coin, coin[::-1]], 1))
        >>> information = InformationDisplay.from_estimator(model).information
        >>> bool(information[0, 1] > 10 * information[0, 2])
        True
    """

    def __init__(self, information: Float[np.ndarray, "D D"], names: Sequence[str]) -> None:
        self.information, self.names = information, list(names)

    @classmethod
    def from_estimator(cls, estimator: CellAnswers, *, ax: Axes | None = None) -> "InformationDisplay":
        """Ask an estimator about every pair of columns.

        See `nadek.inference.expected_information`.

        Args:
            estimator: fitted, as `nadek.NADEk`.
            ax: where to draw; None makes new axes.
        """
        check_is_fitted(estimator)
        keys, model = estimator._keys(), estimator.network_
        nothing = model.b.new_full((1, model.n_variables), torch.nan)
        targets = torch.eye(model.n_variables, dtype=torch.bool, device=nothing.device)
        information = torch.cat([expected_information(model, nothing, target) for target in targets]).T
        information.fill_diagonal_(torch.nan)
        return cls(information.cpu().numpy(), [str(keys[j]) for j, _ in estimator._nonempty_columns()]).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.figure.colorbar(ax.imshow(self.information), ax=ax, label="expected information (nats)")
        places = range(len(self.names))
        ax.set_xticks(places, self.names, rotation=45, ha="right")
        ax.set_yticks(places, self.names)
        ax.set(xlabel="to be guessed", ylabel="known")
