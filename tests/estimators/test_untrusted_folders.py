"""Model folders of strangers: no text of a file reaches an import or a path."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from nadek import NADEk

LOAD = """
import json, pathlib, sys
import pandas, polars, nadek
from nadek import NADEkImputer
nadek.load("model"), NADEkImputer.load("model").transform(pandas.DataFrame({"word": ["a", None], "number": [1, None]}))
touched = []

def watch(event, arguments):
    if event in ("import", "open", "os.listdir", "os.scandir", "subprocess.Popen", "exec", "compile"):
        if any("planted" in str(one) for one in arguments):
            touched.append((event, str(arguments[0])))

sys.addaudithook(watch)
outcomes = []
for name in ("config.json", "schema.json", "metrics.json"):
    path = pathlib.Path("model", name)
    original = path.read_text()

    def plant(node, text):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, str):
                node[key] = text
                path.write_text(json.dumps(content))
                for load in (nadek.load, NADEkImputer.load):
                    try:
                        load("model")
                        outcomes.append("loaded")
                    except (TypeError, ValueError, OSError, KeyError) as error:
                        outcomes.append(type(error).__name__)
                node[key] = value
            elif isinstance(value, (dict, list)):
                plant(value, text)

    for text in ("planted.pandas", "../planted", "{planted.__class__}"):
        content = json.loads(original)
        plant(content, text)
    path.write_text(original)
print(json.dumps([touched, len(outcomes), "planted" in sys.modules]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model and, beside it, a module that a file of the model may name."""
    here = tmp_path_factory.mktemp("shared")
    table = pd.DataFrame({"word": ["a", "b"] * 20, "number": [1.0, 2.0, 3.0, 4.0] * 10})
    NADEk(max_iter=1, n_orderings=1, random_state=0).fit(table).save(here / "model")
    (here / "planted").mkdir()
    (here / "planted" / "__init__.py").write_text("open('ran', 'w').close()")
    (here / "planted" / "pandas.py").write_text("")
    return here


@pytest.mark.slow
def test_planted_texts_run_nothing(folder):
    result = subprocess.run([sys.executable, "-c", LOAD], cwd=folder, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    touched, n_loads, imported = json.loads(result.stdout)
    assert n_loads > 50
    assert touched == []
    assert not imported
    assert not (folder / "ran").exists()


def test_unknown_container_is_refused(folder):
    path = folder / "model" / "metrics.json"
    original = path.read_text()
    metrics = json.loads(original)
    metrics["estimator"]["container"] = "planted.pandas"
    path.write_text(json.dumps(metrics))
    with pytest.raises(ValueError, match=r"metrics.json: estimator: container: expected numpy, .* 'planted.pandas'"):
        NADEk.load(folder / "model")
    path.write_text(original)
