"""Odd tables end in one error that names the file, soon and without much memory."""

import gzip
import json
import os
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.damage import WHOLE, header, npy, npz, parquet
from support.tables import read_file


def encrypted():
    data = bytearray(npz())
    for start in (data.find(b"PK\x03\x04") + 6, data.find(b"PK\x01\x02") + 8):
        data[start] |= 1
    return bytes(data)


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': %s}"
ODD = [
    *((".npz", npz(**{"values.npy": b"no array"})), (".npz", encrypted()), (".npz", npz(**{"a": b"1", "b": b"2"}))),
    *((".npz", npz(**{"values.npy": header(HEADER % "(9223372036854775807, 9)")})), (".npy", npy()[:-9])),
    *((".npy", header(text)) for text in ("{'descr': '", "{", "", "(" * 5000, "{'descr': ['<f8', 3], 'shape': 7}")),
    *((".npy", header(HEADER % shape)) for shape in ("(9000000000000, 2)", "(-1, 2)", "('x',)", "()", "(2**70, 2)")),
    (".npy", header("{'descr': '<U0', 'fortran_order': False, 'shape': (900000000, 9)}")),
    (".npz", npz(**{"values.npy": npy(np.zeros((2_000_000, 40), np.int8))})),
    (".csv.gz", gzip.compress(b"0,1\n" * 2_000_000) * 40),
    *((".parquet", parquet(pandas=text)) for text in (b"[]", b"7", b"{", b"\xff", b"[" * 99_999)),
    *((".parquet", parquet(pandas=json.dumps({"index_columns": odd, "columns": odd}))) for odd in (7, {}, [7], ["a"])),
]


def error_of(path):
    """What is said of a file; its name where nothing is wrong."""
    try:
        table = read_file(path)
        for j in range(len(table.cells)):
            table.column(j)
    except (ValueError, OSError) as error:
        return str(error)
    return str(path)


@pytest.mark.parametrize("case", range(len(ODD)))
def test_odd_files_are_errors(tmp_path, case):
    suffix, content = ODD[case]
    path = tmp_path / f"t{suffix}"
    path.write_bytes(content)
    tracemalloc.start()
    error, peak = error_of(path), tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**28
    assert str(path) in error
    assert "\n" not in error


@pytest.mark.parametrize("suffix", WHOLE)
def test_pipes_and_devices_are_no_tables(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(ValueError, match=rf"{name}{suffix}: expected a file"):
            read_file(tmp_path / f"{name}{suffix}")


def test_bounds_are_told(tmp_path):
    wide, words = tmp_path / "t.csv", tmp_path / "t.parquet"
    wide.write_text(",".join(f"c{j}" for j in range(20_000)) + "\n" + ",".join("0" * 20_000))
    assert "at most 16,384 columns in a file of this size, found 20,000; if you trust it" in error_of(wide)
    for length, n_rows, message in ((20, 4_000_000, ""), (1000, 70_000, "expected to unpack to at most 67,108,864")):
        one_word = pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), ["x" * length])
        pq.write_table(pa.table({"a": one_word}), words)
        assert message in error_of(words)
        assert message or len(read_file(words)) == n_rows


def test_numbers_of_any_length_are_read(tmp_path):
    (tmp_path / "t.csv").write_text("a\n0.5\n" + "9" * 9000)
    assert error_of(tmp_path / "t.csv") == str(tmp_path / "t.csv")


def test_bound_of_unpacking_is_settable(tmp_path, monkeypatch):
    (tmp_path / "t.csv.gz").write_bytes(WHOLE[".csv.gz"])
    for bound, message in (("10", "at most 10 bytes"), ("1GB", "expected a number of bytes, found '1GB'")):
        monkeypatch.setenv("NADEK_UNPACKED", bound)
        assert message in error_of(tmp_path / "t.csv.gz")
