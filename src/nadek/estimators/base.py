"""What the three estimators share: reading a table, learning from it, and keeping what was learnt."""

import contextlib
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from nadek.estimators.fitting import check_going_on, learn
from nadek.estimators.options import Count, DeviceName, pick_device
from nadek.estimators.persistence import Fitted, read_fitted, write_fitted
from nadek.estimators.settings import check_options, options_of, plain_options
from nadek.inference import log_prob
from nadek.inference.orderings import random_orderings
from nadek.inference.sampling import impute
from nadek.models.base import ConditionalModel
from nadek.models.iterative_nade import IterativeNADE
from nadek.models.memory import MemoryModel
from nadek.models.registry import AnyConfig, build
from nadek.tabular.columns import Column, Numeric, draw, n_levels, ordinal, read_cells
from nadek.tabular.encode_table import codes_of, columns_by, learn_columns, most_bins
from nadek.tabular.frames import Table, read_table
from nadek.tabular.selection import MatrixLike
from nadek.tabular.writeback import Fillings, Template, template_of
from nadek.training import Epoch
from nadek.training.defaults import Purpose

EXACT_COST = 1e6
"""Multiplications of one use of the network up to which questions are answered in float64: so small a network waits for
the interpreter anyway. Above it answers are float32's: sums are float64 still, and rows differ by some 1e-6 nats."""

Loaded = TypeVar("Loaded", bound="NADEkBase")


class NADEkBase(BaseEstimator):
    """Fitting, encoding and pickling; the estimators add their constructors and their answers."""

    network_: ConditionalModel
    columns_: tuple[Column | None, ...]
    device: DeviceName
    n_bins: Count
    _purpose: Purpose = "density"
    _takes_empty: bool = False
    _template: Template
    _words: tuple[str, ...] = ()
    _dropped: tuple[str, ...] = ()
    _told: Mapping[str, Any] = MappingProxyType({})
    _columns_by: Mapping[str, Any] = MappingProxyType({})
    history_: list[Epoch]
    n_iter_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    orderings_: NDArray[np.int64]
    _seed: int
    _split_seed: int | None

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has come to its end."""
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Tags:
        """Tables may have holes and hold categories."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """A pickle holds the weights as arrays, so that it can be read where there is no such device."""
        state = dict(super().__getstate__())
        if "network_" in state:
            network: ConditionalModel = state.pop("network_")
            weights = {name: value.detach().cpu().numpy() for name, value in network.state_dict().items()}
            state["network_"] = (network.config, weights)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """See `__getstate__`; goes to the CPU where the device of the estimator is not there."""
        state = dict(state)
        if "network_" in state:
            state["network_"] = _network_of(*state["network_"])
        super().__setstate__(state)
        if "network_" in state:
            with contextlib.suppress(ValueError):  # of a device that is not here
                self.network_.to(pick_device(self.device))

    def _fit(self, X: MatrixLike, *, X_val: MatrixLike | None = None) -> tuple[Table, NDArray[np.int64]]:
        """Learn from a table; returns what was read, and which of its rows were held out."""
        with self._all_or_nothing():
            return self._learn(X, X_val)

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """What was learnt before is still there, whole, where something fails or is interrupted."""
        known = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(known)
            raise

    def _learn(self, X: MatrixLike, X_val: MatrixLike | None) -> tuple[Table, NDArray[np.int64]]:
        """See `_fit`."""
        options = options_of(self)
        check_options(options)
        device = pick_device(options["device"])
        before = self if options["warm_start"] and self.__sklearn_is_fitted__() else None
        rng = check_random_state(options["random_state"])
        words, dropped = ((), ()) if before is None else (self._words, self._dropped)
        table = read_table(self, X, reset=before is None, words=words, dropped=dropped)
        self._check(table)
        found_by = columns_by(table, options, options["n_bins"])
        if before is None:
            columns = learn_columns(table, declared=options, n_bins=options["n_bins"], keep_empty=self._takes_empty)
        else:
            check_going_on(self._columns_by, found_by)
            columns = self.columns_
        known = [column for column in columns if column is not None]
        if not known:
            raise ValueError("expected a table with some values, found all cells missing")
        learnt = learn(
            codes_of(table, columns),
            [n_levels(column) for column in known],
            ordinal=ordinal(known),
            validation=None if X_val is None else self._validation(X_val, columns, words, dropped),
            purpose=self._purpose,
            options=options,
            labels=[label for label, column in zip(table.labels, columns, strict=True) if column is not None],
            device=device,
            rng=rng,
            before=None if before is None else self.network_,
            split_seed=None if before is None else self._split_seed,
        )
        self.network_ = _for_questions(learnt.network)
        self.columns_, self._template, self._columns_by = columns, template_of(table), found_by
        self._words, self._dropped = words, dropped
        self.history_, self.n_iter_ = learnt.history, len(learnt.history)
        self._split_seed = learnt.split_seed
        self._seed = int(rng.randint(np.iinfo(np.int32).max))
        self._ready()
        return table, learnt.held_out

    def _validation(
        self, X_val: MatrixLike, columns: Sequence[Column | None], words: Sequence[str], dropped: Sequence[str]
    ) -> Float[np.ndarray, "V D"]:
        """Codes of the rows that the best epoch is chosen by; messages say that it is about these."""
        try:
            codes = codes_of(read_table(self, X_val, reset=False, words=words, dropped=dropped), columns)
        except (TypeError, ValueError) as error:
            error.args = (f"X_val: {error}",)
            raise
        if np.isnan(codes).all():
            raise ValueError(f"X_val: expected rows with some values, found {len(codes)} without any")
        return codes

    def _check(self, table: Table) -> None:
        """Refuse a training table that the options do not go with."""

    def _ready(self, n_orderings: int | None = None) -> None:
        """Set what follows from the network, its columns and the seed; None: so many orderings as the options say."""
        n_orderings = options_of(self).get("n_orderings") if n_orderings is None else n_orderings
        if n_orderings is not None:
            self.orderings_ = _draw_orderings(n_orderings, self.network_.n_variables, self._seed)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write what was learnt to a folder: safetensors and JSON, no pickle. `load` reads it, on any device.

        The command line can use the folder, too. A model that is there already is replaced without a question.

        Raises:
            FileExistsError: where the folder has a ``config.json`` of something else.
            OSError: where the folder cannot be written to.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        extra = {
            "name": type(self).__name__,
            "options": plain_options(self),
            "seed": self._seed,
            "split_seed": self._split_seed,
            "columns_by": dict(self._columns_by),
            **self._extra(),
        }
        if hasattr(self, "orderings_"):
            extra["n_orderings"] = len(self.orderings_)  # the option may have been changed since
        fitted = Fitted(
            network=self.network_,
            columns=self.columns_,
            names=None if names is None else tuple(names),
            template=self._template,
            history=self.history_,
            told=self._told,
            missing=self._words,
            dropped=self._dropped,
            extra=extra,
        )
        write_fitted(folder, fitted)

    @classmethod
    def load(cls: type[Loaded], folder: str | os.PathLike[str], *, device: DeviceName = "auto") -> Loaded:
        """Read what `save` wrote; `NADEk` and `NADEkImputer` also what ``nadek fit`` wrote.

        Words that meant missing to ``nadek fit`` mean it here, too. Columns that it dropped may be there: they are not
        looked at, and left off what comes out. A detector needs the threshold that only a detector saves; a network of
        images or of one ordering is for `nadek.load`.

        Args:
            folder: the model.
            device: where to work.

        Raises:
            FileNotFoundError: if there is no such folder.
            ValueError: if it is no model, was damaged or edited, or does not hold what the estimator needs.
        """
        fitted = read_fitted(folder, device=pick_device(device))
        if None in fitted.columns and not cls._takes_empty:
            raise ValueError(f"{folder}: {_about_empty(fitted)}; load it with NADEkImputer, which can leave them out")
        known = cls._get_param_names()
        options = {**fitted.extra.get("options", {}), "device": device}
        estimator = cls(**{name: value for name, value in options.items() if name in known})
        estimator.device = device  # also where a subclass presets it
        estimator.network_ = _for_questions(fitted.network)
        estimator.columns_, estimator._template, estimator.history_ = fitted.columns, fitted.template, fitted.history
        estimator._words, estimator._dropped, estimator._told = fitted.missing, fitted.dropped, fitted.told
        estimator.n_iter_, estimator.n_features_in_ = len(fitted.history), len(fitted.columns)
        if fitted.names is not None:
            estimator.feature_names_in_ = np.array(fitted.names, dtype=object)
        if "columns_by" not in fitted.extra:  # columns of another writer may have more bins than is usual here
            estimator.n_bins = max(estimator.n_bins, most_bins(fitted.columns))
        estimator._columns_by = fitted.extra.get("columns_by", {"n_bins": estimator.n_bins})
        estimator._seed = fitted.extra.get("seed", 0)
        estimator._split_seed = fitted.extra.get("split_seed")
        estimator._take(fitted.extra)
        estimator._ready(fitted.extra.get("n_orderings") if hasattr(estimator, "n_orderings") else None)
        return estimator

    def _extra(self) -> dict[str, Any]:
        """What else `save` shall keep."""
        return {}

    def _take(self, extra: Mapping[str, Any]) -> None:
        """Set what else was kept; {} for a folder of the command line."""

    def _read(self, X: MatrixLike) -> tuple[Table, Float[Tensor, "N D"]]:
        """A table that is asked about, and its codes on the device of the network."""
        check_is_fitted(self)
        table = read_table(self, X, reset=False, words=self._words, dropped=self._dropped)
        return table, self._codes(table)

    def _codes(self, table: Table) -> Float[Tensor, "N D"]:
        """Codes where, and as precise as, the network is."""
        return torch.from_numpy(codes_of(table, self.columns_)).to(self.network_.b)

    def _under_orderings(self, codes: Float[Tensor, "N D"]) -> Float[Tensor, "O N"]:
        """Log-probabilities of the observed cells of each row; rows that occur several times are asked about once."""
        different, which = codes.nan_to_num(-1).unique(dim=0, return_inverse=True)
        rows = different.masked_fill(different < 0, torch.nan)
        return log_prob(self.network_, rows, orderings=self._orderings())[:, which]

    def _orderings(self) -> Int[Tensor, "O D"]:
        return torch.from_numpy(self.orderings_).to(self.network_.b.device)

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self.network_.b.device).manual_seed(seed)

    def _seed_for(self, table: Table, codes: Tensor) -> int:
        """A seed that follows from that of `fit` and from a table: other rows get other draws."""
        digest = zlib.crc32(codes.double().cpu().numpy().tobytes())
        for j, column in self._known():
            if isinstance(column, Numeric):
                numbers = read_cells(table.columns[j], name=table.labels[j]).values.astype(np.float64)
                digest = zlib.crc32(numbers.tobytes(), digest)
        return int(np.random.SeedSequence([self._seed, digest]).generate_state(1)[0])

    def _drawn(self, table: Table, codes: Tensor, seed: int) -> Fillings:
        """What to fill in: one joint draw for the missing cells of each row."""
        whole = impute(self.network_, codes, generator=self._generator(seed)).cpu().numpy().astype(np.float64)
        rng, missing = np.random.default_rng(seed), codes.isnan().cpu().numpy()
        return {
            j: (
                missing[:, place],
                draw(column, whole[missing[:, place], place], rng=rng, dtype=table.columns[j].dtype),
            )
            for place, (j, column) in enumerate(self._known())
        }

    def _known(self) -> list[tuple[int, Column]]:
        """The columns that the network knows, and their places in the table."""
        return [(j, column) for j, column in enumerate(self.columns_) if column is not None]

    def _labels(self) -> list[str]:
        """Names of the columns, or their indices where they have none."""
        return [str(label) for label in getattr(self, "feature_names_in_", range(self.n_features_in_))]


def _draw_orderings(n_orderings: int, n_variables: int, seed: int) -> NDArray[np.int64]:
    """The orderings that an estimator's answers are mixed over, drawn once and kept."""
    orderings = random_orderings(n_orderings, n_variables, generator=torch.Generator().manual_seed(seed))
    return orderings.numpy()


def _for_questions(network: ConditionalModel) -> ConditionalModel:
    """The network in the precision that questions are answered in; see `EXACT_COST`."""
    alone = network.base_model
    assert isinstance(alone, IterativeNADE)
    hidden = sum(p.numel() for p in alone.core.parameters())
    remembered = 2 * network.rows.numel() if isinstance(network, MemoryModel) else 0
    cost = network.steps * (hidden + 2 * alone.W.numel()) + remembered
    exact = cost <= EXACT_COST and network.b.device.type in ("cpu", "cuda")
    return network.to(torch.float64) if exact else network


def _network_of(config: AnyConfig, weights: dict[str, NDArray[Any]]) -> ConditionalModel:
    tensors = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
    network = build(config, generator=torch.Generator())
    network.to(next(tensors[name].dtype for name, _ in network.named_parameters()))
    network.load_state_dict(tensors)
    return network.eval()


def _about_empty(fitted: Fitted) -> str:
    """What is wrong with a folder for an estimator that needs values in every column."""
    names = fitted.names or tuple(map(str, range(len(fitted.columns))))
    empty = [name for name, column in zip(names, fitted.columns, strict=True) if column is None]
    found = f"found none in training in {', '.join(map(repr, empty))}"
    return f"expected a model that was trained with values in every column, {found}"
