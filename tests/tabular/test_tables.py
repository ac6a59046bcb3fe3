"""Files of tables in and out, and messages about wrong ones."""

import csv
import gzip
import io
import re
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nadek.tabular.csv import CsvFormat, check_header, format_csv
from nadek.tabular.files import SUFFIXES, read_batches
from nadek.tabular.names import places_of
from nadek.tabular.schema import Schema
from nadek.tabular.table import Table
from nadek.tabular.text_cells import Spelling
from nadek.tabular.writeback import Filling, filled_column
from support.tables import read_file as read
from support.tables import read_matrix, write_table

NAN = float("nan")
NAMES = ("age", "smoker", "höhe, m")
WITH_MISSING = np.array([[0, 1, NAN], [NAN, NAN, NAN], [1, 0, 0], [0, 0, 1]], dtype=np.float32)
COMPLETE = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.float32)


every_form = pytest.mark.parametrize("suffix", SUFFIXES)


@pytest.fixture
def csv_file(tmp_path):
    def write(text):
        path = tmp_path / "file.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def objects(*values):
    return np.array(values, dtype=object)


def refusal(path, use=read_matrix, kind=ValueError):
    """The message that a file is refused with, without the folder; it is one line and names the file."""
    with pytest.raises(kind) as error:
        use(path)
    text = str(error.value)
    assert str(path) in text
    assert "\n" not in text
    return text.replace(f"{path.parent}/", "")


# What is written


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".CSV"])
@pytest.mark.parametrize("dtype", [np.bool_, np.int64, np.uint8, np.float32, np.float64, ">f8", ">i4", "g"])
def test_every_binary_dtype_is_written(tmp_path, suffix, dtype):
    write_table(tmp_path / f"t{suffix}", COMPLETE.astype(dtype))
    np.testing.assert_array_equal(read_matrix(tmp_path / f"t{suffix}").values, COMPLETE)


def test_files_hold_what_they_should(tmp_path):
    write_table(tmp_path / "t.parquet", WITH_MISSING, columns=NAMES)
    table = pq.ParquetFile(tmp_path / "t.parquet").read()
    assert table["age"].to_pylist() == [0, None, 1, 0]
    write_table(tmp_path / "t.parquet", np.array([[0.5, 1.0], [NAN, 0.0]]))
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {"x0": [0.5, None], "x1": [1.0, 0.0]}
    write_table(tmp_path / "t.amat", COMPLETE)
    assert (tmp_path / "t.amat").read_text() == "0 1 1\n1 0 0\n"
    write_table(tmp_path / "t.csv.gz", COMPLETE)
    assert (tmp_path / "t.csv.gz").read_bytes()[4:8] == bytes(4)  # no time
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == b"0,1,1\n1,0,0\n"


# Reading CSV


@pytest.mark.parametrize("first", ["0,1", "true,False", "1.0,0.0", ",", "NaN,1", "NA,nan", "null,None", '"0","1"'])
def test_csv_of_values_has_no_header(csv_file, first):
    table = read_matrix(csv_file(f"{first}\n0,1\n"))
    assert table.columns is None
    assert table.values.shape == (2, 2)


@pytest.mark.parametrize("first", ["0,1,2", "0,x,1", "1,2,3", "yes,no,na", "2019_1,2019_2,x", "٢٠١٩,٢٠٢٠,٢٠٢١"])
def test_csv_first_row_of_names(csv_file, first):
    table = read_matrix(csv_file(f"{first}\n0,1,1\n"))
    assert table.columns == tuple(first.split(","))
    assert table.values.shape == (1, 3)
    with pytest.raises(ValueError, match=r'row 1, column "2": expected 0, 1 or missing, found 7$'):
        read_matrix(csv_file("0,7,0,1\n0,1,0,1\n"))  # numbers that repeat are no names


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("header", ["a,b", '"a;x\ty",b'])
def test_csv_delimiter_is_detected(csv_file, separator, header):
    text = header.rsplit(",", 1)
    file = csv_file(separator.join(text) + "\n" + separator.join("01") + "\n" + separator.join(["1", ""]) + "\n")
    table, raw = read_matrix(file), read(file)
    assert table.columns == raw.columns == tuple(name.strip('"') for name in text)
    np.testing.assert_array_equal(table.values, [[0, 1], [1, NAN]])
    np.testing.assert_array_equal(raw.column(1), [1, NAN])


@pytest.mark.parametrize("line", ["sep=;\n", "SEP=;\r\n\r\n", "\ufeffsep=,\r\n", "sep=\t\n", "sep=|\n"])
def test_first_line_may_name_delimiter(csv_file, line):
    separator = line.strip("\ufeff\r\n")[-1]
    for width in (2, 3):
        rows = [["a", "b", "c, d"], ["0", "1", "1"], ["1", "", "0"]]
        text = "".join(
            separator.join(f'"{cell}"' if "," in cell else cell for cell in row[:width]) + "\n" for row in rows
        )
        table = read(csv_file(line + text))
        assert table.columns == ("a", "b", "c, d")[:width]
        assert len(table) == 2
    with pytest.raises(ValueError, match="expected a table, found an empty file"):
        read(csv_file(line))


def test_semicolon_csv_keeps_commas(csv_file):
    np.testing.assert_array_equal(read(csv_file("w;x\n1,5;0\na,b;1\n")).column(0), objects("1,5", "a,b"))
    np.testing.assert_array_equal(read(csv_file("w;x\n1,5;0\n1,5,2;1\n")).column(0), objects("1,5", "1,5,2"))
    with pytest.raises(ValueError, match="row 2: expected 2 cells, found 3"):
        read(csv_file("w;x\na;0\na;b;1\n"))


def test_semicolons_allow_decimal_commas(csv_file):
    raw = read(csv_file("w;x\n1,5;0\n-,25;\n;1\n1,5;7\n"))
    np.testing.assert_array_equal(raw.column(0), [1.5, -0.25, NAN, 1.5])
    np.testing.assert_array_equal(raw.column(1), [0, NAN, 1, 7])
    np.testing.assert_array_equal(read(csv_file("sep=;\na;b\n1,5;2,5\n")).column(1), [2.5])
    assert read_matrix(csv_file("a,sep=;\n0,1\n")).columns == ("a", "sep=;")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"whatever": COMPLETE}, None),
        ({"values": COMPLETE, "other": np.zeros(3)}, None),
        ({"values": COMPLETE, "columns": np.array(["a", "b"])}, "expected 3 column names, found 2"),
        ({"values": COMPLETE, "columns": np.arange(3)}, 'expected "columns" to hold text, found int64'),
        ({"values": [[0, 2]], "columns": np.array(["a", "b"])}, 'row 1, column "b": expected 0, 1 or missing, found 2'),
        ({"train": COMPLETE, "test": COMPLETE}, 'expected one array, or one called "values"; found test, train'),
        ({"format": b"csr", "data": [1], "indices": [0]}, "found data, format, indices: save .toarray() of a sparse"),
    ],
)
def test_npz_has_one_array_called_values(tmp_path, arrays, said):
    path = tmp_path / "file.npz"
    np.savez(path, **arrays)
    if said is None:
        np.testing.assert_array_equal(read_matrix(path).values, COMPLETE)
    else:
        assert said in refusal(path)


def test_commas_beside_points_are_kept(csv_file):
    raw = read(csv_file("w;x;y\n999.5;1.234;1.500,5\n1,234;;2,5\n12,500;99,5;k.A.\n"))
    for reading in ("guess", "numbers"):
        np.testing.assert_array_equal(raw.column(0, reading=reading), objects(999.5, "1,234", "12,500"))
        np.testing.assert_array_equal(raw.column(1, reading=reading), objects(1.234, None, "99,5"))
    np.testing.assert_array_equal(raw.column(2, reading="numbers"), objects("1.500,5", 2.5, "k.A."))


def test_decimal_commas_are_read_as_numbers(csv_file):
    raw = read(csv_file("w;x\n47,4;1,2\nk.A.;1\n8;1,2\n"))
    np.testing.assert_array_equal(raw.column(0), objects("47,4", "k.A.", 8.0))
    np.testing.assert_array_equal(raw.column(0, reading="numbers"), objects(47.4, "k.A.", 8.0))
    np.testing.assert_array_equal(raw.without(["k.A."]).column(0), [47.4, NAN, 8])
    np.testing.assert_array_equal(raw.column(1, reading="text"), objects("1,2", "1", "1,2"))
    assert raw.count(0, "47,4")


@pytest.mark.parametrize(
    "cell", ["", "NaN", "nan", "NA", "N/A", "n/a", "null", "NULL", "None", "<NA>", "#N/A", '""', " ", " NA"]
)
@pytest.mark.parametrize("other", ["1", "1.0", "true"])
def test_csv_missing_cells(csv_file, cell, other):
    values = read_matrix(csv_file(f"a,b\n{cell},1\n{other},0\n")).values
    np.testing.assert_array_equal(values, [[NAN, 1], [1, 0]])


@pytest.mark.parametrize("one", ["1", "1.0", "true", "True", "TRUE", " 1", "1 ", '"1"', "1e0", "01"])
@pytest.mark.parametrize("zero", ["0", "0.0", "false", "False", "FALSE", "-0.0"])
def test_csv_mixed_spellings_of_binary(csv_file, one, zero):
    np.testing.assert_array_equal(read_matrix(csv_file(f"a,b\n{one},1\n{zero},1\n")).values, [[1, 1], [0, 1]])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_csv_line_ends(csv_file, end, last):
    table = read_matrix(csv_file(end.join(["a,b", "0,1", "1,0"]) + end * last))
    assert table.columns == ("a", "b")
    np.testing.assert_array_equal(table.values, [[0, 1], [1, 0]])


@pytest.mark.parametrize("first", ['"a\nb",c', 'a,"b\nc,d"', '"a\r\n\r\nb","c\rd ""e"""', 'a,5" b'])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_names_may_have_line_breaks(csv_file, first, end):
    table = read_matrix(csv_file(f"{first}{end}0,1{end}1,0{end}"))
    assert table.columns == tuple(next(csv.reader(io.StringIO(first, newline=""))))
    np.testing.assert_array_equal(table.values, [[0, 1], [1, 0]])


def test_names_of_model_are_a_header(csv_file):
    path = csv_file("2019,2020\n5,7.5\n6,2\n")
    assert read(path).columns is None
    for names, columns in ((("2020", "2019"), ("2019", "2020")), (("a", "b"), None)):
        (table,) = read_batches(path, model=Schema(columns=names))
        assert table.columns == columns


def test_csv_header_can_be_overridden(csv_file):
    assert read(csv_file("2019,2020\n5,7\n"), form=CsvFormat(header=True)).columns == ("2019", "2020")
    table = read(csv_file("yes,no\nno,no\n"), form=CsvFormat(header=False))
    assert table.columns is None
    assert len(table) == 2


def test_csv_delimiter_and_decimal_can_be_overridden(csv_file):
    path = csv_file("a,b|c\n1,5|2\n")
    table = read(path, form=CsvFormat(delimiter="|", decimal=","))
    assert table.columns == ("a,b", "c")
    assert table.column(0).tolist() == [1.5]
    assert read(path, form=CsvFormat(delimiter="|")).column(0).tolist() == ["1,5"]
    with pytest.raises(ValueError, match=r"delimiter: expected one character .*, found 'ab'"):
        CsvFormat(delimiter="ab")


def test_bars_separate_cells(csv_file):
    table = read(csv_file("a|b\n1|2,5\n3|4,5\n"), form=CsvFormat(decimal=","))
    assert table.columns == ("a", "b")
    assert table.column(1).tolist() == [2.5, 4.5]
    written = format_csv([np.array(["x|y", "z|w"], dtype=object)], None, goes_on=False).decode()
    assert written.splitlines() == ['"x|y"', '"z|w"']


def test_csv_true_late_in_column(csv_file):
    values = read_matrix(csv_file("a,b\n" + "0,1\n" * 400_000 + "true,1\n")).values
    assert values[-1, 0] == 1
    assert values[:-1, 0].max() == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age,b\n1,0\n0,1\n7,1\n", 'row 3, column "age": expected 0, 1 or missing, found 7'),
        ("age,b\n1,0.5\n7,1\n", 'row 2, column "age": expected 0, 1 or missing, found 7'),
        ("a,b\n0,1\n0,yes\n", "row 2, column \"b\": expected 0, 1 or missing, found 'yes'"),
        ("a,b\n0,1\n0,1.000000001\n", 'row 2, column "b": expected 0, 1 or missing, found 1.000000001'),
        ("a,b\n0,1\n0,inf\n", 'row 2, column "b": expected a finite number or missing, found inf'),
        ("a,b\n0,1\n0,-1\n", 'row 2, column "b": expected 0, 1 or missing, found -1'),
        ("a,b\n0,2024-05-01\n", 'row 1, column "b": expected 0, 1 or missing, found 2024-05-01'),
        (",b\n0,1\n1,1\n2,1\n", 'row 3, column "1": expected 0, 1 or missing, found 2'),
        ("0,1\n0,3\n", 'row 2, column "2": expected 0, 1 or missing, found 3'),
        ("a,b\n0," + "x" * 90 + "\n", f"row 1, column \"b\": expected 0, 1 or missing, found '{'x' * 40}...'"),
    ],
)
def test_csv_names_the_first_wrong_cell(csv_file, text, said):
    assert refusal(csv_file(text)) == f"file.csv: {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a table, found an empty file"),
        ("\n \n", "expected a table, found an empty file"),
        (
            "Admissions 2024;;\nage;sex;town\n1;m;Ulm\n",
            "expected names, found 'Admissions 2024' alone: take out lines above the header",
        ),
        ("a,b\n", "expected rows, found only a header"),
        (
            "sex;bp, kPa\nf;12,5\nm;13,1\n",
            "the first rows have as many cells each by ',' and ';': --delimiter says which",
        ),
        (
            "a b c\n0 1 0\n1 1 0\n",
            "the first rows have 3 words each: say --delimiter ' ' if spaces separate them, --delimiter , if each"
            " row is one cell",
        ),
        ("a;b,c\n", "expected rows, found only a header"),
        ("a,b,a,c,c\n0,1,0,1,0\n", 'expected every column name once, found more of "a", "c"'),
        ("a,4,5,,\n0,1,0,1,1\n", 'expected every column name once, found more of ""'),  # others have numbers for names
        ("a,b\n0,1\n\n0,1,1\n", "row 2: expected 2 cells, found 3"),
        ("a,b\nx,1\ny\n", "row 2: expected 2 cells, found 1"),
        ("0,1\n0,1\n0\n", "row 3: expected 2 cells, found 1"),
        (
            'a,"b\n0,1\n1,0\n',
            "expected CSV text in UTF-8, found something else: a quote in the first row is never closed",
        ),
    ],
)
def test_csv_of_wrong_shape(csv_file, text, said):
    assert refusal(csv_file(text), read) == f"file.csv: {said}"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blank_line_in_one_column_csv(csv_file, end):
    with pytest.raises(ValueError, match='found a blank line in a file of one column; write "" for a missing cell'):
        read(csv_file(end.join(["a", "0", "", "1", ""])))


@pytest.mark.parametrize("rest", ["", "\n", "\n1,0\n", "\n1,0\n" * 10, "\n1,0" * 500_000])
def test_csv_open_quote_is_refused(csv_file, rest):
    assert re.search(r"row 2: found a quote that is never closed$", refusal(csv_file(f'a,b\n1,0\n1,"0{rest}'), read))


def test_csv_cells_may_have_quotes_and_lines(csv_file):
    raw = read(csv_file('a,b\n5" x,1\n"6"" ""x",2\n"two\nlines",1\n'))
    assert raw.column(0).tolist() == ['5" x', '6" "x', "two\nlines"]


LONG = "x" * 200_000  # more than the csv module takes for one cell


def test_csv_wrong_shape_with_long_cell(csv_file):
    assert refusal(csv_file(f'a,b\n1,"{LONG}"\n1\n'), read).endswith("Expected 2 columns, got 1: 1")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"PAR1\x00\x00", ""),
        ("a,b\n0,1\n".encode("utf-16"), ".*; if it is utf-16, iconv -f utf-16 -t utf-8 makes UTF-8 of it"),
        ("a,b\n0,1\n".encode("utf-16-le"), "zero bytes; if it is utf-16, iconv -f utf-16 "),
        (gzip.compress(b"0,1\n", mtime=0), ".*; gzip -d unpacks it"),
        (b"\x93NUMPY", ""),
        (b"a,b\n0,\xff\n", ".* 0xff in position 6: invalid start byte; if it is latin1, iconv -f latin1 "),
    ],
)
def test_csv_that_is_no_text(csv_file, data, why):
    assert re.search(rf"expected CSV text in UTF-8, found something else: {why}", refusal(csv_file(data), read))


def test_large_csv_is_read_fast(tmp_path):
    values = (np.random.default_rng(0).random((100_000, 20)) < 0.3).astype(np.float32)
    values[::7, ::3] = NAN
    write_table(tmp_path / "t.csv", values)
    start = time.perf_counter()
    table = read_matrix(tmp_path / "t.csv")
    assert time.perf_counter() - start < 3  # about 0.1 on two cores; a loop over the cells takes longer
    np.testing.assert_array_equal(table.values, values)


# Columns of words, numbers and booleans


@pytest.mark.parametrize(
    ("columns", "names", "text"),
    [
        (WITH_MISSING, ["a", "b", "c"], "a,b,c\n0,1,\n,,\n1,0,0\n0,0,1\n"),
        (np.array([[0.1, -92.31234567890122], [1.0, NAN]]), None, "0.1,-92.31234567890122\n1,\n"),  # all digits
        (np.array([[0.1], [0.2]], dtype=np.float32), None, "0.1\n0.2\n"),  # and no false ones
        (np.array([[0, 1, 1]]), ["a", 'b "x"', "c,d"], 'a,"b ""x""","c,d"\n0,1,1\n'),
        (np.array([[1.0], [NAN]]), ["a"], 'a\n1\n""\n'),  # a blank line would be no row
        ([objects("a", None)], None, 'a\n""\n'),
        (
            [objects("a", None, 'b"', "c,d"), np.array([1.5, NAN, 2, 0.1])],
            ["x", "y"],
            'x,y\na,1.5\n,\n"b""",2\n"c,d",0.1\n',
        ),
        ([objects(True, None), np.array([2**60, 7])], None, "true,1152921504606846976\n,7\n"),
    ],
)
def test_csv_as_it_is_written(columns, names, text):
    stream = io.StringIO()
    write_table(stream, columns, columns=names)
    assert stream.getvalue() == text


@pytest.mark.parametrize(
    ("text", "columns", "values"),
    [
        ("a,b\n0,1\n1,\n", ("a", "b"), [[0, 1], [1, NAN]]),
        ("\ufeffa, b\n0, 1\n", ("a", "b"), [[0, 1]]),
        ("\n\na,b\n0,1\n\n1,0\n\n", ("a", "b"), [[0, 1], [1, 0]]),
        ("a,b\n,1\n,0\n", ("a", "b"), [[NAN, 1], [NAN, 0]]),
        ("a;b,c;d\n0,1\n", ("a;b", "c;d"), [[0, 1]]),
        ('a;"b\nc"\n0;1\n', ("a", "b\nc"), [[0, 1]]),
        ("a;b (x, y);c\n1;0;1\n0;1;1\n", ("a", "b (x, y)", "c"), [[1, 0, 1], [0, 1, 1]]),  # commas in names only
        ("a, b\tc\n\n1\t0\n", ("a, b", "c"), [[1, 0]]),
        ("a;b,c\n1,0\n", ("a;b", "c"), [[1, 0]]),
        ("a;b, c\n1;0\n0;1\n", ("a", "b, c"), [[1, 0], [0, 1]]),
        ("a,b\n0.25,-7\n,1e3\n", ("a", "b"), [[0.25, -7], [NAN, 1000]]),
        ("0.25,-7\n0.5,3\n", None, [[0.25, -7], [0.5, 3]]),
    ],
)
def test_csv_of_numbers_is_read(csv_file, text, columns, values):
    table = read_matrix(csv_file(text), binary=False)
    assert table.columns == columns
    np.testing.assert_array_equal(table.values, np.array(values, np.float32))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_csv_quotes_text_of_any_type(tmp_path, kind):
    words = pa.chunked_array([pa.array(["a, b", None, "c"]).cast(kind)])
    write_table(tmp_path / "t.csv", [np.array([1, 2, 3]), words], columns=["n", "w"])
    assert (tmp_path / "t.csv").read_text() == 'n,w\n1,"a, b"\n2,\n3,c\n'


WORDS = {
    "text": (["a", "b", "NA", " c ", "N/A"], "guess", objects("a", "b", None, "c", None)),
    "whole numbers": (["1", " -2", "3"], "guess", np.array([1, -2, 3])),
    "whole numbers with holes": (["1", "", "3"], "guess", np.array([1, NAN, 3])),
    "signs": (["+1", "-2"], "guess", np.array([1.0, -2.0])),
    "large whole numbers": ([str(2**60), "NaN", str(2**60 + 1)], "guess", objects(2**60, None, 2**60 + 1)),
    "booleans": (["true", "FALSE"], "guess", np.array([True, False])),
    "booleans with holes": (["true", "", "False"], "guess", objects(True, None, False)),
    "booleans and 0 and 1": (["true", "0", "1", "None"], "guess", np.array([1, 0, 1, NAN])),
    "booleans and words": (["true", "false", "unknown"], "guess", objects("true", "false", "unknown")),
    "numbers and words": (["1", "yes", ""], "guess", objects(1.0, "yes", None)),
    "zeros before numbers": (["01", "7"], "guess", objects("01", "7")),
    "hexadecimal": (["0x1A", "7"], "guess", objects("0x1A", "7")),
    "zeros before 0 and 1": (["01", "0"], "guess", np.array([1, 0])),
    "nothing": (["", "NA"], "guess", np.array([NAN, NAN])),
    "digits that floats would round": (
        ["14695981039346656037", "", "7"],
        "guess",
        objects("14695981039346656037", None, "7"),
    ),
    "parts that floats would round": (["1234567890123456789.01", "7"], "guess", objects("1234567890123456789.01", "7")),
    "large floats": (
        ["1e23", "99999999999999991611392", "0.12345678901234567890"],
        "guess",
        np.array([1e23, 1e23, 0.12345678901234568]),
    ),
    "infinity": (["inf", "1"], "guess", np.array([np.inf, 1])),
    "numbers as text": (["1", "", "007"], "text", objects("1", None, "007")),
    "text with its spaces": ([" a", "a ", "", " NA", " ", "1"], "exact", objects(" a", "a ", None, " NA", " ", "1")),
    "zeros before what shall be numbers": (["01", "7"], "numbers", np.array([1, 7])),
    "words among what shall be numbers": (["true", "x"], "numbers", objects(1.0, "x")),
    "ranges with underscores": (["18_25", "26_35", ""], "guess", objects("18_25", "26_35", None)),
    "digits of another script": (["١٢", "٣"], "guess", objects("١٢", "٣")),
    "an underscore among what shall be numbers": (["1_0", "7"], "numbers", objects("1_0", 7.0)),
    "a late word": (["1"] * 200 + ["x"], "guess", objects(*[1.0] * 200, "x")),
}


@pytest.mark.parametrize("case", WORDS)
def test_csv_words_become_values(csv_file, case):
    words, reading, values = WORDS[case]
    raw = read(csv_file("w,other\n" + "".join(f'"{word}",x\n' for word in words)))
    found = raw.column(0, reading=reading)
    if case == "nothing":
        assert found.dtype.kind in "fO"
        found = found.astype(np.float64)
    assert found.dtype.kind == values.dtype.kind
    np.testing.assert_array_equal(found, values)


def test_a_very_long_cell_is_read(csv_file):
    table = read_matrix(csv_file(f"a,b\n2,3\n{'0' * 3_000_000}1,4\n"), binary=False)
    assert table.columns == ("a", "b")


@pytest.mark.parametrize(
    ("first", "named"),
    [
        *(("0,1,2", True), ("1,2,3", True), ("1,2", False), ("3,7.5", False), ("a,7", True)),
        *((",0,1", False), (",0,1,2", True), (",0,2,3", False), (",1,2,3", False)),
    ],
)
def test_header_of_pandas_numbers(csv_file, first, named):
    width = first.count(",")
    raw = read(csv_file(f"{first}\n{'7.5,' * width}x\n"))
    assert raw.columns == (tuple(first.split(",")) if named else None)


@pytest.mark.parametrize(
    "text",
    [
        "yes,no\nno,no\nno,yes\nyes,no\n",
        "yes,7\nno,2.5\nyes,\n",
        " yes,\nyes ,x\n",
        "yes,true\nyes,false\n",
        "b\na\nb\n",
        "yes;2,5\nyes;7\n",
    ],
)
def test_header_repeated_below_is_refused(csv_file, text):
    said = refusal(csv_file(text), lambda path: check_header(read(path)))
    assert re.search(r'expected names in the first row, found "(yes|b)"', said)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nyes,no\n",
        "yes,smokes\nyes,no\n",  # one of several
        "yes,no\nno,yes\n",  # in other columns
        "yes,2019\nyes,x\n",
        "0,1,2\n7,8,x\n",
        "a,b\n,\n",
        "a\nab\n",
        "0,1\n0,1\n",
    ],
)
def test_ordinary_header_is_accepted(csv_file, text):
    check_header(read(csv_file(text)))


def test_only_text_files_check_headers(tmp_path):
    write_table(tmp_path / "t.parquet", [objects("a", "b")], columns=["a"])
    check_header(read(tmp_path / "t.parquet"))


def test_no_two_columns_are_called_alike(csv_file):
    assert read(csv_file(",b\n0,1\n")).labels == ("1", "b")
    assert read(csv_file(",1,b\n0,1,x\n")).labels == ("", "1", "b")
    assert read(csv_file("1,,b\n0,1,x\n")).labels == ("1", "2", "b")
    assert read(csv_file("a,b,,\n0,1,0,1\n")).columns == ("a", "b", "3", "4")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array(["a", None]), objects("a", None)),
        (pa.array(["a", "b"]).dictionary_encode(), objects("a", "b")),
        (pa.array(["a", "b"], pa.large_string()), objects("a", "b")),
        (pa.array([True, None]), objects(True, None)),
        (pa.array([1, 2], pa.uint8()), np.array([1, 2], np.uint8)),
        (pa.array([2**60, None]), objects(2**60, None)),
        (pa.array([1, None]), np.array([1, NAN])),
        (pa.array([0, 1, None], pa.int32()).dictionary_encode(), np.array([0, 1, NAN])),
        (pa.array([0.5, None, NAN], pa.float32()), np.array([0.5, NAN, NAN])),
        (pa.array([0.1, None, 0.3], pa.float32()), np.array([0.1, NAN, 0.3])),  # as the same table in CSV
        (pa.array(np.array([0.1, 0.3], np.float16)), np.array([0.1, 0.3])),
        (pa.array([Decimal("0.5"), None], pa.decimal128(5, 1)), np.array([0.5, NAN])),
        (pa.array([Decimal("0.01"), None, Decimal("0.57")], pa.decimal128(18, 2)), np.array([0.01, NAN, 0.57])),
        (pa.array([Decimal("-4.35"), Decimal("9.95")], pa.decimal256(40, 4)), np.array([-4.35, 9.95])),
        (pa.array([None, None], pa.null()), np.array([NAN, NAN])),
        (pa.array([None, None], pa.string()), objects(None, None)),
        (pa.array(["007", "1"]), objects("007", "1")),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_parquet_columns_of_any_type(tmp_path, column, values):
    cells = read(parquet(tmp_path, a=column)).column(0)
    assert cells.dtype == values.dtype
    np.testing.assert_array_equal(cells, values)


@pytest.mark.parametrize("scale", [2, 4])
def test_decimals_are_the_nearest_floats(tmp_path, scale):
    decimals = [Decimal(cents) / 100 for cents in range(-1000, 5000)]
    raw = read(parquet(tmp_path, a=pa.array(decimals, pa.decimal128(18, scale))))
    np.testing.assert_array_equal(raw.column(0), [float(value) for value in decimals])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0.1, 0.57, None], pa.float32()),
        pa.array([np.float16(0.1), np.float16(0.57), None], pa.float16()),
        pa.array([Decimal("0.1"), Decimal("0.57"), None], pa.decimal128(18, 2)),
    ],
    ids=lambda column: str(column.type),
)
def test_missing_number_matches_decimals(tmp_path, column):
    raw = read(parquet(tmp_path, a=column))
    assert raw.count(0, "0.57")
    assert not raw.count(0, "nan")
    np.testing.assert_array_equal(raw.without(["0.57"]).column(0), [0.1, NAN, NAN])


def test_float16_columns_are_filled():
    column = pa.chunked_array([pa.array([np.float16(0.1), np.float16(0.57), None], pa.float16())])
    raw = Table((column,), ("a",), is_text_file=False, where="t")
    emptied = raw.without(["0.57"]).cells[0]
    assert emptied.equals(pa.chunked_array([pa.array([np.float16(0.1), None, None], pa.float16())]))
    filling = Filling(np.array([False, False, True]), np.array([0.25]))
    filled = filled_column(raw, 0, np.array([0.0, 0.0, np.nan]), filling, Spelling())
    assert filled.equals(pa.chunked_array([pa.array(np.array([0.1, 0.57, 0.25], np.float16))]))


LARGE = {
    "uint64": (pa.array([14695981039346656037, None, 14695981039346656038], pa.uint64()), "14695981039346656037"),
    "decimal": (
        pa.array([Decimal("1234567890123456789.01"), None, Decimal("1234567890123456789.11")], pa.decimal128(25, 2)),
        "1234567890123456789.01",
    ),
    "dictionary": (pa.array([14695981039346656037, 5], pa.uint64()).dictionary_encode(), "14695981039346656037"),
}


@pytest.mark.parametrize("kind", LARGE)
def test_inexact_numbers_are_text_or_refused(tmp_path, kind):
    column, first = LARGE[kind]
    raw = read(parquet(tmp_path, a=pa.nulls(len(column), pa.int8()).fill_null(1), b=column))
    words = [None if value is None else str(value) for value in column.to_pylist()]
    for reading in ("guess", "text"):
        assert raw.column(1, reading=reading).tolist() == words
    told = f'row 1, column "b": expected a number that floats can hold, found {first}, which they would round'
    with pytest.raises(ValueError, match=re.escape(told)):
        raw.column(1, reading="numbers")


def test_long_decimals_are_no_categories(tmp_path):
    words = ["0.12345678901234567890", "0.12345678901234567891"]
    raw = read(parquet(tmp_path, a=pa.array(list(map(Decimal, words)), pa.decimal128(25, 20))))
    for reading in ("guess", "numbers"):
        np.testing.assert_array_equal(raw.column(0, reading=reading), list(map(float, words)))
    assert raw.column(0, reading="text").tolist() == words


def test_large_integers_with_missing_come_back(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(path, [objects(2**63 + 2048, None, 1), objects(-1, 2**64, None)], columns=["a", "b"])
    assert pq.read_table(path).to_pydict() == {"a": [2**63 + 2048, None, 1], "b": [-1.0, 2.0**64, None]}


def test_column_of_times_is_named(tmp_path):
    raw = read(parquet(tmp_path, at=pa.array([0], pa.time32("s"))))
    with pytest.raises(ValueError, match=r'^column "at": expected text, numbers, dates or booleans, found time32'):
        raw.column(0)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", ">u2", "e", ">e", "g", ">U3"])
def test_a_matrix_of_any_machine(tmp_path, suffix, dtype):
    values = np.array([[0, 3], [1, 2]]).astype(dtype)
    (np.save if suffix == ".npy" else np.savez)(tmp_path / f"t{suffix}", values)
    raw = read(tmp_path / f"t{suffix}")
    assert raw.column(0).dtype.isnative
    np.testing.assert_array_equal(np.column_stack([raw.column(0), raw.column(1)]), values)


# Reading Parquet


def parquet(tmp_path, **columns):
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("columns", "names", "said"),
    [
        ([[0.0, 0.5], [0, 1]], ["age", "b"], 'row 2, column "age": expected 0, 1 or missing, found 0.5'),
        ([[0], [1]], ["a", "a"], 'expected every column name once, found more of "a"'),
        ([pa.array([], pa.int8())], ["a"], "expected rows and columns, found shape (0, 1)"),
    ],
)
def test_wrong_parquet_is_described(tmp_path, columns, names, said):
    pq.write_table(pa.table(columns, names=names), tmp_path / "file.parquet")
    assert refusal(tmp_path / "file.parquet").endswith(said)


@pytest.mark.parametrize(
    ("name", "values", "error", "said"),
    [
        ("t.amat", WITH_MISSING, ValueError, r"t\.amat: row 1, column 3: expected 0 or 1, found nan; \.amat holds"),
        *(
            (f"t.{form}", [objects("a", None)], ValueError, "holds numbers only; write .csv or .parquet: .*'a'")
            for form in ("npz", "npy", "amat")
        ),
        ("nowhere/t.csv", COMPLETE, FileNotFoundError, r"the folder .*nowhere does not exist"),
    ],
)
def test_refused_table_leaves_the_old_file(tmp_path, name, values, error, said):
    path = tmp_path / name
    if path.parent == tmp_path:
        write_table(path, COMPLETE)
    with pytest.raises(error, match=said):
        write_table(path, values)
    if path.parent == tmp_path:
        np.testing.assert_array_equal(read_matrix(path).values, COMPLETE)


def test_words_ending_like_numbers_stay_words():
    words = pa.chunked_array([pa.array(["v2.0", "1.0", None])])
    spelling = Spelling()
    spelling.add(words.to_numpy())
    spelling.add_words(words, words.to_numpy(), decimal_commas=False)
    assert spelling.spelt(np.array(["7"], dtype=object)).to_pylist() == ["7"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["67.0", "90.3"], ["69.0", "2.5", "0.125"]),
        (["3.0", "4.0"], ["69.0", "2.5", "0.125"]),
        (["1.250", "0.000"], ["69.000", "2.500", "0.125"]),
        (["1.25", "7"], ["69", "2.5", "0.125"]),
        (["1e3", "2.5"], ["69", "2.5", "0.125"]),
    ],
)
def test_new_numbers_have_the_decimals_of_all_others(words, expected):
    column, spelling = pa.chunked_array([pa.array(words)]), Spelling()
    spelling.add(np.array(words, dtype=np.float64))
    for part in (column[:1], column):
        spelling.add_words(part, np.array(part.to_pylist(), dtype=np.float64), decimal_commas=False)
    assert spelling.spelt(np.array([69, 2.5, 0.125])).to_pylist() == expected


NUMBERS, DAYS = np.array([1.25, 2.5]), np.array(["2024-03-01", "2024-03-02"], dtype="M8[D]")


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["a", "b"], np.array(["a", "b"], dtype=object)),
        (["yes", "no"], np.array([True, False])),
        (["1", "2"], np.array([1, 2])),
        (["1.25", "2.50"], NUMBERS),
        (["2024-03-01", "2024-03-02"], DAYS),
        (["2024-03-01 00:00", "2024-03-02 00:00"], DAYS.astype("M8[s]")),
    ],
    ids=["words", "truths", "whole", "decimals", "days", "times"],
)
def test_where_nothing_is_new_nothing_is_spelt(words, values):
    column, spelling = pa.chunked_array([pa.array(words)]), Spelling()
    spelling.add(values)
    spelling.add_words(column, values, decimal_commas=False)
    assert spelling.spelt(values[:0]) == pa.array([], pa.string())


INDICES = {
    "filtered": pd.Index([2, 5]),
    "words": pd.Index(["P000", "P001"]),
    "named": pd.Index([7, 3], name="id"),
    "as a column": pd.Index([7, 3], name="a"),
    "levels": pd.MultiIndex.from_arrays([[0, 1], ["x", "y"]], names=[None, "z"]),
    "times": pd.to_datetime(["2020-01-02", "2021-03-04"]).tz_localize("Europe/Helsinki"),
}


@pytest.mark.parametrize("names", [("a", "b"), (1, 2)])
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_parquet_index_is_written_back(tmp_path, index, names):
    frame = pd.DataFrame(dict(zip(names, ([0, 1], [0.5, 2.0]), strict=True)), index=index)
    frame.to_parquet(tmp_path / "file.parquet")
    raw = read(tmp_path / "file.parquet")
    assert set(raw.columns) <= {*map(str, names), *(name for name in index.names if name)}
    more = [*raw.cells, np.array([0.25, 4.0])]
    write_table(tmp_path / "new.parquet", more, columns=(*raw.columns, "more"), index=raw.index)
    found = pd.read_parquet(tmp_path / "new.parquet")
    expected = frame.rename(columns=str).assign(more=[0.25, 4.0])
    pd.testing.assert_frame_equal(found, expected, check_index_type="exact")


def test_parquet_index_like_column_is_kept(tmp_path):
    path = tmp_path / "file.parquet"
    pd.DataFrame({"__index_level_0__": [0, 1]}).to_parquet(path)
    assert read(path).columns == ("__index_level_0__",)
    assert read(parquet(tmp_path, __index_level_0__=[0, 1])).columns == ("__index_level_0__",)


# Reading npy and npz


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.array([0, 1]), r"expected a 2-D array \[rows, columns\], found shape \(2,\)"),
        (np.zeros((0, 3)), r"expected rows and columns, found shape \(0, 3\)"),
        (np.zeros((3, 0)), r"expected rows and columns, found shape \(3, 0\)"),
        (np.zeros((2, 2), "datetime64[D]"), "expected text, numbers or booleans, found an array of datetime64"),
        (np.array([["0"]]), "row 1, column \"1\": expected 0, 1 or missing, found '0'"),
        (np.array([[0, 1], [1, 7]]), 'row 2, column "2": expected 0, 1 or missing, found 7'),
        (np.array([[0, 1], [0.5, 7]]), 'row 2, column "1": expected 0, 1 or missing, found 0.5'),
        (np.array([[None]]), "expected a whole np[yz] file: expected numbers, found an array of object"),  # a pickle
    ],
)
def test_wrong_arrays(tmp_path, suffix, values, said):
    path = tmp_path / f"file{suffix}"
    (np.save if suffix == ".npy" else np.savez)(path, values)
    assert re.search(said, refusal(path))


# Wrong files, for every form


@every_form
def test_file_that_is_not_there(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    assert "No such file or directory" in refusal(path, kind=FileNotFoundError)


@every_form
def test_folder_in_place_of_a_file(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    path.mkdir()
    assert "expected a file, found a folder, a pipe or a device" in refusal(path)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_table(path, COMPLETE)


@pytest.mark.parametrize("name", ["file.txt", "file", "file.gz", "file.npy.gz"])
def test_unknown_suffix(tmp_path, name):
    for use in (read_matrix, lambda path: write_table(path, COMPLETE)):
        path = tmp_path / name
        assert re.search(r"expected a file that ends in \.csv, .*\.amat\.gz, found", refusal(path, use))


# Wrong arguments of write_table


@pytest.mark.parametrize(
    ("values", "columns", "said"),
    [
        ([[0, 1]], ["a"], "columns: expected 2 column names, found 1"),
        ([[0, 1]], ["a", "a"], 'columns: expected every column name once, found more of "a"'),
    ],
)
def test_write_refuses(values, columns, said):
    with pytest.raises(ValueError, match=said):
        write_table(io.StringIO(), np.array(values), columns=columns)


# Where columns stand


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            ("a", "b", "c", "d"),
            't.csv: expected the 4 columns of the model; the table lacks column "d": an empty one will do',
        ),
        (
            ("a", "b"),
            't.csv: expected the 2 columns of the model; the table has the unexpected column "c": '
            "take out what the model does not know",
        ),
    ],
)
def test_missing_and_unexpected_columns_are_named(columns, said):
    with pytest.raises(ValueError, match="expected") as error:
        places_of(columns, ("a", "b", "c"), where="t.csv")
    assert str(error.value) == said


def test_long_column_list_is_cut():
    with pytest.raises(ValueError, match='"x7" and 2 more'):
        places_of(("a", "b", "c", *(f"x{j}" for j in range(10))), ("a", "b", "c"), where="t.csv")
