"""The data set that needs no download: scikit-learn's 8 x 8 digits."""

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from nadek.datasets.packed import Parts

THRESHOLD = 8
SIZES = (1197, 300, 300)


def read_digits() -> Parts:
    """The 1,797 digits of 64 pixels with 16 gray levels, 1 where a pixel is at least 8, in a fixed random order.

    Returns:
        Train [1197, 64], valid [300, 64] and test [300, 64], uint8 0/1.

    Raises:
        FileNotFoundError: scikit-learn is not installed.
    """
    with gzip.open(_file(), "rt", encoding="ascii") as stream:
        gray = np.loadtxt(stream, delimiter=",")[:, :-1]  # the last column is the class
    bits = (gray >= THRESHOLD).astype(np.uint8)
    # Raw bits of a bit generator are the one stream of NumPy that is promised never to change.
    order = np.argsort(np.random.PCG64(0).random_raw(len(bits)), kind="stable")
    train, valid, test = np.split(bits[order], np.cumsum(SIZES)[:-1])
    return train, valid, test


def _file() -> Path:
    # Read from the package's folder: `from sklearn.datasets import load_digits` takes most of a second.
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("digits comes with scikit-learn, which is not installed: pip install scikit-learn")
    return Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz"
