"""Rows with holes, completed by what a model expects there: learning from holes that follow from other columns.

A network that never reads nor predicts missing cells learns each conditional from the rows that hold its cells. Where
another column decides which cells are missing, these are not like the others, and conditionals that are each right for
their rows do not add up to the distribution of all rows. The likelihood of what is observed asks for the missing
cells to be summed out; stochastic EM (Celeux and Diebolt, 1985) draws them from the model instead, given what is
observed of their row, learns from the completed rows, and draws anew as the model gets better.
"""

import torch

from nadek.inference.sampling import impute
from nadek.models.base import ConditionalModel
from nadek.training.prepare import Rows

PART = 3
"""The last part of so many learns from completed rows. Draws of a model that knows little yet are hard to unlearn: on
validation rows of nltcs half of a run was worse than three eighths; a quarter was as good, but too short elsewhere."""
COMPLETIONS = 20
"""New ones are drawn every so many-th of a run, or every epoch where there are fewer."""
VISITS = 64
"""In rows of more variables several are drawn at once, so that a completion takes about so many passes at most."""


def due(number: int, epochs: int, first: int) -> bool:
    """Whether rows are completed anew before an epoch of a run: every so many epochs from the first on that `begins`.

    Example:
        >>> [number for number in range(100) if due(number, 100, 66)]
        [66, 71, 76, 81, 86, 91, 96]
        >>> [number for number in range(5) if due(number, 5, 3)]
        [3, 4]
    """
    since = number - first
    return since >= 0 and since % max(1, epochs // COMPLETIONS) == 0


def begins(epochs: int, *, trained: bool = False) -> int:
    """The first epoch of a run that learns from completed rows: with a trained model at once, else after one at least.

    Example:
        >>> begins(100), begins(1), begins(100, trained=True)
        (66, 1, 0)
    """
    return 0 if trained else max(1, epochs - -(-epochs // PART))


def completed(model: ConditionalModel, rows: Rows, generator: torch.Generator) -> Rows:
    """Rows without holes: what is missing of each is drawn given what is observed of it, see `VISITS`.

    Args:
        model: what draws.
        rows: those to complete.
        generator: source of the draws, on the device of the rows.
    """
    if rows.observed is None:
        return rows
    x = rows.values.to(model.b.dtype).masked_fill(~rows.observed, torch.nan)
    return rows.filled(impute(model, x, chunk=-(-model.n_variables // VISITS), generator=generator))
