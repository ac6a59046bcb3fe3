"""The base class of the three estimators: options, fitting, saving, and reading tables."""

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from nadek.estimators.checked_table import checked_table
from nadek.estimators.fitting import check_unchanged, fit_codes, to_answer_dtype
from nadek.estimators.options import DeviceName, Randomness, check_options, options_of, random_seed, random_source
from nadek.estimators.persistence import SavedEstimator
from nadek.inference import log_prob
from nadek.inference.orderings import random_orderings
from nadek.inference.row_random import ids_of, number_uniforms
from nadek.inference.sampling import impute
from nadek.kernels.cpu import pick_device
from nadek.tabular.columns import Column, Measure, Unknown, decode, within_bins
from nadek.tabular.columns.infer import N_BINS
from nadek.tabular.encode import encode_table
from nadek.tabular.frames import MatrixLike
from nadek.tabular.learn_schema import declared_names, learn_columns
from nadek.tabular.names import Which
from nadek.tabular.table import Table
from nadek.tabular.template import Template
from nadek.tabular.writeback import Filling, Fillings, Uniforms
from nadek.training.defaults import Purpose
from nadek.utils.configs import check_choice, naming

MOST_PLACES = 2**22
"""Columns in all orderings of an estimator together, at most: a file of a stranger may ask for any number."""

SHARED_OPTIONS = """effort: "quick" makes at most a third as many passes, for a first look; "thorough" up to three
            times as many, with a wider network where `NADEkImputer` has 5,000 rows or more. A ``max_iter`` goes before
            it.
        max_iter: passes over the rows; "auto" reads 1,500,000 rows in all, in 10 to 400 passes.
            `NADEkImputer` reads 600,000 from 5,000 rows on (10,000 for each of many columns, up to 1,200,000), and
            smaller tables as often as validation gains by it, up to 1,200 times.
        missing: "use" rows with missing cells: these are never read and never predicted, which is right where chance
            decides what is missing. "complete" them in the second half of the training, by draws given the observed
            cells: right also where these decide what is missing. The draws are joint up to 64 columns; of D columns
            beyond, D / 64 cells at a time (rounded up) are drawn as if they were independent. "auto" is "complete",
            and "use" in `NADEkImputer`.
        warm_start: `fit` goes on with the fitted network. It is validated on rows that it was not trained on where the
            table has as many rows as the first time and ``early_stopping`` is the same.
        n_bins: knots of a column of numbers, at most; each has a bin (see `nadek.models.variables`).
        categorical_features: columns whose numbers are categories: names, indices or a boolean mask (integers are
            positions, from 0, whatever columns are called). None: the columns of a categorical type.
        numeric_features: columns of numbers, in the same form, where 0 and 1 may be the first values seen: counts of
            rare events, say. None: those that hold other numbers.
        training: a dictionary of further options of the network and its training, as ``{"width": 64, "steps": 5}``:

            - ``steps``: refining steps of the network (the k of NADE-k); "auto" is 3 (2 for imputation with numbers).
            - ``width``: units of its hidden stream; "auto" is 400, at most 32 a column, 8 times the square root of the
              rows, and 64 and five for a column of two values, ten for each level of another, forty for a number;
              in whole 16s. Of these last units imputation has a fifth; in tables below 5,000 rows without numbers two
              fifths, and at most 16 a column.
            - ``blocks``: residual blocks; "auto" is 2.
            - ``dropout``: part of the hidden units left out in training; "auto" is 0.2 below 5,000 rows, else 0.
            - ``learning_rate``: of AdamW, after the warm-up; "auto" is 0.002, and 0.004 from 100,000 rows on (in
              `NADEkImputer` 0.006, and 0.008 from 5,000 rows on).
            - ``weight_decay``: of the matrices, decoupled; "auto" is 0.1, and with numbers or answers in an order 800
              by the number of rows, from 0.1 to 2.
            - ``batch_size``: rows of a minibatch; "auto" is about 100, and 300 from 100,000 rows on (in `NADEkImputer`
              200, and 400 from 5,000 rows on).
            - ``early_stopping``: True, the default, holds out ``validation_fraction`` of the rows, keeps the weights
              that did best on them, and stops after ``n_iter_no_change`` validations without a better one.
            - ``validation_fraction``: 0.1 of the rows; none are held out where none would be left to train on.
            - ``n_iter_no_change``: "auto" is a fifth of all validations of the run, at least 5. None never stops
              early, but still keeps the best weights.
        handle_unknown: "missing" takes a value that is no level of its column (a category that training did not have)
            as missing, and warns; it still counts as odd. "error" refuses it.
        device: "auto", "cpu", "cuda" or another device of PyTorch.
        random_state: seed or source of everything random in `fit`; an int makes it repeatable.
        verbose: 1 writes about ten lines a training, 2 one an epoch."""
"""Documentation of the options of `NADEkBase`; stands in the docstring of each estimator."""


class NADEkBase(SavedEstimator):
    """Base class: shared options, fitting, and reading tables.

    A subclass names its own options in ``__init__(self, *, own, **shared)`` and hands ``shared`` on; scikit-learn and
    `help` then see both. ``{shared options}`` in its docstring becomes `SHARED_OPTIONS`.
    """

    orderings_: NDArray[np.int64]
    _purpose: Purpose = "density"

    def __init__(
        self,
        *,
        effort: str = "default",
        max_iter: int | Literal["auto"] = "auto",
        missing: str = "auto",
        warm_start: bool = False,
        n_bins: int = N_BINS,
        categorical_features: Which | None = None,
        numeric_features: Which | None = None,
        training: Mapping[str, Any] | None = None,
        handle_unknown: Unknown = "missing",
        device: DeviceName = "auto",
        random_state: Randomness = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.max_iter = max_iter
        self.missing = missing
        self.warm_start = warm_start
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.training = training
        self.handle_unknown = handle_unknown
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401
        """Put the shared options into signature and docstring of a subclass."""
        super().__init_subclass__(**options)
        cls.__doc__ = cls.__doc__ and cls.__doc__.replace("{shared options}", SHARED_OPTIONS)
        own = inspect.signature(cls.__init__).parameters
        named = [parameter for parameter in own.values() if parameter.kind is not parameter.VAR_KEYWORD]
        if len(named) < len(own):
            shared = inspect.signature(NADEkBase.__init__).parameters
            named += [parameter for name, parameter in shared.items() if name not in own]
            cls.__init__.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]

    def __sklearn_tags__(self) -> Tags:
        """Return tags: missing cells, categories and sparse matrices are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore all attributes where something fails or is interrupted."""
        attributes = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(attributes)
            raise

    def _fit(
        self, X: MatrixLike, X_val: MatrixLike | None = None, weights: ArrayLike | None = None
    ) -> tuple[Table, NDArray[np.int64]]:
        """Fit; return the table and the rows held out."""
        options = options_of(self)
        check_options(options)
        device = pick_device(options["device"])
        network = self.network_ if options["warm_start"] and self.__sklearn_is_fitted__() else None
        rng = random_source(options["random_state"])
        if network is None:
            self._missing_words, self._dropped, self._nameless, self._split_seed = (), (), None, None
        table = checked_table(self, X, reset=network is None)
        if weights is not None:
            weights = _row_weights(weights, len(table))
            table, weights = table.rows(weights > 0), weights[weights > 0]
        self._check(table)
        column_options = declared_names(table, options)
        if network is None:
            with contextlib.nullcontext() if weights is None else naming("rows with a sample_weight above 0"):
                self.columns_ = learn_columns(table, column_options, keep_empty=self._accepts_empty_columns)
        else:
            check_unchanged(self._column_options, column_options)
        nonempty = self._nonempty_columns()
        if not nonempty:
            raise ValueError("expected a table with some values, found all cells missing")
        fitted, held_out, self._split_seed = fit_codes(
            self._encode(table),
            [column for _, column in nonempty],
            validation=None if X_val is None else self._validation(X_val),
            weights=weights,
            purpose=self._purpose,
            options=options,
            labels=[table.labels[j] for j, _ in nonempty],
            device=device,
            rng=rng,
            network=network,
            split_seed=self._split_seed,
        )
        self.network_ = to_answer_dtype(fitted.network)
        self._template, self._column_options = Template.of(table), column_options
        self.history_, self.n_iter_ = fitted.history, len(fitted.history)
        self._seed = random_seed(rng)
        self._set_derived()
        return table, held_out

    def _validation(self, X_val: MatrixLike) -> Float[np.ndarray, "V D"]:
        """Return codes of validation rows; messages begin with X_val."""
        with naming("X_val"):
            codes = self._encode(checked_table(self, X_val))
        if np.isnan(codes).all():
            raise ValueError(f"X_val: expected rows with some values, found {len(codes)} without any")
        return codes

    def _check(self, table: Table) -> None:
        """Refuse a training table that contradicts the options."""

    def _set_derived(self, n_orderings: int | None = None) -> None:
        """Set attributes that follow from network, columns and seed."""
        n_orderings = options_of(self).get("n_orderings") if n_orderings is None else n_orderings
        if n_orderings is not None:
            places = n_orderings * self.network_.n_variables
            if places > MOST_PLACES:
                raise ValueError(f"n_orderings: expected at most {MOST_PLACES:,} places in all, found {places:,}")
            generator = torch.Generator().manual_seed(self._seed)
            self.orderings_ = random_orderings(n_orderings, self.network_.n_variables, generator=generator).numpy()

    def _read(self, X: MatrixLike) -> tuple[Table, Float[Tensor, "N D"]]:
        check_is_fitted(self)
        table = checked_table(self, X)
        return table, self._codes(table)

    def _codes(self, table: Table) -> Float[Tensor, "N D"]:
        return torch.from_numpy(self._encode(table)).to(self.network_.b)

    def _encode(self, table: Table) -> Float[np.ndarray, "N D"]:
        check_choice("handle_unknown", self.handle_unknown, ("missing", "error"))
        return encode_table(table, self.columns_, unknown=self.handle_unknown)[1]

    def _of_numbers(self, measure: Measure, table: Table, codes: Tensor | None = None) -> Float[np.ndarray, "N D"]:
        """Return a measure of all numbers of the network's columns, see `within_bins`; 0 for other cells."""
        places, columns = zip(*self._nonempty_columns(), strict=True)
        of_cells = None if codes is None else codes.cpu().numpy()
        return within_bins(measure, columns, [table.column(j) for j in places], of_cells)

    def _under_orderings(self, codes: Float[Tensor, "N D"]) -> Float[Tensor, "O N"]:
        """Return log-probabilities of the observed cells; equal rows are scored once."""
        different, inverse = codes.nan_to_num(-1).unique(dim=0, return_inverse=True)
        rows = different.masked_fill(different < 0, torch.nan)
        return log_prob(self.network_, rows, orderings=self._orderings())[:, inverse]

    def _orderings(self) -> Int[Tensor, "O D"]:
        return torch.from_numpy(self.orderings_).to(self.network_.b.device)

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self.network_.b.device).manual_seed(seed)

    def _draw_missing(self, table: Table, codes: Tensor, seed: int) -> Fillings:
        rows, generator = ids_of(codes), self._generator(seed)
        completed = impute(self.network_, codes, ordering=self._order_of_draws(seed), rows=rows, generator=generator)
        return self._fillings(table, codes, completed, number_uniforms(seed, rows))

    def _order_of_draws(self, seed: int) -> Int[Tensor, " D"] | None:
        """Return the ordering of joint draws; None for one by chance."""
        return None

    def _fillings(self, table: Table, codes: Tensor, completed: Tensor, uniforms: Uniforms = None) -> Fillings:
        """Return the values of missing cells, given completed codes; see `decode`."""
        missing, whole = codes.isnan().cpu().numpy(), completed.double().cpu().numpy()
        fillings: Fillings = {}
        for place, (j, column) in enumerate(self._nonempty_columns()):
            where, dtype = missing[:, place], table.column(j).dtype
            own = None if uniforms is None else uniforms(place)[where]
            fillings[j] = Filling(where, decode(column, whole[where, place], uniforms=own, dtype=dtype))
        return fillings

    def _nonempty_columns(self) -> list[tuple[int, Column]]:
        """Return the network's columns and their places."""
        return [(j, column) for j, column in enumerate(self.columns_) if column is not None]

    def _keys(self) -> list[str | int]:
        """Return names of the columns, or indices without names."""
        return list(getattr(self, "feature_names_in_", range(self.n_features_in_)))


def _row_weights(weights: ArrayLike, n_rows: int) -> Float[np.ndarray, " N"]:
    with naming("sample_weight"):
        if np.asarray(weights).dtype.kind not in "buifO":
            raise TypeError(f"expected an array of numbers, found {weights!r:.40}")
        checked = np.ma.asarray(weights, dtype=np.float64).filled(np.nan)
        if checked.shape != (n_rows,):
            raise ValueError(f"expected one for each of {n_rows} rows, found an array of {checked.shape}")
        wrong = (~(np.isfinite(checked) & (checked >= 0))).nonzero()[0]
        if len(wrong) or not checked.any():
            example = f"{checked[wrong[0]]} in row {wrong[0] + 1}" if len(wrong) else "only zeros"
            raise ValueError(f"expected finite numbers, none below 0 and not all zero, found {example}")
        return checked
