"""Files that appear whole or not at all."""

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that takes its place when the block ends well.

    When the block raises, the temporary file is removed and whatever lay at ``path`` is untouched. A link stays one:
    what it leads to is replaced. Who may read and write a file stays as it was. Pipes and devices are written to as
    they are. Temporary files of the same ``path`` that processes left behind when they were killed are removed.

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
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    _sweep(target)
    try:
        with _naming(named, temporary):
            with temporary.open("wb") as stream:
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


def _sweep(target: Path) -> None:
    """Remove the temporary files of a target whose processes live no more."""
    with suppress(OSError):  # it is a courtesy: what cannot be listed or removed stays
        for left in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
            process = left.name.removesuffix(".tmp").rpartition(".")[2]
            if left.name == f".{target.name}.{process}.tmp" and process.isdecimal() and not _lives(int(process)):
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
