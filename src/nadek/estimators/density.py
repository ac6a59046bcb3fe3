"""`NADEk`: log-probabilities of rows under any condition, new rows, completions, and the next question."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import ArrayLike, NDArray
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from nadek.estimators.cell_answers import CellAnswers
from nadek.estimators.options import Randomness, random_seed, random_source
from nadek.inference import beam, expected_information, greedy, log_prob
from nadek.inference.likelihood import reduce_orderings
from nadek.inference.row_random import number_uniforms
from nadek.inference.sampling import sample
from nadek.inference.summary import deviation
from nadek.tabular.columns import decode, log_density
from nadek.tabular.frames import MatrixLike
from nadek.tabular.names import Which, chosen_columns, column_index
from nadek.tabular.table import Table
from nadek.tabular.writeback import filled
from nadek.utils.configs import check_choice, check_whole

METHODS = ("beam", "greedy", "certain")


class NADEk(DensityMixin, CellAnswers):
    """Density of rows of binary answers, categories and numbers, a scikit-learn estimator.

    A column of 0 and 1, of booleans or of two words is binary; words and categories are categorical; numbers and dates
    are read exactly, and have a density with at most ``n_bins`` knots (a number with few different values has a
    probability for each of them). Cells may be missing (NaN, None, null), see ``missing``. Log-probabilities are in
    nats; numbers count with their log-density per unit of their column.

    Args:
        memory: True keeps the training rows (20,000 at most) beside the network, and mixes in those that resemble the
            observed cells (see `nadek.models.memory`): often a much better density where the same rows come up again,
            and scored several times more slowly. Samples and saved models then hold rows of the training table, which
            may be private. "auto" does so where it spares a fiftieth of the cost of the rows held out, of which there
            must be 50.
        n_orderings: orderings that log-probabilities are mixed over.
        {shared options}

    Attributes:
        network_: the torch module, see `nadek.IterativeNADE`.
        columns_: type of each column, see `nadek.tabular.columns`.
        levels_: levels of each column (by its name, or its index without names), in the order of
            `predict_missing_proba`; for numbers the means of the bins.
        orderings_: [n_orderings, D], drawn in `fit`.
        history_: costs of every epoch, see `nadek.training.Epoch`.
        n_iter_: epochs of the last `fit`.
        n_features_in_: D.
        feature_names_in_: names of the columns, where all have names.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> first = rng.integers(0, 2, 200)
        >>> X = np.column_stack([first, first, rng.integers(0, 2, 200)])
        >>> model = NADEk(max_iter=40, random_state=0).fit(X)
        >>> likely, unlikely = model.score_samples([[1, 1, 0], [1, 0, 0]])
        >>> bool(likely > unlikely)
        True
    """

    def __init__(self, *, memory: bool | Literal["auto"] = False, n_orderings: int = 8, **shared: Any) -> None:  # noqa: ANN401
        super().__init__(**shared)
        self.memory = memory
        self.n_orderings = n_orderings

    def fit(
        self,
        X: MatrixLike,
        y: object = None,
        *,
        X_val: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "NADEk":
        """Fit the distribution of the rows of a table.

        Args:
            X: the table [N, D]: an array, rows, a sparse matrix, or a pandas, polars or pyarrow table with holes.
            y: ignored.
            X_val: validation rows, in place of a held-out part of ``X``.
            sample_weight: how often each row counts, as in a weighted survey, [N]; only the proportions matter. Rows
                with weights have no memory.

        Raises:
            ValueError: on a table without a distribution (an infinite number, a column without any value, mixed types
                in a column, ...), and on wrong options; names row, column or option, what was expected and found.
        """
        with self._all_or_nothing():
            self._fit(X, X_val, sample_weight)
        return self

    def score_samples(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return each row's log-density in nats, [N]: a mixture over `orderings_`.

        Missing cells are summed out: each ordering visits the observed cells of a row first. This differs a little
        from the sum over all completions, whose orderings visit cells in between. A number counts with its density,
        per unit of its column (see `nadek.tabular.columns.densities.log_density`), any other value with its
        probability. A row without any value scores 0.

        Args:
            X: a table [N, D].
        """
        table, codes = self._read(X)
        return self._with_densities(reduce_orderings(self._under_orderings(codes), "mixture"), table)

    def score(self, X: MatrixLike, y: object = None) -> float:
        """Return the mean of `score_samples`, in nats.

        Args:
            X: a table [N, D].
            y: ignored.
        """
        return float(self.score_samples(X).mean())

    def log_prob(self, X: MatrixLike, *, ordering: Which) -> NDArray[np.float64]:
        """Return log-densities under one ordering, in nats, [N].

        Args:
            X: a table [N, D]; missing cells are summed out, and visited last.
            ordering: names or indices of all columns, in the order in which they are visited.
        """
        table, codes = self._read(X)
        places = torch.from_numpy(self._places(ordering)).to(codes.device)
        return self._with_densities(log_prob(self.network_, codes, orderings=places.unsqueeze(0))[0], table)

    def conditional_log_prob(self, X: MatrixLike, *, given: Which) -> NDArray[np.float64]:
        """Return log-probabilities of observed cells given some columns.

        In nats, [N], mixed over orderings that visit the columns ``given`` first. This differs a little from the
        difference of two `score_samples`, as orderings of one model need not agree.

        Args:
            X: a table [N, D]; missing cells are summed out, on both sides.
            given: columns: names, indices or a boolean mask.
        """
        table, codes = self._read(X)
        condition = self._column_flags("given", given)
        log_probs = log_prob(self.network_, codes, given=condition, orderings=self._orderings(), reduce="mixture")
        return self._with_densities(log_probs, table, ~condition.cpu().numpy())

    def ordering_spread(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return standard deviations over `orderings_`, in nats, [N].

        It is 0 if all orderings give the same distribution, and NaN for one ordering.

        Args:
            X: a table [N, D].
        """
        _, codes = self._read(X)
        return deviation(self._under_orderings(codes), 0).cpu().numpy()

    def sample(self, n_samples: int = 1, random_state: Randomness = None) -> Any:  # noqa: ANN401 - a table
        """Draw independent rows, in a table of the kind given to `fit`.

        They follow the distribution of `score_samples`; numbers drawn within a bin have its mean on average.

        Args:
            n_samples: number of rows.
            random_state: source of randomness.

        Raises:
            ValueError: if ``n_samples`` is less than 1.
        """
        check_is_fitted(self)
        check_whole("n_samples", n_samples)
        seed = random_seed(random_state)
        codes = sample(self.network_, n_samples, orderings=self._orderings(), generator=self._generator(seed))
        drawn, uniforms = codes.double().cpu().numpy(), number_uniforms(seed, torch.arange(n_samples))
        dtypes = self._template.dtypes()
        return self._template.make(
            [
                decode(column, drawn[:, j], uniforms=uniforms(j), dtype=dtypes[j])
                for j, column in self._nonempty_columns()
            ]
        )

    def sample_conditional(self, X: MatrixLike, n_samples: int = 1, random_state: Randomness = None) -> list[Any]:
        """Draw missing cells jointly, given the observed ones.

        A row gets the same draws in any table; rows that are equal get draws of their own, in turn.

        Args:
            X: a table [N, D]; observed cells stay as they are.
            n_samples: number of completions.
            random_state: source of randomness.

        Returns:
            ``n_samples`` tables of the kind of ``X``.

        Raises:
            ValueError: if ``n_samples`` is less than 1.
        """
        check_whole("n_samples", n_samples)
        table, codes = self._read(X)
        rng = random_source(random_state)
        seeds = [random_seed(rng) for _ in range(n_samples)]
        return [filled(table, self._draw_missing(table, codes, seed), self.columns_) for seed in seeds]

    def complete(
        self, X: MatrixLike, *, method: str = "beam", n_tries: int = 16, ordering: Which | None = None
    ) -> tuple[Any, NDArray[np.float64]]:
        """Return probable completions of rows, and their log-probabilities.

        No method finds the best completion for certain.

        Args:
            X: a table [N, D].
            method: "greedy" fills in one cell after the other with its most probable level; "certain" takes the most
                certain cell next; "beam" keeps the ``n_tries`` most probable prefixes along one ordering.
            n_tries: of "beam".
            ordering: names or indices of all columns, in the order in which missing cells are filled in; None is the
                first of ``orderings_``. "certain" has its own.

        Returns:
            The completed table, of the kind of ``X`` (a number is the mean of its bin), and [N] log-probabilities in
            nats of the filled cells given the observed ones, along that ordering; a number counts per distance of two
            knots, not per unit of its column.

        Raises:
            ValueError: on an unknown method, and on options that do not fit it.
        """
        check_choice("method", method, METHODS)
        check_whole("n_tries", n_tries)
        if method == "certain" and ordering is not None:
            raise ValueError('ordering: expected none beside the method "certain", which finds one for every row')
        table, codes = self._read(X)
        places = self.orderings_[0] if ordering is None else self._places(ordering)
        along = torch.from_numpy(places).to(codes.device)
        if method == "beam":
            best = beam(self.network_, codes, width=n_tries, ordering=along)
        else:
            certain = method == "certain"
            best = greedy(self.network_, codes, ordering=None if certain else along, most_certain_first=certain)
        return filled(table, self._fillings(table, codes, best.x), self.columns_), best.log_prob.cpu().numpy()

    def suggest_next(self, X: MatrixLike, *, target: Which | None = None) -> Any:  # noqa: ANN401 - a table
        """Return the expected information of each missing cell.

        The expectation is exact, over the model's probabilities of the answers, and looks one question ahead.

        Args:
            X: a table [N, D].
            target: columns of interest: names, indices or a boolean mask. None: all other missing cells.

        Returns:
            Expected information in nats, a table [N, D] of the kind of ``X``, NaN for observed cells and targets. The
            largest of a row is the next question. Gains for several targets are added, so targets that depend on each
            other count twice.

        Raises:
            ValueError: on a row with all target cells observed.
        """
        table, codes = self._read(X)
        targets = None if target is None else self._column_flags("target", target)
        gain = expected_information(self.network_, codes, targets)
        return self._table_of(table, gain if targets is None else gain.masked_fill(targets, torch.nan))

    def _column_flags(self, option: str, which: Any) -> Bool[Tensor, " D"]:  # noqa: ANN401 - checked
        flags = chosen_columns(option, which, list(map(str, self._keys())), named=hasattr(self, "feature_names_in_"))
        return torch.from_numpy(flags).to(self.network_.b.device)

    def _with_densities(
        self, log_probs: Tensor, table: Table, columns: NDArray[np.bool_] | slice = slice(None)
    ) -> NDArray[np.float64]:
        return self._of_numbers(log_density, table)[:, columns].sum(1) + log_probs.cpu().numpy()

    def _places(self, ordering: Any) -> NDArray[np.int64]:  # noqa: ANN401 - checked
        named, items = hasattr(self, "feature_names_in_"), np.asarray(ordering).tolist()
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise ValueError(f"ordering: expected a list of all column names or indices, found {ordering!r}")
        places = [column_index("ordering", item, list(map(str, self._keys())), named=named) for item in items]
        if sorted(places) != list(range(self.n_features_in_)):
            raise ValueError(f"ordering: expected each of the {self.n_features_in_} columns once, found {ordering!r}")
        return np.array(places, dtype=np.int64)
