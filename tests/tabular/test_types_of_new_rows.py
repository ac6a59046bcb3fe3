"""Types of columns that new rows and filled cells keep, and numbers that no type holds."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nadek
from nadek.tabular.arrow_columns import type_of, typed
from support.command import ok

QUICK = {"max_iter": 2, "training": {"width": 16}, "random_state": 0}
COLUMNS = {
    "small": pa.array([n % 3 for n in range(40)], pa.int8()),
    "large": pa.array([2**63 + n % 5 * 2**20 for n in range(40)], pa.uint64()),
    "flag": pa.array([n % 2 == 0 for n in range(40)]),
    "word": pa.array([["a", "b", "c"][n % 3] for n in range(40)], pa.dictionary(pa.int8(), pa.string())),
    "price": pa.array([Decimal(n % 7) / 4 for n in range(40)], pa.decimal128(5, 2)),
    "half": pa.array(np.arange(40, dtype=np.float32) / 3),
    "text": pa.array([["x", "y"][n % 2] for n in range(40)], pa.large_string()),
    "view": pa.array([["p", "q"][n % 2] for n in range(40)], pa.string_view()),
}


DROPPED = {"id": pa.array([f"n{n}, {n}" for n in range(40)]), "list": pa.array([[n] for n in range(40)])}


def test_new_and_filled_parquet_has_training_types(tmp_path):
    table = pa.table(COLUMNS)
    pq.write_table(pa.table(DROPPED | COLUMNS), tmp_path / "t.parquet")
    options = ("--whole-numbers", "numeric", "--drop", "id,list", "--epochs", 1, "-q")
    ok("fit", tmp_path / "t.parquet", "-o", tmp_path / "m", *options)
    ok("sample", tmp_path / "m", "-n", 30, "-o", tmp_path / "new.parquet", "-q")
    assert pq.read_schema(tmp_path / "new.parquet").remove_metadata() == table.schema
    ok("score", tmp_path / "m", tmp_path / "new.parquet", "-o", tmp_path / "scores.csv", "--orderings", 1, "-q")
    holes = [pa.array([None, *column.to_pylist()[1:]], column.type) for column in COLUMNS.values()]
    table = pa.table(DROPPED | COLUMNS)
    pq.write_table(pa.table([*DROPPED.values(), *holes], table.schema), tmp_path / "holes.parquet")
    ok("impute", tmp_path / "m", tmp_path / "holes.parquet", "-o", tmp_path / "filled.parquet", "-q")
    filled = pq.read_table(tmp_path / "filled.parquet")
    assert filled.schema.remove_metadata() == table.schema
    assert filled.slice(1).to_pylist() == table.slice(1).to_pylist()
    assert None not in filled.slice(0, 1).to_pylist()[0].values()


def test_rows_without_weight_are_left_out_in_any_type():
    model = nadek.NADEk(**QUICK).fit(pa.table(COLUMNS), sample_weight=np.arange(40) < 35)
    assert model.sample(3).schema == pa.schema([(name, column.type) for name, column in COLUMNS.items()])


@pytest.mark.parametrize("kind", [column.type for column in COLUMNS.values()] + [pa.decimal256(40, 3), pa.float16()])
def test_type_names_lead_back(kind):
    assert type_of(str(kind)) == kind


def test_saved_arrow_template_keeps_order_of_categories(tmp_path):
    codes, words = pa.array([0, 1] * 20), pa.array(["low", "high", "beyond", "all"])
    table = pa.table({"a": pa.DictionaryArray.from_arrays(codes, words, ordered=True), "b": codes})
    nadek.NADEk(**QUICK, n_orderings=1).fit(table).save(tmp_path / "model")
    new = nadek.NADEk.load(tmp_path / "model").sample(3)
    assert new.schema == table.schema
    assert new["a"].chunk(0).dictionary == words


@pytest.mark.parametrize("name", ["", "struct<a: int8>", "os.system", "dictionary<values=x, indices=y>", "int8"])
def test_types_that_hold_no_fractions_change_nothing(name):
    values = np.array([0.5, 1.0])
    assert typed(values, name) is values


@pytest.mark.parametrize(("dtype", "filled"), [("Int64", "Float64"), ("int64[pyarrow]", "double[pyarrow]")])
def test_means_stay_in_the_library_of_integers(dtype, filled):
    values = np.random.default_rng(0).integers(0, 9, 60)
    table = pd.DataFrame({"n": pd.array(values, dtype), "u": values % 2})
    table.loc[3, "n"] = pd.NA
    new = nadek.NADEkImputer(**QUICK, memory=False).fit_transform(table)
    assert str(new["n"].dtype) == filled
    assert new["n"].drop(3).tolist() == table["n"].drop(3).tolist()


@pytest.mark.parametrize("huge", [10**400, -(10**5000)], ids=["positive", "negative"])
def test_integers_beyond_floats_are_refused(huge):
    table = pd.DataFrame({"n": np.array([1, 2, huge, 4, 5] * 8, dtype=object), "u": [0, 1] * 20})
    with pytest.raises(ValueError, match=r'^row 3, column "n": expected a finite number'):
        nadek.NADEk(**QUICK).fit(table)
