"""Summary of log-likelihoods: means, standard errors and spreads."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.inference.likelihood import check_table, reduce_orderings


@dataclass(frozen=True)
class Summary:
    """Summary of log-likelihoods, returned by `nadek.summarise`; in nats a row.

    Attributes:
        mean: mean over rows and orderings of log p(x | o), the paper's "Log-Prob.".
        standard_error: of ``mean``, over rows (nan for a single row).
        ordering_error: standard error of ``mean``, over the orderings that were drawn: what others would change in it,
            the rows being the same (nan for one ordering).
        ensemble: mean over rows of the mixture's log-probability (EoNADE).
        ensemble_standard_error: of ``ensemble``, over rows.
        spread_over_orderings: square root of E_x Var_o log p(x | o) (Table 3), nan for one ordering.
        spread_over_rows: square root of E_o Var_x log p(x | o) (Table 3).
        n_orderings: how many orderings.
        n_rows: how many rows.
    """

    mean: float
    standard_error: float
    ordering_error: float
    ensemble: float
    ensemble_standard_error: float
    spread_over_orderings: float
    spread_over_rows: float
    n_orderings: int
    n_rows: int

    def _repr_html_(self) -> str:
        """Show a table in notebooks."""
        rows = (f"<tr><th>{name}</th><td>{value:.4g}</td></tr>" for name, value in vars(self).items())
        return f"<table>{''.join(rows)}</table>"


def summarise(log_probs: Float[Tensor, "M B"]) -> Summary:
    """Return the summary of log-likelihoods, orderings by rows.

    Args:
        log_probs: in nats, [M, B], as `log_prob` returns them for M orderings.

    Raises:
        TypeError: if they are no tensor.
        ValueError: on an array of another shape, and if there is no row or no ordering.

    Example:
        >>> summarise(torch.tensor([[-2.0, -4.0], [-3.0, -5.0]])).mean
        -3.5
    """
    check_table(log_probs)
    n_orderings, n_rows = log_probs.shape
    if log_probs.numel() == 0:
        raise ValueError(f"expected at least one ordering and one row, found {n_orderings} and {n_rows}")
    by_row, mixed = log_probs.mean(0), reduce_orderings(log_probs, "mixture")
    return Summary(
        mean=by_row.mean().item(),
        standard_error=deviation(by_row, 0).item() / n_rows**0.5,
        ordering_error=deviation(log_probs.mean(1), 0).item() / n_orderings**0.5,
        ensemble=mixed.mean().item(),
        ensemble_standard_error=deviation(mixed, 0).item() / n_rows**0.5,
        spread_over_orderings=deviation(log_probs, 0).square().mean().sqrt().item(),
        spread_over_rows=deviation(log_probs, 1).square().mean().sqrt().item(),
        n_orderings=n_orderings,
        n_rows=n_rows,
    )


def deviation(values: Tensor, dim: int) -> Tensor:
    """Return the standard deviation along ``dim``; nan for a single value, nothing of nothing."""
    if values.shape[dim] < 2 or not values.numel():
        return torch.full_like(values.select(dim, 0), math.nan)
    return values.std(dim)
