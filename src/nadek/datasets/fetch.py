"""Fetch a data set from its public home into a data folder."""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from nadek.datasets.amat import parse_bits, read_plain
from nadek.datasets.download import Progress, download
from nadek.datasets.folder import Folder, check_source, differs
from nadek.datasets.packed import Parts, content_sha256, write_packed
from nadek.datasets.sources import Raw, Source, find


def fetch(name: str, data_dir: Folder, *, progress: Progress | None = None, base_url: str | None = None) -> Path:
    """Fetch a data set into `data_dir`, unless it is there already.

    An interrupted download is taken up again by the next call. A published file that someone put into `data_dir` by
    hand is used instead of a download, and left there.

    Args:
        name: One of `names()`, but "digits", which needs no file.
        data_dir: The data folder; made when it does not exist.
        progress: Called for each published file in turn with its bytes so far and in all (None when not known).
        base_url: A mirror: each published file is taken from `base_url/NAME` instead of its public home.

    Returns:
        The file that `load` reads.

    Raises:
        ValueError: No set of that name, nothing to fetch for it, or what came is not the published set.
        ConnectionError: A download failed; says which, and where to put the file by hand.
    """
    return fetch_source(find(name), data_dir, progress=progress, base_url=base_url)


def fetch_source(
    source: Source, data_dir: Folder, *, progress: Progress | None = None, base_url: str | None = None
) -> Path:
    """`fetch` for a source that need not be in the table."""
    if source.file is None:
        raise ValueError(f"the data set {source.name!r} needs no file: there is nothing to fetch")
    folder = Path(data_dir)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / source.file
    if check_source(source, folder).state == "ok":
        return target
    files = [_obtain(raw, folder, progress, base_url) for raw in source.raw]
    downloaded = [file for file in files if file.suffix == ".part"]
    try:
        write_packed(target, _verified(source, files))
    except ValueError:
        _remove(downloaded)  # or the next try would go on from them
        raise
    _remove(downloaded)
    return target


def read_matlab(path: Path) -> Parts:
    """Read the three parts of a Caltech-101 Silhouettes split, turning the pixels from column-major to row-major.

    Returns:
        Train, valid and test, uint8 0/1 [N, D] each, D = side * side.

    Raises:
        ValueError: Not a MATLAB file with train_data, val_data and test_data of square binary images.
    """
    keys = ("train_data", "val_data", "test_data")
    try:
        content = loadmat(path, variable_names=keys, appendmat=False)
    except Exception as error:  # scipy's reader lets through whatever a broken file makes it stumble over
        raise ValueError(f"{path}: expected a MATLAB file ({' '.join(str(error).split())})") from error
    if absent := [key for key in keys if key not in content]:
        raise ValueError(f"{path}: expected {', '.join(keys)}, found no {', '.join(absent)}")
    train, valid, test = (_row_major(content[key], f"{path}: {key}") for key in keys)
    return train, valid, test


def _row_major(pixels: NDArray[np.generic], name: str) -> NDArray[np.uint8]:
    side = round(pixels.shape[-1] ** 0.5)
    if pixels.ndim != 2 or side * side != pixels.shape[1]:
        raise ValueError(f"{name}: expected rows of square images, found shape {pixels.shape}")
    if not np.isin(pixels, (0, 1)).all():
        raise ValueError(f"{name}: expected 0 and 1 only")
    images = pixels.astype(np.uint8).reshape(-1, side, side)
    return np.ascontiguousarray(images.transpose(0, 2, 1)).reshape(-1, side * side)


def _obtain(raw: Raw, folder: Path, progress: Progress | None, base_url: str | None) -> Path:
    """The published file: the one put there by hand, or a verified download named NAME.part."""
    by_hand = folder / raw.name
    if by_hand.exists():
        _verify_bytes(raw, by_hand)
        return by_hand
    part = folder / f"{raw.name}.part"
    url = raw.url if base_url is None else f"{base_url.rstrip('/')}/{raw.name}"
    try:
        download(url, part, progress=progress)
    except ConnectionError as error:
        raise ConnectionError(f"{error}; run it again to go on, or put the file by hand at {by_hand}") from error
    try:
        _verify_bytes(raw, part)
    except ValueError:
        part.unlink()
        raise
    return part


def _verify_bytes(raw: Raw, path: Path) -> None:
    if raw.sha256 is None:
        return
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != raw.sha256:
        raise ValueError(f"{path}: {differs(raw.sha256, found)}; it is not the published file")


def _verified(source: Source, files: list[Path]) -> Parts:
    if source.form == "matlab":
        parts = read_matlab(files[0])
    else:
        comma = source.form == "comma"
        train, valid, test = (parse_bits(read_plain(f), name=str(f), comma=comma) for f in files)
        parts = (train, valid, test)
    found = content_sha256(parts)
    if found != source.sha256:
        where = ", ".join(str(file) for file in files)
        raise ValueError(f"{where}: {differs(source.sha256, found)} of the content; it is not the published set")
    return parts


def _remove(files: list[Path]) -> None:
    for file in files:
        file.unlink()
