"""Atomic writing of files, and locks on folders."""

import errno
import os
import threading
import time

import pytest

from nadek.utils.atomic import locked, replacing


def test_link_target_is_replaced(tmp_path):
    target, link = tmp_path / "there" / "table.csv", tmp_path / "link.csv"
    target.parent.mkdir()
    link.symlink_to(target)
    for content in (b"made", b"new"):  # of a link that leads nowhere, and of one that leads to a file
        with replacing(link) as stream:
            stream.write(content)
        assert link.is_symlink()
        assert target.read_bytes() == content
        assert os.listdir(target.parent) == ["table.csv"]


def test_pipe_is_written_directly(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as stream:
        stream.write(b"rows")
    reader.join()
    assert read == [b"rows"]
    assert pipe.is_fifo()


def test_failed_block_keeps_old_file(tmp_path):
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


@pytest.mark.parametrize("first", [0, 1])
def test_last_of_two_writers_stays(first, tmp_path):
    path = tmp_path / "table.csv"
    writers = [replacing(path), replacing(path)]
    streams = [writer.__enter__() for writer in writers]
    texts = [b"a" * 10, b"b" * 5]
    for stream, text in zip(streams, texts, strict=True):
        stream.write(text)
    for each in (first, 1 - first):
        writers[each].__exit__(None, None, None)
        assert path.read_bytes() == texts[each]
    assert os.listdir(tmp_path) == ["table.csv"]


def test_locked_folder_serialises_updates(tmp_path):
    path = tmp_path / "count"
    path.write_text("0")

    def count() -> None:
        for _ in range(20):
            with locked(tmp_path):
                actual = int(path.read_text())
                time.sleep(0.001)
                with replacing(path) as stream:
                    stream.write(str(actual + 1).encode())

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "60"
    assert os.listdir(tmp_path) == ["count"]


def test_missing_file_locks_are_ignored(tmp_path, monkeypatch):
    def unknown(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr("fcntl.flock", unknown)
    with locked(tmp_path):
        pass
    with pytest.raises(FileNotFoundError), locked(tmp_path / "none"):
        pass


def test_longest_file_name_is_written(tmp_path):
    path = tmp_path / ("a" * 251 + ".csv")
    with replacing(path) as stream:
        stream.write(b"new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == [path.name]


def test_permissions_are_kept(tmp_path):
    path, new = tmp_path / "table.csv", tmp_path / "new.csv"
    path.write_text("old")
    for mode in (0o600, 0o664):
        path.chmod(mode)
        with replacing(path) as stream:
            (temporary,) = (actual for actual in tmp_path.iterdir() if actual.suffix == ".tmp")
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
