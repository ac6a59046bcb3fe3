"""The options of the estimators: defaults, checks and plain values. `fit` checks them, as scikit-learn asks for."""

import contextlib
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from nadek.training.defaults import EFFORTS
from nadek.utils.configs import check_choice, check_number, check_whole, naming

DeviceName: TypeAlias = str | torch.device
Randomness: TypeAlias = int | np.random.RandomState | None

TRAINING: dict[str, Any] = {
    "steps": "auto",
    "width": "auto",
    "blocks": "auto",
    "dropout": "auto",
    "learning_rate": "auto",
    "weight_decay": "auto",
    "batch_size": "auto",
    "early_stopping": True,
    "validation_fraction": 0.1,
    "n_iter_no_change": "auto",
}
"""What the option ``training`` may set, and the defaults; see `nadek.estimators.base.SHARED_OPTIONS`."""


def options_of(estimator: BaseEstimator) -> dict[str, Any]:
    """Return all options of an estimator by name, those in ``training`` beside the others.

    A subclass may preset options that its own constructor does not take, and `get_params` does not return these.
    """
    options = own_options(estimator)
    training = options.pop("training")
    if training is not None and not isinstance(training, Mapping):
        raise ValueError(f"training: expected a dictionary of options, found {training!r}")
    for name in training or {}:
        if name not in TRAINING:
            raise ValueError(f"training: expected options among {', '.join(TRAINING)}, found {name!r}")
    return {**options, **TRAINING, **(training or {})}


def own_options(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the parameters of the constructors of an estimator and of its base classes."""
    classes: list[Any] = [base for base in type(estimator).__mro__ if issubclass(base, BaseEstimator)]
    return {name: getattr(estimator, name) for base in classes for name in base._get_param_names()}


def plain_options(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the `own_options` that JSON can hold."""
    options = {}
    for name, value in own_options(estimator).items():
        with contextlib.suppress(TypeError, ValueError):
            options[name] = json.loads(json.dumps(value, default=_python))
    return options


def random_source(random_state: Randomness) -> np.random.RandomState:
    """Return a source of randomness, that of NumPy for None."""
    with naming("random_state"):
        return check_random_state(random_state)


def random_seed(random_state: Randomness) -> int:
    """Draw a seed from a source of randomness."""
    return int(random_source(random_state).randint(np.iinfo(np.int32).max))


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that no training could follow."""
    for name in ("max_iter", "steps", "width", "blocks", "batch_size"):
        check_whole(name, options[name], also=("auto",))
    check_whole("n_iter_no_change", options["n_iter_no_change"], also=("auto", None))
    check_choice("effort", options["effort"], tuple(EFFORTS))
    check_choice("missing", options["missing"], ("auto", "use", "complete"))
    check_whole("n_bins", options["n_bins"], least=2)
    check_whole("verbose", options["verbose"], least=0, also=(True, False))
    for name in ("early_stopping", "warm_start"):
        check_choice(name, options[name], (True, False))
    check_choice("memory", options.get("memory", False), ("auto", True, False))
    check_number("learning_rate", options["learning_rate"], "above 0", lambda x: 0 < x < math.inf, also=("auto",))
    check_number("weight_decay", options["weight_decay"], "of at least 0", lambda x: 0 <= x < math.inf, also=("auto",))
    check_number("dropout", options["dropout"], "of at least 0 and below 1", lambda x: 0 <= x < 1, also=("auto",))
    fraction = options["validation_fraction"]
    check_number("validation_fraction", fraction, "above 0 and below 1", lambda x: 0 < x < 1)
    if "n_orderings" in options:
        check_whole("n_orderings", options["n_orderings"])


def _python(value: object) -> object:
    """Replace what JSON cannot hold: NumPy's numbers and arrays (also names from a frame), other mappings."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    raise TypeError
