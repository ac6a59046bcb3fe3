"""Load data sets from a data folder, or check that they are there."""

import os
from pathlib import Path

from nadek.datasets.packed import Parts, content_sha256, read_digits, read_packed
from nadek.datasets.sources import Dataset, Source, Status, find

ENVIRONMENT_VARIABLE = "NADEK_DATA"

Folder = str | os.PathLike[str]


def load(dataset: str | Source, data_dir: Folder | None = None) -> Dataset:
    """Read a data set and verify its content.

    Args:
        dataset: one of `names()`, or a source of your own.
        data_dir: the data folder; None reads the environment variable NADEK_DATA. "digits" needs none.

    Raises:
        ValueError: for an unknown name, or if the content differs from the published one.
        FileNotFoundError: if the file is not there; says how to get it.

    >>> digits = load("digits")
    >>> digits.train.shape, digits.image_shape
    ((1197, 64), (8, 8))
    """
    source = find(dataset)
    train, valid, test = _read(source, _path(source, data_dir))
    return Dataset(source.name, source.title, train, valid, test, source.columns, source.image_shape)


def check(dataset: str | Source, data_dir: Folder | None = None) -> Status:
    """Return the state of a data set's file; a broken file raises nothing.

    Args:
        dataset: one of `names()`, or a source of your own.
        data_dir: the data folder; None reads the environment variable NADEK_DATA.

    Raises:
        ValueError: for an unknown name.

    >>> check("digits").state
    'ok'
    """
    source = find(dataset)
    path = _path(source, data_dir)
    try:
        _read(source, path)
    except FileNotFoundError:
        return Status(source, "not there", path)
    except (ValueError, OSError):
        return Status(source, "differs", path)
    return Status(source, "ok", path)


def _path(source: Source, data_dir: Folder | None) -> Path | None:
    folder = os.environ.get(ENVIRONMENT_VARIABLE) if data_dir is None else data_dir
    return None if source.file is None or not folder else Path(folder) / source.file


def _read(source: Source, path: Path | None) -> Parts:
    if source.file is None:
        parts = read_digits()
        if differs := content_differs(source, parts):
            raise ValueError(f"{source.name}: {differs}; is this another release of scikit-learn?")
        return parts
    if path is None:
        raise FileNotFoundError(
            f"the data set {source.name!r} lies in a data folder, and none is given: pass one, or name it in the "
            f"environment variable {ENVIRONMENT_VARIABLE}; {_command(source, 'DIR')} fetches the set into DIR"
        )
    fetch_it = _command(source, str(path.parent))
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: the data set {source.name!r} is not there; fetch it with {fetch_it}, "
            f"or name the folder that has it in the environment variable {ENVIRONMENT_VARIABLE}"
        )
    try:
        parts = read_packed(path)
    except ValueError as error:
        raise ValueError(f"{error}; delete it and fetch it again with {fetch_it}") from error
    if differs := content_differs(source, parts):
        raise ValueError(f"{path}: {differs} of the content; delete it and fetch it again with {fetch_it}")
    return parts


def content_differs(source: Source, parts: Parts) -> str | None:
    """Compare the checksums of parts and source; the text of a message, or None."""
    actual = content_sha256(parts)
    return None if actual == source.sha256 else compare(source.sha256, actual)


def compare(expected: str, actual: str) -> str:
    """Return a message's part that compares two checksums."""
    return f"expected the SHA-256 {expected[:16]}..., found {actual[:16]}..."


def _command(source: Source, folder: str) -> str:
    return f"`nadek data --fetch {source.name} --data-dir {folder}`"
