"""Content of data sets: an npz of packed bits and its checksum, and the digits of scikit-learn."""

import gzip
import hashlib
import zipfile
import zlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadek.utils.atomic import replacing

PARTS = ("train", "valid", "test")
_EXPECTED = "expected an npz of packed bits with dim, train, valid, test"
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
    if path.is_file() and not zipfile.is_zipfile(path):  # np.load would speak of pickles
        raise ValueError(f"{path}: {_EXPECTED} (not a whole zip archive)")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            dim = int(archive["dim"])
            train, valid, test = (_unpack(archive[name], dim) for name in PARTS)
    except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: {_EXPECTED} ({reason})") from error
    return train, valid, test


def _unpack(packed: NDArray[np.uint8], dim: int) -> NDArray[np.uint8]:
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-dim // 8):
        raise ValueError(f"expected uint8 [N, {-(-dim // 8)}], found {packed.dtype} {packed.shape}")
    return np.unpackbits(packed, axis=1, count=dim)


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
