"""The network of the paper: one input layer, one core, one output layer, used ``steps`` times."""

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.cores import Core
from nadek.model.config import ModelConfig
from nadek.variables import clamped_mean


class Network(nn.Module):
    """Iterative neural autoregressive distribution estimator (Raiko, Yao, Cho and Bengio 2014, Eq. v0 to v_to_prob).

    ``v = where(missing, fill, x)``, then ``steps`` times
    ``h, state = core(W v + c [+ A missing], state)``, ``logits = V h + b``, ``v = where(missing, sigmoid(logits), x)``.

    Parameters: ``W`` [H, D], ``c`` [H], ``V`` [D, H'] (absent when tied), ``b`` [D], ``A`` [H, D] (only with mask
    input) and those of ``core``; buffer ``fill`` [D]. The visible bias starts at the logit of the data mean, so an
    untrained model already knows how frequent each value is.

    Args:
        config: the structure.
        mean: the data mean [D] (NaN where unknown); None stands for 1/2 everywhere.
        generator: source of the initial weights.
    """

    W: Tensor
    c: Tensor
    V: Tensor | None
    b: Tensor
    A: Tensor | None
    fill: Tensor

    def __init__(
        self,
        config: ModelConfig,
        mean: Float[Tensor, " D"] | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.core = config.core.build()
        n_variables, n_in, n_out = config.n_variables, self.core.n_in, self.core.n_out
        if config.tied and n_in != n_out:
            raise ValueError(f"tied weights need equally wide first and last layers, found {n_in} and {n_out}")
        self.W = nn.Parameter(torch.empty(n_in, n_variables))
        self.c = nn.Parameter(torch.empty(n_in))
        self.register_parameter("V", None if config.tied else nn.Parameter(torch.empty(n_variables, n_out)))
        self.b = nn.Parameter(torch.empty(n_variables))
        self.register_parameter("A", nn.Parameter(torch.empty(n_in, n_variables)) if config.mask_input else None)
        self.register_buffer("fill", torch.zeros(n_variables))
        self._initialise(mean, generator)

    @property
    def n_variables(self) -> int:
        """D."""
        return self.config.n_variables

    @property
    def steps(self) -> int:
        """k, as configured; `forward` can be told another number."""
        return self.config.steps

    @property
    def output_weight(self) -> Float[Tensor, "D H"]:
        """V, or W transposed when tied."""
        return self.W.t() if self.V is None else self.V

    def forward(
        self,
        x: Shaped[Tensor, "*batch D"],
        missing: Bool[Tensor, "*batch D"],
        *,
        steps: int | None = None,
        generator: torch.Generator | None = None,
    ) -> list[Float[Tensor, "*batch D"]]:
        """Logits of every variable after each step (a list of ``steps`` tensors).

        Args:
            x: values 0/1; what stands where ``missing`` is True is never read.
            missing: True where a value is to be predicted.
            steps: how many steps instead of the configured number.
            generator: source of dropout, while training only.
        """
        core: Core = self.core
        m = missing.to(_product_dtype(self.W))
        shown = x.to(m.dtype).masked_fill(missing, 0)  # whatever stood in the missing cells, NaN too, is gone
        mask_input = None if self.A is None else F.linear(m, self.A)
        p, state = self.fill.to(m.dtype).expand_as(shown), None
        outputs: list[Tensor] = []
        for _ in range(self.steps if steps is None else steps):
            u = F.linear(torch.addcmul(shown, m, p), self.W, self.c)  # v = m * p + (1 - m) * x
            h, state = core(u if mask_input is None else u + mask_input, state, generator=generator)
            outputs.append(F.linear(h, self.output_weight, self.b))
            p = torch.sigmoid(outputs[-1])
        return outputs

    @torch.no_grad()
    def _initialise(self, mean: Tensor | None, generator: torch.Generator | None) -> None:
        """Normal weights, zero biases, visible bias at the logit of the clamped mean."""
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                std = self.config.init_std or parameter.shape[1] ** -0.5
                parameter.normal_(0.0, std, generator=generator)
            elif not name.endswith("norm.weight"):  # the gains of normalisation start at one
                parameter.zero_()
        mean = torch.full_like(self.b, 0.5) if mean is None else mean.to(self.b).nan_to_num(nan=0.5)
        self.b.copy_(torch.logit(clamped_mean(mean)))
        if self.config.fill == "mean":
            self.fill.copy_(mean)


def _product_dtype(weight: Tensor) -> torch.dtype:
    """What matrix products will be carried out in: the weights' dtype, unless a context says otherwise."""
    kind = weight.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
