"""A second kind of conditional network, for rows that are images: an order-agnostic U-Net."""

from nadek.images.config import ImageConfig
from nadek.images.network import ImageNetwork

__all__ = ["ImageConfig", "ImageNetwork"]
