"""Answers that differ in spaces or capital letters only are told once."""

import io
import warnings

import pandas as pd
import pytest

from nadek.tabular.csv import read_csv
from nadek.tabular.frames import read_frame
from nadek.tabular.learn_schema import learn_columns, learn_schema
from nadek.tabular.user_options import Choices

OPTIONS = {"n_bins": 16, "categorical_features": [], "numeric_features": []}


def test_alike_levels_are_told_in_one_warning():
    answers = pd.DataFrame({"smokes": ["Yes", "yes", "yes ", "no"] * 3, "age": [1.5, 2.5, 3.5] * 4})
    answers = answers.assign(drinks=answers["smokes"].str.strip())
    told = "but are learnt as different answers: 'Yes' and 'yes' and 'yes ' in column \"smokes\"; 'Yes' and 'yes' in"
    with pytest.warns(UserWarning, match=told):
        learn_columns(read_frame(answers), OPTIONS, keep_empty=False)


def test_different_levels_are_not_told():
    genes = pd.DataFrame({"a": ["no", "none", "n o", None] * 3, "b": [True, False] * 6, "c": [0, 1] * 6})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn_columns(read_frame(genes), OPTIONS, keep_empty=False)


def test_quotes_behind_spaces_are_told():
    (table,) = read_csv(lambda: io.BytesIO(b'town, "ill"\nBern, "yes"\nUlm, "no"\n'), where="t")
    told = """^t: these are learnt .*: '"ill"' in the header; '"no"', '"yes"' in column ""ill""; if"""
    with pytest.warns(UserWarning, match=told):
        learn_schema(table, Choices())
