"""Table of data sets: content, public home, checksums."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

_MNIST_HOME = "http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/binarized_mnist"
_CALTECH_URL = "https://people.cs.umass.edu/~marlin/data/caltech101_silhouettes_28_split1.mat"
_DEBD_HOME = "https://raw.githubusercontent.com/UCLA-StarAI/Density-Estimation-Datasets/master/datasets"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A binary data set in its three published parts, returned by `load`.

    Attributes:
        name: short name, as `load` takes it.
        title: one line for people.
        train: training rows, uint8 0/1 [N, D].
        valid: validation rows, uint8 0/1 [N, D]: choose everything on these.
        test: test rows, uint8 0/1 [N, D]: for reporting only.
        columns: names of the D variables.
        image_shape: (rows, columns) of an image, or None.
    """

    name: str
    title: str
    train: NDArray[np.uint8]
    valid: NDArray[np.uint8]
    test: NDArray[np.uint8]
    columns: tuple[str, ...]
    image_shape: tuple[int, int] | None


@dataclass(frozen=True)
class Source:
    """Description of a data set, before it is read.

    ``file`` is the npz in the data folder, None where none is needed; ``sha256`` that of its content.
    ``published`` are the addresses of the public files, with the SHA-256 of their bytes if known: train, valid, test,
    or one MATLAB file with all of them.
    """

    name: str
    title: str
    rows: tuple[int, int, int]
    dim: int
    sha256: str
    file: str | None = None
    published: Mapping[str, str | None] = field(default_factory=dict)
    image_shape: tuple[int, int] | None = None

    def files(self, folder: Path) -> list[Path]:
        """Return where the published files lie in a folder."""
        return [folder / url.rsplit("/", 1)[-1] for url in self.published]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the variables: "x0", "x1" and so on, or pixels in row-major order."""
        if self.image_shape is None:
            return tuple(f"x{i}" for i in range(self.dim))
        height, width = self.image_shape
        return tuple(f"pixel_r{r}_c{c}" for r in range(height) for c in range(width))


@dataclass(frozen=True)
class Status:
    """State of a data set's file, returned by `check`.

    Attributes:
        source: description of the published set.
        state: "ok" (the published content), "not there", or "differs" (another content).
        path: of the file; None for a set that needs no file, or without a folder.
    """

    source: Source
    state: Literal["ok", "not there", "differs"]
    path: Path | None


_DIGITS = Source(
    "digits",
    "8 x 8 handwritten digits of scikit-learn, 1 where a pixel is at least 8 of 16",
    (1_197, 300, 300),
    64,
    "ea77d81042ff24f12b636c4a72f0db87cdf149d16e7600ac460b19c58e9120b8",
    image_shape=(8, 8),
)
_MNIST = Source(
    "mnist",
    "MNIST with the fixed binarization of Salakhutdinov and Murray (2008)",
    (50_000, 10_000, 10_000),
    784,
    "5652cd5673f2d12d78906c880804a13835b3fe73e12310368ae4588b2ada37f6",
    file="mnist_binarized.npz",
    published={
        f"{_MNIST_HOME}_train.amat": "ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d",
        f"{_MNIST_HOME}_valid.amat": "1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2",
        f"{_MNIST_HOME}_test.amat": "e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c",
    },
    image_shape=(28, 28),
)
_CALTECH = Source(
    "caltech101",
    "Caltech-101 Silhouettes of 28 x 28, Marlin's split 1 (the object is 0)",
    (4_100, 2_264, 2_307),
    784,
    "c12f6bb5b808f1058112da1ef82166b42b967cfbb002d96ec7cdc06efa449845",
    file="caltech101_silhouettes_28.npz",
    published={_CALTECH_URL: "eb6735e8d84b1850fabc5590124aab1755e90c9fd28123585324398405e1e42a"},
    image_shape=(28, 28),
)

# name, rows of train, valid and test, variables, SHA-256 of the content, title
_DEBD = """
nltcs 16181 2157 3236 16 0b51ea6cc76652f53ea0cfc084d5c1cf916f27c8d51549aef8b29208a2412f34 disability survey answers
kdd 180092 19907 34955 64 ad8125d58845a7c226acfa1bcc840d98f65bb762b682521cc7c3152f94376bde KDD Cup 2000 click streams
plants 17412 2321 3482 69 dc310d7a1551751f061e48edd4acfbbea56b95b7b4cc3026cad34ae5d3e33d42 plant distribution by state
accidents 12758 1700 2551 111 f755f2ff9887355076bbe507b9b0d352336c4bd4069f4122ba5e909c3c44d495 traffic accidents
tretail 22041 2938 4408 135 954af7f367497a6d02205c671a1a9880c9ef848c910e53d0accb4c88db35ce2f market baskets
dna 1600 400 1186 180 e7ecb60037aab1c4a040deff71e7bf9ac105e397d332eefc508e088586707275 splice junctions, 60 positions of 3 bits
book 8700 1159 1739 500 5fd0e44c375160dc63ebc083350269a9c65dce70a6fbe750da1db69842bdea16 book ratings
ad 2461 327 491 1556 7751540e66f053933053900f2b8090fb626dbf4af8d75ff615c8ac902bca5745 internet advertisements
"""  # noqa: E501


def _debd(line: str) -> Source:
    name, train, valid, test, dim, sha256, title = line.split(maxsplit=6)
    files = {f"{_DEBD_HOME}/{name}/{name}.{part}.data": None for part in ("train", "valid", "test")}
    rows = (int(train), int(valid), int(test))
    return Source(name, f"{title} (DEBD)", rows, int(dim), sha256, file=f"debd_{name}.npz", published=files)


_SOURCES = {source.name: source for source in (_DIGITS, _MNIST, _CALTECH, *map(_debd, _DEBD.strip().splitlines()))}


def names() -> tuple[str, ...]:
    """Return the names that `load`, `check` and `fetch` take.

    Example:
        >>> names()[:4]
        ('digits', 'mnist', 'caltech101', 'nltcs')
    """
    return tuple(_SOURCES)


def find(dataset: str | Source) -> Source:
    """Return the source of a name; a source is returned as it is."""
    if isinstance(dataset, Source):
        return dataset
    if dataset in _SOURCES:
        return _SOURCES[dataset]
    close = get_close_matches(dataset.lower(), _SOURCES, n=1, cutoff=0.75)  # iris is no typing error for digits
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"expected a data set out of {', '.join(_SOURCES)}; found {dataset!r}{hint}")
