"""Structures of networks, saved in ``config.json``."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from nadek.models.codes import MAX_LEVELS
from nadek.models.cores import CoreConfig, DeepConfig
from nadek.utils.configs import check_range, convert_options


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Structure of an `IterativeNADE`.

    Attributes:
        n_variables: D, the number of variables.
        core: the hidden part, see `nadek.models.cores`.
        steps: k, the number of uses of the network.
        fill: value of a missing cell before the first step: the data "mean" (Eq. 5 of Raiko, Yao, Cho and
            Bengio 2014: NADE-k) or "zero" (NADE-mask).
        mask_input: True for a second matrix A that reads the mask (NADE-mask).
        tied: True if the output layer is the transposed input layer (as in an RBM).
        ordering: the one ordering of a fixed-order NADE; None for models of every ordering.
        levels: number of levels of each variable (see `nadek.models.variables`); None: all are binary.
        ordinal: indices of variables whose levels have an order, such as numbers in bins; neighbouring levels learn
            together (see `nadek.models.ordinal_kernel`).
        knots: for each variable of numbers the levels that stand for a single number, and k + 0.5 where no number lies
            between levels k and k + 1; None for others; None without any such variable. Codes may lie between other
            levels (see `nadek.models.variables`).
        sharpness: factor on the logits of each variable in the densities of numbers (`nadek.training.fit_sharpness`);
            None for 1.
        focus: how much larger that factor is where the network is sure; None for 0.
        bends: how much the logarithm of the density of each variable bows up between knots (see
            `nadek.models.knot_densities`); None for 0.
        confidence: number of knots of a learnt factor on the logits, by the part of a row that is given (see
            `nadek.models.confidence`); None for no factor.
        factors: number of factors of a first guess (see `nadek.models.first_guess`), which stands in place of ``fill``
            and begins the logits; None or 0 for no guess.
        category_trust: factor on the logits of such a guess at categories of three levels or more; None for 0.
        number_trust: part of its sharpness at ordered levels that comes from the observed cells; None for 1.
        init_std: standard deviation of the initial weights (the authors used 0.01); None scales by fan-in.

    Example:
        >>> from nadek import IterativeNADE
        >>> config = ModelConfig(n_variables=3, levels=(2, 2, 4), core=DeepConfig(hidden=(8,)), steps=3)
        >>> tuple(IterativeNADE(config).W.shape)  # a binary variable has one column, any other one a level
        (8, 6)
    """

    n_variables: int
    core: CoreConfig = field(default_factory=DeepConfig)
    steps: int = 5
    fill: Literal["mean", "zero"] = "mean"
    mask_input: bool = False
    tied: bool = False
    ordering: tuple[int, ...] | None = None
    levels: tuple[int, ...] | None = None
    ordinal: tuple[int, ...] | None = None
    knots: tuple[tuple[int | float, ...] | None, ...] | None = None
    sharpness: tuple[float, ...] | None = None
    focus: float | None = None
    bends: tuple[float, ...] | None = None
    confidence: int | None = None
    factors: int | None = None
    category_trust: float | None = None
    number_trust: float | None = None
    init_std: float | None = None

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "n_variables", "steps", "confidence", least=1)
        check_range(self, "factors", least=0)
        check_range(self, "category_trust", "number_trust", "init_std", "focus", least=0)
        ordering, ordinal, last = self.ordering, self.ordinal or (), self.n_variables - 1  # a file may have any number
        if ordering is not None and (len(ordering) != last + 1 or sorted(ordering) != list(range(len(ordering)))):
            raise ValueError(f"ordering: expected each of 0..{last} once, found {ordering}")
        if self.levels is not None and len(self.levels) != self.n_variables:
            expected = f"one number for each of {self.n_variables} variables"
            raise ValueError(f"levels: expected {expected}, found {len(self.levels)}")
        for variable, n in enumerate(self.levels or ()):
            if not 1 <= n <= MAX_LEVELS:
                raise ValueError(f"levels: expected 1 to {MAX_LEVELS} levels, found {n} for variable {variable}")
        if self.knots is not None and len(self.knots) != len(self.levels or ()):
            raise ValueError(f"knots: expected one entry for each variable with levels, found {len(self.knots)}")
        factors = self.sharpness or ()
        if self.sharpness is not None and (len(factors) != last + 1 or not all(0 < one < math.inf for one in factors)):
            raise ValueError(f"sharpness: expected a number above 0 for each of {last + 1} variables, found {factors}")
        bends = self.bends or ()
        if self.bends is not None and (len(bends) != last + 1 or not all(0 <= one < math.inf for one in bends)):
            raise ValueError(f"bends: expected a number of at least 0 for each of {last + 1} variables, found {bends}")
        if len(set(ordinal)) < len(ordinal) or not all(0 <= place <= last for place in ordinal):
            raise ValueError(f"ordinal: expected places from 0 to {last}, each at most once, found {ordinal}")


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """Structure of an image network; see the example of `nadek.ImageNetwork`.

    Attributes:
        image_shape: height and width; row by row, the pixels are the D variables.
        channels: width of the stream at each scale, finest first; every scale halves height and width.
        blocks: residual blocks at each scale, on the way down and again on the way up.
        dense: units of the dense layer at the coarsest scale; 0 for none.
        dropout: fraction of feature maps and dense units that is dropped in training.
        steps: k, the number of uses of the network.
        kind: tells this config from others.
    """

    image_shape: tuple[int, int]
    channels: tuple[int, ...] = (32, 64, 96)
    blocks: int = 1
    dense: int = 256
    dropout: float = 0.0
    steps: int = 1
    kind: Literal["images"] = "images"
    ordering: ClassVar[None] = None
    levels: ClassVar[None] = None
    knots: ClassVar[None] = None
    factors: ClassVar[None] = None

    def __post_init__(self) -> None:
        convert_options(self)
        if min(self.image_shape) < 1:
            raise ValueError(f"image_shape: expected height and width, found {self.image_shape}")
        if not self.channels or min(self.channels) < 1:
            raise ValueError(f"channels: expected one scale or more of at least one channel, found {self.channels}")
        check_range(self, "blocks", "steps", least=1)
        check_range(self, "dense", least=0)
        check_range(self, "dropout", least=0, below=1)

    @property
    def n_variables(self) -> int:
        """D: the pixels."""
        return self.image_shape[0] * self.image_shape[1]

    @property
    def padded(self) -> tuple[int, int]:
        """Height and width, padded for halving at every scale."""
        factor = 2 ** (len(self.channels) - 1)
        height, width = (-(-size // factor) * factor for size in self.image_shape)
        return height, width


NetworkConfig: TypeAlias = ModelConfig | ImageConfig
"""Structure of a model that can be trained; ``kind`` tells them apart, which `ModelConfig` does not have."""


@dataclass(frozen=True, kw_only=True)
class MemoryConfig:
    """Structure of a `MemoryModel`.

    Attributes:
        network: structure of the base model.
        n_rows: number of stored rows, all different.
        holes: True if cells of these are missing.
        kind: tells this config from others.
    """

    network: NetworkConfig
    n_rows: int
    holes: bool = False
    kind: Literal["memory"] = "memory"

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "n_rows", least=1)

    @property
    def n_variables(self) -> int:
        """D."""
        return self.network.n_variables

    @property
    def steps(self) -> int:
        """K of the base model."""
        return self.network.steps

    @property
    def ordering(self) -> tuple[int, ...] | None:
        """The one ordering of a fixed-order model."""
        return self.network.ordering

    @property
    def levels(self) -> tuple[int, ...] | None:
        """Levels of each variable; None: all are binary."""
        return self.network.levels

    @property
    def knots(self) -> tuple[tuple[int | float, ...] | None, ...] | None:
        """Knots of continuous variables; None without any."""
        return self.network.knots


AnyConfig: TypeAlias = NetworkConfig | MemoryConfig
"""Structure of any model; each has ``n_variables``, ``steps``, ``ordering`` and ``levels``."""


def check_every_ordering(config: AnyConfig, where: str) -> None:
    """Refuse a model that knows one ordering only."""
    if config.ordering is not None:
        raise ValueError(f"{where}: expected a model of every ordering, found one that knows one ordering only")
