"""Model folders of strangers: no text of a file reaches an import or a path."""

import pandas as pd
import pytest

from nadek import NADEk, NADEkImputer
from support.damage import edit


@pytest.fixture
def folder(tmp_path):
    """A folder with the model of an estimator."""
    table = pd.DataFrame({"word": ["a", "b"] * 20, "number": [1.0, 2.0, 3.0, 4.0] * 10})
    NADEk(max_iter=1, n_orderings=1, random_state=0).fit(table).save(tmp_path / "model")
    return tmp_path


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("types", [{"kind": ["a"]}, "float64"]),
        ("empty", [[]]),
        ("options", 7),
        ("n_orderings", "x"),
        ("n_orderings", 10**13),
    ],
)
def test_odd_entries_are_errors_with_name(key, value, folder):
    edit(folder / "model" / "metrics.json", lambda metrics: metrics["estimator"].update({key: value}))
    with pytest.raises(ValueError, match=f"{folder}"):
        NADEk.load(folder / "model")


@pytest.mark.parametrize("parts", ["x", [0.5], [{}, 0.1], 7])
def test_odd_parts_are_errors_with_name(parts, folder):
    edit(folder / "model" / "metrics.json", lambda metrics: metrics["estimator"].update(missing_parts=parts))
    with pytest.raises(ValueError, match=f"{folder}"):
        NADEkImputer.load(folder / "model")


def test_folders_that_only_name_incomplete_columns_are_read(folder):
    edit(folder / "model" / "metrics.json", lambda metrics: metrics["estimator"].update(with_holes=[1]))
    imputer = NADEkImputer.load(folder / "model").set_params(add_indicator=True)
    assert imputer.get_feature_names_out().tolist() == ["word", "number", "missingindicator_number"]


def test_unknown_container_is_refused(folder):
    edit(folder / "model" / "metrics.json", lambda metrics: metrics["estimator"].update(container="planted.pandas"))
    with pytest.raises(ValueError, match=r"metrics.json: estimator: container: expected numpy, .* 'planted.pandas'"):
        NADEk.load(folder / "model")
