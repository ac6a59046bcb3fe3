"""Generated tables through every form: what the writer writes, the reader of the model reads back."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from nadek.checkpoints import SavedModel
from nadek.models import nade
from nadek.runs.data import read_model_rows
from nadek.tabular.encode import encode_table
from nadek.tabular.frames import read_array, read_frame
from nadek.tabular.learn_schema import declared_names, learn_columns
from nadek.tabular.schema import Schema
from nadek.tabular.writeback import decoded
from support.tables import write_table

NAMES = 'age|2019|2020|1|0|true|NA|| x |ü|a,b|q"q|two\nlines|lone\rreturn|None|nan|x0|-1.5|1,5|sep=;|no|\ufeffage|#a'
WORDS = (
    '| |None|nan|NA|null|#N/A|true|False|1|0|01|1.0|1e3|0x1|1,5|-|a|b| b|b |ü|a,b|q"|two\nlines|lone\rreturn|c\r\nd'
    "|;|\t|sep=;|\ufeff|no"
)
NUMBERS = [
    *([0, 1], [0.0, 1.0], [True, False], [1, 2, 3], [0, 1, 2, 3], [5, 0, 1], [-1, 7], [2019, 2020], [99]),
    *([0.5, 1.5, 2.25], [0.1, 0.2, 0.3], [1 / 3, 2 / 3, 1.0], [1e-7, 3e-9], [1e300, -1e300], [2**53, 2**53 + 2, 1]),
]

DATES = [
    *([date(2020, 2, 29), date(1969, 12, 31)], [datetime(2020, 1, 2, 3, 4, 5), datetime(2021, 1, 1)]),
    *([pd.Timestamp("1899-12-31 23:59:59.000001")], [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01 10:30")]),
]


def column(rng, n_rows):
    """Draw the cells of a column, some of them missing."""
    if rng.random() < 0.5:
        pool = list(rng.choice(WORDS.split("|"), rng.integers(1, 5), replace=False))
    else:
        pools = NUMBERS if rng.random() < 0.8 else DATES
        pool = pools[rng.integers(len(pools))]
    cells = np.array([pool[i] for i in rng.integers(len(pool), size=n_rows)], dtype=object)
    cells[rng.random(n_rows) < rng.choice([0, 0.3])] = None
    cells[rng.integers(n_rows)] = pool[0] if pool[0] != "" else pool[-1] or "a"
    return cells


def generated(seed):
    """Return a table with or without names, as a data frame or an array."""
    rng = np.random.default_rng(seed)
    n_rows, dim = rng.integers(1, 12), rng.integers(1, 6)
    cells = [column(rng, n_rows) for _ in range(dim)]
    if rng.random() < 0.4:
        return read_array(np.column_stack(cells)), None
    names = rng.choice(NAMES.split("|"), dim, replace=False).tolist()
    frame = pd.concat([pd.Series(one, dtype=object) for one in cells], axis=1)
    frame.columns = names
    return read_frame(frame.infer_objects() if rng.random() < 0.5 else frame), tuple(names)


def model_of(table, names):
    """Return a model with the columns of a table, of which only the schema counts here, and the codes."""
    options = {"categorical_features": None, "numeric_features": None}
    columns = learn_columns(table, declared_names(table, {"n_bins": 16, **options}), keep_empty=False)
    return SavedModel(nade(1, hidden=1), Schema(columns=names, kinds=columns), {}), encode_table(table, columns)[1]


@pytest.mark.filterwarnings("ignore:these differ in spaces or capital letters only", "ignore:(?s)column .* or nothing")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 40))])
def test_written_rows_come_back(tmp_path, seed):
    n_tables = 0
    for case in range(55 * seed, 55 * (seed + 1)):
        table, names = generated(case)
        try:
            saved, codes = model_of(table, names)
        except ValueError:
            continue
        n_tables += 1
        holds_text = any(isinstance(level, str) for one in saved.schema.kinds for level in getattr(one, "levels", ()))
        holds_dates = any(getattr(one, "unit", None) for one in saved.schema.kinds)
        for suffix in (".csv", ".parquet") if holds_text or holds_dates else (".csv", ".parquet", ".npz", ".npy"):
            path = tmp_path / f"{case}{suffix}"
            write_table(path, decoded(saved.schema.kinds, codes), columns=names)
            source = read_model_rows(saved, str(path))
            np.testing.assert_array_equal(source.x.numpy(), codes.astype(np.float32), err_msg=path.name)
            assert suffix == ".npy" or names is None or source.table.columns == names
    assert n_tables > 45
