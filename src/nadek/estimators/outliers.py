"""`NADEkOutlierDetector`: improbable rows."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from torch import Tensor

from nadek.estimators.cell_answers import CellAnswers
from nadek.inference.likelihood import reduce_orderings
from nadek.inference.whole_rows import as_whole_rows
from nadek.tabular.columns import log_relative_density
from nadek.tabular.frames import MatrixLike
from nadek.training.expected_scores import expected_scores
from nadek.utils.configs import check_number

UNUSUAL = 0.05
"""With contamination "auto": part of new rows like the training rows below the threshold."""

APART = 10
"""A score so many times as far below the median as the lower quartile, and so many nats, is that of a gross error."""

MOST_SCORED = 5000
"""Training rows that the threshold is computed from, at most."""


class NADEkOutlierDetector(OutlierMixin, CellAnswers):
    """Detector of improbable rows, a scikit-learn outlier detector.

    The score of a row is the log-density that `NADEk` gives it, in nats, but that numbers count per typical width of a
    bin of their column in place of a unit, so that columns are compared. Rows with missing cells are compared with
    whole ones: what the observed cells are above or below their expectation is scaled by the root of D divided by their
    number, and added to the expectation for a whole row. A row without any value scores just that.

    Args:
        contamination: the part of the training rows (of a random 5,000, where there are more) below the threshold, in
            (0, 0.5]; "auto" expects 5 % of new rows below it, by the rows held out in training. Up to a twentieth of
            these is left out where they lie far below the others, as gross errors do. The lowest of fewer than 19 such
            rows is the threshold: one in 10 new rows is below the lowest of 9.
        n_orderings: orderings that log-probabilities are mixed over.
        {shared options}

    Attributes:
        offset_: the threshold: ``decision_function`` is the score less this.
        expected_: what each column with values adds to the score of a row, on average, in nats, [2, D]: with no other
            cell observed, and the more with each (see `nadek.inference.whole_rows`).
        orderings_: [n_orderings, D], drawn in `fit`.

    The other attributes of `NADEk` are here, too.

    Example:
        >>> import numpy as np
        >>> first = np.random.default_rng(0).integers(0, 2, 200)
        >>> X = np.column_stack([first, first, first])
        >>> detector = NADEkOutlierDetector(max_iter=40, random_state=0).fit(X)
        >>> detector.predict([[1, 1, 1], [1, 0, 1]])
        array([ 1, -1])
    """

    offset_: float
    expected_: NDArray[np.float64]

    def __init__(self, *, contamination: float | Literal["auto"] = "auto", n_orderings: int = 8, **shared: Any) -> None:  # noqa: ANN401
        super().__init__(**shared)
        self.contamination = contamination
        self.n_orderings = n_orderings

    def fit(self, X: MatrixLike, y: object = None) -> "NADEkOutlierDetector":
        """Fit the distribution of the rows, and the threshold; see `NADEk.fit`.

        Args:
            X: the table [N, D]; cells may be missing.
            y: ignored.
        """
        interval = "above 0 and at most 0.5"
        check_number("contamination", self.contamination, interval, lambda x: 0 < x <= 0.5, also=("auto",))
        with self._all_or_nothing():
            table, held_out = self._fit(X)
            columns = [column for _, column in self._nonempty_columns()]
            self.expected_ = expected_scores(self.network_, columns, seed=self._seed).cpu().numpy()
            codes = self._codes(table)
            self.offset_ = self._threshold(codes, self._of_numbers(log_relative_density, table), held_out)
        return self

    def score_samples(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return each row's score in nats, [N] (see above); low is unusual.

        Args:
            X: a table [N, D].
        """
        table, codes = self._read(X)
        return self._scores(codes, self._of_numbers(log_relative_density, table, codes))

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return ``score_samples`` minus the threshold, [N]; outliers are negative.

        Args:
            X: a table [N, D].
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: MatrixLike) -> NDArray[np.int64]:
        """Return -1 for outliers, 1 for others, [N].

        Args:
            X: a table [N, D].
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _extra(self) -> dict[str, Any]:
        return {"offset": self.offset_, "expected": self.expected_.tolist()}

    def _set_extra(self, extra: Mapping[str, Any]) -> None:
        if not {"offset", "expected"} <= extra.keys():
            raise ValueError(
                "expected a model saved by an outlier detector, found no threshold in the folder: NADEk reads it"
            )
        self.offset_ = extra["offset"]
        self.expected_ = np.array(extra["expected"], dtype=np.float64).reshape(2, self.network_.n_variables)

    def _scores(self, codes: Tensor, densities: Float[np.ndarray, "N D"]) -> NDArray[np.float64]:
        """Return scores, rounded so that equal rows score equally in any table."""
        log_probs = reduce_orderings(self._under_orderings(codes), "mixture")
        within, expected = (torch.from_numpy(values).to(codes.device) for values in (densities, self.expected_))
        observed = ~codes.isnan() | (within != 0)  # a value without a code is there, too
        scores = as_whole_rows(log_probs + within.sum(1), observed, expected)
        with np.errstate(over="ignore"):  # a number of 1e300 is out of sight
            return scores.cpu().numpy().round(9 if codes.dtype == torch.float64 else 3)

    def _threshold(self, codes: Tensor, densities: Float[np.ndarray, "N D"], held_out: NDArray[np.int64]) -> float:
        """Return the quantile of training rows' scores; with "auto" that of new rows."""
        automatic = isinstance(self.contamination, str)
        part = UNUSUAL if automatic else float(self.contamination)
        rows = held_out if automatic and len(held_out) else np.flatnonzero((~codes.isnan()).any(1).cpu().numpy())
        some = np.sort(np.random.default_rng(self._seed).permutation(rows)[:MOST_SCORED])
        scores = self._scores(codes[some], densities[some])
        if automatic:  # "weibull" is the expectation over new rows, the default counts these rows
            return float(np.quantile(_without_gross(scores), part, method="weibull"))
        return float(np.quantile(scores, part))


def _without_gross(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave out scores far below the others, at most `UNUSUAL`."""
    lower, median = np.quantile(scores, (0.25, 0.5))
    n_far = int((scores < median - APART * max(1, median - lower)).sum())
    return np.sort(scores)[min(n_far, math.ceil(UNUSUAL * len(scores))) :]
