"""`NADEkImputer`: what the missing cells of a table hold, probably or in joint draws."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from nadek.estimators.cell_options import Cells
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
    check_choice,
    check_whole,
)
from nadek.tabular.columns import Binary, Numeric, decode, expected
from nadek.tabular.frames import Table, is_boolean, is_missing, is_text, names_in
from nadek.tabular.selection import MatrixLike, WhichOrNone
from nadek.tabular.writeback import Fillings, as_frame_of, beside, called, filled, without

STRATEGIES = ("mean", "mode", "sample")


class NADEkImputer(TransformerMixin, Cells):
    """Fills in missing cells from all observed ones of their row, as a scikit-learn transformer.

    Any pattern of holes will do, also in columns that had none in training. Rows without holes come out as they went
    in. The table that comes out is of the kind that went in; `set_output` changes that.

    Args:
        strategy: "mean" fills in the expectation of a number, which is the probability of a 1 in a column of 0 and 1,
            and the most probable level of anything else; "mode" the most probable level or bin (its mean) of each cell
            by itself; "sample" one joint draw a row.
        n_imputations: how many tables `transform_multiple` returns.
        add_indicator: add columns that tell which cells were missing, for the columns with holes in training.
        keep_empty_features: whether columns without any value in training stay (filled with 0, or "missing_value"
            where they are of text); otherwise they are left out.
        memory: keep the training rows beside the network (see `nadek.models.memory`), where rows like these come up
        again and
            again: "auto" does so where that spares a fiftieth of the cost of the rows held out, of which there must be
            50. What `save` writes then holds training rows, as other imputers do; False never keeps any.
        max_iter: this and all others: see `NADEk`. The draws of "sample" follow from ``random_state`` and the table:
            the same table is filled the same way each time, and other rows with other draws.

    Attributes:
        network_, columns_, levels_, history_, n_iter_, n_features_in_, feature_names_in_: see `NADEk`; a column without
            any value is None in ``columns_``.

    Example:
        >>> import numpy as np
        >>> first = np.random.default_rng(0).integers(0, 2, 200)
        >>> X = np.column_stack([first, first]).astype(float)
        >>> imputer = NADEkImputer(strategy="mode", max_iter=40, random_state=0).fit(X)
        >>> imputer.transform([[1, np.nan], [np.nan, 0]])
        array([[1., 1.],
               [0., 0.]])
    """

    _purpose = "imputation"
    _takes_empty = True

    _with_holes: list[int] | None
    """The columns that had holes in training; None where a folder does not tell."""

    def __init__(
        self,
        *,
        strategy: Choice = "mean",
        n_imputations: Count = 1,
        add_indicator: Switch = False,
        keep_empty_features: Switch = False,
        max_iter: Whole = "auto",
        early_stopping: Switch = True,
        validation_fraction: Share = 0.1,
        n_iter_no_change: Patience = "auto",
        missing: Choice = "use",
        memory: MaybeSwitch = "auto",
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
        self.strategy = strategy
        self.n_imputations = n_imputations
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
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
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        """Floats of either width come out as they went in."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: MatrixLike, y: object = None, *, X_val: MatrixLike | None = None) -> "NADEkImputer":
        """Learn how the columns of a table hang together; see `NADEk.fit`.

        Args:
            X: the table [N, D], with holes or without.
            y: ignored.
            X_val: rows to keep the best weights by, in place of a held-out part of ``X``.
        """
        self._check_options()
        before = self._with_holes if self.warm_start and self.__sklearn_is_fitted__() else None
        with self._all_or_nothing():
            table, _ = self._fit(X, X_val=X_val)
            self._with_holes = sorted({*(before or ()), *_with_holes(table)})
        empty = [j for j, column in enumerate(self.columns_) if column is None]
        for told, columns in self._about_empty(table, empty).items():
            if columns:
                warnings.warn(f"{told}: {', '.join(columns)}", UserWarning, stacklevel=2)
        return self

    def transform(self, X: MatrixLike) -> Any:  # noqa: ANN401 - a table
        """Fill in the missing cells of a table.

        Args:
            X: a table [N, D].

        Returns:
            A table without holes, of the kind of ``X``.

        Raises:
            ValueError: on options that are none, as these can be set after `fit`.
        """
        self._check_options()
        table, codes = self._read(X)
        if self.strategy == "sample":
            return self._finished(table, self._drawn(table, codes, self._seed_for(table, codes)))
        missing, answers = codes.isnan().cpu().numpy(), self._answers(table, codes)
        fillings = {}
        for place, (j, column) in enumerate(self._known()):
            where = missing[:, place]
            found = answers[where, place]
            fillings[j] = (where, found if self._is_averaged(table, j) else decode(column, found))
        return self._finished(table, fillings)

    def transform_multiple(self, X: MatrixLike, random_state: Randomness = None) -> list[Any]:
        """Several completions of a table, each with one joint draw a row, whatever ``strategy`` says.

        Analyse each and pool what comes out (Rubin's rules): how much the completions differ is how much the holes
        leave open. Rows with the same holes are filled in along one random ordering, another one in every completion.

        Args:
            X: a table [N, D].
            random_state: source of randomness; None draws what follows from that of `fit` and from the table.

        Returns:
            ``n_imputations`` tables like those of `transform`.

        Raises:
            ValueError: on options that are none, as these can be set after `fit`.
        """
        self._check_options()
        table, codes = self._read(X)
        rng = check_random_state(self._seed_for(table, codes) if random_state is None else random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_imputations)
        return [self._finished(table, self._drawn(table, codes, int(seed))) for seed in seeds]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ANN401 - names
        """Names of the columns that `transform` returns.

        Args:
            input_features: names of the columns that go in; those of `fit`, or x0, x1 and so on, when None.

        Raises:
            ValueError: if these are not the names of `fit`.
        """
        check_is_fitted(self)
        names = names_in(self, input_features)
        flags = [f"missingindicator_{names[j]}" for j in self._flagged()]
        return np.array([*names[self._kept()], *flags], dtype=object)

    def _check_options(self) -> None:
        """Refuse options of the answers that are none."""
        check_choice("strategy", self.strategy, STRATEGIES)
        check_whole("n_imputations", self.n_imputations)
        for name in ("add_indicator", "keep_empty_features"):
            check_choice(name, getattr(self, name), (True, False))

    def _check(self, table: Table) -> None:
        if self.add_indicator:
            _check_flags(table, _with_holes(table))

    def _extra(self) -> dict[str, Any]:
        return {"with_holes": self._with_holes}

    def _take(self, extra: Mapping[str, Any]) -> None:
        self._with_holes = extra.get("with_holes")

    def _about_empty(self, table: Table, empty: Sequence[int]) -> dict[str, list[str]]:
        """What is to be said of columns without any value in (the first) training, and of which ones."""
        late = [j for j in empty if not is_missing(table, j).all()]
        still = [] if self.keep_empty_features else [j for j in empty if j not in late]
        return {
            "columns without any value are left out": [table.labels[j] for j in still],
            "columns without any value in the first fit are not learnt by warm_start": [table.labels[j] for j in late],
        }

    def _answers(self, table: Table, codes: Tensor) -> Float[np.ndarray, "N D"]:
        """For every missing cell its expectation, where that is what is filled in, or else its most probable code."""
        answers = np.zeros(codes.shape)
        rows = codes.isnan().any(1).nonzero().squeeze(1)
        averaged = [self._is_averaged(table, j) for j, _ in self._known()]
        for some, found in self._level_probabilities(codes, rows):
            for place, (_, column) in enumerate(self._known()):
                of_one = found[:, place]
                answers[some, place] = expected(column, of_one) if averaged[place] else of_one.argmax(1)
        return answers

    def _is_averaged(self, table: Table, j: int) -> bool:
        """Whether a column is filled in with its expectation: numbers, in this table as in that of `fit`, by "mean"."""
        column = self.columns_[j]
        numbers = isinstance(column, Numeric) or (
            isinstance(column, Binary) and not isinstance(column.levels[0], str | bool)
        )
        return self.strategy == "mean" and numbers and not table.categorical[j] and not is_boolean(table, j)

    def _finished(self, table: Table, fillings: Fillings) -> Any:  # noqa: ANN401 - a table
        """The table with its holes filled; columns without any value in training filled or left out; indicators."""
        for j, column in enumerate(self.columns_):
            if column is None and self.keep_empty_features:
                where = is_missing(table, j)
                fillings[j] = (where, np.full(where.sum(), "missing_value" if is_text(table, j) else 0, dtype=object))
        native = filled(table, fillings)
        if len(self._kept()) < self.n_features_in_:
            native = without(native, self._kept())
        flags = self._flagged()
        if flags:
            _check_flags(table, flags)
            missing = np.column_stack([is_missing(table, j) for j in flags])
            native = beside(native, missing, [f"missingindicator_{table.labels[j]}" for j in flags])
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        names = list(self.get_feature_names_out())
        if table.named and not hasattr(self, "feature_names_in_") and (flags or wanted != "default"):
            native = called(native, names)  # names that are no text do not go with those of flags
        return native if wanted == "default" else as_frame_of(native, wanted, names)

    def _kept(self) -> list[int]:
        return [j for j, column in enumerate(self.columns_) if column is not None or self.keep_empty_features]

    def _flagged(self) -> list[int]:
        if not self.add_indicator:
            return []
        if self._with_holes is None:
            raise ValueError(
                "add_indicator: expected a model that an imputer saved, which knows the columns with holes in training;"
                " found one that does not: leave the option out, or fit the imputer"
            )
        return self._with_holes


def _with_holes(table: Table) -> list[int]:
    """The places of columns with holes."""
    return [j for j in range(len(table.columns)) if is_missing(table, j).any()]


def _check_flags(table: Table, flagged: Sequence[int]) -> None:
    """Refuse columns that are called what an indicator would be."""
    for j in flagged if table.named else ():
        flag = f"missingindicator_{table.labels[j]}"
        if flag in table.labels:
            raise ValueError(
                f'add_indicator: expected no column "{flag}", which is what the indicator of "{table.labels[j]}" is'
                " called; rename it before fitting"
            )
