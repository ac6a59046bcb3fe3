"""Interface of all conditional models.

A conditional model maps a row and its mask to logits of every column. Training, scoring, sampling and queries need no
more than that. `nadek.models.registry` lists the kinds of models.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from nadek.models.codes import check_tensor
from nadek.models.model_config import AnyConfig
from nadek.models.variables import Variables
from nadek.utils.configs import check_whole


class Inputs(NamedTuple):
    """Inputs of every step of a model."""

    observed: Float[Tensor, "*batch C"]
    """Observed columns; 0 where missing."""
    mask: Float[Tensor, "*batch C"]
    """1 where a column is missing, else 0."""
    fill: Float[Tensor, "*#batch C"]
    """Values of missing columns before the first step."""
    offset: Tensor | None
    """Added to what the first layer reads in every step, such as ``A mask``."""
    guess: Tensor | None = None
    """Added to the logits of every step."""


class ConditionalModel(nn.Module, ABC):
    """Model of each missing value given the observed ones.

    A subclass sets the attributes, and defines `forward` and `units_per_row`. The D variables take C columns. Dtype and
    device of the visible bias ``b`` [C] are those of the model; ``fill`` [C] stands for missing columns before the
    first step.

    Example:
        >>> from nadek import ModelConfig, log_prob
        >>> from nadek.models.binary_variables import BinaryVariables
        >>> class Uniform(ConditionalModel):
        ...     config, variables, units_per_row = ModelConfig(n_variables=2, steps=1), BinaryVariables(2), 2
        ...     b, fill = torch.zeros(2), torch.full((2,), 0.5)
        ...     def forward(self, x, missing, **options):
        ...         return [self.b.expand(x.shape)]
        >>> log_prob(Uniform(), torch.tensor([[0, 1]]), ordering=[1, 0]).exp()
        tensor([0.2500], dtype=torch.float64)
    """

    config: AnyConfig
    variables: Variables
    b: Tensor
    fill: Tensor

    @property
    def n_variables(self) -> int:
        """D."""
        return self.config.n_variables

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of levels of each variable."""
        return self.variables.levels

    @property
    def steps(self) -> int:
        """k, as configured; `forward` takes another number."""
        return self.config.steps

    def steps_or(self, steps: int | None) -> int:
        """Return a number of uses of the network, by default its own."""
        if steps is not None:
            check_whole("steps", steps)
        return self.steps if steps is None else steps

    @property
    def own_ordering(self) -> Int[Tensor, " D"] | None:
        """Ordering of a fixed-order model [D]; else None."""
        ordering = self.config.ordering
        return None if ordering is None else torch.tensor(ordering, device=self.b.device)

    @property
    def base_model(self) -> "ConditionalModel":
        """Model inside a wrapper; the model itself without one."""
        return self

    @property
    def can_decode_incrementally(self) -> bool:
        """Return True if single variables can be computed alone.

        This holds for an unmodified `IterativeNADE`, also inside a memory. Hooks and subclasses with a forward of
        their own (pruned weights are made by a hook) need the whole model at every position.
        """
        return False

    @property
    @abstractmethod
    def units_per_row(self) -> int:
        """Upper bound of numbers that one row holds."""

    def first_state(
        self, x: Shaped[Tensor, "*batch D"], missing: Bool[Tensor, "*batch D"]
    ) -> Float[Tensor, "*#batch C"]:
        """Return v<0>: the values of missing columns before the first step."""
        return self.fill

    @abstractmethod
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

        What stands in ``x`` where ``missing`` is True is never read. `IterativeNADE.forward` tells the options.
        """

    def _begin_at(self, mean: Float[Tensor, " C"] | None) -> Float[Tensor, " C"]:
        """Set the visible bias from means; unknown is uniform."""
        uniform = self.variables.uniform_mean().to(self.b)
        if mean is not None:
            _check_mean(mean, self.variables.n_columns)
        mean = uniform if mean is None else torch.where(mean.isnan(), uniform, mean.to(self.b))
        self.b.copy_(self.variables.logits_of_mean(mean))
        return mean


def _check_mean(mean: Tensor, n_columns: int) -> None:
    check_tensor(mean, "mean")
    if mean.shape != (n_columns,):
        expected = f"expected one number for each of {n_columns} columns, as nadek.training.data_mean gives them"
        raise ValueError(f"mean: {expected}; found an array of shape {tuple(mean.shape)}")
    if (bad := (mean < 0) | (mean > 1)).any():
        column = int(bad.nonzero()[0])
        expected = "expected numbers from 0 to 1 (NaN where unknown)"
        raise ValueError(f"mean: {expected}, found {mean[column].item():g} for column {column}")
