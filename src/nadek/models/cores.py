"""Cores: the layers between input and output layer.

A core is used once a step. It maps the pre-activation ``u = W v + c`` of the first hidden layer, and its own ``state``
from the step before (None at the first step), to the hidden units that the output layer reads:

    hidden, state = core(u, state)

Where no gradient is recorded a core may overwrite ``u``.

The three pictures of Fig. 1 of Raiko, Yao, Cho and Bengio (2014) are `Deep` (left: one layer; middle: several) and
`Alternating` (right). `Residual` is ours. A small frozen config builds each of them, and is saved with the model.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nadek.kernels.linear import activate, affine
from nadek.models.layers import drop, uninitialised
from nadek.utils.configs import check_range, convert_options

Activation = Literal["tanh", "sigmoid", "relu", "gelu"]

State = tuple[Tensor, ...] | None
"""Tensors that a core hands to its next step; None before the first."""


@runtime_checkable
class Core(Protocol):
    """Interface of all cores."""

    n_in: int
    n_out: int

    def __call__(
        self, u: Tensor, state: State = None, *, generator: torch.Generator | None = None
    ) -> tuple[Tensor, State]:
        """Return the last hidden units and the next state."""


@dataclass(frozen=True, kw_only=True)
class DeepConfig:
    """Structure of a `Deep` core; see the example of `nadek.ModelConfig`.

    Attributes:
        hidden: widths of the layers, from the input on.
        activation: of all hidden units.
        dropout: fraction of hidden units that is dropped in training.
        kind: tells this config from others.
    """

    hidden: tuple[int, ...] = (500, 500)
    activation: Activation = "tanh"
    dropout: float = 0.0
    kind: Literal["deep"] = "deep"

    def __post_init__(self) -> None:
        _check(self)

    def build(self) -> "Deep":
        """Return the core with undrawn parameters."""
        return Deep(self)


@dataclass(frozen=True, kw_only=True)
class AlternatingConfig:
    """Structure of an `Alternating` core; see the example of `nadek.models.dbm_like`.

    Attributes:
        hidden: widths of the layers, from the input on; at least two.
        activation: of all hidden units.
        dropout: fraction of hidden units that is dropped in training.
        tied: use each matrix both ways, as a Boltzmann machine does.
        kind: tells this config from others.
    """

    hidden: tuple[int, ...] = (500, 500)
    activation: Activation = "tanh"
    dropout: float = 0.0
    tied: bool = True
    kind: Literal["alternating"] = "alternating"

    def __post_init__(self) -> None:
        _check(self)
        if len(self.hidden) < 2:
            raise ValueError(f"an alternating core needs at least two hidden layers, found hidden={self.hidden}")

    def build(self) -> "Alternating":
        """Return the core with undrawn parameters."""
        return Alternating(self)


@dataclass(frozen=True, kw_only=True)
class ResidualConfig:
    """Structure of a `Residual` core; see the example of `nadek.residual_nade_k`.

    Attributes:
        width: units of the hidden stream.
        blocks: residual blocks a step.
        carry: hand the stream on from step to step.
        activation: of the units inside the blocks.
        dropout: fraction of these units that is dropped in training.
        kind: tells this config from others.
    """

    width: int = 400
    blocks: int = 2
    carry: bool = True
    activation: Activation = "gelu"
    dropout: float = 0.0
    kind: Literal["residual"] = "residual"

    def __post_init__(self) -> None:
        convert_options(self)
        check_range(self, "width", "blocks", least=1)
        check_range(self, "dropout", least=0, below=1)

    def build(self) -> "Residual":
        """Return the core with undrawn parameters."""
        return Residual(self)


class Deep(nn.Module):
    """Fully connected layers ``h_l = phi(U_l h_(l-1) + d_l)`` (Eq. 6)."""

    def __init__(self, config: DeepConfig) -> None:
        super().__init__()
        self.n_in, self.n_out = config.hidden[0], config.hidden[-1]
        self.activation, self.dropout = config.activation, config.dropout
        self.layers = nn.ModuleList(uninitialised(nn.Linear, a, b) for a, b in pairwise(config.hidden))

    def forward(
        self, u: Float[Tensor, "*batch H"], state: State = None, *, generator: torch.Generator | None = None
    ) -> tuple[Float[Tensor, "*batch H2"], State]:
        """Return the last hidden layer, and ``state`` unread."""
        dropout = self.dropout if self.training else 0.0
        h = drop(activate(self.activation, u), dropout, generator)
        for layer in self.layers:
            h = drop(_through(layer, h, self.activation), dropout, generator)
        return h, state


class Alternating(nn.Module):
    """Mean-field sweep through a deep Boltzmann machine, bottom up.

    Each layer reads the one below, just updated, and the one above, from the step before (absent at the first
    step): ``h_1 = phi(u + R_1 h_2)``, ``h_2 = phi(U_2 h_1 + d_2 + R_2 h_3)`` and so on. Tied weights, as in an
    undirected model, mean ``R_l = U_(l+1)`` transposed. The visible layer reads the first hidden layer only.
    """

    def __init__(self, config: AlternatingConfig) -> None:
        super().__init__()
        self.n_in = self.n_out = config.hidden[0]
        self.activation, self.dropout = config.activation, config.dropout
        pairs = list(pairwise(config.hidden))
        self.up = nn.ModuleList(uninitialised(nn.Linear, a, b) for a, b in pairs)
        self.down = None if config.tied else nn.ModuleList(uninitialised(nn.Linear, b, a, bias=False) for a, b in pairs)

    def forward(
        self, u: Float[Tensor, "*batch H"], state: State = None, *, generator: torch.Generator | None = None
    ) -> tuple[Float[Tensor, "*batch H"], State]:
        """Return the first hidden layer; others are state."""
        layers: list[Tensor] = []
        for i in range(len(self.up) + 1):
            below = u if i == 0 else _through(self.up[i - 1], layers[-1])
            if state is not None and i < len(state):
                layer = self.up[i] if self.down is None else self.down[i]
                weight: Tensor = layer.weight  # type: ignore[assignment]
                below = below + affine(state[i], weight.t() if self.down is None else weight)
            h = activate(self.activation, below)
            layers.append(drop(h, self.dropout if self.training else 0.0, generator))
        return layers[0], tuple(layers[1:])


class Residual(nn.Module):
    """Pre-normalised residual blocks: ``s <- s + B phi(C norm(s) + d) + e``.

    The output is ``norm(s)``. The stream starts as ``u``. With ``carry`` it starts as ``u`` plus the stream of the step
    before, so that a step refines the whole stream and not only the output (no parameter is added).
    """

    def __init__(self, config: ResidualConfig) -> None:
        super().__init__()
        self.n_in = self.n_out = config.width
        self.carry = config.carry
        self.blocks = nn.ModuleList(_Block(config) for _ in range(config.blocks))
        self.norm = nn.LayerNorm(config.width)

    def forward(
        self, u: Float[Tensor, "*batch H"], state: State = None, *, generator: torch.Generator | None = None
    ) -> tuple[Float[Tensor, "*batch H"], State]:
        """Return the normalised stream, and the stream as state."""
        stream = u if state is None else u + state[0]
        for block in self.blocks:
            stream = stream + block(stream, generator=generator)
        return self.norm(stream), (stream,) if self.carry else None


class _Block(nn.Module):
    """Residual block without the addition."""

    def __init__(self, config: ResidualConfig) -> None:
        super().__init__()
        self.activation, self.dropout = config.activation, config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.inner = uninitialised(nn.Linear, config.width, config.width)
        self.outer = uninitialised(nn.Linear, config.width, config.width)

    def forward(self, stream: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        h = _through(self.inner, self.norm(stream), self.activation)
        return _through(self.outer, drop(h, self.dropout if self.training else 0.0, generator))


CoreConfig = DeepConfig | AlternatingConfig | ResidualConfig


def _through(layer: nn.Module, h: Tensor, activation: str | None = None) -> Tensor:
    """Apply linear layer and activation in one product."""
    assert isinstance(layer, nn.Linear)
    return affine(h, layer.weight, layer.bias, activation)


def _check(config: DeepConfig | AlternatingConfig) -> None:
    convert_options(config)
    check_range(config, "dropout", least=0, below=1)
    if not config.hidden or min(config.hidden) < 1:
        raise ValueError(f"hidden layers need at least one layer of at least one unit, found {config.hidden}")
