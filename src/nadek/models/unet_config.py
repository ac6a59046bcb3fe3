"""Structure of an `ImageNetwork`, saved in ``config.json``."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from nadek.utils.configs import check_range


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """Structure of an `ImageNetwork`.

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

    def __post_init__(self) -> None:
        if len(self.image_shape) != 2 or min(self.image_shape) < 1:
            raise ValueError(f"image_shape: expected height and width, found {self.image_shape}")
        if not self.channels or min(self.channels) < 1:
            raise ValueError(f"channels: expected one scale or more of at least one channel, found {self.channels}")
        check_range(self, "blocks", "steps", least=1)
        check_range(self, "dense", least=0)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout: expected a rate of at least 0 and below 1, found {self.dropout}")

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
