"""IterativeNADE, the network of the paper."""

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from nadek.kernels.linear import affine, product_dtype
from nadek.models.base import ConditionalModel, Inputs
from nadek.models.confidence import Confidence
from nadek.models.cores import State
from nadek.models.first_guess import FactorGuess
from nadek.models.knot_densities import Shape
from nadek.models.layers import is_modified
from nadek.models.model_config import ModelConfig
from nadek.models.ordinal_kernel import OrdinalKernel
from nadek.models.steps import plain_steps
from nadek.models.variables import masked_columns, variables_of

STEPWISE = ("forward", "step", "first_state", "output_weight", "_inputs")
"""What decoders carry out by parts; another class may have its own."""


class IterativeNADE(ConditionalModel):
    """Iterative neural autoregressive distribution estimator (NADE-k).

    Raiko, Yao, Cho and Bengio (2014), Eq. 5 to 8: ``v = where(missing, fill, x)``, then ``steps`` times
    ``h, state = core(W v + c [+ A missing], state)``, ``logits = V h + b``, ``v = where(missing, sigmoid(logits), x)``
    (the softmax of its levels for a categorical variable, see `nadek.models.variables`).

    D variables take C columns; C = D where all are binary. Parameters: ``W`` [H, C], ``c`` [H], ``V`` [C, H'] (absent
    when tied), ``b`` [C], ``A`` [H, D] (only with mask input) and those of ``core``; buffer ``fill`` [C]. The visible
    bias starts where it gives the data mean, so an untrained model already knows how frequent each value is. With
    ``confidence`` the logits that come out are multiplied by its factor; ``v`` is not made from these.

    Args:
        config: the structure; see the example of `nadek.ModelConfig`.
        mean: mean of each column [C] in the data (NaN where unknown); None stands for equally frequent levels.
        generator: source of the initial weights.

    Raises:
        ValueError: if tied weights meet a core whose first and last layers differ in width.
    """

    config: ModelConfig

    def __init__(
        self, config: ModelConfig, mean: Float[Tensor, " C"] | None = None, *, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.core = config.core.build()
        levels = config.levels or (2,) * config.n_variables
        self.variables = variables_of(levels, config.knots, Shape(config.sharpness, config.focus or 0.0, config.bends))
        self.ordinal_kernel = OrdinalKernel(self.variables, config.ordinal or ())
        n_columns, n_in, n_out = self.variables.n_columns, self.core.n_in, self.core.n_out
        if config.tied and n_in != n_out:
            raise ValueError(f"tied weights need equally wide first and last layers, found {n_in} and {n_out}")
        self.W = nn.Parameter(torch.empty(n_in, n_columns))
        self.c = nn.Parameter(torch.empty(n_in))
        self.V = None if config.tied else nn.Parameter(torch.empty(n_columns, n_out))
        self.b = nn.Parameter(torch.empty(n_columns))
        self.A = nn.Parameter(torch.empty(n_in, config.n_variables)) if config.mask_input else None
        self.confidence = None if config.confidence is None else Confidence(config.confidence)
        rank, ordinal = config.factors or 0, config.ordinal or ()
        trusts = config.category_trust or 0.0, 1.0 if config.number_trust is None else config.number_trust
        self.first_guess = FactorGuess(self.variables, ordinal, rank, *trusts) if rank else None
        self.fill = nn.Buffer(torch.zeros(n_columns))
        self._initialise(mean, generator)

    @property
    def units_per_row(self) -> int:
        """See `ConditionalModel`."""
        guess = 3 * (self.config.factors or 0) ** 2
        return 8 * max(self.core.n_in, self.core.n_out) + 4 * self.variables.n_columns + guess

    @property
    def can_decode_incrementally(self) -> bool:
        """See `ConditionalModel`; each column belongs to one variable, and a step is that of this class."""
        is_own = all(getattr(type(self), name) is getattr(IterativeNADE, name) for name in STEPWISE)
        return is_own and not is_modified(self) and "step" not in vars(self)

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
        detached: int = 0,
        generator: torch.Generator | None = None,
    ) -> list[Float[Tensor, "*batch C"]]:
        """Return the logits of every column after each step.

        A binary variable has one column, the logit of 1, any other one a level. Logits of observed cells mean nothing.
        `nadek.inference.reconstruction_probabilities` turns them into probabilities, with the observed cells as they
        are.

        Args:
            x: codes; what stands where ``missing`` is True is never read, and may be NaN.
            missing: True where a value is to be predicted.
            steps: number of steps instead of the configured one.
            recompute: use activation checkpointing: less memory and more time. Gradients are equal to rounding.
            detached: number of steps at the beginning that no gradient flows through.
            generator: source of dropout, while training only.

        Example:
            >>> from nadek.models import nade_k
            >>> model, x = nade_k(3, hidden=(4,), steps=5), torch.tensor([[1, torch.nan, 0]])
            >>> [len(model(x, x.isnan(), steps=k)) for k in (None, 2)]
            [5, 2]
        """
        inputs, n_steps = self._inputs(x, missing), self.steps_or(steps)
        outputs = plain_steps(
            self.step, inputs, self.variables, n_steps, generator, recompute=recompute, detached=detached
        )
        if self.confidence is None:
            return outputs
        factor = self.confidence.of_rows(missing)
        return [factor * logits for logits in outputs]

    def step(
        self, inputs: Inputs, p: Tensor, state: State, generator: torch.Generator | None = None
    ) -> tuple[Tensor, State]:
        """Return logits and state after one step (Eq. 5 to 7)."""
        v = torch.addcmul(inputs.observed, inputs.mask, p)  # v = mask * p + (1 - mask) * x
        u = affine(v, self.W, self.c)
        h, state = self.core(u if inputs.offset is None else u + inputs.offset, state, generator=generator)  # Eq. 6
        logits = affine(h, self.output_weight, self.b)  # Eq. 7
        return logits if inputs.guess is None else logits + inputs.guess, state

    def first_state(
        self, x: Shaped[Tensor, "*batch D"], missing: Bool[Tensor, "*batch D"]
    ) -> Float[Tensor, "*#batch C"]:
        """See `ConditionalModel`."""
        return self._inputs(x, missing).fill

    def _inputs(self, x: Tensor, missing: Tensor) -> Inputs:
        """Return rows as columns, in the products' dtype."""
        dtype = product_dtype(self.W)
        mask = self.variables.expand(missing.to(dtype))
        observed = self.variables.encode(masked_columns(x, missing)) * (1 - mask)  # codes of 0 have columns
        offset = None if self.A is None else F.linear(missing.to(dtype), self.A)
        fill, guess = self.fill, None
        if self.first_guess is not None:
            with torch.autocast(x.device.type, enabled=False):
                guess = self.first_guess(observed.to(self.b.dtype), missing)
                guessed = self.variables.probabilities(self.b + guess)
            fill = torch.where(self.first_guess.is_guessed, guessed, fill)
        return Inputs(observed.to(dtype), mask, fill.to(dtype), offset, guess)

    @torch.no_grad()
    def _initialise(self, mean: Tensor | None, generator: torch.Generator | None) -> None:
        """Draw weights; the visible bias gives the data mean."""
        if self.b.is_meta:
            return  # nothing to write to, see `nadek.models.registry.build_meta`
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                std = parameter.shape[1] ** -0.5 if self.config.init_std is None else self.config.init_std
                parameter.normal_(0.0, std, generator=generator)
            elif not name.endswith("norm.weight"):  # the gains of normalisation start at one
                parameter.zero_()
        for weight, dim in ((self.W, 1), (self.V, 0)):
            if weight is not None:
                weight.copy_(self.ordinal_kernel.multiply(weight, dim=dim))
        means = self._begin_at(mean)
        if self.config.fill == "mean":
            self.fill.copy_(means)
