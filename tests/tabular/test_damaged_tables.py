"""Damaged tables end in one error that names the file, soon and without much memory."""

import gzip
import io
import json
import os
import random
import struct
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nadek.tabular.files import read_file

FRAME = pd.DataFrame({"a": [1.5, None, 2.5] * 9, "b": ["x", "y", None] * 9, "c": [True, False, True] * 9})


def parquet(**metadata):
    table = pa.Table.from_pandas(FRAME.set_index(pd.Index(range(5, 32))))
    if metadata:
        table = table.replace_schema_metadata({"pandas": metadata["pandas"]})
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def npy(values=((1.5, 2.0), (3.0, 4.5))):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def npz(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members or {"values.npy": npy(), "columns.npy": npy(np.array(list("ab")))}).items():
            archive.writestr(name, content)
    return stream.getvalue()


def header(text):
    """The bytes of an npy file with this header."""
    data = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(data)) + data + bytes(64)


def encrypted():
    data = bytearray(npz())
    for start in (data.find(b"PK\x03\x04") + 6, data.find(b"PK\x01\x02") + 8):
        data[start] |= 1
    return bytes(data)


WHOLE = {
    ".csv": FRAME.to_csv(index=False).encode(),
    ".csv.gz": gzip.compress(FRAME.to_csv(index=False).encode()),
    ".parquet": parquet(),
    ".npy": npy(),
    ".npz": npz(),
    ".amat": b"0 1 1\n1 0 0\n" * 9,
    ".amat.gz": gzip.compress(b"0 1 1\n1 0 0\n" * 9),
}
HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': %s}"
ROUNDS = int(os.environ.get("NADEK_FUZZ", "150"))  # damaged files of each form; make fuzz sets more
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
def test_damaged_files_are_errors(tmp_path, suffix):
    chance, content, path = random.Random(suffix), WHOLE[suffix], tmp_path / f"t{suffix}"
    path.write_bytes(content)
    assert len(read_file(path)) > 0
    for _ in range(ROUNDS):
        cut = chance.randrange(len(content))
        path.write_bytes(content[:cut] + chance.randbytes(chance.randrange(3)) + content[cut + chance.randrange(9) :])
        assert error_of(path).startswith((str(path), "row", "column"))


@pytest.mark.parametrize("suffix", WHOLE)
def test_pipes_and_devices_are_no_tables(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(ValueError, match=rf"{name}{suffix}: expected a file"):
            read_file(tmp_path / f"{name}{suffix}")


def test_bound_of_unpacking_is_settable(tmp_path, monkeypatch):
    (tmp_path / "t.csv.gz").write_bytes(WHOLE[".csv.gz"])
    for bound, message in (("10", "at most 10 bytes"), ("1GB", "expected a number of bytes, found '1GB'")):
        monkeypatch.setenv("NADEK_UNPACKED", bound)
        assert message in error_of(tmp_path / "t.csv.gz")
