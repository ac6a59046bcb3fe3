"""Exact test log-likelihood of a model, and how near its draws come to training rows, as records."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.inference.check_inputs import complete_rows
from nadek.inference.closest import closest_distances
from nadek.inference.decoders.chunking import Progress, part_of
from nadek.inference.likelihood import log_prob
from nadek.inference.orderings import Orderings, as_orderings
from nadek.inference.row_random import number_uniforms
from nadek.inference.sampling import sample
from nadek.inference.summary import Summary, summarise
from nadek.runs.provenance import provenance
from nadek.tabular.columns import encode
from nadek.tabular.writeback import decoded

MOST_COMPARED = 10_000
"""Rows of each table whose distances are measured, at most."""
CLOSEST = 0.05
"""Part of the rows that are closest."""


def evaluate(
    saved: SavedModel,
    x: Tensor,
    *,
    orderings: Orderings | int,
    densities: Tensor | None = None,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
    on_estimate: Callable[[Summary], None] = lambda summary: None,
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
    try:
        for index, ordering in enumerate(drawn):
            report = part_of(progress, index * len(x), len(x), len(drawn) * len(x))
            log_probs = log_prob(saved.model, x, ordering=ordering, progress=report)
            table.append(log_probs if densities is None else log_probs + densities.to(device))
            on_estimate(summarise(torch.stack(table)))
    except KeyboardInterrupt:
        if not table:
            raise
    estimates = asdict(summarise(torch.stack(table)))
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


def privacy(
    saved: SavedModel, unseen: Tensor, train: Tensor, *, orderings: Orderings | int, rows: int | None, seed: int
) -> dict[str, Any]:
    """Return how near drawn rows come to training rows, and unseen rows for comparison, as a record.

    As many rows are drawn as there are unseen ones, or ``rows`` of these. Drawn numbers have the decimals of their
    columns. Rows with missing cells are left out, and of very many some are taken at random.
    """
    device = saved.model.b.device
    generator, pick = torch.Generator(device).manual_seed(seed), torch.Generator().manual_seed(seed)
    complete = [part[~part.isnan().any(1)] for part in (unseen, train)]
    for part, name in zip(complete, ("unseen", "training"), strict=True):
        if not len(part):
            raise ValueError(f"privacy: expected {name} rows without missing cells, found none")
    others, kept = (part[torch.randperm(len(part), generator=pick)[:MOST_COMPARED].to(device)] for part in complete)
    others = others[:rows]
    drawn = _as_read(saved, sample(saved.model, len(others), orderings=orderings, generator=generator), seed).to(kept)
    incomplete = len(unseen) + len(train) - sum(map(len, complete))
    record: dict[str, Any] = {"rows": len(others), "training_rows": len(kept), "incomplete_rows": incomplete}
    record["seed"] = seed
    for name, part in {"drawn": drawn, "unseen": others}.items():
        distances = closest_distances(saved.model, part, kept)
        least, median = distances.quantile(torch.tensor([CLOSEST, 0.5], dtype=torch.float64, device=device)).tolist()
        record[name] = {"copies": float((distances == 0).double().mean()), "closest_part": least, "median": median}
    return record


def _as_read(saved: SavedModel, codes: Tensor, seed: int) -> Tensor:
    """Write codes of drawn rows, and read them again."""
    kinds, rows = saved.kinds, torch.arange(len(codes))
    values = decoded(kinds, codes.cpu().numpy(), uniforms=number_uniforms(seed, rows))
    again = [encode(kind, column, name="drawn") for kind, column in zip(kinds, values, strict=True)]
    return torch.from_numpy(np.column_stack(again))
