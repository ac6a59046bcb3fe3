"""Data sets in a data folder: load one, or ask whether it is there."""

import os
from pathlib import Path

from nadek.datasets.dataset import Dataset, Status, column_names
from nadek.datasets.digits import read_digits
from nadek.datasets.packed import Parts, content_sha256, read_packed
from nadek.datasets.sources import Source, find

ENVIRONMENT_VARIABLE = "NADEK_DATA"

Folder = str | os.PathLike[str]


def load(name: str, data_dir: Folder | None = None) -> Dataset:
    """Read a data set, and verify that it is the published one.

    Args:
        name: One of `names()`.
        data_dir: The data folder; None reads the environment variable NADEK_DATA. "digits" needs none.

    Raises:
        ValueError: There is no set of that name, or its content differs from the published one.
        FileNotFoundError: The set is not there; says where it was looked for and how to get it.

    >>> digits = load("digits")
    >>> digits.train.shape, digits.image_shape
    ((1197, 64), (8, 8))
    """
    return load_source(find(name), data_dir)


def check(name: str, data_dir: Folder | None = None) -> Status:
    """Say whether a data set is there and is the published one; a file that is missing or broken raises nothing.

    Args:
        name: One of `names()`.
        data_dir: The data folder; None reads the environment variable NADEK_DATA.

    Raises:
        ValueError: There is no set of that name.

    >>> check("digits").state
    'ok'
    """
    return check_source(find(name), data_dir)


def load_source(source: Source, data_dir: Folder | None = None) -> Dataset:
    """`load` for a source that need not be in the table."""
    path = _path(source, data_dir)
    train, valid, test = _verified(source, _read(source, path), path)
    columns = column_names(source.dim, source.image_shape)
    return Dataset(source.name, source.title, train, valid, test, columns, source.image_shape)


def check_source(source: Source, data_dir: Folder | None = None) -> Status:
    """`check` for a source that need not be in the table."""
    path = _path(source, data_dir)
    status = Status(source.name, source.title, "ok", source.rows, source.dim, path)
    try:
        _verified(source, _read(source, path), path)
    except FileNotFoundError:
        return Status(status.name, status.title, "not there", status.rows, status.dim, path)
    except (ValueError, OSError):
        return Status(status.name, status.title, "differs", status.rows, status.dim, path)
    return status


def _path(source: Source, data_dir: Folder | None) -> Path | None:
    if data_dir is None:
        data_dir = os.environ.get(ENVIRONMENT_VARIABLE) or None
    return None if source.file is None or data_dir is None else Path(data_dir) / source.file


def _read(source: Source, path: Path | None) -> Parts:
    if source.file is None:
        return read_digits()
    if path is None:
        raise FileNotFoundError(
            f"the data set {source.name!r} lies in a data folder, and none is given: pass one, or name it in the "
            f"environment variable {ENVIRONMENT_VARIABLE}; {_get(source, 'DIR')} fetches the set into DIR"
        )
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: the data set {source.name!r} is not there; fetch it with {_get(source, str(path.parent))}, "
            f"or name the folder that has it in the environment variable {ENVIRONMENT_VARIABLE}"
        )
    try:
        return read_packed(path)
    except ValueError as error:
        raise ValueError(f"{error}; {_again(source, path)}") from error


def _verified(source: Source, parts: Parts, path: Path | None) -> Parts:
    """The same parts, when their content is the published one."""
    found = content_sha256(parts)
    if found == source.sha256:
        return parts
    if source.file is None or path is None:
        raise ValueError(f"{source.name}: {differs(source.sha256, found)}; is this another release of scikit-learn?")
    raise ValueError(f"{path}: {differs(source.sha256, found)} of the content; {_again(source, path)}")


def differs(expected: str, found: str) -> str:
    """The part of a message that compares two checksums."""
    return f"expected the SHA-256 {expected[:16]}..., found {found[:16]}..."


def _get(source: Source, folder: str) -> str:
    return f"`nadek data --fetch {source.name} --data-dir {folder}`"


def _again(source: Source, path: Path) -> str:
    return f"delete it and fetch it again with {_get(source, str(path.parent))}"
