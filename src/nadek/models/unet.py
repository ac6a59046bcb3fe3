"""Image network: an order-agnostic U-Net."""

from functools import partial
from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.kernels.linear import product_dtype
from nadek.models.base import ConditionalModel, Inputs
from nadek.models.binary_variables import BinaryVariables
from nadek.models.layers import drop, uninitialised
from nadek.models.model_config import ImageConfig
from nadek.models.steps import plain_steps
from nadek.models.variables import masked_columns


def conv3x3(n_in: int, n_out: int) -> nn.Conv2d:
    """Return a 3x3 convolution that keeps height and width."""
    return uninitialised(nn.Conv2d, n_in, n_out, 3, padding=1)


def row_norm(stream: Float[Tensor, "B c h w"]) -> Float[Tensor, "B c h w"]:
    """Normalise every row over channels and pixels.

    On a CPU groups of channels, or pixels by themselves, would cost several times as much as the convolutions.
    """
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
        return stream + self.outer(drop(maps, self.dropout if self.training else 0.0, generator, n_tied_axes=2))


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
        added = self.outer(drop(units, self.dropout if self.training else 0.0, generator))
        return stream + added.view(pixels.shape).permute(0, 3, 1, 2)


GAIN = 1.7
"""Factor by which a SiLU shrinks standard normal numbers."""

CHUNK_PIXELS = 50_000
"""Pixels in one pass on a CPU without gradients, so that activations stay in cache."""

RESIDUAL_GAIN = 0.1
"""Factor on initial weights of layers whose output is added to something."""


class ImageNetwork(ConditionalModel):
    """Order-agnostic U-Net (after Ronneberger, Fischer and Brox 2015).

    It reads the mask (Uria, Murray and Larochelle 2014): ``v = where(missing, fill, x)``, then ``steps`` times ``s =
    norm(unet(stem(v, missing) + place [+ the last s]))``, ``logits = head phi(s) + b``, ``v = where(missing,
    sigmoid(logits), x)``. The U-Net takes a stream of feature maps down from scale to scale, through a dense layer at
    the coarsest one, and up again with skip connections.

    Parameters of single pixels: ``b`` [D], which starts where it gives the data mean, and ``place`` [c, h, w], added to
    the stream of every step. Buffer ``fill`` [D]: the data mean.

    Args:
        config: the structure.
        mean: mean of each pixel [D] in the data (NaN where unknown); None stands for one half.
        generator: source of the initial weights.

    Example:
        >>> from nadek import ImageConfig, sample
        >>> model = ImageNetwork(ImageConfig(image_shape=(4, 4), channels=(4, 8), dense=16))
        >>> sample(model, 2).unflatten(1, (4, 4)).shape
        torch.Size([2, 4, 4])
    """

    config: ImageConfig

    def __init__(
        self, config: ImageConfig, mean: Float[Tensor, " D"] | None = None, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.variables = BinaryVariables(config.n_variables)
        widths, pairs = config.channels, list(pairwise(config.channels))
        self.stem = conv3x3(2, widths[0])
        self.place = nn.Parameter(torch.empty(widths[0], *config.padded))
        self.down = nn.ModuleList(self._blocks(width) for width in widths)
        self.shrink = nn.ModuleList(uninitialised(nn.Conv2d, a, b, 2, stride=2) for a, b in pairs)
        height, width = (size >> len(pairs) for size in config.padded)
        self.whole = DenseBlock(widths[-1], height, width, config.dense, config.dropout) if config.dense else None
        self.grow = nn.ModuleList(uninitialised(nn.ConvTranspose2d, b, a, 2, stride=2) for a, b in pairs)
        self.up = nn.ModuleList(self._blocks(width) for width in widths)
        self.head = nn.Parameter(torch.empty(1, widths[0]))
        self.b = nn.Parameter(torch.empty(config.n_variables))
        self.fill = nn.Buffer(torch.empty(config.n_variables))
        self._initialise(mean, generator)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch documents it

    @property
    def units_per_row(self) -> int:
        """See `ConditionalModel`; most is at the finest scale."""
        height, width = self.config.padded
        return 8 * height * width * max(self.config.channels[0], 4)

    def forward(
        self,
        x: Shaped[Tensor, "*batch D"],
        missing: Bool[Tensor, "*batch D"],
        *,
        steps: int | None = None,
        recompute: bool = False,
        detached: int = 0,
        generator: torch.Generator | None = None,
    ) -> list[Float[Tensor, "*batch D"]]:
        """Return the logits of every pixel after each step."""
        rows = [part.reshape(-1, self.n_variables) for part in (x, missing)]
        chunked = self.b.device.type == "cpu" and not torch.is_grad_enabled()
        size = max(1, CHUNK_PIXELS // self.n_variables)
        chunks = zip(*(part.split(size) for part in rows), strict=True) if chunked else [rows]
        run = partial(plain_steps, recompute=recompute, detached=detached)
        n_steps = self.steps_or(steps)
        outputs = [run(self.step, self._inputs(*chunk), self.variables, n_steps, generator) for chunk in chunks]
        return [torch.cat(logits).view(x.shape) for logits in zip(*outputs, strict=True)]

    def step(
        self, inputs: Inputs, p: Tensor, stream: Tensor | None, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return logits and stream after one step."""
        v = torch.addcmul(inputs.observed, inputs.mask, p.to(inputs.mask.dtype))  # v = mask * p + (1 - mask) * x
        read = self.stem(self._planes(v, inputs.mask)) + inputs.offset
        stream = row_norm(self._unet(read if stream is None else read + stream, generator))
        return self._logits(stream), stream

    def _inputs(self, x: Tensor, hidden: Tensor) -> Inputs:
        """Return rows in the dtype of the products."""
        dtype = product_dtype(self.b)
        place = self.place.to(dtype).unsqueeze(0).contiguous(memory_format=torch.channels_last)  # as the stream lies
        return Inputs(masked_columns(x, hidden).to(dtype), hidden.to(dtype), self.fill.to(dtype), place)

    def _planes(self, v: Float[Tensor, "B D"], mask: Float[Tensor, "B D"]) -> Float[Tensor, "B 2 h w"]:
        """Return values and mask as padded images."""
        (height, width), (padded_height, padded_width) = self.config.image_shape, self.config.padded
        planes = torch.stack([v, mask], dim=-1).view(-1, height, width, 2)
        planes = F.pad(planes, (0, 0, 0, padded_width - width, 0, padded_height - height))
        return planes.permute(0, 3, 1, 2)

    def _unet(self, stream: Tensor, generator: torch.Generator | None) -> Float[Tensor, "B c h w"]:
        skips: list[Tensor] = []
        for scale, blocks in enumerate(self.down):
            if scale > 0:
                stream = self.shrink[scale - 1](stream)
            stream = _through(blocks, stream, generator)
            skips.append(stream)
        if self.whole is not None:
            stream = self.whole(stream, generator=generator)
        for scale in reversed(range(len(skips))):
            stream = _through(self.up[scale], stream, generator)
            if scale > 0:
                stream = self.grow[scale - 1](stream) + skips[scale - 1]
        return stream

    def _logits(self, stream: Float[Tensor, "B c h w"]) -> Float[Tensor, "B D"]:
        """Return logits in the parameters' own dtype."""
        height, width = self.config.image_shape
        units = F.silu(stream[:, :, :height, :width]).permute(0, 2, 3, 1).flatten(1, 2)
        with torch.autocast(stream.device.type, enabled=False):
            return F.linear(units.to(self.b.dtype), self.head).squeeze(2) + self.b

    def _blocks(self, width: int) -> nn.ModuleList:
        return nn.ModuleList(ConvBlock(width, self.config.dropout) for _ in range(self.config.blocks))

    @torch.no_grad()
    def _initialise(self, mean: Tensor | None, generator: torch.Generator | None) -> None:
        """Draw weights; the visible bias gives the data mean."""
        if self.b.is_meta:
            return  # nothing to write to, see `nadek.models.registry.build_meta`
        for name, parameter in self.named_parameters():
            if parameter.ndim < 2:
                parameter.zero_()
                continue
            n_read = parameter.shape[0] if name.startswith("grow") else parameter[0].numel()
            gain = RESIDUAL_GAIN if name.startswith(("place", "head")) or "outer" in name else 1.0
            parameter.normal_(0.0, gain * GAIN * n_read**-0.5, generator=generator)
        self.fill.copy_(self._begin_at(mean))


def _through(blocks: nn.Module, stream: Tensor, generator: torch.Generator | None) -> Tensor:
    assert isinstance(blocks, nn.ModuleList)
    for block in blocks:
        stream = block(stream, generator=generator)
    return stream
