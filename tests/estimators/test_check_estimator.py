"""scikit-learn's own checks of what an estimator is. No check is declared to fail."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

import nadek


class OfNumbers:
    """An estimator that does not say that it takes categories is checked on numbers with fractions."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


class DensityOfNumbers(OfNumbers, nadek.NADEk):
    """See `OfNumbers`."""


class ImputerOfNumbers(OfNumbers, nadek.NADEkImputer):
    """See `OfNumbers`."""


class DetectorOfNumbers(OfNumbers, nadek.NADEkOutlierDetector):
    """See `OfNumbers`."""


QUICK = {"max_iter": 1, "training": {"width": 16}}


@pytest.mark.slow
@parametrize_with_checks(
    [
        nadek.NADEk(**QUICK, n_orderings=2),
        nadek.NADEkImputer(**QUICK),
        nadek.NADEkOutlierDetector(**QUICK, n_orderings=2),
        DensityOfNumbers(**QUICK, n_orderings=2),
        ImputerOfNumbers(**QUICK, strategy="sample"),
        DetectorOfNumbers(**QUICK, n_orderings=2),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [nadek.NADEk, nadek.NADEkImputer, nadek.NADEkOutlierDetector])
def test_scikit_learns_check_of_column_names(estimator):
    check_dataframe_column_names_consistency(estimator.__name__, estimator(**QUICK))


@pytest.mark.slow
def test_scikit_learns_check_of_array_libraries():
    # it is skipped above: SciPy asks the environment once, when it is first imported
    code = """
import nadek
from sklearn.utils.estimator_checks import estimator_checks_generator

quick = {"max_iter": 1, "training": {"width": 16}}
for estimator in (nadek.NADEk(**quick), nadek.NADEkImputer(**quick), nadek.NADEkOutlierDetector(**quick)):
    for same, check in estimator_checks_generator(estimator):
        if "check_array_api_input" in str(check):
            check(same)
            print("passed")
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["passed"] * 3, done.stderr
