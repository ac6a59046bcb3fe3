"""The image network: an order-agnostic U-Net with the face of every conditional network."""

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.kernels.activation_checkpointing import checkpointed_step
from nadek.models.base import ConditionalModel, product_dtype
from nadek.models.unet_config import ImageConfig
from nadek.models.unet_layers import Block, Whole, conv, double, halve, normalised
from nadek.models.variables import BinaryVariables

GAIN = 1.7
"""The SiLU makes a standard normal number so many times smaller."""

PIECE = 50_000
"""Pixels that go through the network together on a CPU where no gradient is recorded: what they hold stays in cache."""

SMALL = 0.1
"""How much smaller the weights of layers that add to something begin."""


class ImageNetwork(ConditionalModel):
    """Order-agnostic U-Net (after Ronneberger, Fischer and Brox 2015; mask as input: Uria, Murray and Larochelle 2014).

    ``v = where(missing, fill, x)``, then ``steps`` times ``s = norm(unet(stem(v, missing) + place [+ the last s]))``,
    ``logits = head phi(s) + b``, ``v = where(missing, sigmoid(logits), x)``. The U-Net takes a stream of feature maps
    down from scale to scale, through a dense layer at the coarsest one, and up again, adding what it was on the way
    down.

    Parameters that belong to a pixel: ``b`` [D], which starts where it gives the data mean, and ``place`` [c, h, w],
    what the stream holds there before anything is read. Buffer ``fill`` [D]: the data mean.

    Args:
        config: the structure.
        mean: the mean of each pixel [D] in the data (NaN where unknown); None stands for one half.
        generator: source of the initial weights.
    """

    config: ImageConfig
    variables: BinaryVariables

    def __init__(
        self,
        config: ImageConfig,
        mean: Float[Tensor, " D"] | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.variables = BinaryVariables(config.n_variables)
        widths, coarser = config.channels, range(1, len(config.channels))
        self.stem = conv(2, widths[0])
        self.place = nn.Parameter(torch.empty(widths[0], *config.padded))
        self.down = nn.ModuleList(self._blocks(width) for width in widths)
        self.shrink = nn.ModuleList(halve(widths[i - 1], widths[i]) for i in coarser)
        height, width = (size >> len(coarser) for size in config.padded)
        self.whole = Whole(widths[-1], height, width, config.dense, config.dropout) if config.dense else None
        self.grow = nn.ModuleList(double(widths[i], widths[i - 1]) for i in coarser)
        self.up = nn.ModuleList(self._blocks(width) for width in widths)
        self.head = nn.Parameter(torch.empty(1, widths[0]))
        self.b = nn.Parameter(torch.empty(config.n_variables))
        self.register_buffer("fill", torch.empty(config.n_variables))
        self._initialise(mean, generator)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch documents it

    @property
    def units_per_row(self) -> int:
        """See `ConditionalModel`; the finest scale holds most."""
        height, width = self.config.padded
        return 8 * height * width * max(self.config.channels[0], 4)

    def forward(
        self,
        x: Shaped[Tensor, "*batch D"],
        missing: Bool[Tensor, "*batch D"],
        *,
        steps: int | None = None,
        recompute: bool = False,
        generator: torch.Generator | None = None,
    ) -> list[Float[Tensor, "*batch D"]]:
        """Logits of every pixel after each step; the arguments are those of `nadek.IterativeNADE.forward`."""
        rows = missing.reshape(-1, self.n_variables)
        n_steps = self.steps if steps is None else steps
        cut = self.b.device.type == "cpu" and not torch.is_grad_enabled()
        together = max(1, PIECE // self.n_variables if cut else len(rows))
        pieces = zip(x.reshape(rows.shape).split(together), rows.split(together), strict=True)
        anew = recompute and torch.is_grad_enabled()
        outputs = [self._steps(values, hidden, n_steps, anew, generator) for values, hidden in pieces]
        return [torch.cat(logits).view(x.shape) for logits in zip(*outputs, strict=True)]

    def _steps(
        self,
        x: Tensor,
        hidden: Tensor,
        n_steps: int,
        recompute: bool,  # noqa: FBT001
        generator: torch.Generator | None,
    ) -> list[Float[Tensor, "B D"]]:
        """Logits of some rows after each step."""
        dtype = product_dtype(self.b)
        # whatever stood in the missing cells, NaN too, is gone
        shown, m = x.to(dtype).masked_fill(hidden, 0), hidden.to(dtype)
        p = self.fill.to(dtype)
        place = self.place.to(dtype).unsqueeze(0).contiguous(memory_format=torch.channels_last)  # as the stream lies
        stream: Tensor | None = None
        outputs: list[Tensor] = []

        def step(p: Tensor, stream: Tensor | None, generator: torch.Generator | None) -> tuple[Tensor, Tensor | None]:
            read = self.stem(self._planes(torch.addcmul(shown, m, p), m)) + place
            stream = normalised(self._unet(read if stream is None else read + stream, generator))
            return self._logits(stream), stream

        for _ in range(n_steps):
            logits, stream = checkpointed_step(step, p, stream, generator) if recompute else step(p, stream, generator)
            outputs.append(logits)
            p = logits.sigmoid().to(dtype)
        return outputs

    def _planes(self, v: Float[Tensor, "B D"], m: Float[Tensor, "B D"]) -> Float[Tensor, "B 2 h w"]:
        """Values and holes as images, zeros around them where a side cannot be halved."""
        (height, width), (padded_height, padded_width) = self.config.image_shape, self.config.padded
        planes = torch.stack([v, m], dim=-1).view(-1, height, width, 2)
        planes = F.pad(planes, (0, 0, 0, padded_width - width, 0, padded_height - height))
        return planes.permute(0, 3, 1, 2)

    def _unet(self, stream: Tensor, generator: torch.Generator | None) -> Float[Tensor, "B c h w"]:
        """Down, through the dense layer, and up."""
        passed: list[Tensor] = []
        for scale, blocks in enumerate(self.down):
            if scale > 0:
                stream = self.shrink[scale - 1](stream)
            stream = _through(blocks, stream, generator)
            passed.append(stream)
        if self.whole is not None:
            stream = self.whole(stream, generator=generator)
        for scale in reversed(range(len(passed))):
            stream = _through(self.up[scale], stream, generator)
            if scale > 0:
                stream = self.grow[scale - 1](stream) + passed[scale - 1]
        return stream

    def _logits(self, stream: Float[Tensor, "B c h w"]) -> Float[Tensor, "B D"]:
        """Logits in the parameters' own dtype: what is lost in reduced precision must not be lost last."""
        height, width = self.config.image_shape
        units = F.silu(stream[:, :, :height, :width]).permute(0, 2, 3, 1).flatten(1, 2)
        with torch.autocast(stream.device.type, enabled=False):
            return F.linear(units.to(self.b.dtype), self.head).squeeze(2) + self.b

    def _blocks(self, width: int) -> nn.ModuleList:
        return nn.ModuleList(Block(width, self.config.dropout) for _ in range(self.config.blocks))

    @torch.no_grad()
    def _initialise(self, mean: Tensor | None, generator: torch.Generator | None) -> None:
        """Normal weights scaled by what a unit reads, zero biases, visible bias where it gives the clamped mean."""
        if self.b.is_meta:
            return  # nothing to write to, see `nadek.models.registry.outline`
        for name, parameter in self.named_parameters():
            if parameter.ndim < 2:
                parameter.zero_()
                continue
            n_read = parameter.shape[0] if name.startswith("grow") else parameter[0].numel()
            small = SMALL if name.startswith(("place", "head")) or "outer" in name else 1.0
            parameter.normal_(0.0, small * GAIN * n_read**-0.5, generator=generator)
        self.fill.copy_(self._begin_at(mean))


def _through(blocks: nn.Module, stream: Tensor, generator: torch.Generator | None) -> Tensor:
    assert isinstance(blocks, nn.ModuleList)
    for block in blocks:
        stream = block(stream, generator=generator)
    return stream
