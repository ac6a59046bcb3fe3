"""Scikit-learn's 8 x 8 digits, which need no download."""

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from nadek.datasets.packed import Parts

THRESHOLD = 8
SIZES = (1197, 300, 300)


def read_digits() -> Parts:
    """Read the 1,797 digits in a fixed random order: 1 where a gray level is at least 8 of 16."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("digits comes with scikit-learn, which is not installed: pip install scikit-learn")
    # the file itself: importing scikit-learn takes most of a second
    with gzip.open(Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz", "rt", encoding="ascii") as stream:
        gray = np.loadtxt(stream, delimiter=",")[:, :-1]  # the last column is the class
    bits = (gray >= THRESHOLD).astype(np.uint8)
    # only the raw bits of a bit generator are promised never to change
    order = np.argsort(np.random.PCG64(0).random_raw(len(bits)), kind="stable")
    train, valid, test = np.split(bits[order], np.cumsum(SIZES)[:-1])
    return train, valid, test
