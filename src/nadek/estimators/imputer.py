"""`NADEkImputer`: fill in missing cells."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from torch import Tensor

from nadek.estimators.cell_answers import CellAnswers
from nadek.estimators.options import Randomness, random_seed, random_source
from nadek.tabular.columns import Binary, Column, Numeric, expected, n_levels, summarised
from nadek.tabular.frames import MatrixLike, is_categorical, is_text_column, select_columns
from nadek.tabular.table import Table
from nadek.tabular.writeback import Filling, Fillings, filled, renamed, to_library, with_flags
from nadek.utils.configs import check_choice, check_whole
from nadek.utils.warn import warn

Filler = Callable[[NDArray[np.float64]], NDArray[Any]]
"""From the probabilities of the levels of a column, [n, L], to values, [n]."""
STRATEGIES = ("mean", "median", "mode", "sample")


class NADEkImputer(OneToOneFeatureMixin, TransformerMixin, CellAnswers):
    """Imputer of missing cells from the observed ones, a scikit-learn transformer.

    Cells may be missing in any pattern, also in columns that were complete in training. Observed cells stay as they
    are. `transform` returns a table of the kind that it was given; `set_output` changes that.

    Args:
        strategy: "mean" fills in the expectation of a number (the probability of 1 in a column of 0 and 1) and the
            most probable level of anything else; "median" the median of a number and of levels in an order; "mode" the
            most probable level or bin (its mean); each cell by itself. "sample" is one joint draw a row, which follows
            from ``random_state`` and the row: it is the same in any table. Rows that are equal get draws of their own,
            in turn.
        n_imputations: number of tables that `transform_multiple` returns.
        add_indicator: add columns that flag the missing cells, for the columns with missing cells in training (for all
            columns of a model that no imputer has saved).
        keep_empty_features: keep columns without any value in training (filled with 0, or "missing_value" in text, and
            left as they are where they are of dates); otherwise they are left out.
        memory: keep the training rows beside the network (see `nadek.models.memory`), for rows that come up again.
            "auto" does so where it spares a fiftieth of the cost of the rows held out, of which there must be 50. A
            saved model then holds training rows, as other imputers do; False never keeps any.
        {shared options}

    It has the attributes of `NADEk`, but for ``orderings_``. A column without any value is None in ``columns_``.

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
    _accepts_empty_columns = True

    _missing_parts: NDArray[np.float64]
    """How much of each column training lacked; 1 where a folder only says that cells were missing, or nothing."""

    def __init__(
        self,
        *,
        strategy: str = "mean",
        n_imputations: int = 1,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        memory: bool | Literal["auto"] = "auto",
        **shared: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(**shared)
        self.strategy = strategy
        self.n_imputations = n_imputations
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.memory = memory

    def __sklearn_tags__(self) -> Tags:
        """Return tags: floats of either width keep their type."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(
        self,
        X: MatrixLike,
        y: object = None,
        *,
        X_val: MatrixLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "NADEkImputer":
        """Fit the distribution of the rows of a table; see `NADEk.fit`.

        Args:
            X: the table [N, D]; cells may be missing.
            y: ignored.
            X_val: validation rows, in place of a held-out part of ``X``.
            sample_weight: how often each row counts, as in a weighted survey, [N]; only the proportions matter. Rows
                with weights have no memory.
        """
        self._check_options()
        before = self._missing_parts if self.warm_start and self.__sklearn_is_fitted__() else None
        with self._all_or_nothing():
            table, _ = self._fit(X, X_val, sample_weight)
            here = _missing_parts(table)
            self._missing_parts = here if before is None else np.maximum(before, here)
        empty = self._empty_columns()
        if late := [table.labels[j] for j in empty if not table.is_missing(j).all()]:
            message = "columns without any value in the first fit are not learnt by warm_start"
            warn(f"{message}: {', '.join(late)}")
        still = [table.labels[j] for j in empty if table.is_missing(j).all()]
        if still and not self.keep_empty_features:
            warn(f"columns without any value are left out: {', '.join(still)}")
        return self

    def transform(self, X: MatrixLike) -> Any:  # noqa: ANN401 - a table
        """Fill in the missing cells of a table.

        Args:
            X: a table [N, D].

        Returns:
            The completed table, of the kind of ``X``.

        Raises:
            ValueError: on wrong options, which can be set after `fit`.
        """
        self._check_options()
        table, codes = self._read(X)
        if self.strategy == "sample":
            return self._finished(table, self._draw_missing(table, codes, self._seed))
        missing = codes.isnan().cpu().numpy()
        incomplete = [
            (place, j, n_levels(column), self._summary(table, j, column))
            for place, (j, column) in enumerate(self._bent_columns())
            if missing[:, place].any()
        ]
        answers: dict[int, list[NDArray[Any]]] = {j: [] for _, j, _, _ in incomplete}
        for rows, p in self._level_probabilities(codes, codes.isnan().any(1).nonzero().squeeze(1)):
            for place, j, n, summary in incomplete:
                answers[j].append(summary(p[missing[rows, place], place, :n]))
        fillings = {j: Filling(missing[:, place], np.concatenate(answers[j])) for place, j, _, _ in incomplete}
        return self._finished(table, fillings)

    def transform_multiple(self, X: MatrixLike, random_state: Randomness = None) -> list[Any]:
        """Return several completions of a table by joint draws.

        Analyse each and pool the results (Rubin's rules): their spread is the uncertainty due to missing cells. All
        rows are filled in along one ordering, another one in every completion: a random one, but that columns of which
        training lacked more come later. As in `transform`, draws follow from the row.

        Args:
            X: a table [N, D].
            random_state: source of randomness; None derives it from that of `fit`.

        Returns:
            ``n_imputations`` tables like those of `transform`.

        Raises:
            ValueError: on wrong options, which can be set after `fit`.
        """
        self._check_options()
        table, codes = self._read(X)
        rng = random_source(self._seed if random_state is None else random_state)
        seeds = [random_seed(rng) for _ in range(self.n_imputations)]
        return [self._finished(table, self._draw_missing(table, codes, seed)) for seed in seeds]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ANN401 - names
        """Return the names of the columns that `transform` returns.

        Args:
            input_features: names of the columns of the table; None: those of `fit`, or x0, x1 and so on.

        Raises:
            ValueError: if these are not the names in `fit`.
        """
        names = super().get_feature_names_out(input_features)
        flags = [f"missingindicator_{names[j]}" for j in self._indicators()]
        return np.array([*names[self._output_columns()], *flags], dtype=object)

    def _check_options(self) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)
        check_whole("n_imputations", self.n_imputations)
        for name in ("add_indicator", "keep_empty_features"):
            check_choice(name, getattr(self, name), (True, False))

    def _check(self, table: Table) -> None:
        if self.add_indicator:
            _check_flags(table, _with_holes(_missing_parts(table)))

    def _extra(self) -> dict[str, Any]:
        return {"missing_parts": self._missing_parts.tolist()}

    def _set_extra(self, extra: Mapping[str, Any]) -> None:
        incomplete = extra.get("with_holes", range(self.n_features_in_))  # what folders said before
        parts = extra.get("missing_parts", [j in incomplete for j in range(self.n_features_in_)])
        self._missing_parts = np.array(parts, dtype=np.float64).reshape(self.n_features_in_)

    def _order_of_draws(self, seed: int) -> Int[Tensor, " D"]:
        """Return an ordering by chance, but that columns come later by each tenth of them that training lacked.

        Only smokers are asked how much they smoke: so whether they do has to be drawn first. It is the order of the
        factors of a likelihood where cells are missing in a monotone pattern (Rubin 1974).
        """
        tenths = torch.from_numpy(self._missing_parts[[j for j, _ in self._nonempty_columns()]] * 10 // 1)
        return (tenths + torch.rand(len(tenths), generator=torch.Generator().manual_seed(seed))).argsort()

    def _summary(self, table: Table, j: int, column: Column) -> Filler:
        """Return what fills the cells of a column; "mean" is the expectation of numbers, here as in `fit`."""
        statistic: Any = self.strategy
        if statistic != "mean" or (isinstance(column, Numeric) and column.unit):
            return partial(summarised, column, statistic=statistic)
        values = table.column(j)
        types = set(map(type, values)) if values.dtype == object else {values.dtype.type}
        is_binary_number = isinstance(column, Binary) and not isinstance(column.levels[0], str | bool)
        may_be_averaged = not is_categorical(table, j) and not {bool, np.bool_} & types
        if may_be_averaged and (isinstance(column, Numeric) or is_binary_number):
            return partial(expected, column)
        return partial(summarised, column, statistic="mode")

    def _finished(self, table: Table, fillings: Fillings) -> Any:  # noqa: ANN401 - a table
        """Return the completed table: empty columns filled or left out, with indicators."""
        for j, column in enumerate(self.columns_):
            if column is None and self.keep_empty_features and table.column(j).dtype.kind != "M":  # no date is a filler
                where, filler = table.is_missing(j), "missing_value" if is_text_column(table, j) else 0
                fillings[j] = Filling(where, np.full(where.sum(), filler, dtype=object))
        native = filled(table, fillings, self.columns_)
        if len(self._output_columns()) < self.n_features_in_:
            native = select_columns(native, self._output_columns())
        flags = self._indicators()
        if flags:
            _check_flags(table, flags)
            missing = np.column_stack([table.is_missing(j) for j in flags])
            native = with_flags(native, missing, [f"missingindicator_{table.labels[j]}" for j in flags])
        output = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        names = list(self.get_feature_names_out())
        if table.columns is not None and not hasattr(self, "feature_names_in_") and (flags or output != "default"):
            native = renamed(native, names)  # names that are no text do not mix with those of indicators
        return native if output == "default" else to_library(native, output, names)

    def _output_columns(self) -> list[int]:
        return [j for j, column in enumerate(self.columns_) if column is not None or self.keep_empty_features]

    def _indicators(self) -> list[int]:
        return _with_holes(self._missing_parts) if self.add_indicator else []


def _missing_parts(table: Table) -> NDArray[np.float64]:
    return np.array([table.is_missing(j).mean() for j in range(len(table.cells))])


def _with_holes(parts: NDArray[np.float64]) -> list[int]:
    return np.flatnonzero(parts).tolist()


def _check_flags(table: Table, flags: Sequence[int]) -> None:
    """Refuse columns with the name of an indicator."""
    for j in flags if table.columns is not None else ():
        flag = f"missingindicator_{table.labels[j]}"
        if flag in table.labels:
            raise ValueError(
                f'add_indicator: expected no column "{flag}", which is the name of the indicator of'
                f' "{table.labels[j]}"; rename it before fitting'
            )
