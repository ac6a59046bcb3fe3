"""Files of tables: what the columns of a table are told to be, what is asked, and values in and out of a model."""

import re
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from nadek.checkpoints import SavedModel
from nadek.models import IterativeNADE, ModelConfig
from nadek.models.cores import DeepConfig
from nadek.runs.data import open_training, read_model_rows
from nadek.tabular.columns import Binary, Categorical, Numeric, Ordinal, n_levels
from nadek.tabular.csv import CsvFormat
from nadek.tabular.encode import encode_by_schema
from nadek.tabular.learn_schema import UndecidedColumnsError
from nadek.tabular.schema import Schema
from nadek.tabular.table import Table
from nadek.tabular.text_cells import Spelling
from nadek.tabular.user_options import Choices, WordCount
from nadek.tabular.writeback import Filling, decoded, filled_column
from support.tables import read_file as read
from support.tables import write_table

NAN = np.nan
TEXT = """id,smoker,colour,grade,size,happy,zip
a1,yes,red,1,0.5,True,01234
a2,no,"green, light",2,,False,01234
a3,,blue,3,-1,,10999
a4,no,red,,2.25,True,
"""
KINDS = (
    Binary(levels=("no", "yes")),
    Categorical(levels=("blue", "green, light", "red")),
    Categorical(levels=(1, 2, 3)),
    Numeric(edges=(0.5, 2.25), means=(-1.0, 0.5, 2.25), low=-1.0, high=2.25, integer=False, decimals=2, n_values=3),
    Binary(levels=(False, True)),
    Categorical(levels=("01234", "10999", "20000")),
)
CODES = [
    [1, 2, 0, 1, 1, 0],
    [0, 1, 1, NAN, 0, 0],
    [NAN, 0, 2, 0, NAN, 1],
    [0, 2, NAN, 2, 1, NAN],
]
CHOICES = Choices(categorical=("grade,zip",), drop=("id",))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TEXT + ",,,,,,20000\n")
    return str(path)


def untrained(schema, *levels):
    """A model of variables of so many levels."""
    config = ModelConfig(n_variables=len(levels), core=DeepConfig(hidden=(4,)), levels=levels)
    return SavedModel(IterativeNADE(config, generator=torch.Generator().manual_seed(0)), schema)


@pytest.fixture
def saved():
    """A model of the table, not trained."""
    columns = ("smoker", "colour", "grade", "size", "happy", "zip")
    return untrained(Schema(columns=columns, kinds=KINDS, dropped=("id",)), 2, 3, 3, 3, 2, 3)


def reopened(source, path):
    """The codes of a table for a model of the columns of a source."""
    kinds = source.schema.kinds or (Binary(),) * source.x.shape[1]
    return read_model_rows(untrained(source.schema, *map(n_levels, kinds)), str(path)).x


def opened(path, choices=None, **options):
    source, held_out = open_training(str(path), fraction=0.0, choices=choices, **options)
    assert held_out is None or "validation" in options
    return source


# Training


def test_kinds_are_told_from_a_table(table, saved):
    source = opened(table, CHOICES)
    assert source.schema == saved.schema
    assert [repr(kind) for kind in source.schema.kinds] == list(map(repr, KINDS))
    np.testing.assert_array_equal(source.x.numpy(), np.array([*CODES, [NAN] * 5 + [2]], np.float32))


PAIN = ("none", "mild", "severe")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_ordinal_answers_keep_declared_order(suffix, tmp_path):
    told = [np.array(["severe", "none", None, "mild"], dtype=object), np.array(["mild", "none", "none", "mild"])]
    columns = [*told, np.array(["low", "high", "high", "low"]), np.array([0, 1, 1, 0])]
    path = tmp_path / f"t{suffix}"
    write_table(path, columns, columns=["pain", "a=b", "pulse", "sex"])
    source = opened(path, Choices(ordinal=("pain,a=b=none,mild,severe", "pulse=low,high")))
    assert source.schema.kinds[:3] == (Ordinal(levels=PAIN), Ordinal(levels=PAIN), Binary(levels=("low", "high")))
    np.testing.assert_array_equal(source.x.numpy(), [[2, 1, 0, 0], [0, 0, 1, 1], [NAN, 0, 1, 1], [1, 1, 0, 0]])


def test_none_may_be_ordinal_answer(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("pain,sex\nNone,0\nMild,1\n,0\nSevere,1\n")
    source = opened(path, Choices(ordinal=("pain=None,Mild,Severe",)))
    np.testing.assert_array_equal(source.x.numpy()[:, 0], [0, 1, NAN, 2])
    assert not source.word_counts


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("pain", "as pain=none,mild,severe, each answer once, found 'pain'"),
        ("pain=", "ordinal: expected columns and their answers in order, as pain=none,mild,severe, each"),
        ("pain=none,none", "ordinal: expected columns and their answers in order, as pain=none,mild,severe, each"),
        ("pian=none,mild", 'ordinal: there is no column "pian"; did you mean "pain"?'),
        ("pain=none,mild", "t.csv: row 1, column \"pain\": expected 'none', 'mild' or missing, found 'severe'"),
    ],
)
def test_orders_that_are_none(entry, told, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("pain,sex\nsevere,0\nnone,1\nmild,0\n")
    with pytest.raises(ValueError, match=re.escape(told)):
        opened(path, Choices(ordinal=(entry,)))
    with pytest.raises(ValueError, match='column "pain" is said to be both: categorical and ordinal'):
        opened(path, Choices(ordinal=("pain=none,mild,severe",), categorical=("pain",)))
    with pytest.raises(ValueError, match='ordinal: column "pain" is said twice'):
        opened(path, Choices(ordinal=("pain=none,mild,severe", "pain=none,mild,severe")))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_words_that_stand_for_nothing(suffix, tmp_path):
    size, zipped = [1.5, 99.0, 2.0, -99.0], ["01", "?", "02", "? "]
    frame = pd.DataFrame({"yes": [0, 1, 99, 1], "size": size, "zip": zipped, "happy": [True, False, True, True]})
    frame["town"] = pd.Categorical(["Bern", "?", "Ulm", "Genf"])
    frame["when"] = [[1], [2], [3], [4]]  # which no column can hold
    path = tmp_path / f"t{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    source = opened(
        path, Choices(missing=("?, 99", "99.0"), categorical=("zip,town",), numeric=("size",), drop=("when",))
    )
    assert source.schema.missing == ("?", "99", "99.0")
    assert [kind.kind for kind in source.schema.kinds] == ["binary", "numeric", "categorical", "binary", "categorical"]
    assert source.x.isnan().int().tolist() == [[0, 0, 0, 0, 0], [0, 1, 1, 0, 1], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]
    torch.testing.assert_close(reopened(source, path), source.x, equal_nan=True)


@pytest.mark.parametrize(
    "text", ["a,b\n5.0,01\n99.0,099\n 99,99\n7.5,n99\n", "a;b\n5,0;01\n99,0;099\n 99;99\n7,5;n99\n"]
)
def test_missing_numbers_match_any_spelling(text, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    source = opened(path, Choices(missing=("99",), numeric=("a",), categorical=("b",)))
    assert source.x.isnan().int().tolist() == [[0, 0], [1, 0], [1, 1], [0, 0]]
    assert source.schema.kinds[1].levels == ("01", "099", "n99")
    opened(path, Choices(missing=("7.50",), numeric=("a",), categorical=("b",)))


def test_true_is_no_missing_number(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1.0,true\n2,false\n3,true\n")
    source = opened(tmp_path / "t.csv", Choices(missing=("1",), numeric=("a",)))
    assert source.x.isnan().int().tolist() == [[1, 0], [0, 0], [0, 0]]


LEVELS_LIKE_NOTHING = ["None", "NA", "null", "some"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_levels_like_missing_words_are_kept(suffix, tmp_path):
    frame = pd.DataFrame({"a": LEVELS_LIKE_NOTHING * 2, " b ": [0, 1] * 4, " id": range(8)})
    frame.to_parquet(tmp_path / "t.parquet")
    source = opened(tmp_path / "t.parquet", Choices(drop=(" id",), categorical=("a",)))
    path = tmp_path / f"again{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    torch.testing.assert_close(reopened(source, path), source.x)


NONE = "pain,n,ok,drug\nNone,1.5,true,a\nMild,None,None,b\nNone,2,false,NA\n ,2.5,true,a\n"


def test_answers_taken_as_missing_are_counted(tmp_path):
    (tmp_path / "t.csv").write_text(NONE)
    with pytest.raises(UndecidedColumnsError, match=r"holds 'Mild' or nothing: .*; --keep None makes that an answer"):
        opened(tmp_path / "t.csv")
    source = opened(tmp_path / "t.csv", Choices(categorical=("pain",)))
    assert source.word_counts == (
        WordCount("NA", {"drug": 1}, declared=False),
        WordCount("None", {"pain": 2}, declared=False),
    )
    assert source.schema.kinds[0] == Categorical(levels=("Mild",))


@pytest.mark.parametrize("name", ["Nan", "NAN", "-nan"])
def test_a_name_like_nan_is_an_answer(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,size\n" + f"{name},1.5\nBob,NAN\nNaN,2.5\n" * 4)
    source = opened(path)
    assert source.schema.kinds[0] == Binary(levels=tuple(sorted(("Bob", name))))
    assert source.x[:3].isnan().int().tolist() == [[0, 0], [0, 1], [1, 0]]  # a column of numbers has no names
    torch.testing.assert_close(reopened(source, path), source.x, equal_nan=True)


def test_user_missing_words_are_counted(tmp_path):
    (tmp_path / "t.csv").write_text("age,stage,id\n99,99,99\n35.5,1,2\n99.0,2,3\n")
    source = opened(tmp_path / "t.csv", Choices(missing=("99",), numeric=("age,stage",), drop=("id",)))
    assert source.word_counts == (WordCount("99", {"age": 2, "stage": 1}, declared=True),)


def test_an_offered_word_empties_its_column_only(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "age,my q,cigs\n" + "98,98,98\n" * 2 + "".join(f"{age},{age % 5},{age % 9}\n" for age in range(20, 99))
    )
    numbers = Choices(numeric=("age,my q,cigs",))
    with pytest.warns(UserWarning, match="these may mean missing") as caught:
        opened(path, numbers)
    offered = shlex.split(str(caught[0].message).partition("--missing ")[2])[0]
    assert offered == "my q=98,cigs=98"
    assert opened(path, replace(numbers, missing=(offered,))).x.isnan().sum(0).tolist() == [0, 2, 2]


def test_kept_words_are_answers_in_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(NONE)
    source = opened(path, Choices(keep=("None",)))
    assert source.word_counts == (WordCount("NA", {"drug": 1}, declared=False),)
    assert source.schema.kinds[0] == Binary(levels=("Mild", "None"))
    assert source.x.isnan().int().tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    torch.testing.assert_close(reopened(source, path), source.x, equal_nan=True)
    path.write_text("pain,ok\n" + "None,1\nnull,0\n,1\n" * 8)  # alone
    source = opened(path, Choices(keep=("None,null",)))
    assert source.schema.kinds[0] == Binary(levels=("None", "null"))
    assert source.x[:3, 0].nan_to_num(-1).tolist() == [0, 1, -1]
    path.write_text("a\n1\n2\nNone\n")  # among categories that are numbers
    source = opened(path, Choices(keep=("None",), categorical=("a",)))
    assert source.schema.kinds == (Categorical(levels=("1", "2", "None")),)


def test_a_matrix_of_words_has_words(tmp_path):
    np.save(tmp_path / "t.npy", np.array([["a", "b"], ["b", "b"], ["c", "b"], ["a", "b"]]))
    source = opened(tmp_path / "t.npy")
    assert source.schema == Schema(kinds=(Categorical(levels=("a", "b", "c")), Categorical(levels=("b",))))
    assert source.x.tolist() == [[0, 0], [1, 0], [2, 0], [0, 0]]


def test_pandas_integers_with_gaps_are_integers(tmp_path):
    frame = pd.DataFrame({"stage": [1, 2, 10, 2], "b": [0, 1, 1, 0]})
    frame.to_csv(tmp_path / "whole.csv", index=False)
    frame.to_parquet(tmp_path / "whole.parquet")
    frame.assign(stage=[1, NAN, 10, 2]).to_csv(tmp_path / "holes.csv", index=False)
    assert "10.0" in (tmp_path / "holes.csv").read_text()
    for name in ("whole.csv", "whole.parquet"):
        source, held_out = open_training(
            str(tmp_path / "holes.csv"), validation=str(tmp_path / name), choices=Choices(categorical=("stage",))
        )
        assert repr(source.schema.kinds[0]) == repr(Categorical(levels=(1, 2, 10)))
        assert held_out.x[:, 0].tolist() == [0, 1, 2, 1]


@pytest.mark.parametrize("values", [["1", "2"], [1, 2], [1.0, None], ["1.0", None]])
def test_typed_categories_keep_their_type(values, tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": values, "b": [0, 1]}).to_parquet(path)
    source, held_out = open_training(str(path), validation=str(path), choices=Choices(categorical=("a",)))
    assert source.schema.kinds[0].levels == tuple(value for value in values if value is not None)
    torch.testing.assert_close(held_out.x, source.x, equal_nan=True)


@pytest.mark.parametrize(
    "words",
    [("1", "1.0", "2"), ("1.0", "2.50"), ("1.00", "2.0"), ("-0.0", "1.0"), ("1e0", "2"), ("1", "2", "3B"), ("10", "9")],
)
def test_non_integer_categories_stay_text(words, tmp_path):
    (tmp_path / "t.csv").write_text("a\n" + "\n".join(words) + "\n")
    (kind,) = opened(tmp_path / "t.csv", Choices(categorical=("a",))).schema.kinds
    assert kind.levels == ((9, 10) if "9" in words else tuple(sorted(words)))


HASHES = ["14695981039346656037", "14695981039346656038", "99"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_long_integer_categories_stay_apart(suffix, tmp_path):
    path, small = tmp_path / f"t{suffix}", tmp_path / f"small{suffix}"
    frame = pd.DataFrame({"shop": np.array(HASHES, dtype=np.uint64), "b": [0, 1, 1]})
    for rows, file in ((frame, path), (frame[2:], small)):
        rows.to_csv(file, index=False) if suffix == ".csv" else rows.to_parquet(file)
    choices = Choices(categorical=("shop",))
    source, held_out = open_training(str(path), validation=str(small), choices=choices)
    assert source.schema.kinds[0] == Categorical(levels=tuple(HASHES))
    assert source.x[:, 0].tolist() == [0, 1, 2]
    assert held_out.x[:, 0].tolist() == [2]


def test_decimal_commas_beside_missing_words(tmp_path):
    (tmp_path / "t.csv").write_text("size;many\n47,4;1,2\nk.A.;1\n8,5;1,2\n")
    for told in ((), ("size",)):
        choices = Choices(missing=("k.A.",), categorical=("many",), numeric=told)
        size, many = opened(tmp_path / "t.csv", choices).schema.kinds
        assert size.means == (8.5, 47.4)
        assert many == Categorical(levels=("1", "1,2"))  # answers that hold several
    with pytest.raises(ValueError, match=r"row 2, column \"size\": expected numbers or missing, found 'k\.A\.'"):
        opened(tmp_path / "t.csv", Choices(categorical=("many",), numeric=("size",)))


@pytest.mark.parametrize("word", ["-1.130", "1.130.000"])
def test_points_between_thousands_are_asked_about(word, tmp_path):
    (tmp_path / "t.csv").write_text(f"many;size\n{word};0,5\n1.200;1,5\n923;2,5\nNA;0,5\n")
    for told in ((), ("many",)):
        with pytest.raises(ValueError, match=rf'column "many": {word} seems to have a point for thousands'):
            opened(tmp_path / "t.csv", Choices(numeric=told))
    many, _ = opened(tmp_path / "t.csv", Choices(categorical=("many",))).schema.kinds
    assert word in many.levels
    (tmp_path / "t.csv").write_text("many;size\n1.130;0,5\n1.25;1,5\n923;2,5\n")
    assert opened(tmp_path / "t.csv", Choices()).schema.kinds[0].high == 923


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("pay;v\n1,266;1,4\n2,261;1\n381;2\n", "a comma for thousands: 381 stands in other cells"),
        ("pay;v\n1,266;1.4\n2,261;1.5\n1,999;2\n", "a comma for thousands: another column has decimal points"),
    ],
)
def test_commas_between_thousands_are_asked_about(text, note, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    for numeric in ((), ("pay",)):
        with pytest.raises(ValueError, match=f'column "pay": 1,266 seems to have {note}'):
            opened(tmp_path / "t.csv", Choices(numeric=numeric, whole_numbers="numeric"))
    for decimals in (text.replace("381", "0,381").replace(".", ","), text.replace("1,266", "1,26")):
        (tmp_path / "t.csv").write_text(decimals)
        assert opened(tmp_path / "t.csv", Choices(whole_numbers="numeric")).schema.kinds[0].high < 1000


@pytest.mark.parametrize("cell", ["1,5", "1,2345", "0,125", ",5", "-1234,125"])
def test_commas_are_decimal_where_one_number_says_so(cell, tmp_path):
    (tmp_path / "t.csv").write_text(f"pay;v\n1,266;{cell}\n2,261;2\n381,000;1\n")
    assert opened(tmp_path / "t.csv", Choices(whole_numbers="numeric")).schema.kinds[0].high == 381
    (tmp_path / "t.csv").write_text("pay;v\n1,266;1\n2,261;0\n381,000;1\n")
    with pytest.raises(ValueError, match="1,266 seems to have a comma for thousands: no other number says that"):
        opened(tmp_path / "t.csv", Choices(whole_numbers="numeric"))
    stated = opened(tmp_path / "t.csv", Choices(whole_numbers="numeric"), form=CsvFormat(decimal=","))
    assert stated.schema.kinds[0].low == 1.266


def test_new_rows_with_thousands_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("pay,size\n1266,0.5\n2261,1.5\n381,2.5\n")
    schema = opened(tmp_path / "t.csv", Choices(whole_numbers="numeric")).schema
    for text, mark in (("pay;size\n1,266;1,4\n", "comma"), ("size;pay\n1,4;1.266\n", "point")):
        (tmp_path / "new.csv").write_text(text)
        with pytest.raises(ValueError, match=f"seems to have a {mark} for thousands: the model knows"):
            encode_by_schema(read(tmp_path / "new.csv"), schema, schema.kinds)


def test_multiple_answers_are_no_decimals(tmp_path):
    kinds = (
        Categorical(levels=("1", "1,2", "2")),
        Numeric(edges=(2.5,), means=(1.5, 2.5), low=1.5, high=2.5, integer=False),
    )
    saved = untrained(Schema(columns=("many", "size"), kinds=kinds), 3, 2)
    (tmp_path / "t.csv").write_text("many;size\n1,2;1,5\n2;2,5\n;1,5\n")
    source = read_model_rows(saved, str(tmp_path / "t.csv"))
    np.testing.assert_array_equal(source.x.numpy(), [[1, 0], [2, 1], [NAN, 0]])
    assert source.values[0].tolist() == ["1,2", "2", None]


def test_option_names_split_at_commas(tmp_path):
    (tmp_path / "t.csv").write_text('a,"b,c",d\n1,2,3\n4,5,6\n')
    source = opened(tmp_path / "t.csv", Choices(numeric=("b,c", "a , d")))
    assert source.schema.columns == ("a", "b,c", "d")
    source = opened(tmp_path / "t.csv", Choices(numeric=('a,"b,c"',), drop=("d",)))
    assert source.schema.columns == ("a", "b,c")


def test_nameless_column_gets_no_duplicate_label(tmp_path):
    (tmp_path / "t.csv").write_text(",1,2,sex\n0,1,0,f\n1,0,1,m\n2,0,1,m\n")
    source = opened(tmp_path / "t.csv", Choices(drop=("1",), numeric=("",)))
    assert source.schema.columns == ("", "2", "sex")
    assert source.schema.dropped == ("1",)
    with pytest.raises(UndecidedColumnsError) as error:
        open_training(str(tmp_path / "t.csv"))
    assert list(error.value.remedies) == [""]
    source = opened(tmp_path / "t.csv", Choices(drop=tuple(error.value.remedies)))
    assert source.schema.columns == ("1", "2", "sex")
    assert source.schema.dropped == ("",)


@pytest.mark.parametrize("drop", [(), ("x",), ("2",)])
def test_stand_in_for_a_name_keeps_its_number(drop, tmp_path):
    (tmp_path / "t.csv").write_text("x,2,,sex\n0,1,0,f\n1,0,?,m\n1,0,1,m\n")
    schema = opened(tmp_path / "t.csv", Choices(drop=drop, missing=("3=?",))).schema
    assert schema.missing_in == (("3", "?"),)
    assert schema.labels(4 - len(drop))[-2:] == ("3", "sex")


def test_all_questions_are_asked_at_once(table):
    with pytest.raises(UndecidedColumnsError) as error:
        open_training(table)
    assert error.value.remedies == {"id": ("categorical",), "grade": ("categorical", "numeric")}


SORTS = {
    "few": lambda i: i % 5 + 1,
    "many": lambda i: 7 * i,
    "names": lambda i: f"n{i}",
    "towns": lambda i: f"t{i % 60}",
    "mixed": lambda i: "x" if i % 3 else i % 7,
    "odd": lambda i: i or "x",
    "ticked": lambda i: "X" if i % 3 else "",
}


@pytest.mark.parametrize("sort", SORTS)
def test_offered_types_can_be_had(sort, tmp_path):
    (tmp_path / "t.csv").write_text(f"{sort},bit\n" + "".join(f"{SORTS[sort](i)},{i % 2}\n" for i in range(4100)))
    with pytest.raises(UndecidedColumnsError) as error:
        opened(tmp_path / "t.csv")
    remedies = error.value.remedies[sort]
    for kind in ("categorical", "numeric"):
        if kind in remedies:
            assert opened(tmp_path / "t.csv", Choices(**{kind: (sort,)})).schema.kinds[0].kind == kind
        else:
            with pytest.raises(ValueError, match=r"4096|expected"):
                opened(tmp_path / "t.csv", Choices(**{kind: (sort,)}))
    assert ("too many for categories" in str(error.value)) == (sort in ("many", "names"))
    assert opened(tmp_path / "t.csv", Choices(drop=(sort,))).schema.kinds == (Binary(),)


def test_validation_uses_training_codes(table, tmp_path):
    (tmp_path / "v.csv").write_text("zip,size,happy,colour,smoker,grade\n20000,9.5,0,red,yes,3.0\n")
    source, held_out = open_training(table, validation=str(tmp_path / "v.csv"), choices=CHOICES)
    assert held_out.x.tolist() == [[1, 2, 2, 2, 0, 2]]
    assert len(source.x) == 5


# Use


def test_model_reads_columns_by_name(table, saved, tmp_path):
    source = read_model_rows(saved, table)
    np.testing.assert_array_equal(source.x.numpy()[:4], np.array(CODES, np.float32))
    assert torch.equal(read_model_rows(saved, table).x.nan_to_num(-1), source.x.nan_to_num(-1))
    assert source.values[1].tolist() == ["red", "green, light", "blue", "red", None]
    lines = [line.split(",") for line in TEXT.replace("green, light", "blue").replace('"', "").splitlines()]
    (tmp_path / "u.csv").write_text("\n".join(",".join(reversed(line[1:])) for line in lines) + "\n")
    assert read_model_rows(saved, str(tmp_path / "u.csv")).x[:, 2:5].nan_to_num(-1).tolist() == (
        source.x[:4, 2:5].nan_to_num(-1).tolist()
    )


def test_numeric_looking_levels_stay_text(saved, tmp_path):
    (tmp_path / "t.csv").write_text("smoker,colour,grade,size,happy,zip\nyes,red,1,007,true,10999\n")
    source = read_model_rows(saved, str(tmp_path / "t.csv"))
    assert source.x.tolist() == [[1, 2, 0, 2, 1, 1]]
    assert source.values[5].tolist() == ["10999"]


def test_spaced_levels_are_matched(tmp_path):
    kinds = (Categorical(levels=(" maybe", " yes", "no")), Binary(levels=("n", "y")))
    saved = untrained(Schema(columns=("a", "b"), kinds=kinds), 3, 2)
    (tmp_path / "t.csv").write_text("a,b\n yes, y\nno,n\n,y\n maybe,\n")
    source = read_model_rows(saved, str(tmp_path / "t.csv"))
    np.testing.assert_array_equal(source.x.numpy(), [[1, 1], [2, 0], [NAN, 1], [0, NAN]])
    assert source.values[0].tolist() == [" yes", "no", None, " maybe"]
    (tmp_path / "t.csv").write_text("a,b\nno,y\n no,y\n")
    with pytest.raises(ValueError, match=r"row 2, column \"a\": expected ' maybe', ' yes', .* found ' no'$"):
        read_model_rows(saved, str(tmp_path / "t.csv"))


def test_columns_without_names_are_counted(tmp_path):
    saved = untrained(Schema(dropped=("2",)), 2, 2)
    np.save(tmp_path / "all.npy", np.array([[0, 9, 1]]))
    np.save(tmp_path / "kept.npy", np.array([[0, 1]]))
    np.save(tmp_path / "other.npy", np.array([[0, 1, 1, 0]]))
    for name in ("all", "kept"):
        assert read_model_rows(saved, str(tmp_path / f"{name}.npy")).x.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match=r"other\.npy: expected 2 columns as in the model, found 4$"):
        read_model_rows(saved, str(tmp_path / "other.npy"))


def test_model_without_levels_takes_codes(tmp_path):
    saved = untrained(Schema(), 2, 3)
    assert saved.kinds == (Binary(), Categorical(levels=(0, 1, 2)))
    np.save(tmp_path / "t.npy", np.array([[0, 2.0], [NAN, 1]]))
    np.testing.assert_array_equal(read_model_rows(saved, str(tmp_path / "t.npy")).x.numpy(), [[0, 2], [NAN, 1]])


# Values out


def completed(values, missing, kinds, codes, *, uniforms):
    """The columns of a text file with missing cells filled in, for a file of columns with types."""
    table = Table((pa.chunked_array([[""]]),) * len(values), None, is_text_file=True)
    columns = zip(values, missing.numpy().T, decoded(kinds, codes.numpy(), uniforms=uniforms), strict=True)
    fillings = [(old, Filling(where, new[where])) for old, where, new in columns]
    return [filled_column(table, j, *one, Spelling()) for j, one in enumerate(fillings)]


def test_large_integer_is_filled_exactly():
    """Also where its column, having holes, came as floats, which would round it."""
    kinds = (Categorical(levels=(7, 8, 2**53 + 1)),)
    codes, missing = torch.tensor([[0.0], [2.0]]), torch.tensor([[False], [True]])
    (column,) = completed([np.array([7.0, NAN])], missing, kinds, codes, uniforms=lambda j: np.full(len(codes), 0.5))
    assert column.tolist() == [7, 2**53 + 1]


def test_observed_numbers_stay_exact():
    kinds = (Numeric(edges=(2.0,), means=(1.0, 2.5), low=1.0, high=3.0, integer=True), Binary())
    values = [np.array([7.5, NAN, 2.0]), np.array([True, None, False], dtype=object)]
    codes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    missing = torch.tensor([[False, False], [True, True], [False, False]])
    columns = completed(values, missing, kinds, codes, uniforms=lambda j: np.full(len(codes), 0.5))
    assert columns[0].tolist() == [7.5, 1.0, 2.0]
    assert columns[1].tolist() == [1, 1, 0]
    assert columns[1].dtype == np.int64


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_booleans_fill_empty_column(suffix, tmp_path):
    kinds = (Binary(levels=(False, True)), Binary(levels=(False, True)))
    saved = untrained(Schema(columns=("a", "b"), kinds=kinds), 2, 2)
    path = tmp_path / f"t{suffix}"
    frame = pd.DataFrame({"a": [None, None], "b": [True, None]})
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    source = read_model_rows(saved, str(path))
    codes = torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    columns = completed(source.values, source.x.isnan(), kinds, codes, uniforms=None)
    assert [column.tolist() for column in columns] == [[True, False], [True, False]]
    write_table(path, columns, columns=("a", "b"))
    assert read(path).column(0).dtype == np.bool_
