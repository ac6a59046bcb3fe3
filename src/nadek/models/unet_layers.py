"""The layers of the image network. Weights are drawn by the network: torch's own would come from the global generator.

Normalisation is over all that a row holds at a scale, in one go: on a CPU that costs no more than the activation does,
where normalising groups of channels, or every pixel by itself, costs several times as much as the convolutions.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.models.cores import drop, undrawn


def conv(n_in: int, n_out: int) -> nn.Conv2d:
    """A convolution of 3 x 3 pixels, which keeps height and width."""
    return undrawn(nn.Conv2d, n_in, n_out, 3, padding=1)


def halve(n_in: int, n_out: int) -> nn.Conv2d:
    """Every 2 x 2 pixels become one."""
    return undrawn(nn.Conv2d, n_in, n_out, 2, stride=2)


def double(n_in: int, n_out: int) -> nn.ConvTranspose2d:
    """Every pixel becomes 2 x 2."""
    return undrawn(nn.ConvTranspose2d, n_in, n_out, 2, stride=2)


def normalised(stream: Float[Tensor, "B c h w"]) -> Float[Tensor, "B c h w"]:
    """Every row with mean 0 and variance 1 over channels and pixels."""
    lying = stream.permute(0, 2, 3, 1)  # as it lies in memory
    return F.layer_norm(lying, lying.shape[1:]).permute(0, 3, 1, 2)


class Block(nn.Module):
    """A residual block: ``s + outer(phi(inner(phi(norm(s)))))``, two 3 x 3 convolutions."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.inner = conv(channels, channels)
        self.outer = conv(channels, channels)

    def forward(
        self, stream: Float[Tensor, "B c h w"], *, generator: torch.Generator | None = None
    ) -> Float[Tensor, "B c h w"]:
        """The stream with what the block adds."""
        maps = F.silu(self.inner(F.silu(normalised(stream))))
        added: Tensor = self.outer(drop(maps, self.dropout if self.training else 0.0, generator, whole=2))
        return stream + added


class Whole(nn.Module):
    """A dense layer that sees the whole image, as a residual block: ``s + outer(phi(inner(phi(norm(s)))))``."""

    def __init__(self, channels: int, height: int, width: int, units: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.inner = undrawn(nn.Linear, channels * height * width, units)
        self.outer = undrawn(nn.Linear, units, channels * height * width)

    def forward(
        self, stream: Float[Tensor, "B c h w"], *, generator: torch.Generator | None = None
    ) -> Float[Tensor, "B c h w"]:
        """The stream with what the layer adds."""
        pixels = F.silu(normalised(stream)).permute(0, 2, 3, 1)
        units = F.silu(self.inner(pixels.flatten(1)))
        added: Tensor = self.outer(drop(units, self.dropout if self.training else 0.0, generator))
        maps = added.view(pixels.shape).permute(0, 3, 1, 2)
        return stream + maps
