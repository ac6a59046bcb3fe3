"""Rubin's rules: one estimate from several completed tables (Rubin 1987; Barnard and Rubin 1999)."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from nadek.utils.configs import check_number

Numbers: TypeAlias = NDArray[np.float64] | np.float64
PerTable: TypeAlias = Sequence[Any] | NDArray[Any]
"""Numbers, or arrays of numbers, of each table."""


class Pooled(NamedTuple):
    """A pooled estimate, in arrays of the shape of one; returned by `pool`."""

    estimate: Numbers
    """Mean over the tables."""
    variance: Numbers
    """Mean variance within a table, and what the tables differ by."""
    missing_part: Numbers
    """Part of the variance that comes from missing cells, 0 to 1."""
    degrees_of_freedom: Numbers
    """Of Student's t; infinite where all tables agree and no number of rows was given."""

    @property
    def standard_error(self) -> Numbers:
        """Root of the variance."""
        return np.sqrt(self.variance)

    def interval(self, level: float = 0.95) -> Float[np.ndarray, "2 ..."]:
        """Return the lower and the upper ends of the confidence intervals.

        They are infinite where no table is uncertain by itself, and the number of rows was given.

        Args:
            level: how often such an interval holds the true value.

        Raises:
            ValueError: if ``level`` does not lie between 0 and 1.
        """
        from scipy.stats import t  # here: its import takes most of a second

        check_number("level", level, "between 0 and 1", lambda x: 0 < x < 1)
        reach = np.nan_to_num(t.ppf((1 + level) / 2, self.degrees_of_freedom), nan=np.inf) * self.standard_error
        return np.stack([self.estimate - reach, self.estimate + reach])


def pool(estimates: PerTable, variances: PerTable, *, complete_df: float | int | None = None) -> Pooled:
    """Pool estimates of several completed tables by Rubin's rules.

    Args:
        estimates: the estimate, or array of estimates, of each of m tables, [m, ...].
        variances: their squared standard errors, of the same shape.
        complete_df: degrees of freedom if nothing were missing, such as rows less coefficients; None for very many.

    Returns:
        Estimate, variance and degrees of freedom; `Pooled.interval` gives a confidence interval.

    Raises:
        ValueError: on fewer than two tables, on other shapes, and on numbers that are not finite or negative variances.

    Example:
        >>> from nadek.estimators import pool
        >>> pooled = pool([1.0, 1.2, 1.1], [0.04, 0.05, 0.03])
        >>> print(pooled.estimate.round(3), pooled.standard_error.round(3))
        1.1 0.231
    """
    values, within = (np.asarray(part, dtype=np.float64) for part in (estimates, variances))
    if values.shape != within.shape or values.ndim == 0 or len(values) < 2:
        expected = "arrays of one shape, a row for each of 2 tables or more"
        raise ValueError(f"estimates, variances: expected {expected}; found {values.shape} and {within.shape}")
    if not np.isfinite(values).all() or not np.isfinite(within).all() or (within < 0).any():
        raise ValueError("estimates, variances: expected finite numbers, and no negative variance")
    m, mean_within = len(values), within.mean(0)
    between = (1 + 1 / m) * values.var(0, ddof=1)
    variance = mean_within + between
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.nan_to_num(between / variance)
        degrees = (m - 1) / part**2
        if complete_df is not None:
            check_number("complete_df", complete_df, "above 0", lambda x: x > 0)
            observed = (complete_df + 1) / (complete_df + 3) * complete_df * (1 - part)
            degrees = 1 / (1 / degrees + 1 / observed)
    return Pooled(values.mean(0), variance, part, degrees)
