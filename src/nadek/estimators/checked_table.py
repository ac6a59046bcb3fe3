"""Tables with scikit-learn's checks of shape and column names."""

from collections.abc import Hashable, Sequence

import numpy as np
from sklearn.utils.validation import validate_data

from nadek.estimators.persistence import SavedEstimator
from nadek.tabular.frames import (
    MatrixLike,
    frame_columns,
    is_frame,
    plain_table,
    read_array,
    read_frame,
    select_columns,
)
from nadek.tabular.table import Table


def checked_table(estimator: SavedEstimator, X: MatrixLike, *, reset: bool = False) -> Table:
    """Read a table for an estimator.

    With ``reset`` the estimator learns number and names of the columns, else they must be those that it knows. In cells
    of numbers it is the number of a missing word that counts. Columns that were left out may be there or not.
    """
    X = plain_table(X)
    names = frame_columns(X) if is_frame(X) else None
    _check_other_names(estimator, names or (), reset=reset)
    if estimator._dropped and (names is not None or (isinstance(X, np.ndarray) and X.ndim == 2)):
        X = select_columns(X, _rest(estimator, names, X.shape[1]))
    if names is None:
        array = validate_data(estimator, X, dtype=None, ensure_all_finite=False, reset=reset)
        labels = tuple(map(str, getattr(estimator, "feature_names_in_", ())))
        return read_array(array, labels).without(estimator._missing_words)
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        if not reset:
            error.add_note(
                "X.reindex(columns=model.feature_names_in_) puts columns of pandas in order, and adds empty ones"
            )
        raise
    for axis, what in ((1, "feature"), (0, "sample")):
        if X.shape[axis] < 1:
            raise ValueError(f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
    return read_frame(X).without(estimator._missing_words)


def _check_other_names(estimator: SavedEstimator, names: Sequence[Hashable], *, reset: bool) -> None:
    """Keep names that are not text in training; refuse others later, which have other places.

    Names that only count the columns say as little as an array does.
    """
    others = [] if all(isinstance(name, str) for name in names) else list(map(str, names))
    if reset:
        estimator._other_names = others
    elif others == list(map(str, range(len(names)))):
        return
    for place, (there, here) in enumerate(zip(estimator._other_names, others, strict=False), start=1):
        if there != here:
            raise ValueError(f'column {place}: expected "{there}" as in training, found "{here}"')


def _rest(estimator: SavedEstimator, names: Sequence[Hashable] | None, width: int) -> list[int]:
    """Return the places of the columns that were not left out in training.

    Those are found by their names. If the columns in training had none, these are their numbers from 1, which say
    something of a table that is as wide as that of training was.
    """
    dropped = estimator._dropped
    if hasattr(estimator, "feature_names_in_"):
        return [j for j in range(width) if names is None or names[j] not in dropped]
    whole = width == estimator.n_features_in_ + len(dropped)
    return [j for j in range(width) if not (whole and str(j + 1) in dropped)]
