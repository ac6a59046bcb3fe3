"""Small tables of numbers that come with scikit-learn."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

NUMBERS: dict[str, Callable[[], NDArray[np.float64]]] = {
    "wine": lambda: load_wine().data,
    "breast-cancer": lambda: load_breast_cancer().data,
    "diabetes": lambda: np.column_stack([load_diabetes(scaled=False).data, load_diabetes().target]),
    "digits": lambda: load_digits().data[:, load_digits().data.any(0)],
}
