"""A model for all tests of the command line."""

import pytest

from support.command import FIT, answers, ok, write_csv


@pytest.fixture(scope="session")
def survey(tmp_path_factory):
    """A model of a table with five named columns, which lies beside it; nobody changes them."""
    folder = tmp_path_factory.mktemp("survey")
    table = write_csv(folder / "answers.csv", answers(120, missing=0.2))
    ok("fit", table, "-o", folder / "model", *FIT, "--quiet")
    return folder / "model"
