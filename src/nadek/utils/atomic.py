"""Atomic writing of files; a lock on folders."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the block ends.

    When the block raises, ``path`` is untouched. A killed process leaves a file ``.nadek-*.tmp``. Permissions are kept,
    links stay links, pipes and devices are written to directly. The ``filename`` of errors is ``path``.
    """
    named = Path(path)
    target = named.resolve() if named.is_symlink() else named
    if target.is_dir():
        raise IsADirectoryError(f"{target}: is a folder, expected a file to write")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: the folder {target.parent} does not exist")
    if named.exists() and not named.is_file():  # a pipe or a device
        with named.open("wb") as stream:
            yield stream
        return
    # not `tempfile`, whose files are private to the user
    temporary = target.with_name(f".nadek-{secrets.token_hex(8)}.tmp")
    with _errors_name(named, temporary):
        stream = temporary.open("xb")
        try:
            with stream:
                with suppress(OSError):  # no file to replace, or a file system without modes
                    shutil.copymode(target, temporary)
                yield stream
                _sync(stream)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def write_and_sync(stream: BinaryIO, content: bytes, path: Path) -> None:
    """Write bytes to a stream of `replacing`, and to the disk."""
    with _errors_name(path):
        stream.write(content)
        _sync(stream)


@contextmanager
def locked(folder: str | os.PathLike[str], *, wait: bool = True) -> Iterator[None]:
    """Lock a folder until the block or the process ends.

    Where another process has it, wait for its end, or raise a BlockingIOError.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(f"{folder}: another process works in this folder; wait for its end") from None
        except OSError:
            pass
        yield
    finally:
        os.close(descriptor)


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


@contextmanager
def _errors_name(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Make errors name ``path``, not the temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and (error.filename is None or str(error.filename) == str(temporary)):
            error.filename = os.fspath(path)
        raise
