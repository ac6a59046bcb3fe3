"""Data sets in a data folder, each an npz of packed bits: load, write, or check that they are there."""

import gzip
import hashlib
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadek.datasets.sources import Dataset, Source, Status, find
from nadek.utils.atomic import damage_in, replacing

PARTS = ("train", "valid", "test")
Parts = tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]


def content_sha256(parts: Parts) -> str:
    """Return the SHA-256 of the values, whatever their compression.

    It covers, for each part, the line "N D" and the bits packed row by row.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{part.shape[0]} {part.shape[1]}\n".encode())
        digest.update(np.packbits(part, axis=1).tobytes())
    return digest.hexdigest()


def write_packed(path: Path, parts: Parts) -> None:
    """Write the three parts atomically."""
    packed = {name: np.packbits(part, axis=1) for name, part in zip(PARTS, parts, strict=True)}
    with replacing(path) as stream:
        np.savez_compressed(stream, dim=np.int64(parts[0].shape[1]), **packed)  # type: ignore[arg-type]


def read_packed(path: Path) -> Parts:
    """Read train, valid and test, uint8 0/1 [N, D] each, from a file of `write_packed`."""
    expected = "an npz of packed bits with dim, train, valid, test"
    # not np.load, which would speak of pickles
    with damage_in(path, expected), path.open("rb") as stream, np.lib.npyio.NpzFile(stream) as archive:
        dim = int(archive["dim"])
        train, valid, test = (np.unpackbits(archive[name], axis=1, count=dim) for name in PARTS)
    return train, valid, test


THRESHOLD = 8
SIZES = (1197, 300, 300)


def read_digits() -> Parts:
    """Read the 1,797 digits in a fixed random order: 1 where a gray level is at least 8 of 16."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("digits comes with scikit-learn, which is not installed: pip install scikit-learn")
    # the file itself: importing scikit-learn takes most of a second
    with gzip.open(Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz", "rt", encoding="ascii") as stream:
        gray = np.loadtxt(stream, delimiter=",")[:, :-1]  # the last column is the class
    bits = (gray >= THRESHOLD).astype(np.uint8)
    # only the raw bits of a bit generator are promised never to change
    order = np.argsort(np.random.PCG64(0).random_raw(len(bits)), kind="stable")
    train, valid, test = np.split(bits[order], np.cumsum(SIZES)[:-1])
    return train, valid, test


ENVIRONMENT_VARIABLE = "NADEK_DATA"

Folder = str | os.PathLike[str]


def load(dataset: str | Source, data_dir: Folder | None = None) -> Dataset:
    """Return a data set whose content is checked.

    Args:
        dataset: one of `names()`, or a source of your own.
        data_dir: the data folder; None reads the environment variable NADEK_DATA. "digits" needs none.

    Raises:
        ValueError: for an unknown name, or if the content differs from the published one.
        FileNotFoundError: if the file is not there; says how to get it.

    Example:
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

    Example:
        >>> check("digits").state, check("mnist", "no-such-folder").state
        ('ok', 'not there')
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
    expected, actual = source.sha256, content_sha256(parts)
    return None if actual == expected else f"expected the SHA-256 {expected[:16]}..., found {actual[:16]}..."


def _command(source: Source, folder: str) -> str:
    return f"`nadek data --fetch {source.name} --data-dir {folder}`"
