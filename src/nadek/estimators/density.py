"""`NADEk`: how likely rows are, under any condition, and rows like them."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from nadek.estimators.information import Questions
from nadek.estimators.options import (
    Choice,
    Count,
    DeviceName,
    Fraction,
    MaybeSwitch,
    Number,
    Patience,
    Randomness,
    Share,
    Switch,
    Whole,
    check_whole,
)
from nadek.inference import log_prob
from nadek.inference.likelihood import reduce_orderings
from nadek.inference.sampling import sample
from nadek.inference.summary import deviation
from nadek.tabular.columns import draw
from nadek.tabular.selection import MatrixLike, Which, WhichOrNone


class NADEk(DensityMixin, Questions):
    """Density of rows of yes/no answers, categories and numbers, with holes or without, as a scikit-learn estimator.

    A column of 0 and 1, of booleans or of two words is binary; words and categories are categorical; numbers are seen
    through at most ``n_bins`` bins (a number with few different values loses nothing: each has a bin of its own). Cells
    may be missing (NaN, None, null), see ``missing``. Log-probabilities are in nats; those of a row with numbers are of
    the bins that these fall into.

    Args:
        max_iter: passes over the rows; "auto" reads 1,500,000 rows in all, in 10 to 400 passes.
        early_stopping: hold out ``validation_fraction`` of the rows, keep the weights that did best on them, and stop
            when ``n_iter_no_change`` validations brought nothing better.
        validation_fraction: of the rows; none are held out where none would be left to learn from.
        n_iter_no_change: "auto" is a fifth of all validations of the run, 5 at least. None never stops early, but still
            keeps the best weights.
        missing: "use" rows with missing cells, which are never read and never to be predicted: right where it is chance
            which cells are missing. "complete" them for the last third of the training, by draws of what is missing
            given what is observed: right as well where that follows from what is observed, and takes longer. The draws
            are joint up to 64 columns; of D columns beyond, D / 64 cells at a time (rounded up) are drawn as if they
            were independent given those before.
        memory: True keeps the training rows (20,000 at most) beside the network, and lets those that are like what is
            known of a row have their word (see `nadek.models.memory`): often a much better density where the same
            rows come up
            again and again, and scored several times more slowly. What is sampled and saved then holds rows of the
            training table as they are, which may be nobody's business. "auto" does so where it spares a fiftieth of
            the cost of the rows held out, of which there must be 50.
        warm_start: `fit` goes on with the network that is there. It is validated on rows that it was not trained on
            where the table has as many rows as the first time and ``early_stopping`` is what it was.
        steps: how often the network refines its guess (the k of NADE-k); "auto" is 3.
        width: units of its hidden stream; "auto" is 400, but no more than 32 a column and 8 times the square root of
            the rows, in whole 16s.
        blocks: residual blocks; "auto" is 2.
        dropout: part of the hidden units left out while training; "auto" is 0.2 below 5,000 rows, and 0 from there on.
        learning_rate: of AdamW, after the warm-up; "auto" is 0.002, and 0.004 from 100,000 rows on (in `NADEkImputer`
            from 5,000).
        weight_decay: of the matrices, decoupled; "auto" is 0.1.
        batch_size: rows a minibatch; "auto" is 100, and 300 from 100,000 rows on (in `NADEkImputer` from 5,000).
        n_bins: at most so many bins for a column of numbers.
        categorical_features: columns whose numbers are categories: names, indices or a boolean mask (integers are
            positions, from 0, whatever columns are called). None: the columns of a categorical type.
        numeric_features: columns of numbers, told in the same way, of which 0 and 1 may be the first ones seen: counts
            of what is rare, say. None: those that hold other numbers.
        n_orderings: orderings that log-probabilities are mixed over.
        device: "auto", "cpu", "cuda" or another of PyTorch's.
        random_state: of everything random in `fit`; an int makes it repeatable.
        verbose: 1 writes about ten lines a training, 2 one an epoch.

    Attributes:
        network_: the torch module, see `nadek.IterativeNADE`.
        columns_: what each column is, see `nadek.tabular.columns`.
        levels_: for each column (by its name, or its index where it has none) what its levels are, in the order of
            `predict_missing_proba`; for numbers the means of the bins.
        orderings_: [n_orderings, D], drawn in `fit`.
        history_: costs of every epoch, see `nadek.training.Epoch`.
        n_iter_: epochs of the last `fit`.
        n_features_in_: D.
        feature_names_in_: where all columns have names.

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

    def __init__(
        self,
        *,
        max_iter: Whole = "auto",
        early_stopping: Switch = True,
        validation_fraction: Share = 0.1,
        n_iter_no_change: Patience = "auto",
        missing: Choice = "use",
        memory: MaybeSwitch = False,
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
        n_orderings: Count = 32,
        device: DeviceName = "auto",
        random_state: Randomness = None,
        verbose: Count = 0,
    ) -> None:
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.missing = missing
        self.memory = memory
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
        self.n_orderings = n_orderings
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: object = None, *, X_val: MatrixLike | None = None) -> "NADEk":
        """Learn the distribution of the rows of a table.

        Args:
            X: the table [N, D]: an array, a list of rows, or a pandas, polars or pyarrow table; holes are welcome.
            y: ignored.
            X_val: rows to keep the best weights by, in place of a held-out part of ``X``.

        Raises:
            ValueError: on a table that cannot be learnt from (an infinite number, a column without any value, mixed
                types in a column, ...), and on options that are none; says which row, column or option, what was
                expected and what was found.
        """
        self._fit(X, X_val=X_val)
        return self

    def score_samples(self, X: MatrixLike) -> NDArray[np.float64]:
        """Log-probability of each row in nats, [N]: of the mixture over `orderings_`, holes summed out.

        Each ordering visits the observed cells of a row first. Where there are holes this is the marginal of such
        orderings, and differs a little from the sum over all completions, whose orderings visit cells in between.

        Args:
            X: a table [N, D].
        """
        return _numpy(reduce_orderings(self._log_probs(X), "mixture"))

    def score(self, X: MatrixLike, y: object = None) -> float:
        """Mean of `score_samples` over the rows, in nats.

        Args:
            X: a table [N, D].
            y: ignored.
        """
        return float(self.score_samples(X).mean())

    def log_prob(self, X: MatrixLike, *, ordering: Which) -> NDArray[np.float64]:
        """Log-probability of each row under one ordering of the columns, in nats, [N].

        Args:
            X: a table [N, D]; holes are summed out, and visited last.
            ordering: names or indices of all columns, in the order in which they are visited.
        """
        _, codes = self._read(X)
        visited = torch.from_numpy(self._visited(ordering)).to(codes.device)
        return _numpy(log_prob(self.network_, codes, orderings=visited.unsqueeze(0))[0])

    def marginal_log_prob(self, X: MatrixLike) -> NDArray[np.float64]:
        """Log-probability of the observed cells of each row, whatever the others are, in nats, [N].

        Every ordering of `orderings_` is followed through the observed cells, and then stops. That is what
        `score_samples` does, too; the name says it where it matters.

        Args:
            X: a table [N, D]; a row without any value gets 0.
        """
        return self.score_samples(X)

    def conditional_log_prob(self, X: MatrixLike, *, given: Which) -> NDArray[np.float64]:
        """Log-probability of the observed cells outside the columns ``given``, given those inside, in nats, [N].

        Mixed over orderings that visit what is given first. Between orderings a model need not agree with itself:
        this differs a little from the difference of two `marginal_log_prob`.

        Args:
            X: a table [N, D]; what is missing is summed out, on both sides.
            given: columns: names, indices or a boolean mask.
        """
        _, codes = self._read(X)
        condition = torch.from_numpy(self._chosen("given", given)).to(codes.device)
        return _numpy(log_prob(self.network_, codes, given=condition, orderings=self._orderings(), reduce="mixture"))

    def ordering_spread(self, X: MatrixLike) -> NDArray[np.float64]:
        """Standard deviation of each row's log-probability over `orderings_`, in nats, [N]; NaN for one ordering only.

        How much the model disagrees with itself: 0 if all orderings told the same distribution.

        Args:
            X: a table [N, D].
        """
        return _numpy(deviation(self._log_probs(X), 0))

    def sample(self, n_samples: int = 1, random_state: Randomness = None) -> Any:  # noqa: ANN401 - a table
        """New rows, independent of one another, in a table of the kind that `fit` was given.

        They follow the distribution that `score_samples` scores; a number is drawn from its bin, with its mean.

        Args:
            n_samples: how many.
            random_state: source of randomness.

        Raises:
            ValueError: if ``n_samples`` is less than 1.
        """
        check_is_fitted(self)
        check_whole("n_samples", n_samples)
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        codes = sample(self.network_, n_samples, orderings=self._orderings(), generator=self._generator(seed))
        rng, drawn = np.random.default_rng(seed), codes.cpu().numpy().astype(np.float64)
        dtypes = self._template.dtypes()
        return self._template.make([draw(column, drawn[:, j], rng=rng, dtype=dtypes[j]) for j, column in self._known()])

    def _log_probs(self, X: MatrixLike) -> Float[Tensor, "O N"]:
        _, codes = self._read(X)
        return self._under_orderings(codes)


def _numpy(values: Tensor) -> NDArray[np.float64]:
    return values.cpu().numpy()
