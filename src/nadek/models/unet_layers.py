"""Layers of the image network, with undrawn weights.

`row_norm` normalises all that a row holds at a scale in one go. On a CPU that costs no more than the activation;
normalising groups of channels, or every pixel by itself, costs several times as much as the convolutions.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.models.layers import drop, uninitialised


def conv3x3(n_in: int, n_out: int) -> nn.Conv2d:
    """Return a 3x3 convolution that keeps height and width."""
    return uninitialised(nn.Conv2d, n_in, n_out, 3, padding=1)


def downsample(n_in: int, n_out: int) -> nn.Conv2d:
    """Return a layer that halves height and width."""
    return uninitialised(nn.Conv2d, n_in, n_out, 2, stride=2)


def upsample(n_in: int, n_out: int) -> nn.ConvTranspose2d:
    """Return a layer that doubles height and width."""
    return uninitialised(nn.ConvTranspose2d, n_in, n_out, 2, stride=2)


def row_norm(stream: Float[Tensor, "B c h w"]) -> Float[Tensor, "B c h w"]:
    """Normalise every row over channels and pixels."""
    channels_last = stream.permute(0, 2, 3, 1)  # as it lies in memory
    return F.layer_norm(channels_last, channels_last.shape[1:]).permute(0, 3, 1, 2)


class ConvBlock(nn.Module):
    """Residual block of two convolutions: ``s + outer(phi(inner(phi(norm(s)))))``."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.inner = conv3x3(channels, channels)
        self.outer = conv3x3(channels, channels)

    def forward(
        self, stream: Float[Tensor, "B c h w"], *, generator: torch.Generator | None = None
    ) -> Float[Tensor, "B c h w"]:
        """Return the stream plus the block's output."""
        maps = F.silu(self.inner(F.silu(row_norm(stream))))
        added: Tensor = self.outer(drop(maps, self.dropout if self.training else 0.0, generator, n_tied_axes=2))
        return stream + added


class DenseBlock(nn.Module):
    """Residual block with a dense layer over the whole image; see `ConvBlock`."""

    def __init__(self, channels: int, height: int, width: int, units: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.inner = uninitialised(nn.Linear, channels * height * width, units)
        self.outer = uninitialised(nn.Linear, units, channels * height * width)

    def forward(
        self, stream: Float[Tensor, "B c h w"], *, generator: torch.Generator | None = None
    ) -> Float[Tensor, "B c h w"]:
        """Return the stream plus the block's output."""
        pixels = F.silu(row_norm(stream)).permute(0, 2, 3, 1)
        units = F.silu(self.inner(pixels.flatten(1)))
        added: Tensor = self.outer(drop(units, self.dropout if self.training else 0.0, generator))
        return stream + added.view(pixels.shape).permute(0, 3, 1, 2)
