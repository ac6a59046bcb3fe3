"""Functions of a batch, as engines call them: answers follow from the ids of rows, not from the cutting."""

import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from multiprocessing import get_context

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nadek.batches import BatchImputer, BatchScorer
from nadek.checkpoints import save
from nadek.tabular.columns import Binary
from support.command import ok
from support.tables import KINDS, NAMES, saved_model

N = 60


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of words, numbers and truths, whose table has a column of ids."""
    folder = tmp_path_factory.mktemp("people") / "model"
    save(folder, saved_model(KINDS, NAMES, dropped=("id",)))
    return str(folder)


@pytest.fixture(scope="module")
def people():
    """A table of many types, with ids from 0 and missing cells."""
    rng = np.random.default_rng(0)
    pools = {
        "smoker": (["no", "yes"], pa.dictionary(pa.int8(), pa.string())),
        "city": (["Turku", "Oslo", "a, b"], pa.string()),
        "age": ([4.25, 12.5, 30.0], pa.float32()),
        "ill": ([0, 1], pa.int16()),
        "well": ([False, True], pa.bool_()),
        "grade": ([1, 2, 5], pa.int64()),
    }
    columns = {"id": pa.array(range(N))}
    for name, (pool, kind) in pools.items():
        cells = [pool[rng.integers(len(pool))] if rng.random() < 0.6 else None for _ in range(N)]
        columns[name] = pa.array(cells, kind)
    return pa.table(columns)


def cut(table, seed):
    """A table in batches, its rows in another order."""
    rows = np.random.default_rng(seed).permutation(len(table))
    return [batch for part in np.array_split(rows, 7) for batch in table.take(part).combine_chunks().to_batches()]


def joined(batches):
    """A table of batches, in the order of ids."""
    return pa.Table.from_batches(batches).sort_by("id").combine_chunks()


@pytest.mark.parametrize("strategy", ["sample", "mean", "median", "mode"])
def test_batches_are_filled_as_the_streamed_table(strategy, model, people, tmp_path):
    pq.write_table(people, tmp_path / "t.parquet")
    ok("impute", model, tmp_path / "t.parquet", "-o", tmp_path / "whole.parquet", "--strategy", strategy, "-q")
    impute = BatchImputer(model, "id", strategy=strategy)
    whole = joined(map(impute, cut(people, 1)))
    assert whole.schema == people.schema
    assert whole.to_pydict() == pq.read_table(tmp_path / "whole.parquet").to_pydict()
    assert not any(column.null_count for column in whole.columns)
    assert impute(people).to_pydict() == whole.to_pydict()


def test_two_workers_fill_as_one(model, people):
    impute = BatchImputer(model, "id")
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as workers:
        assert joined(workers.map(impute, cut(people, 3))).equals(
            joined([impute(people.combine_chunks().to_batches()[0])])
        )


def test_batches_are_scored_as_the_streamed_table(model, people, tmp_path):
    pq.write_table(people, tmp_path / "t.parquet")
    ok("score", model, tmp_path / "t.parquet", "-o", tmp_path / "scores.parquet", "--orderings", 3, "-q")
    scores = joined(map(BatchScorer(model, "id", orderings=3), cut(people, 2)))
    streamed = pq.read_table(tmp_path / "scores.parquet")
    assert scores["id"].to_pylist() == list(range(N))
    for name in ("log_likelihood", "mean_over_orderings", "spread_over_orderings"):
        np.testing.assert_allclose(scores[name].to_numpy(), streamed[name].to_numpy(), rtol=0, atol=1e-6)


def test_equal_rows_of_other_ids_get_other_draws(model):
    kinds = (pa.string(), pa.string(), pa.float64(), pa.int8(), pa.bool_(), pa.int64())
    empty = {name: pa.nulls(50, kind) for name, kind in zip(NAMES, kinds, strict=True)}
    batch = pa.table({"id": range(50), **empty})
    impute = BatchImputer(model, "id")
    ages = impute(batch)["age"].to_pylist()
    assert len(set(ages)) > 40
    assert impute(batch.slice(20, 1))["age"].to_pylist() == ages[20:21]
    assert BatchImputer(model, "id", seed=1)(batch)["age"].to_pylist() != ages


def test_functions_travel(model, people):
    for function in (BatchImputer(model, "id"), BatchImputer(model, "id", strategy="mode"), BatchScorer(model, "id")):
        copy = pickle.loads(pickle.dumps(function))
        assert copy == function
        assert copy(people).equals(function(people))
        assert function(people.slice(0, 0)).schema == function(people).schema


def test_a_model_that_was_replaced_is_loaded_anew(people, tmp_path):
    save(tmp_path, saved_model(KINDS, NAMES))
    impute = BatchImputer(str(tmp_path), "id", strategy="mean")
    before = impute(people)
    other = saved_model(KINDS, NAMES)
    for parameter in other.model.parameters():
        parameter.data.mul_(-1)
    save(tmp_path, other)
    assert not impute(people).equals(before)


def test_columns_that_the_model_does_not_know_stay(model, people):
    nested = people.append_column("note", pa.array([[1, 2]] * N)).append_column("id2", pa.array(["x"] * N))
    whole = BatchImputer(model, "id")(nested)
    assert whole.column_names == nested.column_names
    assert whole.select(["id", "note", "id2"]).equals(nested.select(["id", "note", "id2"]))


def test_columns_without_names_are_all_but_the_ids(tmp_path):
    save(tmp_path, saved_model((Binary(),) * 2, None))
    batch = pa.table({"a": [0, None], "key": [5, 6], "b": [None, 1]})
    whole = BatchImputer(str(tmp_path), "key", strategy="mode")(batch)
    assert whole.column_names == ["a", "key", "b"]
    assert (whole["a"][0].as_py(), whole["b"][1].as_py()) == (0, 1)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda t: t.drop("id"), 'row_id: expected one column "id" in a batch, found "smoker", "city"'),
        (lambda t: t.append_column("id", t["id"]), 'row_id: expected one column "id"'),
        (lambda t: t.set_column(0, "id", t["age"]), 'whole numbers in the column "id", found float with'),
        (lambda t: t.set_column(0, "id", pa.nulls(N, pa.int64())), "found int64 with 60 missing"),
        (lambda t: t.drop("age"), 'each column of the model once in a batch, found none or more of "age"'),
        (lambda t: t.append_column("age", t["age"]), 'found none or more of "age"'),
        (
            lambda t: t.set_column(3, "age", t["city"]),
            "a batch: row 3, column \"age\": expected a number or missing, found 'Oslo'",
        ),
        (lambda t: t.set_column(3, "age", pa.nulls(N, pa.int64())), '"age": int64 does not hold what is filled in'),
        (
            lambda t: t.set_column(3, "age", pa.array([Decimal("1.5")] * (N - 1) + [None], pa.decimal128(2, 1))),
            '"age": decimal128(2, 1) does not hold what is filled in; cast it to double before',
        ),
    ],
)
def test_wrong_batches_are_errors(change, error, model, people):
    with pytest.raises(ValueError, match=re.escape(error)):
        BatchImputer(model, "id")(change(people))


def test_what_is_no_batch_is_an_error(model):
    with pytest.raises(TypeError):
        BatchScorer(model, "id")({"id": [1]})


def test_unknown_values_are_missing_or_errors(model, people):
    batch = people.set_column(2, "city", pa.array(["Paris"] * N))
    with pytest.warns(UserWarning, match=r'a batch: .* 60 in column "city", such as \'Paris\' in row 1'):
        assert BatchImputer(model, "id")(batch)["city"].to_pylist() == ["Paris"] * N
    with pytest.raises(ValueError, match="expected 'Turku', 'Oslo', 'a, b' or missing, found 'Paris'"):
        BatchImputer(model, "id", unknown="error")(batch)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (BatchImputer, "strategy", "smaple"),
        (BatchImputer, "unknown", "ignore"),
        (BatchScorer, "unknown", "ignore"),
        (BatchScorer, "orderings", 0),
    ],
)
def test_wrong_options_are_errors(kind, name, value):
    function = kind("model", "id")
    object.__setattr__(function, name, value)  # as if without the type checks of the tests
    with pytest.raises(ValueError, match=f"{name}: expected"):
        function.__post_init__()
