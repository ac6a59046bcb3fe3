"""Compare outlier detectors on a class left out of training.

    python benchmarks/outliers.py [--sets digits breast-cancer wine] [--methods ...] [--record]

One class of a labelled table makes the outliers. Half of the other rows are for training, the other half are the usual
rows of the test. The table shows the AUROC of the scores. No method sees a label, and every method has its defaults.
Classes of digits are left out in turn (64 pixels, 1 where at least 8 of 16), and those of wine; of breast-cancer the
malignant one. Wine and breast-cancer are numbers, in five random halves each. All sets come with scikit-learn.
Seconds are those of the processor.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import record_parser, show, write
from numpy.typing import NDArray
from peers.bins import Bins
from peers.mixture import Mixture
from peers.tree import Tree
from sklearn.covariance import EllipticEnvelope
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from nadek import NADEkOutlierDetector

Array = NDArray[np.float64]
BINS = 8
"""Number of quantile bins, for the two models of categories."""


@dataclass(frozen=True, eq=False)
class Case:
    """Training rows, and test rows with their outlier flags."""

    train: Array
    test: Array
    outlier: NDArray[np.bool_]


def cases(name: str) -> Iterator[Case]:
    """Yield the repetitions of a set."""
    x, label = {"digits": load_digits, "breast-cancer": load_breast_cancer, "wine": load_wine}[name](return_X_y=True)
    if name == "digits":
        x = (x >= 8).astype(np.float64)
    out = [0] if name == "breast-cancer" else np.unique(label)  # 0 is malignant
    for seed in range(1 if name == "digits" else 5):
        for left_out in out:
            usual = np.random.default_rng((seed, left_out)).permutation((label != left_out).nonzero()[0])
            train, held = np.split(usual, [len(usual) // 2])
            test = np.concatenate([held, (label == left_out).nonzero()[0]])
            yield Case(x[train], x[test], label[test] == left_out)


class Density:
    """Detector from a model of categories, with quantile bins.

    A tenth of the rows is held out for early stopping.
    """

    def __init__(self, model: Mixture | Tree) -> None:
        self.model = model

    def fit(self, x: Array) -> None:
        """Learn the bins and the model."""
        self.bins = None if np.isin(x, (0, 1)).all() else Bins(x, BINS)
        levels = (2,) * x.shape[1] if self.bins is None else self.bins.levels
        codes = self._codes(x)
        self.model.fit(codes[len(x) // 10 :], codes[: len(x) // 10], levels)

    def score_samples(self, x: Array) -> Array:
        """Return log-probabilities, or log-densities of numbers."""
        return self.model.log_prob(self._codes(x)) + (0.0 if self.bins is None else self.bins.log_density(x))

    def _codes(self, x: Array) -> Array:
        return x if self.bins is None else self.bins.codes(x)


METHODS: dict[str, Callable[[], Any]] = {
    "nadek (NADEkOutlierDetector)": lambda: NADEkOutlierDetector(random_state=0),
    "IsolationForest": lambda: IsolationForest(random_state=0),
    "LocalOutlierFactor": lambda: make_pipeline(StandardScaler(), LocalOutlierFactor(novelty=True)),
    "OneClassSVM": lambda: make_pipeline(StandardScaler(), OneClassSVM()),
    "EllipticEnvelope": lambda: EllipticEnvelope(random_state=0),
    "mixture by EM": lambda: Density(Mixture(20)),
    "Chow-Liu tree": lambda: Density(Tree()),
}
SETS = ("digits", "breast-cancer", "wine")


def measure(name: str, method: str) -> dict[str, Any]:
    """Return the AUROC and seconds of a method."""
    areas, fitting, scoring = [], [], []
    for case in cases(name):
        detector = METHODS[method]()
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # EllipticEnvelope: pixels that never vary make a singular covariance
            detector.fit(case.train)
        between = time.process_time()
        score = detector.score_samples(case.test)
        fitting.append(between - started)
        scoring.append(time.process_time() - between)
        areas.append(float(roc_auc_score(~case.outlier, score)))
    return {
        **{"set": name, "method": method, "auroc": float(np.mean(areas)), "lowest": min(areas), "each": areas},
        **{"fit_seconds": float(np.mean(fitting)), "score_seconds": float(np.mean(scoring))},
    }


def main() -> None:
    """Measure, print and write a record."""
    parser = record_parser(__doc__, "outliers")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    options = parser.parse_args()
    results = {}
    for name in options.sets:
        results[name] = sorted((measure(name, method) for method in options.methods), key=lambda r: -r["auroc"])
        columns = ["method", "auroc", "lowest", "fit_seconds", "score_seconds"]
        rows = [[r[key] for key in columns] for r in results[name]]
        show(name, [column.replace("_", " ") for column in columns], rows)
    if options.record:
        write("outliers", {"results": results})


if __name__ == "__main__":
    main()
