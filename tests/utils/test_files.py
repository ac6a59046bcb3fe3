"""Files that appear whole or not at all, and what is no plain file."""

import errno
import os
import threading
import time

import pytest

from nadek.utils.files import alone_in, replacing


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


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path, monkeypatch, killed_while_writing):
    path = tmp_path / "table[1].csv"
    first = killed_while_writing(path)
    start, mark, process, token = first.removesuffix(".tmp").split("-")
    alive = os.getppid()
    left = [first, f"{start}-{mark}-{10**30}-{token}.tmp"]
    others = [
        f"{start}-{mark}-{alive}-{token}.tmp",
        f"{start}-{mark}-²³-{token}.tmp",
        f"{start}-{mark}-{process}-mine.tmp",
        f"{start}-{mark}-{process}.tmp",
        f"{start}-{mark}-{process}-{token}.csv",
        f"{start[1:]}-{mark}-{process}-{token}.tmp",
    ]
    for name in left + others:
        (tmp_path / name).write_text("half")
    others += [killed_while_writing(tmp_path / name) for name in ("table[1].csv.gz", "table1.csv")]
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "another")
        with replacing(path) as stream:
            stream.write(b"whole")
    # whether the processes of another machine live is not known
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, *left, *others])
    with replacing(path) as stream:
        stream.write(b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, *others])


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_that_write_a_file_at_once_the_last_one_stays_whole(first, tmp_path):
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


def test_one_at_a_time_reads_changes_and_writes(tmp_path):
    path = tmp_path / "count"
    path.write_text("0")

    def count() -> None:
        for _ in range(20):
            with alone_in(tmp_path):
                found = int(path.read_text())
                time.sleep(0.001)
                with replacing(path) as stream:
                    stream.write(str(found + 1).encode())

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "60"
    assert os.listdir(tmp_path) == ["count"]


def test_a_lock_that_the_file_system_does_not_have_keeps_nobody_out(tmp_path, monkeypatch):
    def unknown(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr("fcntl.flock", unknown)
    with alone_in(tmp_path):
        pass
    with pytest.raises(FileNotFoundError), alone_in(tmp_path / "none"):
        pass


def test_a_file_may_have_the_longest_name_that_there_is(tmp_path):
    path = tmp_path / ("a" * 251 + ".csv")
    with replacing(path) as stream:
        stream.write(b"new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == [path.name]


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
