"""Stochastic EM (Celeux and Diebolt, 1985): learning from rows completed by the model.

A network that leaves missing cells out learns each conditional from the rows that observe its cells. Where another
column decides which cells are missing, these rows are not like the others, and the conditionals do not add up to the
distribution of all rows. Stochastic EM draws the missing cells from the model, given what is observed of their row,
learns from the completed rows, and draws again as the model gets better.
"""

import torch

from nadek.inference.sampling import impute
from nadek.models.base import ConditionalModel
from nadek.training.prepare import Rows

PART = 3
"""Completed rows are used in the last 1 / PART of a run. Draws of a poor model are hard to unlearn: on validation rows
of nltcs half of a run was worse than three eighths; a quarter was as good, but too short elsewhere."""
COMPLETIONS = 20
"""Number of completions in a run's length, at most one an epoch."""
MAX_PASSES = 64
"""Network passes of a completion, about; rows of more variables have several cells drawn at once."""


def completion_due(number: int, epochs: int, first: int) -> bool:
    """Check that rows are completed anew before an epoch.

    Example:
        >>> [number for number in range(100) if completion_due(number, 100, 66)]
        [66, 71, 76, 81, 86, 91, 96]
        >>> [number for number in range(5) if completion_due(number, 5, 3)]
        [3, 4]
    """
    since = number - first
    return since >= 0 and since % max(1, epochs // COMPLETIONS) == 0


def first_completion(epochs: int, *, trained: bool = False) -> int:
    """Return the first epoch that learns from completed rows.

    A model that is trained already begins at once, another one after at least one epoch.

    Example:
        >>> first_completion(100), first_completion(1), first_completion(100, trained=True)
        (66, 1, 0)
    """
    return 0 if trained else max(1, epochs - -(-epochs // PART))


def draw_missing_values(model: ConditionalModel, rows: Rows, generator: torch.Generator) -> Rows:
    """Draw missing values of rows given observed ones."""
    if rows.observed is None:
        return rows
    x = rows.values.to(model.b.dtype).masked_fill(~rows.observed, torch.nan)
    return rows.filled(impute(model, x, chunk=-(-model.n_variables // MAX_PASSES), generator=generator))
