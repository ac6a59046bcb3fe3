"""Files that appear whole or not at all, and what is no plain file."""

import os
import subprocess
import sys
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


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    dead, alive = done.pid, os.getppid()
    left = [f".table[1].csv.{dead}.tmp", f".table[1].csv.{10**30}.tmp"]
    others = [
        f".table[1].csv.{alive}.tmp",
        f".table[1].csv.gz.{dead}.tmp",
        f".table1.csv.{dead}.tmp",
        f"table[1].csv.{dead}.tmp",
        ".table[1].csv.mine.tmp",
        ".table[1].csv.²³.tmp",
        ".table[1].csv.tmp",
    ]
    for name in left + others:
        (tmp_path / name).write_text("half")
    with replacing(tmp_path / "table[1].csv") as stream:
        stream.write(b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted(["table[1].csv", *others])


def test_whoever_may_read_a_file_may_read_the_next_one(tmp_path):
    path, new = tmp_path / "table.csv", tmp_path / "new.csv"
    path.write_text("old")
    for mode in (0o600, 0o664):
        path.chmod(mode)
        with replacing(path) as stream:
            (temporary,) = (found for found in tmp_path.iterdir() if found.suffix == ".tmp")
            assert temporary.stat().st_mode & 0o777 == mode
            stream.write(b"new")
        assert path.stat().st_mode & 0o777 == mode
    with replacing(new) as stream:
        stream.write(b"new")
    assert new.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
