"""Whole files: atomic writing, a lock on folders, and records as JSON that people can read."""

import errno
import json
import math
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

if sys.platform != "win32":
    import fcntl


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the block ends.

    When the block raises, ``path`` is untouched. A killed process leaves a file ``.nadek-*.tmp``. Permissions are kept,
    links stay links, pipes and devices are written to directly. The ``filename`` of errors is ``path``.
    """
    named = Path(path)
    target = Path(os.path.realpath(named)) if named.is_symlink() else named
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
    try:
        with temporary.open("xb") as stream:
            with suppress(OSError):  # no file to replace, or a file system without modes
                shutil.copymode(target, temporary)
            yield stream
            sync(stream)
        temporary.replace(target)
    except OSError as error:
        if error.errno is not None and (error.filename is None or str(error.filename) == str(temporary)):
            error.filename = os.fspath(named)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def locked(folder: str | os.PathLike[str], *, wait: bool = True) -> Iterator[None]:
    """Lock a folder until block or process ends.

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


def sync(stream: BinaryIO) -> None:
    """Bring to the disk what was written."""
    stream.flush()
    os.fsync(stream.fileno())


@contextmanager
def damage_in(path: str | os.PathLike[str], expected: str) -> Iterator[None]:
    """Turn errors of libraries into one naming the file."""
    try:
        yield
    except (PermissionError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{path}: expected {expected}: {reason[:200]}") from error


LARGEST_RECORD, DEEPEST_RECORD = 2**28, 100
"""Bytes of a record and tables within tables, at most."""
SMALL = 2**26
"""Bytes that any compressed file may unpack to."""
COLUMN = 2**12
"""Bytes that a column counts for, at least."""


def read_whole(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Read a regular file of limited size."""
    check_regular(path, most)
    return Path(path).read_bytes()


def check_regular(path: str | os.PathLike[str], most: int | None = None) -> None:
    """Refuse what is no regular file, is too large, or consists of holes."""
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path}: expected a file, found a folder, a pipe or a device")
    if most is not None and status.st_size > most:
        raise ValueError(f"{path}: expected at most {most:,} bytes, found {status.st_size:,}")
    if status.st_size > SMALL and 100 * stored_size(path) < status.st_size:
        check_unpacked(path, status.st_size)


def stored_size(path: str | os.PathLike[str]) -> int:
    """Return the bytes of a file without its holes, or some of them if these are a hundredth of it."""
    with open(path, "rb") as file:
        end, place, size = os.fstat(file.fileno()).st_size, 0, 0
        if not hasattr(os, "SEEK_DATA"):
            return end
        try:
            while place < end and 100 * size < end:
                start = os.lseek(file.fileno(), place, os.SEEK_DATA)
                place = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                size += place - start
        except OSError as error:
            return size if error.errno == errno.ENXIO else end  # behind the last data; a system that knows no holes
        return size


def most_unpacked(path: str | os.PathLike[str]) -> int:
    """Return how many bytes a compressed file may unpack to: NADEK_UNPACKED, else 64 MiB or 100 times its size."""
    bound = os.environ.get("NADEK_UNPACKED", str(max(SMALL, 100 * stored_size(path))))
    if not bound.isdecimal():
        raise ValueError(f"{path}: NADEK_UNPACKED: expected a number of bytes, found {bound!r}")
    return int(bound)


def check_columns(path: str | os.PathLike[str], n_columns: int) -> None:
    """Refuse a small file of very many columns: each takes time and `COLUMN` bytes, however few its cells are."""
    most = max(SMALL, most_unpacked(path)) // COLUMN
    if n_columns > most:
        message = f"expected at most {most:,} columns in a file of this size, found {n_columns:,}"
        raise ValueError(f"{path}: {message}; if you trust it, set NADEK_UNPACKED to {n_columns * COLUMN}")


def check_unpacked(path: str | os.PathLike[str], n_bytes: int) -> None:
    """Refuse a compressed file that would unpack to more than `most_unpacked`."""
    most = most_unpacked(path)
    if n_bytes > most:
        message = f"expected to unpack to at most {most:,} bytes, found more"
        raise ValueError(f"{path}: {message}; if you trust it, set NADEK_UNPACKED to the number of bytes to allow")


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a JSON object."""
    content = read_whole(path, LARGEST_RECORD)
    with damage_in(path, "valid JSON"):
        record = json.loads(content.decode())
    if not isinstance(record, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(record).__name__}")
    if _is_deeper(record, DEEPEST_RECORD):
        raise ValueError(f"{path}: expected at most {DEEPEST_RECORD} tables or lists within each other, found more")
    return record


def _is_deeper(value: Any, most: int) -> bool:  # noqa: ANN401 - JSON
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(_is_deeper(item, most - 1) for item in items)


def finite(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Replace numbers that JSON lacks by None."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
