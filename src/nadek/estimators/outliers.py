"""`NADEkOutlierDetector`: which rows are unlike those learnt from, and which of their cells make them so."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from torch import Tensor

from nadek.estimators.base import NADEkBase
from nadek.estimators.options import (
    Choice,
    Count,
    DeviceName,
    Fraction,
    Number,
    Patience,
    Randomness,
    Share,
    Switch,
    Whole,
    check_number,
)
from nadek.inference import explain_cells
from nadek.inference.likelihood import reduce_orderings
from nadek.tabular.columns import Numeric, log_density_within, read_cells
from nadek.tabular.frames import Table
from nadek.tabular.selection import MatrixLike, WhichOrNone

UNUSUAL = 0.05
"""With contamination "auto": the part of new rows, of the sort learnt from, that are called outliers."""

MOST_SCORED = 5000
"""From so many training rows the threshold is told."""


class NADEkOutlierDetector(OutlierMixin, NADEkBase):
    """Finds rows that are improbable under what the others look like, as a scikit-learn outlier detector.

    The score of a row is its log-probability in nats; of a number that of its bin and how densely numbers lie in it
    (one far outside is less likely than others of the outermost bin, see `nadek.tabular.columns`). In a row with
    holes it is
    that of the observed cells, scaled to a whole row (times D, divided by their number), so that a row is not taken
    for usual because little is known of it; one of which nothing is known scores 0, which no threshold exceeds.

    Args:
        contamination: the part of the training rows (of a random 5,000, where there are more) below the threshold, in
            (0, 0.5]; "auto" puts the threshold where 5 % of new rows can be expected below it, by the rows held out in
            training. Of fewer than 19 of these the lowest one is the threshold: one in 10 new rows is below the lowest
            of 9.
        n_orderings: orderings that log-probabilities are mixed over.
        max_iter: this and all others: see `NADEk`.

    Attributes:
        offset_: the threshold: ``decision_function`` is the score less this.
        orderings_: [n_orderings, D], drawn in `fit`.
        network_, columns_, history_, n_iter_, n_features_in_, feature_names_in_: see `NADEk`.

    Example:
        >>> import numpy as np
        >>> first = np.random.default_rng(0).integers(0, 2, 200)
        >>> X = np.column_stack([first, first, first])
        >>> detector = NADEkOutlierDetector(max_iter=40, random_state=0).fit(X)
        >>> detector.predict([[1, 1, 1], [1, 0, 1]])
        array([ 1, -1])
    """

    offset_: float

    def __init__(
        self,
        *,
        contamination: Fraction = "auto",
        n_orderings: Count = 8,
        max_iter: Whole = "auto",
        early_stopping: Switch = True,
        validation_fraction: Share = 0.1,
        n_iter_no_change: Patience = "auto",
        missing: Choice = "use",
        warm_start: Switch = False,
        steps: Whole = "auto",
        width: Whole = "auto",
        blocks: Whole = "auto",
        dropout: Fraction = "auto",
        learning_rate: Number = "auto",
        weight_decay: Number = "auto",
        batch_size: Whole = "auto",
        n_bins: Count = 16,
        categorical_features: WhichOrNone = None,
        numeric_features: WhichOrNone = None,
        device: DeviceName = "auto",
        random_state: Randomness = None,
        verbose: Count = 0,
    ) -> None:
        self.contamination = contamination
        self.n_orderings = n_orderings
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.missing = missing
        self.warm_start = warm_start
        self.steps = steps
        self.width = width
        self.blocks = blocks
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: object = None) -> "NADEkOutlierDetector":
        """Learn what rows look like, and where to draw the line; see `NADEk.fit`.

        Args:
            X: the table [N, D], with holes or without.
            y: ignored.
        """
        check_number("contamination", self.contamination, positive=True, most=0.5, also=("auto",))
        with self._all_or_nothing():
            table, held_out = self._fit(X)
            self.offset_ = self._threshold(self._codes(table), self._within_bins(table), held_out)
        return self

    def score_samples(self, X: MatrixLike) -> NDArray[np.float64]:
        """Log-probability of each row in nats, [N], that of rows with holes scaled (see above); low is unusual.

        Args:
            X: a table [N, D].
        """
        table, codes = self._read(X)
        return self._scores(codes, self._within_bins(table))

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """``score_samples`` less the threshold, [N]: outliers are below 0.

        Args:
            X: a table [N, D].
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: MatrixLike) -> NDArray[np.int64]:
        """-1 for outliers and 1 for the others, [N].

        Args:
            X: a table [N, D].
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def explain(self, X: MatrixLike) -> Float[np.ndarray, "N D"]:
        """How probable each observed cell is given all the rest of its row: log-probabilities in nats (see above).

        The lowest ones of a row are what makes it unusual. They do not add up to its score.

        Args:
            X: a table [N, D].

        Returns:
            float64 [N, D], NaN where a cell is missing.
        """
        table, codes = self._read(X)
        log_prob: NDArray[np.float64] = explain_cells(self.network_, codes).log_prob.cpu().numpy()
        return log_prob + self._within_bins(table)

    def _extra(self) -> dict[str, Any]:
        return {"offset": self.offset_}

    def _take(self, extra: Mapping[str, Any]) -> None:
        if "offset" not in extra:
            raise ValueError("expected a folder that an outlier detector was saved to, found no threshold in it")
        self.offset_ = extra["offset"]

    def _within_bins(self, table: Table) -> Float[np.ndarray, "N D"]:
        """How densely the numbers of a table lie in their bins; 0 for cells of other columns, and missing ones."""
        within = np.zeros((len(table), self.n_features_in_))
        for j, column in self._known():
            if isinstance(column, Numeric):
                cells = read_cells(table.columns[j], name=table.labels[j])
                within[cells.rows, j] = log_density_within(column, cells.values.astype(np.float64))
        return within

    def _scores(self, codes: Tensor, within: Float[np.ndarray, "N D"]) -> NDArray[np.float64]:
        """Rounded to where rounding errors begin: equal rows score equally, whatever rows are beside them."""
        n_observed = (~codes.isnan()).sum(1).cpu().numpy()
        codes_only = reduce_orderings(self._under_orderings(codes), "mixture").cpu().numpy()
        with np.errstate(over="ignore"):  # of a number so far outside that it may as well be -inf
            found = codes_only + within.sum(1)
            scaled: NDArray[np.float64] = found * codes.shape[1] / np.maximum(n_observed, 1)
            return scaled.round(9 if codes.dtype == torch.float64 else 3)

    def _threshold(self, codes: Tensor, within: Float[np.ndarray, "N D"], held_out: NDArray[np.int64]) -> float:
        """The quantile of training rows' scores, or by the held-out ones' (all, where none were) that of new rows."""
        automatic = isinstance(self.contamination, str)
        part = UNUSUAL if automatic else float(self.contamination)
        rows = held_out if automatic and len(held_out) else np.flatnonzero((~codes.isnan()).any(1).cpu().numpy())
        some = np.sort(np.random.default_rng(self._seed).permutation(rows)[:MOST_SCORED])
        # what is expected of other rows, and what holds for these
        method: Literal["weibull", "linear"] = "weibull" if automatic else "linear"
        return float(np.quantile(self._scores(codes[some], within[some]), part, method=method))
