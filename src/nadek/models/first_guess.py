"""First guess of missing cells by factor analysis.

The cells of a row are taken for sums of a few common factors, and noise of their own::

    z = mean + L f + noise,    f ~ N(0, 1) [r],    noise ~ N(0, psi) [P]

An ordered variable, such as a number, has one feature z: the normal score of its code. Any other has its columns,
without the first of three or more. Given the observed cells, the factors are Gaussian, with the precision ``1 + sum of
L_p L_p' / psi_p`` over observed features p, and so is each missing feature. As these are sums over variables, a few
products answer all rows, and a decoder adds what it reveals. The logits of the levels of an ordered variable are those
of its Gaussian, less those of one with the mean and variance of its training cells, and are added to the visible bias,
which has their shares. So a column is guessed right, too, whose cells are missing where others have large values. The
mean counts in full, but how narrow the Gaussian has become only by the part ``number_trust``: straight lines are surer
than they should be.

The mean of the Gaussian of another column is taken for the probability of its level, within the bounds of `FLOOR`; its
variance says nothing more. So a little evidence moves each probability as far as the mean of its column. With three
levels or more, the logits count ``category_trust`` times.

A network that begins from there learns what differs from a linear model, and has one where rows are few.
`nadek.training.fit_factors` estimates the constants.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from nadek.models.variables import ALL, Variables

MOST_CATEGORIES = 256
"""Categories of a variable with features: so many say little each, and an analysis takes their number to the cube."""
LEAST_VARIANCE = 0.1
"""Added to the variance of a feature, whose levels are about 1 apart."""
LEAST_SHARE = 1e-3
"""The share of the rows with a level is taken to lie at least so far from 0 and from 1."""
FLOOR = 0.1
"""Part of the share of a level, and of that of the others, which is left to them: a sum may leave 0 to 1."""


class FactorAnalysis(NamedTuple):
    """Factor analysis of P features with r factors."""

    mean: Float[Tensor, " P"]
    loadings: Float[Tensor, "P r"]
    noise: Float[Tensor, " P"]
    observed_mean: Float[Tensor, " P"]
    """Of the observed cells, which may be missing elsewhere for what they are."""
    observed_variance: Float[Tensor, " P"]


class Evidence(NamedTuple):
    """Sums over the observed cells of rows, from which their factors follow."""

    total: Float[Tensor, "*batch r"]
    precision: Float[Tensor, "*rows r*r"]
    """The same for all rows where these have the same observed variables."""

    def select(self, rows: slice | Int[Tensor, " n"]) -> "Evidence":
        """Return the evidence of some rows."""
        alike = len(self.precision) == 1 < len(self.total)
        return Evidence(self.total[rows], self.precision if alike else self.precision[rows])


class FactorGuess(nn.Module):
    """Logits of variables given the observed cells of a row.

    The ``ordinal`` ones of less than three levels are not ordered. ``rank`` is the number of factors,
    ``category_trust`` a factor on the logits of variables of three levels or more without an order, and
    ``number_trust`` the part of the sharpness that is that given the observed cells.
    """

    def __init__(
        self,
        variables: Variables,
        ordinal: Sequence[int],
        rank: int,
        category_trust: float,
        number_trust: float,
    ) -> None:
        super().__init__()
        self.rank, self.category_trust, self.number_trust = rank, category_trust, number_trust
        self.ordered = frozenset(j for j in ordinal if variables.levels[j] > 2)
        self.guesses = self._guesses(variables)
        n_variables, n_columns, n_guesses = len(variables.levels), variables.n_columns, len(self.guesses)
        self.column_sums = nn.Buffer(torch.zeros(n_columns, rank))
        self.variable_sums = nn.Buffer(torch.zeros(n_variables, rank))
        self.precisions = nn.Buffer(torch.zeros(n_variables, rank * rank))
        self.loadings = nn.Buffer(torch.zeros(n_guesses, rank))
        self.mean, self.variance = nn.Buffer(torch.zeros(n_guesses)), nn.Buffer(torch.ones(n_guesses))
        self.alone = nn.Buffer(torch.zeros(n_columns))
        # of each column its place among the guesses, and the feature of its level where these have an order
        place, level = torch.zeros(n_columns, dtype=torch.long), torch.zeros(n_columns)
        for index, (j, column) in enumerate(self.guesses):
            columns = variables.columns(slice(j, j + 1))
            if column is None:
                place[columns], level[columns] = index, torch.arange(variables.levels[j]).to(level)
            else:
                place[columns.start + column] = index
        guessed = {j for j, _ in self.guesses}
        self.place = nn.Buffer(place, persistent=False)
        self.level = nn.Buffer(level)

        def columns_where(flags: Iterable[bool]) -> nn.Buffer:
            return nn.Buffer(variables.expand(torch.tensor(list(flags))), persistent=False)

        self.is_guessed = columns_where(j in guessed for j in range(n_variables))
        self.is_ordered = columns_where(j in self.ordered for j in range(n_variables))
        self.is_binary = columns_where(n == 2 for n in variables.levels)

    def forward(
        self, observed: Float[Tensor, "*batch C"], missing: Bool[Tensor, "*batch D"]
    ) -> Float[Tensor, "*batch C"]:
        """Return logits to add to the visible bias; 0 for other variables.

        Observed columns are 0 where missing.
        """
        return self.logits(self.evidence(observed, ~missing))

    def evidence(
        self,
        observed: Float[Tensor, "*batch c"],
        shown: Shaped[Tensor, "*rows d"],
        places: slice = ALL,
        columns: slice = ALL,
    ) -> Evidence:
        """Return the sums over all cells, or over consecutive variables and their columns."""
        given = shown.to(observed.dtype)
        total = observed @ self.column_sums[columns] - given @ self.variable_sums[places]
        return Evidence(total, given @ self.precisions[places])

    def no_evidence(self, n_rows: int) -> Evidence:
        """Return the sums over no cells."""
        return Evidence(self.mean.new_zeros(n_rows, self.rank), self.mean.new_zeros(1, self.rank**2))

    def logits(self, evidence: Evidence) -> Float[Tensor, "*batch C"]:
        """Return the logits of rows with this evidence."""
        return self._uncentred(evidence) - self.alone

    def permute(self, ordering: Int[Tensor, " D"], variables: Variables) -> "FactorGuess":
        """Return the guess for the variables in visiting order."""
        order = ordering.tolist()
        ordered = [place for place, j in enumerate(order) if j in self.ordered]
        trusts = self.category_trust, self.number_trust
        guess = FactorGuess(variables.permute(ordering), ordered, self.rank, *trusts)
        columns, places = variables.column_order(ordering), {one: index for index, one in enumerate(self.guesses)}
        guesses = torch.tensor([places[order[place], column] for place, column in guess.guesses])
        for name, chosen in {
            **dict.fromkeys(("column_sums", "alone", "level"), columns),
            **dict.fromkeys(("variable_sums", "precisions"), ordering),
            **dict.fromkeys(("loadings", "mean", "variance"), guesses.to(ordering.device)),
        }.items():
            setattr(guess, name, getattr(self, name)[chosen])
        return guess.to(self.loadings)

    @torch.no_grad()
    def begin(self, analysis: FactorAnalysis, variables: Variables) -> None:
        """Take the constants of an analysis of `features`."""
        features, owner = self.features(variables)
        mean, loadings, noise, observed_mean, observed_variance = (part.double().cpu() for part in analysis)
        weighted = loadings / noise.unsqueeze(1)
        of_variables = torch.zeros(len(variables.levels), len(mean), dtype=torch.float64)
        of_variables[owner, torch.arange(len(mean))] = 1
        outer = loadings.unsqueeze(2) * weighted.unsqueeze(1)
        self.column_sums.copy_(features @ weighted)
        self.variable_sums.copy_(of_variables @ (weighted * mean.unsqueeze(1)))
        self.precisions.copy_(of_variables @ outer.flatten(1))
        # a guess is the sum of some features, or what the columns of a variable lack of one
        sums, lacking = torch.zeros(len(self.guesses), len(mean), dtype=torch.float64), torch.zeros(len(self.guesses))
        for index, (j, column) in enumerate(self.guesses):
            own = (owner == j).nonzero().flatten()
            if column is None or variables.levels[j] == 2:
                sums[index, own] = 1
            elif column > 0:
                sums[index, own[column - 1]] = 1
            else:
                sums[index, own], lacking[index] = -1, 1
        self.loadings.copy_(sums @ loadings)
        self.mean.copy_(sums @ mean + lacking)
        self.variance.copy_((sums @ loadings).square().sum(1) + sums.square() @ noise)
        variance = (sums.square() @ observed_variance).to(self.variance)
        alone = self._from_moments((sums @ observed_mean + lacking).to(self.mean), 1 / (variance + LEAST_VARIANCE))
        self.alone.copy_(alone)

    def features(self, variables: Variables) -> tuple[Float[Tensor, "C P"], Int[Tensor, " P"]]:
        """Return the matrix from columns to features (float64), and the variable of each feature."""
        parts, owner = list[Tensor](), list[int]()
        for j, n_levels in enumerate(variables.levels):
            columns = variables.columns(slice(j, j + 1))
            n_columns = columns.stop - columns.start
            part = torch.zeros(variables.n_columns, n_columns, dtype=torch.float64)
            part[columns] = torch.eye(n_columns, dtype=torch.float64)
            if j in self.ordered:
                part = part @ self.level[columns].double().cpu().unsqueeze(1)
            elif n_levels > 2:
                part = part[:, 1:] if n_levels <= MOST_CATEGORIES else part[:, :0]  # the first follows from the others
            parts.append(part)
            owner += [j] * part.shape[1]
        return torch.cat(parts, 1), torch.tensor(owner)

    def _guesses(self, variables: Variables) -> list[tuple[int, int | None]]:
        """Return the guesses: variables, each of the columns where these have no order, else None."""
        guesses = list[tuple[int, int | None]]()
        for j, n_levels in enumerate(variables.levels):
            if j in self.ordered:
                guesses.append((j, None))
            elif n_levels <= MOST_CATEGORIES:
                columns = variables.columns(slice(j, j + 1))
                guesses += [(j, column) for column in range(columns.stop - columns.start)]
        return guesses

    def _uncentred(self, evidence: Evidence) -> Float[Tensor, "*batch C"]:
        """Return the logits, before those of the training cells are taken away."""
        precision = evidence.precision.unflatten(-1, (self.rank, self.rank))
        prior = torch.eye(self.rank, dtype=precision.dtype, device=precision.device)
        covariance = (eliminated if torch.compiler.is_exporting() else torch.linalg.inv)(precision + prior)
        factors = (covariance @ evidence.total.unsqueeze(-1)).squeeze(-1)
        mean = factors @ self.loadings.t() + self.mean
        squares = self.loadings.unsqueeze(2) * self.loadings.unsqueeze(1)
        variance = self.variance - (prior - covariance).mT.flatten(-2) @ squares.flatten(1).t()  # .mT: no copy
        trust = self.number_trust
        sharpness = trust / (variance + LEAST_VARIANCE) + (1 - trust) / (self.variance + LEAST_VARIANCE)
        return self._from_moments(mean, sharpness)

    def _from_moments(
        self, mean: Float[Tensor, "*batch G"], sharpness: Float[Tensor, "*rows G"]
    ) -> Float[Tensor, "*batch C"]:
        """Return the logits of guesses with these means."""
        share = self.mean.clamp(LEAST_SHARE, 1 - LEAST_SHARE)
        mean, sharpness, share = (part.index_select(-1, self.place) for part in (mean, sharpness, share))
        of_code = sharpness * (mean * self.level - 0.5 * self.level**2)
        p = mean.maximum(FLOOR * share).minimum(1 - FLOOR * (1 - share))
        of_column = torch.where(self.is_binary, torch.logit(p), self.category_trust * p.log())
        return torch.where(self.is_ordered, of_code, torch.where(self.is_guessed, of_column, 0))

    @torch.no_grad()
    def use_normal_scores(self, shares: Float[Tensor, " C"], variables: Variables) -> None:
        """Place ordered levels at the normal scores of their shares of the rows.

        They are as far from each other as the codes are, by their standard deviations.
        """
        for j in self.ordered:
            columns = variables.columns(slice(j, j + 1))
            share = shares[columns].double().clamp(min=LEAST_SHARE)
            share, codes = share / share.sum(), torch.arange(len(share)).to(share)
            scores = torch.special.ndtri(share.cumsum(0) - share / 2)
            spreads = [(share @ one.square() - (share @ one) ** 2).sqrt() for one in (codes, scores)]
            self.level[columns] = (share @ codes + (scores - share @ scores) * spreads[0] / spreads[1]).to(self.level)


def eliminated(matrix: Float[Tensor, "*batch r r"]) -> Float[Tensor, "*batch r r"]:
    """Return the inverse of positive definite matrices by elimination, in operations that files of ONNX have."""
    rank = matrix.shape[-1]
    rows = torch.cat([matrix, torch.eye(rank, dtype=matrix.dtype).expand_as(matrix)], -1)
    for i in range(rank):
        pivot = rows[..., i : i + 1, :] / rows[..., i : i + 1, i : i + 1]
        others = rows - rows[..., :, i : i + 1] * pivot
        rows = torch.cat([others[..., :i, :], pivot, others[..., i + 1 :, :]], -2)
    return rows[..., rank:]
