"""The scikit-learn face: a density, an imputer and an outlier detector that need no tuning."""

from nadek.estimators.density import NADEk
from nadek.estimators.imputer import NADEkImputer
from nadek.estimators.outliers import NADEkOutlierDetector
from nadek.estimators.pooling import Pooled, pool

__all__ = ["NADEk", "NADEkImputer", "NADEkOutlierDetector", "Pooled", "pool"]
