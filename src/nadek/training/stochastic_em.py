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

PART = 2
"""Completed rows are used in the last 1 / PART of a run. Draws of a poor model take time to unlearn: after a third of a
run shares still leaned; on validation rows of nltcs a half was level with a third."""
COMPLETIONS, LEAST_BETWEEN = 14, 5
"""Number of completions in a run's length, and least epochs between them: one takes as long as some epochs of a table
of many columns."""
MAX_PASSES = 64
"""Network passes of a completion, about; rows of more variables have several cells drawn at once."""


def completion_epochs(epochs: int, *, trained: bool = False) -> range:
    """Return the epochs that begin with rows completed anew.

    A model that is trained already begins at once, another one after at least one epoch.

    Example:
        >>> list(completion_epochs(100)), list(completion_epochs(5)), list(completion_epochs(2, trained=True))
        ([50, 57, 64, 71, 78, 85, 92, 99], [2], [0])
    """
    first = 0 if trained else max(1, epochs - -(-epochs // PART))
    return range(first, epochs, max(LEAST_BETWEEN, epochs // COMPLETIONS))


def draw_missing_values(model: ConditionalModel, rows: Rows, generator: torch.Generator) -> Rows:
    """Draw missing values of rows given observed ones."""
    if rows.observed is None:
        return rows
    x = rows.values.to(model.b.dtype).masked_fill(~rows.observed, torch.nan)
    return rows.filled(impute(model, x, chunk=-(-model.n_variables // MAX_PASSES), generator=generator))
