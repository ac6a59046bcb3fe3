"""Model folders of strangers: no text of a file reaches an import or a path."""

import pandas as pd
import pytest

from nadek import NADEk
from support.damage import edit


@pytest.fixture
def folder(tmp_path):
    """A folder with the model of an estimator."""
    table = pd.DataFrame({"word": ["a", "b"] * 20, "number": [1.0, 2.0, 3.0, 4.0] * 10})
    NADEk(max_iter=1, n_orderings=1, random_state=0).fit(table).save(tmp_path / "model")
    return tmp_path


@pytest.mark.parametrize(
    ("key", "value"), [("types", [{"kind": ["a"]}, "float64"]), ("empty", [[]]), ("options", 7), ("n_orderings", "x")]
)
def test_odd_entries_are_errors_with_name(key, value, folder):
    edit(folder / "model" / "metrics.json", lambda metrics: metrics["estimator"].update({key: value}))
    with pytest.raises(ValueError, match=f"{folder}"):
        NADEk.load(folder / "model")


def test_unknown_container_is_refused(folder):
    edit(folder / "model" / "metrics.json", lambda metrics: metrics["estimator"].update(container="planted.pandas"))
    with pytest.raises(ValueError, match=r"metrics.json: estimator: container: expected numpy, .* 'planted.pandas'"):
        NADEk.load(folder / "model")
