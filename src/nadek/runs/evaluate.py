"""Exact test log-likelihood of a model, as a record."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference.check_inputs import complete_rows
from nadek.inference.decoders.chunking import Progress
from nadek.inference.likelihood import log_prob
from nadek.inference.orderings import Orderings, as_orderings
from nadek.inference.summary import Summary, summarise
from nadek.runs.provenance import provenance


def evaluate(
    saved: SavedModel,
    x: Tensor,
    *,
    orderings: Orderings | int,
    densities: Tensor | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    on_estimate: Callable[[Summary], None] | None = None,
) -> dict[str, Any]:
    """Return the exact log-likelihood of complete rows as a record, in nats.

    ``densities`` [N] of numbers are added to the log-likelihoods of rows. Ctrl-C stops, once an ordering is scored.
    ``on_estimate`` gets the summary after each ordering.
    """
    device = saved.model.b.device
    generator = torch.Generator(device).manual_seed(seed)
    x = complete_rows(saved.model, x.to(device))
    drawn = as_orderings(saved.model, orderings, device=device, generator=generator)
    table: list[Tensor] = []
    summary: Summary | None = None
    try:
        for index, ordering in enumerate(drawn):
            report = None if progress is None else partial(_count, progress, index * len(x), len(drawn) * len(x))
            log_probs = log_prob(saved.model, x, ordering=ordering, progress=report)
            table.append(log_probs if densities is None else log_probs + densities.to(device))
            summary = summarise(torch.stack(table))
            if on_estimate is not None:
                on_estimate(summary)
    except KeyboardInterrupt:
        if summary is None:
            raise
    assert summary is not None  # there is one ordering at least
    estimates = asdict(summary)
    return {
        "test_log_likelihood": estimates.pop("mean"),
        "standard_error": estimates.pop("standard_error"),
        "orderings": estimates.pop("n_orderings"),
        "rows": estimates.pop("n_rows"),
        **estimates,
        "ordering_seed": seed,
        **{key: saved.metrics.get(key) for key in ("epochs", "seconds", "config", "commit")},
        "training": {key: saved.metrics.get(key) for key in ("versions", "hardware", "best_validation", "rows")},
        "evaluation": provenance(device),
    }


def _count(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    """Report rows counted over all orderings."""
    progress(before + done, total)
