"""Memory: similar training rows predict missing cells, too.

A model learns what rows have in common; it cannot learn thousands of them by heart. Tables with recurring rows
(baskets, genotypes, symptoms) need both. Stored row n differs from the observed cells of a row in ``m_n`` of them, was
counted ``c_n`` times, and weighs ``k_n = c_n exp(-decay m_n)``. The prediction of the memory for a missing cell is a
kernel average: the mean of that cell over the stored rows, weighted by ``k_n`` (Nadaraya 1964; Aitchison and Aitken
1976, for discrete rows). The more similar rows there are, the larger its share g:

    p = (1 - g) p_network + g sum_n k_n [row n] / S,    S = sum_n k_n,    g = sigmoid(trust_0 + trust_1 log S)

This is one distribution of each missing cell for each set of observed ones, as of any conditional model, so every
ordering still has an exact likelihood. Three numbers are learnt, on rows that are not stored
(`nadek.training.add_memory`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Integer, Shaped
from torch import Tensor, nn

from nadek.models.base import ConditionalModel
from nadek.models.binary_variables import LOG_ZERO, LogMeans
from nadek.models.layers import is_modified
from nadek.models.model_config import ImageConfig, MemoryConfig, ModelConfig
from nadek.models.variables import masked_columns


class StoredColumns(NamedTuple):
    """Stored rows as columns of a model."""

    values: Float[Tensor, "N c"]
    """Columns of the rows; 0 where missing."""
    observed: Float[Tensor, "N c"] | None
    """0 where missing, else 1; None without missing cells."""
    difference: Float[Tensor, " c"]
    """Frequency with which two rows differ in a column; over the columns of a variable, their sum for the variable."""
    logistic: Float[Tensor, " c"]
    """1 for the column of a binary variable, 0 for one of many levels."""

    def hamming_distance(
        self, values: Shaped[Tensor, "*batch c"], observed: Bool[Tensor, "*batch c"]
    ) -> Float[Tensor, "*batch N"]:
        """Return the numbers of variables that differ.

        Two rows differ in ``a + t - 2 a t`` of a logistic column, and in ``a - a t`` of the columns of a variable of
        many levels. Both are linear in the stored t, so one product serves all rows.
        """
        a, o = values.to(self.values.dtype), observed.to(self.values.dtype)
        distance = (self.logistic * o - (1 + self.logistic) * a) @ self.values.t()
        if self.observed is None:
            return distance.add_(a.sum(-1, keepdim=True))
        expected = o * self.difference
        return distance + (a - expected) @ self.observed.t() + expected.sum(-1, keepdim=True)

    def select(self, columns: slice | Int[Tensor, " _"]) -> "StoredColumns":
        """Return some columns, or all in another order."""
        observed = None if self.observed is None else self.observed[:, columns]
        return StoredColumns(self.values[:, columns], observed, self.difference[columns], self.logistic[columns])


class MemoryModel(ConditionalModel):
    """Model with stored rows beside it.

    The memory is in no parameter: training such a model trains its base model. A missing cell of a stored row
    (``observed`` is False) counts as different with the frequency with which two rows differ there, and predicts
    nothing. ``decay`` is in nats, ``trust`` are the two numbers of g.

    Example:
        >>> from nadek import missing_probabilities, nade_k
        >>> model = MemoryModel(nade_k(2, hidden=(4,)), torch.eye(2, dtype=torch.uint8), trust=(9.0, 0.3))
        >>> bool(missing_probabilities(model, torch.tensor([[1, torch.nan]]))[0, 1] < 0.1)
        True
    """

    config: MemoryConfig

    def __init__(
        self,
        network: ConditionalModel,
        rows: Integer[Tensor, "N D"],
        observed: Bool[Tensor, "N D"] | None = None,
        counts: Int[Tensor, " N"] | None = None,
        *,
        decay: float = 4.0,
        trust: Sequence[float] = (0.0, 0.3),
    ) -> None:
        super().__init__()
        if isinstance(network, MemoryModel):
            raise TypeError("expected a network without a memory, found one that has one: see its network")
        if not isinstance(network.config, ModelConfig | ImageConfig):
            raise TypeError(f"expected a network of nadek, found one with a config of {type(network.config).__name__}")
        self.config = MemoryConfig(network=network.config, n_rows=len(rows), holes=observed is not None)
        self.network, self.variables = network, network.variables
        dtype, device = network.b.dtype, rows.device
        self.rows = nn.Buffer(rows)
        # `observed` and `counts`, by their names in saved models
        self.known = None if observed is None else nn.Buffer(observed)
        self.seen = nn.Buffer(rows.new_ones(len(rows), dtype=torch.long) if counts is None else counts)
        self.decay = nn.Buffer(torch.tensor(decay, dtype=dtype, device=device))
        self.trust = nn.Buffer(torch.tensor(trust, dtype=dtype, device=device))
        self._store()
        self.register_load_state_dict_post_hook(MemoryModel._store)  # type: ignore[no-untyped-call]

    @property
    def b(self) -> Tensor:  # type: ignore[override]
        """Visible bias of the base model."""
        return self.network.b

    @property
    def fill(self) -> Tensor:  # type: ignore[override]
        """Fill of the base model."""
        return self.network.fill

    @property
    def base_model(self) -> ConditionalModel:
        """See `ConditionalModel`."""
        return self.network

    @property
    def can_decode_incrementally(self) -> bool:
        """See `ConditionalModel`."""
        return type(self) is MemoryModel and not is_modified(self) and self.network.can_decode_incrementally

    @property
    def units_per_row(self) -> int:
        """See `ConditionalModel`; adds distances and weights of rows."""
        return self.network.units_per_row + 3 * len(self.rows) + 6 * self.variables.n_columns

    @property
    def stored(self) -> StoredColumns:
        """The stored rows as columns of the model."""
        return StoredColumns(**{name: getattr(self, f"_{name}") for name in StoredColumns._fields})

    def first_state(
        self, x: Shaped[Tensor, "*batch D"], missing: Bool[Tensor, "*batch D"]
    ) -> Float[Tensor, "*#batch C"]:
        """See `ConditionalModel`; that of the base model."""
        return self.network.first_state(x, missing)

    def forward(
        self, x: Shaped[Tensor, "*batch D"], missing: Bool[Tensor, "*batch D"], **options: object
    ) -> list[Float[Tensor, "*batch C"]]:
        """See `ConditionalModel`; every step mixes the memory in. The options are those of the base model."""
        outputs = self.network(x, missing, **options)
        with torch.no_grad(), torch.autocast(x.device.type, enabled=False):
            means, log_weight = self.kernel_average(self.stored, self.hamming_distance(x, missing))
            certainty = self.certainty(log_weight)
        return [self.variables.mix_logits(logits.to(certainty.dtype), means, certainty) for logits in outputs]

    def hamming_distance(
        self, x: Shaped[Tensor, "*batch D"], missing: Bool[Tensor, "*batch D"]
    ) -> Float[Tensor, "*batch N"]:
        """Return the numbers of observed cells that differ."""
        hidden = self.variables.expand(missing)
        return self.stored.hamming_distance(masked_columns(self.variables.one_hot(x), hidden), ~hidden)

    def kernel_average(
        self, stored: StoredColumns, distance: Float[Tensor, "*batch N"], decay: float | None = None
    ) -> tuple[LogMeans, Float[Tensor, "*batch _"]]:
        """Return means and log-weight of the stored rows; both `LOG_ZERO` where none has the column."""
        weight = self.seen.to(distance.dtype).log() - (self.decay if decay is None else decay) * distance
        largest = weight.amax(-1, keepdim=True)
        weight = weight.sub_(largest).exp_()
        total = weight.sum(-1, keepdim=True) if stored.observed is None else weight @ stored.observed
        others = (1 if stored.observed is None else stored.observed) - stored.values
        sums = weight @ stored.values, weight @ others
        means = LogMeans(*((one.log() - total.log()).nan_to_num(LOG_ZERO, neginf=LOG_ZERO) for one in sums))
        return means, (largest + total.log()).clamp(min=LOG_ZERO)

    def certainty(self, log_weight: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return the logit of the memory's share g."""
        return self.trust[0] + self.trust[1] * log_weight

    @torch.no_grad()
    def _store(self, _: object = None) -> None:
        """Make `stored`, whose tensors are not saved."""
        variables, dtype = self.variables, self.b.dtype
        observed = None if self.known is None else variables.expand(self.known).to(dtype)
        values = variables.one_hot(self.rows).to(dtype) if observed is None else variables.one_hot(self.rows) * observed
        logistic = variables.expand(torch.tensor([n == 2 for n in variables.levels], device=values.device)).to(dtype)
        count = self.seen.to(dtype).unsqueeze(1)
        n_observed = count.sum() if observed is None else (count * observed).sum(0)
        mean = (count * values).sum(0) / n_observed.clamp(min=1)
        stored = StoredColumns(values, observed, (1 + logistic) * mean * (1 - mean), logistic)
        for name, columns in stored._asdict().items():
            self.register_buffer(f"_{name}", columns, persistent=False)
