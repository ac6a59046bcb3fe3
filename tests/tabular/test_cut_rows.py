"""Tables in batches: whatever the size of a batch, they are what they are in one."""

import gzip
import io
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nadek.tabular import csv as csv_module
from nadek.tabular.arrow_columns import wider
from nadek.tabular.csv import CsvFormat, read_csv
from nadek.tabular.cut_rows import cut, rows_of
from nadek.tabular.files import read_batches
from nadek.tabular.writing import writing
from support.tables import read_file, write_table

CELLS = ["", "a", "0", "1.0", '"x,y"', '"two\nlines"', '"c\r\nd"', '"q""q"', " ", "ü", '5" pipe', '""', '"\n"', "NA"]


def generated(seed):
    """Return CSV text with any ends of lines and some damage, and the number of its columns."""
    rng = np.random.default_rng(seed)
    n_rows, dim = rng.integers(1, 14), rng.integers(1, 5)
    pool, end = rng.choice(CELLS, rng.integers(1, 6), replace=False), str(rng.choice(["\n", "\r\n", "\r"]))
    rows = [",".join(rng.choice(pool, dim)) for _ in range(n_rows)]
    damage = rng.random(3)
    rows[rng.integers(n_rows)] += ",more" if damage[0] < 0.1 else '"' if damage[1] < 0.1 else ""
    rows.insert(rng.integers(n_rows + 1), "") if damage[2] < 0.1 else None
    header = "" if rng.random() < 0.3 else ",".join(f"column {j}" for j in range(dim)) + end
    return (header + end.join(rows) + end * rng.integers(2)).encode(), int(dim)


def joined(columns):
    return [cell for column in columns for cell in column.to_pylist()]


def in_batches(data, cells=None):
    """Return names, cells and places of the first rows; or the message of an error."""
    try:
        parts = list(read_csv(lambda: io.BytesIO(data), where="t", cells=cells))
    except ValueError as error:
        return str(error)
    firsts = [0, *itertools.accumulate(map(len, parts))]
    assert [part.first_row for part in parts] == firsts[:-1]
    if cells is not None:
        assert all(len(part) == cells // len(part.cells) for part in parts[:-1])
    columns = [joined(part.cells[j] for part in parts) for j in range(len(parts[0].cells))]
    return parts[0].columns, columns


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 300))])
def test_every_batch_size_reads_the_same(seed, monkeypatch):
    data, dim = generated(seed)
    whole = in_batches(data)
    for block, n_rows in itertools.product((2**22, 150), (1, 2, 3, 7)):
        monkeypatch.setattr(csv_module, "BLOCK", block)
        assert in_batches(data, n_rows * dim) == whole, (block, n_rows)


def test_blocks_end_anywhere_in_a_row(monkeypatch):
    data = b"a,b\r\n" + b'"x\r\ny","1"\r\n"p""\n",\xc3\xbc\r\n' * 20 + b'z,"last"'
    whole = in_batches(data)
    assert whole[1][0][:2] == ["x\r\ny", 'p"\n']
    for block in range(30, 70):
        monkeypatch.setattr(csv_module, "BLOCK", block)
        assert in_batches(data, 6) == whole


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"a,b\n" + b"0,1\n" * 50 + b"0\n0,1\n", "t: row 51: expected 2 cells, found 1"),
        (b"a,b\n" + b"0,1\n" * 50 + b'0,"1\n' + b"0,1\n" * 3, "t: row 51: found a quote that is never closed"),
        (b"a\n" + b"0\n" * 50 + b"\n0\n", 't: found a blank line in a file of one column; write "" for a missing cell'),
        (
            b"a,b\n" + b"0,1\n" * 50 + b"\xff,1\n",
            "t: expected CSV text in UTF-8, found something else: 'utf-8' codec can't decode byte 0xff in position 204",
        ),
        (b"a,b\n" + b"0,1\n" * 50 + b"x" * 200 + b",1\n", "t: expected rows of at most 60 bytes, found a longer one"),
    ],
    ids=["cells", "quote", "blank", "text", "long"],
)
def test_later_damage_names_the_row_of_the_file(data, error, monkeypatch):
    monkeypatch.setattr(csv_module, "BLOCK", 60)
    assert in_batches(data, 6).startswith(error)


def test_blank_lines_between_blocks(monkeypatch):
    for block in range(8, 20):
        monkeypatch.setattr(csv_module, "BLOCK", block)
        for end in ("\n", "\r\n", "\r"):
            rows = [*"010110010", "", *"01"]
            assert "found a blank line" in in_batches(end.join(["a", *rows]).encode(), 3)
            assert "found a blank line" in in_batches(end.join(["a", "", *"01"]).encode(), 3)
            ends = end.join(["", "a", *rows[:9], "", "", ""]).encode()
            assert in_batches(ends, 3) == (("a",), [rows[:9]])


def test_the_first_batch_decides_the_header():
    form = CsvFormat(delimiter=";")
    parts = list(read_csv(lambda: io.BytesIO(b"7;8\n" + b"0;1\n" * 9), where="t", form=form, cells=4))
    assert parts[0].columns == ("7", "8")
    assert [len(part) for part in parts] == [2, 2, 2, 2, 1]
    assert all(part.decimal_commas for part in parts)


def test_packed_batches(tmp_path, monkeypatch):
    data = b"a,b\n" + b"0,1\n1,\n" * 100
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(data))
    monkeypatch.setattr(csv_module, "BLOCK", 50)
    parts = list(read_batches(path, cells=14))
    assert [len(part) for part in parts] == [7] * 28 + [4]
    assert joined(part.cells[1] for part in parts) == ["1", ""] * 100
    monkeypatch.setenv("NADEK_UNPACKED", "500")
    with pytest.raises(ValueError, match="expected to unpack to at most 500 bytes, found more"):
        list(read_batches(path, cells=14))
    monkeypatch.delenv("NADEK_UNPACKED")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match=r"t.csv.gz: expected a whole gzip file"):
        list(read_batches(path, cells=14))


@pytest.mark.parametrize("index", [None, "unnamed", "range"])
def test_parquet_in_batches(index, tmp_path):
    frame = pd.DataFrame({"a": [0, 1, None] * 7, "b": pd.Categorical(["x", "y", None] * 7), "c": [[1], [], None] * 7})
    frame.index = list("abc" * 7) if index == "unnamed" else frame.index
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=None if index else False), path, row_group_size=5)
    whole, parts = read_file(path), list(read_batches(path, cells=4 * (4 if index == "unnamed" else 3)))
    assert [part.first_row for part in parts] == [0, 4, 8, 12, 16, 20]
    for j, cells in enumerate(whole.cells):
        assert joined(part.cells[j] for part in parts) == cells.to_pylist()
        assert {part.cells[j].type for part in parts} == {cells.type}
    with writing(tmp_path / "new.parquet") as writer:
        for part in parts:
            writer.write(part.cells, columns=part.columns, index=part.index)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "new.parquet"), pd.read_parquet(path), check_dtype=False)


def test_one_batch_is_one_piece():
    parts = [pa.record_batch({"a": list(range(start, start + 5))}) for start in (0, 5, 10)]
    for most in range(1, 17):
        tables = list(cut(parts, most))
        assert [first for first, _ in tables] == list(range(0, 15, most))
        assert joined(table["a"] for _, table in tables) == list(range(15))
    assert [len(table) for _, table in cut(parts, None)] == [15]
    assert (rows_of(20, 2**20), rows_of(2**21, 2**20), rows_of(3, None)) == (52428, 1, None)


# Written in batches


COLUMNS = {
    "integers, then others": ([[1, 2], [0.5, 1.0]], pa.float64()),
    "nothing, then integers": ([[None, None], [3, None]], pa.int64()),
    "nothing, then text": ([[None], ["a"]], pa.string()),
    "integers, then nothing": ([[3], [None]], pa.int64()),
    "booleans, then integers": ([[True, False], [2, 0]], pa.int64()),
    "integers, then text": ([[1, 2], ["a", None]], pa.string()),
    "small ones, then large ones": ([np.array([1], np.int8), np.array([300], np.int16)], pa.int16()),
}


@pytest.mark.parametrize(("batches", "kind"), COLUMNS.values(), ids=COLUMNS)
def test_parquet_takes_wider_types(batches, kind, tmp_path):
    columns = [pa.chunked_array([pa.array(batch)]) for batch in batches]
    with writing(tmp_path / "t.parquet") as writer:
        for column in columns:
            writer.write([column, np.arange(len(column))], columns=["a", "b"])
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.schema.types == [kind, pa.int64()]
    expected = [cell for column in columns for cell in column.cast(kind).to_pylist()]
    assert table["a"].to_pylist() == expected
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_wider_types_are_the_same_both_ways():
    kinds = [pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.dictionary(pa.int8(), pa.string())]
    for one, other in itertools.product(kinds, kinds):
        kind = wider(one, other)
        assert pa.types.is_dictionary(kind) or kind == wider(other, one)
        assert wider(one, pa.null()) == wider(pa.null(), one) == one


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("names", [None, ["a", "b"]])
def test_csv_in_batches_is_csv_in_one(suffix, names, tmp_path):
    values = [np.arange(10) / 4, np.array(["x,y", None] * 5, dtype=object)]
    write_table(tmp_path / f"whole{suffix}", values, columns=names)
    with writing(tmp_path / f"parts{suffix}") as writer:
        for start in range(0, 10, 3):
            writer.write([column[start : start + 3] for column in values], columns=names)
    assert (tmp_path / f"parts{suffix}").read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()
