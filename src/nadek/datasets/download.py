"""Fetch data sets from their public homes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from nadek.datasets.amat import parse_bits, read_plain
from nadek.datasets.folder import Folder, Parts, check, content_differs, write_packed
from nadek.datasets.sources import Source, find

Progress = Callable[[int, int | None], None]
CHUNK = 1 << 16


def fetch(dataset: str | Source, data_dir: Folder, *, progress: Progress | None = None) -> Path:
    """Fetch a data set into a folder.

    A published file that was put into the folder by hand is used instead of a download, and stays.

    Args:
        dataset: one of `names()` but "digits", or a source of your own.
        data_dir: the data folder; created if necessary.
        progress: called for each published file in turn with its bytes so far and in all (None if not known).

    Returns:
        The file that `load` reads.

    Raises:
        ValueError: for an unknown name, a set that needs no file, or another content than the published one.
        ConnectionError: if a download failed; names the URL and where to put the file by hand.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from nadek.datasets.folder import content_sha256
        >>> sha256 = content_sha256((np.eye(2, dtype=np.uint8),) * 3)
        >>> published = {f"https://example.org/{part}.data": None for part in ("train", "valid", "test")}
        >>> own = Source("own", "two rows a part", (2, 2, 2), 2, sha256, "own.npz", published)
        >>> with TemporaryDirectory() as folder:
        ...     for file in own.files(Path(folder)):
        ...         np.savetxt(file, np.eye(2), fmt="%d")
        ...     fetch(own, folder).name  # the files are there, so nothing is downloaded
        'own.npz'
    """
    source, folder = find(dataset), Path(data_dir)
    if source.file is None:
        raise ValueError(f"the data set {source.name!r} needs no file: there is nothing to fetch")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / source.file
    if check(source, folder).state == "ok":
        return target
    own = [file for file in source.files(folder) if file.exists()]
    try:
        for (url, sha256), file in zip(source.published.items(), source.files(folder), strict=True):
            _retrieve(url, sha256, file, progress)
        write_packed(target, _parse(source, folder))
    finally:
        for file in set(source.files(folder)) - set(own):
            file.unlink(missing_ok=True)
    return target


@dataclass
class _ProgressBar:
    """Progress bar of pooch that calls a function."""

    callback: Progress
    total: int = 0
    done: int = 0

    def update(self, n: int) -> None:
        self.done = min(self.done + n, self.total) if self.total else self.done + n
        if n:
            self.callback(self.done, self.total or None)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def _retrieve(url: str, sha256: str | None, file: Path, progress: Progress | None) -> None:
    """Download a published file if it is not there; check it by its SHA-256 if that is known."""
    import pooch  # on use: it takes a tenth of a second

    if file.exists() and sha256 not in (None, pooch.file_hash(file)):
        raise ValueError(f"{file}: expected the SHA-256 {sha256}, found another; it is not the published file")
    pooch.get_logger().setLevel("WARNING")
    bar = False if progress is None else _ProgressBar(progress)
    downloader = pooch.HTTPDownloader(progressbar=bar, chunk_size=CHUNK)
    try:
        pooch.retrieve(url, sha256, fname=file.name, path=file.parent, downloader=downloader)
    except OSError as error:
        by_hand = f"try it again, or download the file by hand and put it at {file}"
        raise ConnectionError(f"could not download {url}: {error}; {by_hand}") from error
    except ValueError as error:
        raise ValueError(f"{url} is not the published file: {error}") from error


def _parse(source: Source, folder: Path) -> Parts:
    files = source.files(folder)
    if files[0].suffix == ".mat":
        parts = read_matlab(files[0])
    else:
        train, valid, test = (parse_bits(read_plain(file).replace(b",", b" "), name=str(file)) for file in files)
        parts = (train, valid, test)
    if differs := content_differs(source, parts):
        raise ValueError(f"{', '.join(map(str, files))}: {differs} of the content; it is not the published set")
    return parts


def read_matlab(path: Path) -> Parts:
    """Read a verified Caltech-101 Silhouettes split, row by row."""
    keys = ("train_data", "val_data", "test_data")
    content = loadmat(path, variable_names=keys, appendmat=False)
    side = math.isqrt(content[keys[0]].shape[1])
    images = [content[key].astype(np.uint8).reshape(-1, side, side) for key in keys]
    train, valid, test = (part.transpose(0, 2, 1).reshape(len(part), -1) for part in images)
    return train, valid, test
