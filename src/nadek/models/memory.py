"""A memory beside a network: rows that are like what is known of a row tell what the rest of it may hold.

A network learns what rows have in common; it cannot learn by heart what thousands of them hold. Tables in which the
same rows come up again and again (baskets, genotypes, symptoms) want both. Of N remembered rows, row n is told from
what is known of a row by ``m_n`` cells, and counts ``k_n = c_n exp(-decay m_n)`` if it was seen ``c_n`` times. The
memory's word on a missing cell is the mean of what the remembered rows hold there, weighted by ``k_n`` (Nadaraya 1964;
Aitchison and Aitken 1976, for discrete rows); the more rows are like it, the more its word counts beside the network's:

    p = (1 - g) p_network + g sum_n k_n [row n] / S,    S = sum_n k_n,    g = sigmoid(trust_0 + trust_1 log S)

That is one distribution of each missing cell for each set of known ones, as a network has, so every ordering still has
an exact likelihood, and all that is asked of a network can be asked of it. Three numbers are learnt, on rows that are
not remembered (`nadek.training.add_memory`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped, UInt8
from torch import Tensor

from nadek.models import ModelConfig
from nadek.models.base import ConditionalModel
from nadek.models.unet_config import ImageConfig


@dataclass(frozen=True, kw_only=True)
class MemoryConfig:
    """What fixes the structure of a network with a memory.

    Attributes:
        network: the structure of the network.
        n_rows: how many different rows are remembered.
        holes: whether cells of these are missing.
        kind: what tells this network from others.
    """

    network: ModelConfig | ImageConfig
    n_rows: int
    holes: bool = False
    kind: Literal["memory"] = "memory"

    def __post_init__(self) -> None:
        if self.n_rows < 1:
            raise ValueError(f"n_rows: expected at least 1, found {self.n_rows}")

    @property
    def n_variables(self) -> int:
        """D."""
        return self.network.n_variables

    @property
    def steps(self) -> int:
        """K, of the network."""
        return self.network.steps

    @property
    def ordering(self) -> tuple[int, ...] | None:
        """The one ordering of a fixed-order network."""
        return self.network.ordering

    @property
    def levels(self) -> tuple[int, ...] | None:
        """How many levels each variable has; None: all are binary."""
        return self.network.levels


class MemoryModel(ConditionalModel):
    """A network and the rows that it remembers.

    The memory is in no parameter: training such a network trains the network inside.

    Args:
        network: a network without a memory.
        rows: codes of different rows [N, D].
        known: False where they have holes [N, D]; None when they have none. A hole is taken to differ from what is
            known of a row as often as two rows differ there, and tells nothing about its cell.
        seen: how often each of them was seen [N]; None: once.
        decay: how much less a row counts for each known cell that it has otherwise, in nats.
        trust: how far its word counts, see the module.

    Raises:
        TypeError: on a network that has a memory already.
    """

    config: MemoryConfig
    rows: Tensor
    known: Tensor | None
    seen: Tensor
    decay: Tensor
    trust: Tensor
    _shown: Tensor
    _known: Tensor | None
    _differing: Tensor
    _logistic: Tensor

    def __init__(
        self,
        network: ConditionalModel,
        rows: UInt8[Tensor, "N D"],
        known: Bool[Tensor, "N D"] | None = None,
        seen: Int[Tensor, " N"] | None = None,
        *,
        decay: float = 4.0,
        trust: Sequence[float] = (0.0, 0.3),
    ) -> None:
        super().__init__()
        if isinstance(network, MemoryModel):
            raise TypeError("expected a network without a memory, found one that has one: see its network")
        assert isinstance(network.config, ModelConfig | ImageConfig)
        self.config = MemoryConfig(network=network.config, n_rows=len(rows), holes=known is not None)
        self.network, self.variables = network, network.variables
        ones = torch.ones(len(rows), dtype=torch.long, device=rows.device)
        self.register_buffer("rows", rows)
        self.register_buffer("known", known)
        self.register_buffer("seen", ones if seen is None else seen)
        self.register_buffer("decay", torch.tensor(decay, dtype=network.b.dtype, device=rows.device))
        self.register_buffer("trust", torch.tensor(trust, dtype=network.b.dtype, device=rows.device))
        self._lay_out()
        self.register_load_state_dict_post_hook(_lay_out_anew)  # type: ignore[no-untyped-call]

    @property
    def b(self) -> Tensor:  # type: ignore[override]
        """The network's visible bias."""
        return self.network.b

    @property
    def fill(self) -> Tensor:  # type: ignore[override]
        """What missing columns of the network read before its first step."""
        return self.network.fill

    @property
    def units_per_row(self) -> int:
        """See `ConditionalModel`: beside the network's, distances and weights of all remembered rows."""
        return self.network.units_per_row + 3 * len(self.rows) + 6 * self.variables.n_columns

    def forward(
        self,
        x: Shaped[Tensor, "*batch D"],
        missing: Bool[Tensor, "*batch D"],
        *,
        steps: int | None = None,
        recompute: bool = False,
        generator: torch.Generator | None = None,
    ) -> list[Float[Tensor, "*batch C"]]:
        """See `ConditionalModel`; the memory has its word in the logits of every step."""
        outputs = self.network(x, missing, steps=steps, recompute=recompute, generator=generator)
        with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
            told, share = self.recall(x, missing)
        return [self.variables.blended(logits.to(told.dtype), told, share) for logits in outputs]

    def recall(
        self, x: Shaped[Tensor, "*batch D"], missing: Bool[Tensor, "*batch D"]
    ) -> tuple[Float[Tensor, "*batch C"], Float[Tensor, "*batch _"]]:
        """The mean of every column over the rows that are like what is known, and how far that counts (g).

        Args:
            x: codes; what stands where ``missing`` is True is never read.
            missing: True where nothing is known.

        Returns:
            The means, and g: one for all columns, or one for each where remembered rows have holes.
        """
        told, evidence = self.recollect(self.lines, self.apart(x, missing))
        return told, self.share(evidence)

    def apart(self, x: Shaped[Tensor, "*batch D"], missing: Bool[Tensor, "*batch D"]) -> Float[Tensor, "*batch N"]:
        """By how many of its known cells a row is told from each remembered one; holes of these count in part.

        Args:
            x: see `recall`.
            missing: see `recall`.
        """
        hidden, columns = self.variables.spread(missing), self.variables.encode(x)
        shown = columns.masked_fill(hidden, 0) if columns.is_floating_point() else columns * ~hidden
        return self.lines.apart(shown, ~hidden)

    def recollect(
        self, lines: "Lines", apart: Float[Tensor, "*batch N"], decay: float | None = None
    ) -> tuple[Float[Tensor, "*batch c"], Float[Tensor, "*batch _"]]:
        """The mean of some columns over the rows that are like others, and log S.

        Args:
            lines: the remembered rows as these columns.
            apart: see the method.
            decay: instead of the memory's own.

        Returns:
            The means, and log S: one for all columns, or one for each where remembered rows have holes.
        """
        weight = self.seen.to(apart.dtype).log() - (self.decay if decay is None else decay) * apart
        most = weight.amax(-1, keepdim=True)
        weight = weight.sub_(most).exp_()
        total = weight.sum(-1, keepdim=True) if lines.known is None else weight @ lines.known
        told = (weight @ lines.shown / total).nan_to_num(0)  # of what nobody knows
        return told.clamp(0, 1), most + total.log()

    def share(self, evidence: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """How far the word of the memory counts (g) for some log S."""
        return torch.sigmoid(self.trust[0] + self.trust[1] * evidence)

    @property
    def lines(self) -> "Lines":
        """The remembered rows as the network's columns."""
        return Lines(self._shown, self._known, self._differing, self._logistic)

    @torch.no_grad()
    def _lay_out(self) -> None:
        """Make `lines`, whose tensors move with the network and are not saved."""
        variables, dtype = self.variables, self.b.dtype
        known = None if self.known is None else variables.spread(self.known).to(dtype)
        shown = variables.encode(self.rows).to(dtype) if known is None else variables.encode(self.rows) * known
        logistic = torch.tensor([n == 2 for n in variables.levels], device=shown.device)
        logistic = variables.spread(logistic).to(dtype)
        count = self.seen.to(dtype).unsqueeze(1)
        n_known = count.sum() if known is None else (count * known).sum(0)
        mean = (count * shown).sum(0) / n_known.clamp(min=1)
        self.register_buffer("_shown", shown, persistent=False)
        self.register_buffer("_known", known, persistent=False)
        self.register_buffer("_differing", (1 + logistic) * mean * (1 - mean), persistent=False)
        self.register_buffer("_logistic", logistic, persistent=False)


def _lay_out_anew(model: MemoryModel, _: object) -> None:
    """After other rows were loaded; a function of the module, as a pickle wants it."""
    model._lay_out()


class Lines(NamedTuple):
    """Remembered rows as columns of a network, all of them or some."""

    shown: Float[Tensor, "N c"]
    """What the columns are; 0 in the holes."""
    known: Float[Tensor, "N c"] | None
    """0 in the holes; None when there are none."""
    differing: Float[Tensor, " c"]
    """How often two rows differ in a column; in those of a variable together, as often as they differ in it."""
    logistic: Float[Tensor, " c"]
    """1 where a column is all there is of a variable, 0 for one of many levels."""

    def apart(self, shown: Shaped[Tensor, "*batch c"], observed: Bool[Tensor, "*batch c"]) -> Float[Tensor, "*batch N"]:
        """By how many variables rows are told from the remembered ones.

        Two rows differ in ``a + t - 2 a t`` of a logistic column, and in ``a - a t`` of those of the levels of a
        variable, of which both rows have one: linear in the remembered t, so that it is one product for all of them.

        Args:
            shown: the columns of these rows, 0 where nothing is known.
            observed: where something is.
        """
        a, o = shown.to(self.shown.dtype), observed.to(self.shown.dtype)
        apart = (self.logistic * o - (1 + self.logistic) * a) @ self.shown.t()
        if self.known is None:
            return apart.add_(a.sum(-1, keepdim=True))
        guessed = o * self.differing
        return apart + (a - guessed) @ self.known.t() + guessed.sum(-1, keepdim=True)

    def of(self, columns: slice | Int[Tensor, " _"]) -> "Lines":
        """Some columns, or all in another order."""
        known = None if self.known is None else self.known[:, columns]
        return Lines(self.shown[:, columns], known, self.differing[columns], self.logistic[columns])
