"""Files that appear whole or not at all, and folders that one process at a time writes to."""

import hashlib
import os
import platform
import re
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
    """Open a temporary file beside ``path`` that takes its place when the block ends well.

    When the block raises, the temporary file is removed and whatever lay at ``path`` is untouched. A link stays one:
    what it leads to is replaced. Who may read and write a file stays as it was. Pipes and devices are written to as
    they are. Temporary files of the same ``path`` that processes of this machine left behind when they were killed
    are removed. Where several write to a ``path`` at a time, each writes a file of its own, and the last one stays.

    Raises:
        FileNotFoundError: the folder does not exist.
        IsADirectoryError: ``path`` is a folder.
        OSError: no permission, or no space; tells ``path`` as the file that it is about.
    """
    named = Path(path)
    target = named.resolve() if named.is_symlink() else named  # where a link leads to is replaced, not the link
    if target.is_dir():
        raise IsADirectoryError(f"{target}: is a folder, expected a file to write")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: the folder {target.parent} does not exist")
    if named.exists() and not named.is_file():  # a pipe or a device takes what comes
        with named.open("wb") as stream:
            yield stream
        return
    # not `tempfile`: its files are private to the user, and the result should have the usual permissions
    temporary = target.with_name(f"{_prefix(target)}{os.getpid()}-{secrets.token_hex(4)}.tmp")
    _sweep(target)
    with _naming(named, temporary):
        stream = temporary.open("xb")
        try:
            with stream:
                with suppress(OSError):  # nothing is there yet, or these files have no modes
                    shutil.copymode(target, temporary)  # before anything is in it that others should not read
                yield stream
                _settle(stream)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def write_now(stream: BinaryIO, content: bytes, path: Path) -> None:
    """Write to a stream of `replacing` and have it on the disk, so that one of several files is not replaced in vain.

    Args:
        stream: of `replacing`.
        content: all of it.
        path: the file that it is about, for the messages.

    Raises:
        OSError: no space; tells ``path``.
    """
    with _naming(path):
        stream.write(content)
        _settle(stream)


@contextmanager
def alone_in(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Have a block to oneself among all processes that ask for the same folder: to read a file, change and write it.

    The folder itself is locked, so that no file is left behind, and the system takes the lock off a process that ends.
    Where the system or the file system has no such locks, nobody is kept out.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _prefix(target: Path) -> str:
    """What the temporary files of a target begin with; they are short whatever its name is.

    Those of another machine, or another container, begin with something else: its processes are not known here.
    """
    digest = hashlib.sha256(os.fsencode(f"{platform.node()}/{target.name}")).hexdigest()
    return f".nadek-{digest[:16]}-"


def _sweep(target: Path) -> None:
    """Remove the temporary files of a target whose processes live no more."""
    prefix = _prefix(target)
    with suppress(OSError):  # it is a courtesy: what cannot be listed or removed stays
        for left in target.parent.glob(f"{prefix}*.tmp"):
            found = re.fullmatch(rf"{prefix}([0-9]+)-[0-9a-f]{{8}}\.tmp", left.name)
            if found and not _lives(int(found[1])):
                left.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    """Whether there is a process of that number; taken for granted where it cannot be asked without ending it."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # someone else's
        return True
    return True


def _settle(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


@contextmanager
def _naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Have errors tell a file: a write tells no name, and that of the temporary file would puzzle."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and (error.filename is None or str(error.filename) == str(temporary)):
            error.filename = os.fspath(path)
        raise
