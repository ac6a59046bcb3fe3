"""The network of the paper: one input layer, one core, one output layer, used ``steps`` times."""

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.kernels.activation_checkpointing import checkpointed_step
from nadek.kernels.linear import affine
from nadek.models.base import ConditionalModel, product_dtype
from nadek.models.cores import Core, State
from nadek.models.manual_backward import unroll, unrolls
from nadek.models.model_config import ModelConfig
from nadek.models.ordinal_kernel import Neighbours
from nadek.models.variables import variables_of


class IterativeNADE(ConditionalModel):
    """Iterative neural autoregressive distribution estimator (Raiko, Yao, Cho and Bengio 2014, Eq. 5 to 8).

    ``v = where(missing, fill, x)``, then ``steps`` times
    ``h, state = core(W v + c [+ A missing], state)``, ``logits = V h + b``, ``v = where(missing, sigmoid(logits), x)``
    (the softmax of its levels for a categorical variable, see `nadek.models.variables`).

    D variables take C columns; C = D where all are binary. Parameters: ``W`` [H, C], ``c`` [H], ``V`` [C, H'] (absent
    when tied), ``b`` [C], ``A`` [H, D] (only with mask input) and those of ``core``; buffer ``fill`` [C]. The visible
    bias starts where it gives the data mean, so an untrained model already knows how frequent each value is.

    Args:
        config: the structure.
        mean: the mean of each column [C] in the data (NaN where unknown); None stands for equally frequent levels.
        generator: source of the initial weights.
    """

    config: ModelConfig
    W: Tensor
    c: Tensor
    V: Tensor | None
    A: Tensor | None

    def __init__(
        self,
        config: ModelConfig,
        mean: Float[Tensor, " C"] | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.core = config.core.build()
        self.variables = variables_of((2,) * config.n_variables if config.levels is None else config.levels)
        self.neighbours = Neighbours(self.variables, config.ordinal or ())
        n_columns, n_in, n_out = self.variables.n_columns, self.core.n_in, self.core.n_out
        if config.tied and n_in != n_out:
            raise ValueError(f"tied weights need equally wide first and last layers, found {n_in} and {n_out}")
        self.W = nn.Parameter(torch.empty(n_in, n_columns))
        self.c = nn.Parameter(torch.empty(n_in))
        self.register_parameter("V", None if config.tied else nn.Parameter(torch.empty(n_columns, n_out)))
        self.b = nn.Parameter(torch.empty(n_columns))
        mask_input = nn.Parameter(torch.empty(n_in, config.n_variables)) if config.mask_input else None
        self.register_parameter("A", mask_input)
        self.register_buffer("fill", torch.zeros(n_columns))
        self._initialise(mean, generator)

    @property
    def units_per_row(self) -> int:
        """See `ConditionalModel`."""
        return 8 * max(self.core.n_in, self.core.n_out) + 4 * self.variables.n_columns

    @property
    def output_weight(self) -> Float[Tensor, "C H"]:
        """V, or W transposed when tied."""
        return self.W.t() if self.V is None else self.V

    def forward(
        self,
        x: Shaped[Tensor, "*batch D"],
        missing: Bool[Tensor, "*batch D"],
        *,
        steps: int | None = None,
        recompute: bool = False,
        generator: torch.Generator | None = None,
    ) -> list[Float[Tensor, "*batch C"]]:
        """Logits of every column after each step: ``steps`` tensors, of which the last is the answer.

        A binary variable has one column, the logit of 1, any other one a level; `nadek.reconstruction_probabilities`
        gives them as probabilities, with the observed cells as they are. Logits of observed cells mean nothing.

        Args:
            x: codes; what stands where ``missing`` is True is never read, and may be NaN.
            missing: True where a value is to be predicted.
            steps: how many steps instead of the configured number.
            recompute: where gradients are recorded, keep no activations of the steps but compute them again on the way
                back: less memory and more time. Gradients are equal to rounding.
            generator: source of dropout, while training only.

        Example:
            >>> from nadek.models import nade_k
            >>> model, x = nade_k(3, hidden=(4,), steps=5), torch.tensor([[1, torch.nan, 0]])
            >>> [len(model(x, x.isnan(), steps=k)) for k in (None, 2)]
            [5, 2]
        """
        core: Core = self.core
        dtype, hidden = product_dtype(self.W), self.variables.spread(missing)
        columns = self.variables.encode(x)
        # whatever stood in the missing cells, NaN too, is gone; a product is many times quicker, but keeps NaN
        shown = columns.masked_fill(hidden, 0) if columns.is_floating_point() else columns * ~hidden
        shown = shown.to(dtype)
        m = hidden.to(dtype)
        flags = m if hidden is missing else missing.to(dtype)
        mask_input = None if self.A is None else F.linear(flags, self.A)
        n_steps = self.steps if steps is None else steps
        of_weights = torch.is_grad_enabled() and not x.requires_grad  # all that the fast twin knows gradients of
        if of_weights and not recompute and x.ndim == 2 and unrolls(core, self.variables):
            base = self.c.unsqueeze(0) if mask_input is None else mask_input + self.c
            weights = {"W": self.W, "V": self.output_weight, "b": self.b}
            return list(unroll(core, shown, m, self.fill, base, **weights, steps=n_steps, generator=generator))
        p, state = self.fill.to(m.dtype).expand_as(shown), None
        outputs: list[Tensor] = []

        def step(p: Tensor, state: State, generator: torch.Generator | None) -> tuple[Tensor, State]:
            u = affine(torch.addcmul(shown, m, p), self.W, self.c)  # v = m * p + (1 - m) * x
            h, state = core(u if mask_input is None else u + mask_input, state, generator=generator)
            return affine(h, self.output_weight, self.b), state

        anew = recompute and torch.is_grad_enabled()
        for i in range(n_steps):
            if i > 0:
                p = self.variables.probabilities(outputs[-1])
            logits, state = checkpointed_step(step, p, state, generator) if anew else step(p, state, generator)
            outputs.append(logits)
        return outputs

    @torch.no_grad()
    def _initialise(self, mean: Tensor | None, generator: torch.Generator | None) -> None:
        """Normal weights, zero biases, visible bias where it gives the clamped mean."""
        if self.b.is_meta:
            return  # nothing to write to, see `nadek.models.registry.outline`
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                std = parameter.shape[1] ** -0.5 if self.config.init_std is None else self.config.init_std
                parameter.normal_(0.0, std, generator=generator)
            elif not name.endswith("norm.weight"):  # the gains of normalisation start at one
                parameter.zero_()
        self.neighbours.spread(self.W, dim=1)
        if self.V is not None:
            self.neighbours.spread(self.V, dim=0)
        means = self._begin_at(mean)
        if self.config.fill == "mean":
            self.fill.copy_(means)
