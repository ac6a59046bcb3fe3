"""Tables that are read in batches: the verbs answer as if they had read them at once."""

import csv
import gzip
import io
import itertools

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import torch

from nadek.checkpoints import SavedModel, save
from nadek.datasets.amat import read_plain
from nadek.models import IterativeNADE, ModelConfig
from nadek.tabular import csv as csv_module
from nadek.tabular.columns import Binary, Categorical, Numeric, knots
from nadek.tabular.schema import Schema
from support.command import nadek

NAMES = ("smoker", "city", "age", "ill", "well", "grade")
KINDS = (
    Binary(levels=("no", "yes")),
    Categorical(levels=("Turku", "Oslo", "a, b")),
    Numeric(edges=(10.0, 20.0), means=(4.5, 13.0, 25.25), low=0.0, high=40.5, integer=False),
    Binary(),
    Binary(levels=(False, True)),
    Categorical(levels=(1, 2, 5)),
)
POOLS = {
    "smoker": [["no", "yes"], ["no"], [" yes", "no"]],
    "city": [["Turku", "Oslo"], ["a, b", "Turku"], ["Rome", "Oslo"]],
    "age": [["4", "12.5", "400"], ["4", "7"], ["4.0", "7.0"], ["-3"]],
    "ill": [["0", "1"], ["0.0", "1.0"], ["true", "false"], ["1", "7"]],
    "well": [["True", "False"], ["0", "1"], ["TRUE"], ["true", "0", "1"], ["no", "1"]],
    "grade": [["1", "2", "5"], ["1.0", "5.0"], ["1", "x"], ["2", "5.0"]],
    "id": [["x\ny", "7"], ["ü", ""], ["c\r\nd", '"q"']],
}


def saved_model(kinds, names, **schema):
    """Return an untrained model with some opinions."""
    levels = tuple(3 if isinstance(kind, Numeric) else len(kind.levels) for kind in kinds)
    config = ModelConfig(n_variables=len(kinds), levels=levels, knots=knots(kinds), steps=2)
    model = IterativeNADE(config, generator=(generator := torch.Generator().manual_seed(0))).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return SavedModel(model, Schema(columns=names, kinds=kinds, **schema))


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A model of words and numbers."""
    folder = tmp_path_factory.mktemp("people") / "model"
    save(folder, saved_model(KINDS, NAMES, dropped=("id",)))
    return folder


def generated(seed, n_rows):
    """Draw the words of a table with missing and unknown cells."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name, pools in POOLS.items():
        words = rng.choice(pools[rng.integers(len(pools))], n_rows)
        columns[name] = np.where(rng.random(n_rows) < rng.choice([0, 0.4, 0.9]), "", words).tolist()
    return columns


def write(path, columns):
    """Write words as CSV, or as Parquet with types."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    data = text.getvalue().encode()
    if path.suffix == ".parquet":
        options = pa_csv.ConvertOptions(strings_can_be_null=True), pa_csv.ParseOptions(newlines_in_values=True)
        table = pa_csv.read_csv(io.BytesIO(data), convert_options=options[0], parse_options=options[1])
        pq.write_table(table, path)
    else:
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data.removesuffix(b"\r\n"))
    return path


def assert_alike(path, other):
    """Compare two tables: equal but for the rounding of scores."""
    if path.suffix == ".parquet":
        one, two = pq.read_table(path), pq.read_table(other)
        assert one.schema == two.schema
        rows = [zip(*(column.to_pylist() for column in table.columns), strict=True) for table in (one, two)]
    else:
        texts = [read_plain(each).decode() for each in (path, other)]
        rows = [csv.reader(io.StringIO(text, newline="")) for text in texts]
    for row, same in itertools.zip_longest(*rows):
        for cell, twin in zip(row, same, strict=True):
            assert cell == twin or float(cell) == pytest.approx(float(twin), rel=1e-6, abs=1e-6)


VERBS = {
    "score": (),
    "score --outliers": ("--outliers", 4),
    "impute --probabilities": ("--probabilities",),
    "complete": ("--log-probability",),
    "explain": ("--top", 9),
}


FORMS = ((".csv", ".csv"), (".csv.gz", ".parquet"), (".parquet", ".parquet"), (".parquet", ".csv"), (".csv", ".csv.gz"))
QUICK = [*zip(itertools.repeat(0), VERBS, FORMS, strict=False), *((1, "complete", form) for form in FORMS)]
SLOW = itertools.product(range(2, 22), VERBS, FORMS)


@pytest.mark.parametrize(
    ("seed", "verb", "forms"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_batches_answer_as_one(seed, verb, forms, people, tmp_path, monkeypatch):
    suffix, target = forms
    table = write(tmp_path / f"t{suffix}", generated(seed, n_rows=11))
    arguments = (verb.partition(" ")[0], people, table, *VERBS[verb], "-o")
    whole = nadek(*arguments, tmp_path / f"whole{target}")
    for n_rows in (1, 4):
        monkeypatch.setattr("nadek.tabular.batches.CELLS", n_rows * 7)
        monkeypatch.setattr(csv_module, "BLOCK", 200)
        parts = nadek(*arguments, tmp_path / f"parts{target}", "--force")
        assert (parts.code, parts.err) == (whole.code, whole.err)
        if whole.code == 0:
            assert_alike(tmp_path / f"parts{target}", tmp_path / f"whole{target}")
