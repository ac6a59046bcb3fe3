"""The part of the network between the input layer and the output layer, used once a step.

A core maps the pre-activation ``u = W v + c`` of the first hidden layer, and what it kept from the step
before (``state``, None at the first step), to the hidden units that the output layer reads:

    hidden, state = core(u, state)

Where no gradient is recorded a core may overwrite ``u``, and works in place on what is its own.

The three pictures of the paper's Fig. 1 are `Deep` (left: one layer; middle: several) and `Alternating`
(right); `Residual` is ours. Each has a small frozen config that builds it and that is what gets saved. The numbers of
figures and equations are those of Raiko, Yao, Cho and Bengio (2014).
"""

import copy
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nadek.kernels.linear import ACTIVATIONS, activate, affine, arranges, prepack_weight

Layer = TypeVar("Layer", bound=nn.Module)

Activation = Literal["tanh", "sigmoid", "relu", "gelu"]

State = tuple[Tensor, ...] | None
"""What a core hands to its next step; None before the first."""


@runtime_checkable
class Core(Protocol):
    """The face of every core: widths of what it reads and gives, and the call."""

    n_in: int
    n_out: int

    def __call__(
        self, u: Tensor, state: State = None, *, generator: torch.Generator | None = None
    ) -> tuple[Tensor, State]:
        """Hidden units for the output layer, and what the next step shall know."""


@dataclass(frozen=True, kw_only=True)
class DeepConfig:
    """A stack of fully connected hidden layers (Fig. 1 left and middle); see `Deep`."""

    hidden: tuple[int, ...] = (500, 500)
    activation: Activation = "tanh"
    dropout: float = 0.0
    kind: Literal["deep"] = "deep"

    def __post_init__(self) -> None:
        _check(self.hidden, self.activation, self.dropout)

    def build(self) -> "Deep":
        """The core with parameters not yet drawn."""
        return Deep(self)


@dataclass(frozen=True, kw_only=True)
class AlternatingConfig:
    """Hidden layers updated as in a deep Boltzmann machine (Fig. 1 right); see `Alternating`."""

    hidden: tuple[int, ...] = (500, 500)
    activation: Activation = "tanh"
    dropout: float = 0.0
    tied: bool = True
    kind: Literal["alternating"] = "alternating"

    def __post_init__(self) -> None:
        _check(self.hidden, self.activation, self.dropout)
        if len(self.hidden) < 2:
            raise ValueError(f"an alternating core needs at least two hidden layers, found hidden={self.hidden}")

    def build(self) -> "Alternating":
        """The core with parameters not yet drawn."""
        return Alternating(self)


@dataclass(frozen=True, kw_only=True)
class ResidualConfig:
    """Pre-normalised residual blocks on a stream of ``width`` units; see `Residual`."""

    width: int = 400
    blocks: int = 2
    carry: bool = True
    activation: Activation = "gelu"
    dropout: float = 0.0
    kind: Literal["residual"] = "residual"

    def __post_init__(self) -> None:
        _check((self.width,), self.activation, self.dropout)
        if self.blocks < 1:
            raise ValueError(f"a residual core needs at least one block, found blocks={self.blocks}")

    def build(self) -> "Residual":
        """The core with parameters not yet drawn."""
        return Residual(self)


CoreConfig = DeepConfig | AlternatingConfig | ResidualConfig


class Deep(nn.Module):
    """``h_1 = phi(u)``, ``h_l = phi(U_l h_(l-1) + d_l)``; gives the last layer and keeps nothing (Eq. 6)."""

    def __init__(self, config: DeepConfig) -> None:
        super().__init__()
        self.n_in, self.n_out = config.hidden[0], config.hidden[-1]
        self.activation, self.dropout = config.activation, config.dropout
        self.layers = nn.ModuleList(_linear(a, b) for a, b in pairwise(config.hidden))

    def forward(
        self, u: Float[Tensor, "*batch H"], state: State = None, *, generator: torch.Generator | None = None
    ) -> tuple[Float[Tensor, "*batch H2"], State]:
        """The last hidden layer; ``state`` passes through unread."""
        dropout = self.dropout if self.training else 0.0
        h = drop(activate(self.activation, u), dropout, generator)
        for layer in self.layers:
            h = drop(_through(layer, h, self.activation), dropout, generator)
        return h, state


class Alternating(nn.Module):
    """One sweep of mean field through a deep Boltzmann machine, from the bottom layer up.

    Each layer reads the one below, just updated, and the one above, from the step before (absent at the first
    step): ``h_1 = phi(u + R_1 h_2)``, ``h_2 = phi(U_2 h_1 + d_2 + R_2 h_3)`` and so on. Tied weights, as in an
    undirected model, mean ``R_l = U_(l+1)`` transposed. The visible layer reads the first hidden layer only.
    """

    def __init__(self, config: AlternatingConfig) -> None:
        super().__init__()
        self.n_in = self.n_out = config.hidden[0]
        self.activation, self.dropout = config.activation, config.dropout
        pairs = list(pairwise(config.hidden))
        self.up = nn.ModuleList(_linear(a, b) for a, b in pairs)
        self.down = None if config.tied else nn.ModuleList(_linear(b, a, bias=False) for a, b in pairs)

    def forward(
        self, u: Float[Tensor, "*batch H"], state: State = None, *, generator: torch.Generator | None = None
    ) -> tuple[Float[Tensor, "*batch H"], State]:
        """The first hidden layer after the sweep; keeps the layers above it."""
        layers: list[Tensor] = []
        for i in range(len(self.up) + 1):
            below = u if i == 0 else _through(self.up[i - 1], layers[-1])
            if state is not None and i < len(state):
                below = below + affine(state[i], self._down(i))
            h = activate(self.activation, below)
            layers.append(drop(h, self.dropout if self.training else 0.0, generator))
        return layers[0], tuple(layers[1:])

    def _down(self, i: int) -> Tensor:
        """The matrix through which layer i reads layer i + 1."""
        layer = self.up[i] if self.down is None else self.down[i]
        weight: Tensor = layer.weight  # type: ignore[assignment]
        return weight.t() if self.down is None else weight


class Residual(nn.Module):
    """A stream that pre-normalised blocks add to: ``s <- s + B phi(C norm(s) + d) + e``; gives ``norm(s)``.

    The stream starts as ``u``; with ``carry`` it starts as ``u`` plus the stream of the step before, so that a
    step refines what the last one thought and not only what it said (no parameter is added).
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
        """The normalised stream; keeps the stream itself where the core carries it."""
        stream = u if state is None else u + state[0]
        for block in self.blocks:
            stream = stream + block(stream, generator=generator)
        return self.norm(stream), (stream,) if self.carry else None


class _Block(nn.Module):
    """What one residual block adds to the stream."""

    def __init__(self, config: ResidualConfig) -> None:
        super().__init__()
        self.activation, self.dropout = config.activation, config.dropout
        self.norm = nn.LayerNorm(config.width)
        self.inner = _linear(config.width, config.width)
        self.outer = _linear(config.width, config.width)

    def forward(self, stream: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        h = _through(self.inner, self.norm(stream), self.activation)
        return _through(self.outer, drop(h, self.dropout if self.training else 0.0, generator))


PARTS = {Deep, Alternating, Residual, _Block, nn.Linear, nn.LayerNorm, nn.ModuleList}
"""All that the cores of this module are made of."""


def for_many(core: Core, n_rows: int) -> Core:
    """A core for many calls without gradients: its layers are arranged for products with so many rows.

    Args:
        core: any core; it stays as it is, and is what comes back where nothing is to be gained. So it is where weights
            are read both ways, as those of a tied `Alternating`, where a layer computes its own from others, and where
            any part is not of this module or was changed: it may read its weights in ways that arranged ones refuse.
        n_rows: see `nadek.kernels.linear.prepack_weight`.
    """
    assert isinstance(core, nn.Module)
    if any(type(part) not in PARTS or changed(part) for part in core.modules()):
        return core
    tied = isinstance(core, Alternating) and core.down is None
    layers = _layers(core)
    if tied or not all(_plain(layer) for layer in layers) or not any(arranges(one.weight, n_rows) for one in layers):
        return core
    made = copy.deepcopy(core)
    for layer in _layers(made):
        weight = layer.weight
        del layer.weight  # what is arranged cannot be a parameter
        layer.weight = prepack_weight(weight, n_rows)
    return made


def sigmoids(core: Core) -> Deep | None:
    """The twin, made of sigmoids, of a deep core of tanh; None of any other.

    As ``tanh(u) = 2 sigmoid(2 u) - 1``, it gives ``(h + 1) / 2`` for ``2 u`` where the core gives ``h`` for ``u``: the
    layers' weights do what would otherwise be done to the units, twice in every call. Only for what is evaluated, so
    none where units are dropped; and none where somebody changed the core (`changed`).
    """
    if type(core) is not Deep or core.activation != "tanh" or (core.training and core.dropout > 0):
        return None
    layers = _layers(core)
    if changed(core) or not all(_plain(layer) for layer in layers):
        return None
    twin = Deep(DeepConfig(hidden=(core.n_in, *(layer.out_features for layer in layers)), activation="sigmoid"))
    with torch.no_grad():
        for made, layer in zip(_layers(twin), layers, strict=True):
            weight, bias = layer.weight.double(), layer.bias.double()
            made.weight = nn.Parameter((4 * weight).to(layer.weight))
            made.bias = nn.Parameter((2 * (bias - weight.sum(1))).to(layer.bias))
    return twin.eval()


def changed(part: nn.Module) -> bool:
    """Whether calling a network, or a part of it, does more than its class says: hooks, or a forward of its own.

    What computes the same in another way than by that call must leave such a part to it.
    """
    hooks = (part._forward_hooks, part._forward_pre_hooks, part._backward_hooks, part._backward_pre_hooks)
    return any(hooks) or "forward" in vars(part)


def _plain(layer: nn.Linear) -> bool:
    """Whether a layer's weights are its own parameters: neither computed from others nor pruned."""
    return type(layer) is nn.Linear and "weight" in layer._parameters


def _layers(core: nn.Module) -> list[nn.Linear]:
    return [part for part in core.modules() if isinstance(part, nn.Linear)]


def undrawn(kind: type[Layer], *args: Any, **options: Any) -> Layer:  # noqa: ANN401 - those of any layer
    """A layer whose weights are drawn later, by the network: torch's own would come from the global generator."""
    layer: Layer = nn.utils.skip_init(kind, *args, **options, device=torch.get_default_device())
    return layer


def _linear(n_in: int, n_out: int, *, bias: bool = True) -> nn.Linear:
    return undrawn(nn.Linear, n_in, n_out, bias=bias)


def _through(layer: nn.Module, h: Tensor, activation: str | None = None) -> Tensor:
    """A layer that reads ``h``, and the non-linearity after it."""
    assert isinstance(layer, nn.Linear)
    return affine(h, layer.weight, layer.bias, activation)


def drop(h: Tensor, rate: float, generator: torch.Generator | None, *, whole: int = 0) -> Tensor:
    """Inverted dropout from an explicit generator (torch's own dropout only knows the global one).

    Args:
        h: units.
        rate: the part of them that is dropped.
        generator: source of randomness.
        whole: over so many of the last axes units are dropped or kept together (2: feature maps as a whole).
    """
    if rate == 0.0:
        return h
    return thinned(h, keep(h, rate, generator, whole=whole), rate)


def keep(h: Tensor, rate: float, generator: torch.Generator | None, *, whole: int = 0) -> Tensor:
    """Which units `drop` keeps."""
    shape = (*h.shape[: h.ndim - whole], *(1,) * whole)
    return torch.rand(shape, generator=generator, device=h.device) >= rate


def thinned(h: Tensor, kept: Tensor, rate: float) -> Tensor:
    """The kept units, as much larger as there are fewer of them."""
    return h * kept / (1 - rate)


def _check(hidden: tuple[int, ...], activation: str, dropout: float) -> None:
    for width in hidden:
        if not isinstance(width, Integral):
            raise TypeError(f"hidden layers: expected whole numbers of units, found {width!r}")
    if not hidden or min(hidden) < 1:
        raise ValueError(f"hidden layers need at least one layer of at least one unit, found {hidden}")
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: expected one of {', '.join(ACTIVATIONS)}, found {activation!r}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout: expected a rate of at least 0 and below 1, found {dropout}")
