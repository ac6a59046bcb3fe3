"""The table of the data sets: what each is, where it comes from, and the checksum of what it holds."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

_MNIST_HOME = "http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist"
_CALTECH_HOME = "https://people.cs.umass.edu/~marlin/data"
_DEBD_HOME = "https://raw.githubusercontent.com/UCLA-StarAI/Density-Estimation-Datasets/master/datasets"


@dataclass(frozen=True)
class Raw:
    """One published file: its address, and the SHA-256 of its bytes where that is known."""

    url: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Source:
    """What is known about a data set before it is read.

    Attributes:
        name: Short name.
        title: One line for people.
        rows: Rows of train, valid and test.
        dim: Number of variables.
        sha256: `packed.content_sha256` of the three parts.
        file: Name of its npz in the data folder; None when it needs no file.
        form: Form of the published files: "text" (white space), "comma", or "matlab" (one file with all parts).
        raw: The published files: train, valid, test; or the one with all of them.
        image_shape: (rows, columns) of the picture that a row is, or None.
    """

    name: str
    title: str
    rows: tuple[int, int, int]
    dim: int
    sha256: str
    file: str | None = None
    form: Literal["text", "comma", "matlab"] = "comma"
    raw: tuple[Raw, ...] = ()
    image_shape: tuple[int, int] | None = None


def _mnist(part: str, sha256: str) -> Raw:
    return Raw(f"{_MNIST_HOME}/binarized_mnist_{part}.amat", sha256)


def _debd(name: str, what: str, rows: tuple[int, int, int], dim: int, sha256: str) -> Source:
    raw = tuple(Raw(f"{_DEBD_HOME}/{name}/{name}.{part}.data") for part in ("train", "valid", "test"))
    return Source(name, f"{what} (DEBD)", rows, dim, sha256, file=f"debd_{name}.npz", raw=raw)


_SOURCES = (
    Source(
        "digits",
        "8 x 8 handwritten digits of scikit-learn, 1 where a pixel is at least 8 of 16",
        (1_197, 300, 300),
        64,
        "ea77d81042ff24f12b636c4a72f0db87cdf149d16e7600ac460b19c58e9120b8",
        image_shape=(8, 8),
    ),
    Source(
        "mnist",
        "MNIST with the fixed binarization of Salakhutdinov and Murray (2008)",
        (50_000, 10_000, 10_000),
        784,
        "5652cd5673f2d12d78906c880804a13835b3fe73e12310368ae4588b2ada37f6",
        file="mnist_binarized.npz",
        form="text",
        raw=(
            _mnist("train", "ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d"),
            _mnist("valid", "1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2"),
            _mnist("test", "e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c"),
        ),
        image_shape=(28, 28),
    ),
    Source(
        "caltech101",
        "Caltech-101 Silhouettes of 28 x 28, Marlin's split 1 (the object is 0)",
        (4_100, 2_264, 2_307),
        784,
        "c12f6bb5b808f1058112da1ef82166b42b967cfbb002d96ec7cdc06efa449845",
        file="caltech101_silhouettes_28.npz",
        form="matlab",
        raw=(
            Raw(
                f"{_CALTECH_HOME}/caltech101_silhouettes_28_split1.mat",
                "eb6735e8d84b1850fabc5590124aab1755e90c9fd28123585324398405e1e42a",
            ),
        ),
        image_shape=(28, 28),
    ),
    _debd(
        "nltcs",
        "disability survey answers",
        (16_181, 2_157, 3_236),
        16,
        "0b51ea6cc76652f53ea0cfc084d5c1cf916f27c8d51549aef8b29208a2412f34",
    ),
    _debd(
        "kdd",
        "KDD Cup 2000 click streams",
        (180_092, 19_907, 34_955),
        64,
        "ad8125d58845a7c226acfa1bcc840d98f65bb762b682521cc7c3152f94376bde",
    ),
    _debd(
        "plants",
        "plant distribution by state",
        (17_412, 2_321, 3_482),
        69,
        "dc310d7a1551751f061e48edd4acfbbea56b95b7b4cc3026cad34ae5d3e33d42",
    ),
    _debd(
        "accidents",
        "traffic accidents",
        (12_758, 1_700, 2_551),
        111,
        "f755f2ff9887355076bbe507b9b0d352336c4bd4069f4122ba5e909c3c44d495",
    ),
    _debd(
        "tretail",
        "market baskets",
        (22_041, 2_938, 4_408),
        135,
        "954af7f367497a6d02205c671a1a9880c9ef848c910e53d0accb4c88db35ce2f",
    ),
    _debd(
        "dna",
        "splice junctions, 60 positions of 3 bits",
        (1_600, 400, 1_186),
        180,
        "e7ecb60037aab1c4a040deff71e7bf9ac105e397d332eefc508e088586707275",
    ),
    _debd(
        "book",
        "book ratings",
        (8_700, 1_159, 1_739),
        500,
        "5fd0e44c375160dc63ebc083350269a9c65dce70a6fbe750da1db69842bdea16",
    ),
    _debd(
        "ad",
        "internet advertisements",
        (2_461, 327, 491),
        1_556,
        "7751540e66f053933053900f2b8090fb626dbf4af8d75ff615c8ac902bca5745",
    ),
)

_BY_NAME = {source.name: source for source in _SOURCES}


def names() -> tuple[str, ...]:
    """The names that `load`, `check` and `fetch` know.

    >>> names()[:4]
    ('digits', 'mnist', 'caltech101', 'nltcs')
    """
    return tuple(_BY_NAME)


def find(name: str) -> Source:
    """The source called `name`.

    Raises:
        ValueError: There is none; says which there are.
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    close = get_close_matches(name.lower(), _BY_NAME, n=1, cutoff=0.75)  # iris is no slip of the pen for digits
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"expected a data set out of {', '.join(_BY_NAME)}; found {name!r}{hint}")
