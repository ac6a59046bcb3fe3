"""Files that appear whole or not at all, and what is no plain file."""

import os
import threading

import pytest

from nadek.files import replacing


def test_a_link_stays_one_and_what_it_leads_to_is_replaced(tmp_path):
    target, link = tmp_path / "there" / "table.csv", tmp_path / "link.csv"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert os.listdir(target.parent) == ["table.csv"]


def test_a_link_to_nothing_makes_what_it_leads_to(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "table.csv")
    with replacing(link) as stream:
        stream.write(b"new")
    assert (tmp_path / "table.csv").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as stream:
        stream.write(b"rows")
    reader.join()
    assert read == [b"rows"]
    assert pipe.is_fifo()


def test_a_block_that_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def half() -> None:
        with replacing(path) as stream:
            stream.write(b"ne")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]
