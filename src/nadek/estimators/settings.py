"""The options of an estimator together: what they are set to, whether a training can follow them, how they are kept."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from nadek.estimators.options import check_choice, check_number, check_whole


def options_of(estimator: BaseEstimator) -> dict[str, Any]:
    """What all options of an estimator are set to, by name.

    A subclass may preset options that its own constructor does not take, and `get_params` tells nothing of these.
    """
    kinds: list[Any] = [kind for kind in type(estimator).__mro__ if issubclass(kind, BaseEstimator)]
    return {name: getattr(estimator, name) for kind in kinds for name in kind._get_param_names()}


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that no training could follow.

    Raises:
        ValueError: names the first one, what was expected and what was found.
    """
    for name in ("max_iter", "steps", "width", "blocks", "batch_size"):
        check_whole(name, options[name], also=("auto",))
    check_whole("n_iter_no_change", options["n_iter_no_change"], also=("auto", None))
    check_choice("missing", options["missing"], ("use", "complete"))
    check_whole("n_bins", options["n_bins"], least=2)
    check_whole("verbose", options["verbose"], least=0, also=(True, False))
    for name in ("early_stopping", "warm_start"):
        check_choice(name, options[name], (True, False))
    check_choice("memory", options.get("memory", False), ("auto", True, False))
    check_number("learning_rate", options["learning_rate"], positive=True, also=("auto",))
    check_number("weight_decay", options["weight_decay"], also=("auto",))
    check_number("dropout", options["dropout"], below=1.0, also=("auto",))
    check_number("validation_fraction", options["validation_fraction"], positive=True, below=1.0)
    if "n_orderings" in options:
        check_whole("n_orderings", options["n_orderings"])


def plain_options(estimator: BaseEstimator) -> dict[str, Any]:
    """What JSON can say of `options_of`, with Python's own numbers and lists."""
    options = {name: _python(value) for name, value in options_of(estimator).items()}
    return {name: value for name, value in options.items() if _is_plain(value)}


def _python(value: object) -> object:
    """Python's own numbers and lists in place of NumPy's, and of what becomes an array, as names from a frame do."""
    if isinstance(value, list | tuple):
        return [_python(one) for one in value]
    return np.asarray(value).tolist() if hasattr(value, "__array__") else value


def _is_plain(value: object) -> bool:
    """Whether JSON can say it as it is."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)
