"""A memory beside a network: rows that are like what is known of a row tell what the rest of it may hold.

A network learns what rows have in common; it cannot learn by heart what thousands of them hold. Tables in which the
same rows come up again and again (baskets, genotypes, symptoms) want both. Of N remembered rows, row n is told from
what is known of a row by ``m_n`` cells, and counts ``k_n = c_n exp(-decay m_n)`` if it was seen ``c_n`` times. The
memory's word on a missing cell is the mean of what the remembered rows hold there, weighted by ``k_n`` (Nadaraya 1964;
Aitchison and Aitken 1976, for discrete rows); the more rows are like it, the more its word counts beside the network's:

    p = (1 - g) p_network + g sum_n k_n [row n] / S,    S = sum_n k_n,    g = sigmoid(trust_0 + trust_1 log S)

That is one distribution of each missing cell for each set of known ones, as a network has, so every ordering still has
an exact likelihood, and all that is asked of a network can be asked of it. Three numbers are learnt, on rows that are
not remembered (`nadek.training.remember`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped, UInt8
from torch import Tensor

from nadek.conditional import ConditionalNetwork
from nadek.images import ImageConfig
from nadek.model import ModelConfig


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


class Remembering(ConditionalNetwork):
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
        network: ConditionalNetwork,
        rows: UInt8[Tensor, "N D"],
        known: Bool[Tensor, "N D"] | None = None,
        seen: Int[Tensor, " N"] | None = None,
        *,
        decay: float = 4.0,
        trust: Sequence[float] = (0.0, 0.3),
    ) -> None:
        super().__init__()
        if isinstance(network, Remembering):
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
        self.register_load_state_dict_post_hook(lambda model, _: model._lay_out())  # type: ignore[no-untyped-call]

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
        """See `ConditionalNetwork`: beside the network's, distances and weights of all remembered rows."""
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
        """See `ConditionalNetwork`; the memory has its word in the logits of every step."""
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
        told, evidence = self.recollect(self.apart(x, missing), self.decay)
        share = torch.sigmoid(self.trust[0] + self.trust[1] * evidence)
        return told, share if self._known is None else self.variables.spread(share)

    def apart(self, x: Shaped[Tensor, "*batch D"], missing: Bool[Tensor, "*batch D"]) -> Float[Tensor, "*batch N"]:
        """By how many of its known cells a row is told from each remembered one; holes of these count in part.

        Args:
            x: see `recall`.
            missing: see `recall`.
        """
        dtype, hidden = self._shown.dtype, self.variables.spread(missing)
        columns = self.variables.encode(x)
        shown = columns.masked_fill(hidden, 0) if columns.is_floating_point() else columns * ~hidden
        shown, observed = shown.to(dtype), (~hidden).to(dtype)
        # two rows differ in a + t - 2 a t of a logistic column, and in a - a t of those of the levels of a variable, of
        # which both rows have one: linear in the remembered t, so that it is one product for all rows
        apart = (self._logistic * observed - (1 + self._logistic) * shown) @ self._shown.t()
        if self._known is None:
            return apart.add_(shown.sum(-1, keepdim=True))
        guessed = observed * self._differing
        return apart + (shown - guessed) @ self.variables.spread(self._known).t() + guessed.sum(-1, keepdim=True)

    def recollect(
        self, apart: Float[Tensor, "*batch N"], decay: Float[Tensor, ""] | float
    ) -> tuple[Float[Tensor, "*batch C"], Float[Tensor, "*batch _"]]:
        """What `recall` gives of rows so far from the remembered ones, but log S in place of g.

        Args:
            apart: see `apart`.
            decay: instead of the memory's own.

        Returns:
            The means, and log S: one for all variables, or one for each where remembered rows have holes.
        """
        weight = self.seen.to(apart.dtype).log() - decay * apart
        most = weight.amax(-1, keepdim=True)
        weight = weight.sub_(most).exp_()
        total = weight.sum(-1, keepdim=True)
        if self._known is None:
            return (weight @ self._shown / total).clamp(0, 1), most + total.log()
        total = weight @ self._known  # of those that know it, variable by variable
        told = (weight @ self._shown / self.variables.spread(total)).nan_to_num(0)
        return told.clamp(0, 1), most + total.log()

    @torch.no_grad()
    def _lay_out(self) -> None:
        """The remembered rows as columns, which move with the network and are not saved."""
        variables, dtype = self.variables, self.b.dtype
        shown, known = variables.encode(self.rows).to(dtype), None
        if self.known is not None:
            known = self.known.to(dtype)
            shown = shown * variables.spread(known)
        logistic = torch.tensor([n == 2 for n in variables.levels], device=shown.device)
        logistic = variables.spread(logistic).to(dtype)
        count = self.seen.to(dtype).unsqueeze(1)
        n_known = count.sum() if known is None else variables.spread((count * known).sum(0))
        mean = (count * shown).sum(0) / n_known.clamp(min=1)
        self.register_buffer("_shown", shown, persistent=False)
        self.register_buffer("_known", known, persistent=False)
        self.register_buffer("_differing", (1 + logistic) * mean * (1 - mean), persistent=False)
        self.register_buffer("_logistic", logistic, persistent=False)
