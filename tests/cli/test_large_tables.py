"""Tables that are read in batches: the verbs answer as if they had read them at once."""

import csv
import gzip
import io
import itertools
import re
import signal
import subprocess
import sys
import tempfile
from unittest import mock

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
import torch

from nadek.checkpoints import save, save_state
from nadek.datasets.amat import read_plain
from nadek.inference import log_prob
from nadek.inference.score_rows import score_rows
from nadek.tabular import csv as csv_module
from nadek.tabular.columns import Binary
from support.command import nadek, ok
from support.tables import KINDS, NAMES, saved_model

POOLS = {
    "smoker": [["no", "yes"], ["no"], [" yes", "no"]],
    "city": [["Turku", "Oslo"], ["a, b", "Turku"], ["Rome", "Oslo"]],
    "age": [["4", "12.5", "400"], ["4", "7"], ["4.0", "7.0"], ["-3"]],
    "ill": [["0", "1"], ["0.0", "1.0"], ["true", "false"], ["1", "7"]],
    "well": [["True", "False"], ["0", "1"], ["TRUE"], ["true", "0", "1"], ["no", "1"]],
    "grade": [["1", "2", "5"], ["1.0", "5.0"], ["1", "x"], ["2", "5.0"]],
    "id": [["x\ny", "7"], ["ü", ""], ["c\r\nd", '"q"']],
}


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
    "impute": (),
    "complete": ("--log-probability",),
    "explain": ("--top", 9),
}


FORMS = ((".csv", ".csv"), (".csv.gz", ".parquet"), (".parquet", ".parquet"), (".parquet", ".csv"), (".csv", ".csv.gz"))
QUICK = [
    *zip(itertools.repeat(0), VERBS, FORMS, strict=False),
    *((1, "complete", form) for form in FORMS),
    (51, "complete", FORMS[1]),  # true and false beside numbers and text
    (60, "explain", FORMS[0]),
    *((seed, "impute", FORMS[0]) for seed in (3, 4)),
]
SLOW = itertools.product(range(2, 4), VERBS, FORMS)


@pytest.mark.parametrize(
    ("seed", "verb", "forms"), [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_batches_answer_as_one(seed, verb, forms, people, tmp_path, monkeypatch):
    suffix, target = forms
    table = write(tmp_path / f"t{suffix}", generated(seed, n_rows=11))
    arguments = (verb.partition(" ")[0], people, table, *VERBS[verb], "-o")
    whole = nadek(*arguments, tmp_path / f"whole{target}")
    for n_rows in (1, 4):
        monkeypatch.setattr("nadek.tabular.cut_rows.CELLS", n_rows * 7)
        monkeypatch.setattr(csv_module, "BLOCK", 200)
        parts = nadek(*arguments, tmp_path / f"parts{target}", "--force")
        assert (parts.code, parts.err) == (whole.code, whole.err)
        if whole.code == 0:
            assert_alike(tmp_path / f"parts{target}", tmp_path / f"whole{target}")


@pytest.fixture
def three_rows(monkeypatch):
    """Read tables of seven columns by three rows."""
    monkeypatch.setattr("nadek.tabular.cut_rows.CELLS", 21)


@pytest.mark.usefixtures("three_rows")
def test_score_takes_the_same_orderings_in_every_batch(people, tmp_path, monkeypatch):
    batches = []

    def watched(model, x, along, *arguments, **options):
        batches.append((len(x), along))
        return score_rows(model, x, along, *arguments, **options)

    monkeypatch.setattr("nadek.inference.likelihood.score_rows", watched)
    table = people_csv(tmp_path / "t.csv", [ROW, "yes,,400,0,,5,", ROW, "no,,,,,,"] * 2)
    for seed in (1, 1, 2):
        ok("score", people, table, "--orderings", 5, "--seed", seed, "-q")
    assert [n_rows for n_rows, _ in batches] == [3, 3, 2] * 3
    assert batches[0][1].shape == (5, len(NAMES))
    assert all(torch.equal(along, batches[0][1]) for _, along in batches[:6])
    assert not torch.equal(batches[6][1], batches[0][1])


def people_csv(path, rows):
    path.write_text("\n".join([",".join(POOLS), *rows]) + "\n")
    return path


ROW = "no,Turku,4,1,true,2,x"


@pytest.mark.usefixtures("three_rows")
@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("no,Rome,4,1,true,2,x", "row 8, column \"city\": expected 'Turku', 'Oslo', 'a, b' or missing, found 'Rome'"),
        ("no,,old,1,true,2,x", "row 8, column \"age\": expected numbers or missing, found 'old'"),
        ("no,,inf,1,true,2,x", 'row 8, column "age": expected a finite number or missing, found inf'),
        ("no,,4,1,true,2", "row 8: expected 7 cells, found 6"),
        (
            f"no,,{2**64 + 1},1,true,2,x",
            f'row 8, column "age": expected a number that floats can hold, found {2**64 + 1}, which they would round:'
            " drop the column, or say that it is categorical",
        ),
    ],
)
def test_a_wrong_cell_is_found_before_the_work(line, error, people, tmp_path, monkeypatch):
    table = people_csv(tmp_path / "t.csv", [ROW] * 7 + [line] + [ROW] * 3)
    monkeypatch.setattr("nadek.runs.scores.log_prob", lambda *_, **__: pytest.fail("the work was done"))
    assert nadek("score", people, table, "--unknown", "error", "-q").error == f"{table}: {error}"


@pytest.mark.usefixtures("three_rows")
def test_messages_count_all_batches(people, tmp_path):
    rows = [ROW, "no,Rome,,1,true,2,x", ROW, "no,,,1,true,9,x", "no,Rom,4,7,true,2,x"] * 2
    table = people_csv(tmp_path / "t.csv", rows)
    unknown = (
        f'{table}: cells with values that the model does not know are taken as missing: 4 in column "city", such as'
        ' \'Rome\' in row 2; 2 in column "ill", such as 7 in row 5; 2 in column "grade", such as 9 in row 4\n'
    )
    assert ok("score", people, table).err == unknown
    assert ok("impute", people, table).err == unknown + "filled 6 of 60 cells in 10 rows\n"
    assert ok("complete", people, table).err.startswith(unknown + "filled 6 of 60 cells in 10 rows; mean log-prob")


@pytest.mark.usefixtures("three_rows")
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError])
def test_a_stop_in_the_middle_leaves_the_old_file(stop, suffix, people, tmp_path, monkeypatch):
    table, path = people_csv(tmp_path / "t.csv", [ROW] * 9), tmp_path / f"scores{suffix}"
    calls = iter((None, None, stop))

    def stopped(*arguments, **options):
        if (error := next(calls)) is not None:
            raise error
        return log_prob(*arguments, **options)

    monkeypatch.setattr("nadek.runs.scores.log_prob", stopped)
    path.write_text("old")
    assert nadek("score", people, table, "-o", path, "--force", "-q").code == (130 if stop is KeyboardInterrupt else 1)
    assert path.read_text() == "old"
    assert {file.name for file in tmp_path.iterdir()} == {"t.csv", path.name}


KILLED = """
import os, signal, sys
from nadek.cli import main
from nadek.tabular import cut_rows, writing

cut_rows.CELLS = 21
write, calls = writing.Writer.write, iter(range(9))

def killed(writer, *values, **options):
    write(writer, *values, **options)
    if next(calls) == 1:
        os.kill(os.getpid(), signal.SIGKILL)

writing.Writer.write = killed
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "suffix"), [("score", ".csv.gz"), ("impute", ".parquet"), ("sample", ".csv")])
def test_a_kill_in_the_middle_leaves_the_old_file(verb, suffix, people, tmp_path):
    table, path = people_csv(tmp_path / "t.csv", [ROW, "no,,,1,,,x", ROW] * 3), tmp_path / f"new{suffix}"
    path.write_bytes(b"old")
    rows = ("-n", "9") if verb == "sample" else (table,)
    command = [sys.executable, "-c", KILLED, verb, people, *rows, "-o", path, "--force", "-q"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    left = {file.name for file in tmp_path.iterdir()} - {"t.csv", path.name}
    assert [re.sub("[0-9a-f]{16}", "*", name) for name in left] == [".nadek-*.tmp"]
    ok(verb, people, *rows, "-o", tmp_path / f"whole{suffix}", "-q")
    ok(verb, people, *rows, "-o", path, "--force", "-q")
    assert path.read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()


@pytest.mark.usefixtures("three_rows")
def test_explain_finds_a_row_in_any_batch(people, tmp_path):
    table = people_csv(tmp_path / "t.csv", [ROW, "yes,,400,0,,5,", ROW] * 3)
    rows = [list(csv.DictReader(io.StringIO(ok("explain", people, table, "-q", *o).out))) for o in ((), ("--row", 8))]
    assert {line["row"] for line in rows[1]} == {"8"}
    assert [line for line in rows[0] if line["row"] == "8"] == [line for line in rows[1] if line in rows[0]]
    error = nadek("explain", people, table, "--row", 10, "-q").error
    assert error == f"--row: expected one of the rows 1 to 9 of {table}, found 10"


@pytest.mark.usefixtures("three_rows")
def test_draws_differ_between_batches(people, tmp_path):
    table = people_csv(tmp_path / "t.csv", ["no,,,1,,,x"] * 60)
    rows = list(csv.reader(io.StringIO(ok("impute", people, table, "-q").out)))[1:]
    assert all(all(row) for row in rows)
    assert len({tuple(map(tuple, rows[start : start + 3])) for start in range(0, 60, 3)}) > 15


def test_samples_are_written_in_batches(people, tmp_path, monkeypatch):
    for index, options in enumerate([(), ("--orderings", 2)]):
        whole, parts = tmp_path / f"whole{index}.parquet", tmp_path / f"parts{index}.parquet"
        ok("sample", people, "-n", 23, "-o", whole, "-q", *options)
        with monkeypatch.context() as patched:
            patched.setattr("nadek.tabular.cut_rows.CELLS", 30)
            ok("sample", people, "-n", 23, "-o", parts, "-q", *options)
        assert_alike(parts, whole)
        assert len(set(pq.read_table(whole)["age"].to_pylist())) > 15


def test_decimal_marks_far_from_each_other(people, tmp_path, monkeypatch):
    rows = [ROW.replace(",", ";").replace("4", number) for number in ["4,5"] * 6 + ["12.5"]]
    table = tmp_path / "t.csv"
    table.write_text("\n".join([";".join(POOLS), *rows]))
    monkeypatch.setattr("nadek.tabular.cut_rows.CELLS", 21)
    error = 'column "age": expected decimal commas or points, found both, far from each other'
    assert nadek("score", people, table).error == f"{table}: {error}: write all numbers alike, or say --decimal ."
    table.write_text("\n".join([";".join(POOLS), *rows[:4], rows[0].replace("4,5", "")]))
    lines = ok("complete", people, table, "-q").out.splitlines()
    assert [line.split(",")[2] for line in lines[1:5]] == ["4.5"] * 4


def test_forms_of_numbers_are_read_in_one(tmp_path, monkeypatch):
    monkeypatch.setattr("nadek.tabular.cut_rows.CELLS", 6)
    save(tmp_path / "model", saved_model((Binary(),) * 3, ("a", "b", "c")))
    x = np.array([[0, 1, np.nan], [1, np.nan, 0]] * 4)
    np.savez(tmp_path / "t.npz", values=x, columns=["a", "b", "c"])
    ok("complete", tmp_path / "model", tmp_path / "t.npz", "-o", tmp_path / "t.csv", "-q")
    ok("complete", tmp_path / "model", tmp_path / "t.csv", "-o", tmp_path / "whole.npz", "-q")
    whole = np.load(tmp_path / "whole.npz")["values"]
    assert (whole == np.where(np.isnan(x), whole, x)).all()
    assert whole.shape == (8, 3)
    assert pa_csv.read_csv(tmp_path / "t.csv").num_rows == 8


@pytest.mark.usefixtures("three_rows")
def test_progress_counts_rows_of_all_batches(people, tmp_path, monkeypatch):
    monkeypatch.setattr("nadek.cli.progress.LOG_EVERY", 0)
    table = people_csv(tmp_path / "t.csv", [ROW] * 7)
    lines = [re.sub(r"[\d,]+ rows", "so many rows", line) for line in ok("impute", people, table).err.splitlines()]
    reading = [f"reading: {n}, so many rows a second" for n in (3, 6, 7)]
    assert lines[:-1] == reading + [f"filling: {n} of 7, so many rows a second" for n in (3, 6, 7)]
    scoring = [line for line in ok("score", people, table).err.splitlines() if line.startswith("scoring")]
    counts = [int(line.split()[1]) for line in scoring]
    assert counts == sorted(counts)
    assert counts[-1] == 7


@pytest.mark.parametrize("option", ["--drop=age", "--validation-fraction=0.3"])
@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet"])
def test_fit_from_disk_is_fit_from_memory(suffix, option, tmp_path, monkeypatch):
    rng, pools = np.random.default_rng(0), {"sex": "mf ", "town": "abc ", "ill": "01"}
    columns = {name: np.char.strip(rng.choice(list(pool), 300)).tolist() for name, pool in pools.items()}
    columns |= {"age": rng.normal(size=300).tolist(), "rare": ["", "x", "y", "", ""] + [""] * 295}
    path = write(tmp_path / f"t{suffix}", columns)
    command = ("fit", path, "--missing", "c", "--save-every", 0, "--epochs", 3, "--hidden", 8, option)
    ok(*command, "-o", tmp_path / "memory")
    monkeypatch.setattr(sys.modules["nadek.training.prepare"], "CELLS", 64)
    for bound in ("utils.scratch.IN_MEMORY", "tabular.files.IN_MEMORY", "tabular.stored_columns.CELLS"):
        monkeypatch.setattr(f"nadek.{bound}", 64)
    monkeypatch.setattr("nadek.tabular.files.CELLS", 64)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    def stop(folder, state, **identity):
        save_state(folder, state, **identity)
        if len(state.info["history"]) == 2:
            raise KeyboardInterrupt

    with mock.patch("nadek.runs.train.save_state", stop):
        assert nadek(*command, "-o", tmp_path / "disk").code == 130
    with mock.patch("tempfile.TemporaryFile", wraps=tempfile.TemporaryFile) as used:
        ok(*command, "-o", tmp_path / "disk", "--resume")
    assert used.called
    assert not list((tmp_path / "temporary").iterdir())
    for name in ("model.safetensors", "schema.json"):
        assert (tmp_path / "disk" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
