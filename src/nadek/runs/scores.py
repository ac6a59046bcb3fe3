"""Scores of rows, in nats."""

from collections.abc import Callable

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference.decoders.chunking import Progress
from nadek.inference.likelihood import log_prob, reduce_orderings
from nadek.inference.orderings import Orderings
from nadek.inference.summary import deviation
from nadek.inference.whole_rows import as_whole_rows
from nadek.runs.data import ModelRows, of_numbers
from nadek.tabular.columns import log_density, log_relative_density


def scores(
    saved: SavedModel,
    batch: ModelRows,
    orderings: Orderings | int,
    *,
    seed: int,
    expected: Callable[[], Tensor] | None = None,
    progress: Progress | None = None,
) -> dict[str, Tensor]:
    """Return columns [N]: the mixture of the orderings, mean and spread over them, and the score of an outlier.

    Orderings that are drawn follow from the seed, so they are those of every batch. Scores of outliers need what is
    ``expected`` of each column (`expected_scores`), where cells are missing.
    """
    x = batch.x
    generator = torch.Generator(x.device).manual_seed(seed)
    log_probs = log_prob(saved.model, x, orderings=orderings, generator=generator, progress=progress)
    scored = log_probs + of_numbers(log_density, saved, batch).sum(1)
    columns = {
        "log_likelihood": reduce_orderings(scored, "mixture"),
        "mean_over_orderings": scored.mean(0),
        "spread_over_orderings": deviation(scored, 0),
    }
    if expected is not None:
        within = of_numbers(log_relative_density, saved, batch, new=True)
        relative, observed = reduce_orderings(log_probs + within.sum(1), "mixture"), ~x.isnan() | (within != 0)
        columns["outlier_score"] = relative if observed.all() else as_whole_rows(relative, observed, expected())
    return {name: column.cpu() for name, column in columns.items()}
