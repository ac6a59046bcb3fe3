"""Factor analysis of training rows, the first guess of a network (see `nadek.models.first_guess`)."""

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.models.first_guess import FactorAnalysis
from nadek.models.iterative_nade import IterativeNADE
from nadek.training.prepare import Rows

MOST_ROWS, MOST_SCORES = 4000, 100_000
"""Rows to learn from, and their factors together: a factor analysis has few constants."""
ROUNDS = 30
"""Rounds of expectation maximisation."""
MOST_RIDGE = 20
"""Precision of the prior of a loading, around zero, where a feature has variance 1; at most the number of features."""
LEAST_NOISE = 0.01
"""Least variance of the noise, as part of the variance of a feature."""


@torch.no_grad()
def fit_factors(network: IterativeNADE, rows: Rows) -> None:
    """Estimate the first guess of a network from training rows; missing cells are left out."""
    guess = network.first_guess
    assert guess is not None
    most = min(MOST_ROWS, MOST_SCORES // guess.rank)
    some = rows.select(slice(None, None, -(-len(rows.values) // most)))
    variables, shown = network.variables, some.shown
    columns, weights = variables.encode(some.values).double() * variables.expand(shown), some.counted.double()
    count = weights @ variables.expand(shown).double()
    guess.use_normal_scores(weights @ columns / count.clamp(min=torch.finfo(count.dtype).tiny), variables)
    features, owner = (part.to(columns.device) for part in guess.features(variables))
    analysis = factor_analysis(columns @ features, shown[:, owner].double(), weights, guess.rank)
    guess.begin(analysis, variables)


def factor_analysis(
    z: Float[Tensor, "N P"], observed: Float[Tensor, "N P"], weights: Float[Tensor, " N"], rank: int
) -> FactorAnalysis:
    """Estimate mean, loadings and noise by expectation maximisation (Rubin and Thayer 1982).

    Features are 0 where ``observed`` is 0, and are left out of all sums there. A row counts as often as its weight
    says. The loadings begin at the largest eigenvectors of the correlations, each from the rows with both features. The
    mean moves with them: it is not that of the observed cells where other cells decide what is missing.
    """
    least, counted = torch.finfo(z.dtype).tiny, weights.unsqueeze(1) * observed
    count = counted.sum(0).clamp(min=least)
    observed_mean = weights @ z / count
    x = (z - observed_mean) * observed
    observed_variance = weights @ x.square() / count
    scale = observed_variance.sqrt().clamp(min=1e-6)
    x, mean = x / scale, torch.zeros_like(scale)
    values, vectors = torch.linalg.eigh((x.t() * weights) @ x / (counted.t() @ observed).clamp(min=least))
    loadings = x.new_zeros(x.shape[1], rank)
    n_kept = min(loadings.shape)
    loadings[:, :n_kept] = (vectors * values.clamp(min=0).sqrt()).flip(1)[:, :n_kept]
    noise = (1 - loadings.square().sum(1)).clamp(min=0.1)
    prior, ridge = torch.eye(rank, dtype=x.dtype, device=x.device), min(MOST_RIDGE, x.shape[1])
    for _ in range(ROUNDS):
        weighted = loadings / noise.unsqueeze(1)
        outer = (loadings.unsqueeze(2) * weighted.unsqueeze(1)).flatten(1)
        covariance = torch.linalg.inv((observed @ outer).unflatten(1, (rank, rank)) + prior)
        factors = (covariance @ (x @ weighted).unsqueeze(2)).squeeze(2)
        second = (covariance + factors.unsqueeze(2) * factors.unsqueeze(1)).flatten(1)
        moments = (counted.t() @ second).unflatten(1, (rank, rank)) + ridge * noise.view(-1, 1, 1) * prior
        loadings = torch.linalg.solve(moments, ((x.t() * weights) @ factors).unsqueeze(2)).squeeze(2)
        shift = weights @ ((x - factors @ loadings.t()) * observed) / count
        x, mean = (x - shift) * observed, mean + shift
        unexplained = weights @ x.square() - (loadings * ((x.t() * weights) @ factors)).sum(1)
        noise = (unexplained / count).clamp(min=LEAST_NOISE)
    mean, loadings, noise = observed_mean + mean * scale, loadings * scale.unsqueeze(1), noise * scale.square()
    return FactorAnalysis(mean, loadings, noise, observed_mean, observed_variance)
