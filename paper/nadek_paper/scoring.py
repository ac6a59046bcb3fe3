"""Scores of the test rows for a record, saved piece by piece, so that scoring can be resumed."""

import contextlib
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nadek.inference.decoders.chunking import Progress, part_of
from nadek.inference.likelihood import log_prob
from nadek.inference.orderings import as_orderings
from nadek.inference.summary import summarise
from nadek.models.base import ConditionalModel
from nadek.utils.atomic import replacing
from nadek_paper.rows import Row
from nadek_paper.studies import digest_of

PIECE = 100
"""Rows between two savings of the scores, for networks that take minutes for them."""

CHECKED_ROWS = 16
"""Rows scored both in reduced and in full precision, to record the difference."""

TEST_SEED = 0
"""Seed of the orderings, masks and choices of test rows, the same for every row and cell: only models differ."""

SPREADS = ("spread_over_orderings", "spread_over_rows")
"""Fields of `nadek.inference.summary.Summary`; those of the ensemble are the paper's Table 3."""

FILES = ("scores.npz", "ensemble-scores.npz")


@dataclass(frozen=True)
class Scoring:
    """All test rows [N, D] under a few orderings [O, D], and perhaps some rows under many.

    ``in_turn`` scores each row under one ordering only. ``ensemble`` has rows and orderings of its own; None for those
    of all rows. ``dtype`` is that of the matrix products, None for full precision.
    """

    model: ConditionalModel
    x: Tensor
    orderings: Tensor
    in_turn: bool
    ensemble: tuple[Tensor, Tensor] | None
    dtype: torch.dtype | None = None

    @classmethod
    def of(cls, row: Row, model: ConditionalModel, x: Tensor) -> "Scoring":
        """Draw orderings and rows on a CPU, so that they are the same everywhere."""
        ensemble = None
        if row.ensemble_orderings is not None:
            chosen = torch.randperm(len(x), generator=_generator())[: row.ensemble_rows]
            many = as_orderings(model, row.ensemble_orderings, generator=_generator())
            ensemble = (x[chosen].to(model.b.device), many)
        dtype = torch.bfloat16 if row.scoring_dtype == "bfloat16" else None
        few = as_orderings(model, row.orderings, generator=_generator())
        return cls(model, x.to(model.b.device), few, row.in_turn, ensemble, dtype)

    @property
    def along(self) -> Tensor:
        """Return an ordering for each line of the scores: [O, D], or [1, N, D] with one for each row."""
        if not self.in_turn:
            return self.orderings
        return self.orderings[torch.arange(len(self.x)) % len(self.orderings)].unsqueeze(0)

    @property
    def digest(self) -> str:
        """Return a digest of all that numbers depend on."""
        return self._digest(self.x, self.along, *(self.ensemble or ()))

    def scores(self, folder: Path, progress: Progress) -> dict[str, Any]:
        """Return the scores as entries of a record, and save them in ``folder`` to resume from."""
        single = summarise(self._saved(folder / FILES[0], self.x, self.along, progress))
        mixed = single
        if self.ensemble is not None:
            mixed = summarise(self._saved(folder / FILES[1], *self.ensemble, progress))
        return {
            "test_log_likelihood": single.mean,
            "standard_error": single.standard_error,
            "orderings": len(self.orderings),
            **({"in_turn": True} if self.in_turn else {}),
            "rows": single.n_rows,
            "ensemble": mixed.ensemble,
            "ensemble_standard_error": mixed.ensemble_standard_error,
            "ensemble_orderings": mixed.n_orderings,
            "ensemble_rows": mixed.n_rows,
            **{key: asdict(single)[key] for key in SPREADS},
            **{f"ensemble_{key}": asdict(mixed)[key] for key in ("mean", *SPREADS)},
            "test_seed": TEST_SEED,
            "scoring_dtype": "float32" if self.dtype is None else "bfloat16",
            **self._precision(),
            "digest": self.digest,
        }

    @staticmethod
    def forget(folder: Path) -> None:
        """Remove the scores that were saved to resume from."""
        for name in FILES:
            (folder / name).unlink(missing_ok=True)

    def _saved(self, cache: Path, x: Tensor, orderings: Tensor, progress: Progress) -> Tensor:
        """Return log-probabilities [orderings, rows]; every piece is saved as soon as it is done."""
        digest = self._digest(x, orderings)
        scores = _load(cache, digest, (len(orderings), len(x)))
        size = len(x) if self.model.can_decode_incrementally else PIECE
        for index in range(len(orderings)):
            for start in range(0, len(x), size):
                rows = slice(start, min(start + size, len(x)))
                if not np.isnan(scores[index, rows]).any():
                    continue
                report = part_of(progress, index * len(x) + start, rows.stop - start, scores.size)
                along = orderings[index] if orderings.ndim == 2 else orderings[index, rows]
                values = log_prob(self.model, x[rows], ordering=along, dtype=self.dtype, progress=report)
                scores[index, rows] = values.cpu().numpy()
                with replacing(cache) as stream:
                    np.savez(stream, digest=np.array(digest), scores=scores)
        return torch.from_numpy(scores)

    def _precision(self) -> dict[str, Any]:
        """Return the error of scores in reduced precision, on a few rows, in nats."""
        if self.dtype is None:
            return {}
        x, ordering = self.x[:CHECKED_ROWS], self.orderings[0]
        away = log_prob(self.model, x, ordering=ordering, dtype=self.dtype) - log_prob(self.model, x, ordering=ordering)
        error = {"rows": len(x), "mean_difference": away.mean().item(), "largest_difference": away.abs().max().item()}
        return {"reduced_precision": error}

    def _digest(self, *tensors: Tensor) -> str:
        precision = "" if self.dtype is None else str(self.dtype)
        return digest_of(precision.encode(), *self.model.state_dict().values(), *tensors)


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(TEST_SEED)


def _load(cache: Path, digest: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return saved scores of the same model, rows and orderings; NaN where there are none."""
    scores = np.full(shape, np.nan)
    if cache.is_file():
        # a damaged file costs nothing but time
        with contextlib.suppress(ValueError, KeyError, EOFError, zipfile.BadZipFile), np.load(cache) as saved:
            if str(saved["digest"]) == digest:
                scores[: len(saved["scores"])] = saved["scores"]
    return scores
