"""Scoring the test rows for a record, piece by piece, so that it can go on where it was interrupted."""

import contextlib
import hashlib
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nadek.inference.check_inputs import as_orderings
from nadek.inference.decoders import Progress
from nadek.inference.likelihood import log_prob
from nadek.inference.summary import summarise
from nadek.models.base import ConditionalModel
from nadek.utils.atomic import replacing
from nadek_paper.rows import Row

PIECE = 100
"""Rows between two savings of the scores, for networks that take minutes for so many."""

CHECKED_ROWS = 16
"""Scored both in reduced precision and in the network's own, under one ordering, to tell the difference."""

TEST_SEED = 0
"""Of the orderings and of the choice of test rows, the same for every row of every table."""

SPREADS = ("spread_over_orderings", "spread_over_rows")
"""Of `nadek.inference.summary.Summary`; those of the ensemble are the paper's Table 3."""


@dataclass(frozen=True)
class Scoring:
    """What is scored: all test rows under a few orderings, and perhaps some rows under many.

    Attributes:
        model: the model.
        x: all test rows [N, D].
        orderings: for them [O, D].
        in_turn: whether each row is scored under one of these only, in turn.
        mixed: rows and orderings of the ensemble; None where it is that of ``orderings``.
        dtype: of the matrix products; None for the network's own.
    """

    model: ConditionalModel
    x: Tensor
    orderings: Tensor
    in_turn: bool
    mixed: tuple[Tensor, Tensor] | None
    dtype: torch.dtype | None = None

    @classmethod
    def of(cls, row: Row, model: ConditionalModel, x: Tensor) -> "Scoring":
        """Draw what a row asks for; the draws are made on a CPU, so that they are the same everywhere."""
        mixed = None
        if row.ensemble_orderings is not None:
            chosen = torch.randperm(len(x), generator=_generator())[: row.ensemble_rows]
            mixed = (x[chosen].to(model.b.device), _orderings(model, row.ensemble_orderings))
        dtype = torch.bfloat16 if row.scoring_dtype == "bfloat16" else None
        return cls(model, x.to(model.b.device), _orderings(model, row.orderings), row.in_turn, mixed, dtype)

    @property
    def along(self) -> Tensor:
        """What the rows are scored along, line by line of the scores: an ordering for all rows [D], or one a row."""
        if not self.in_turn:
            return self.orderings
        return self.orderings[torch.arange(len(self.x)) % len(self.orderings)].unsqueeze(0)

    @property
    def digest(self) -> str:
        """Changes with anything that the numbers depend on."""
        tensors = [*self.model.state_dict().values(), self.x, self.along, *(self.mixed or ())]
        return self._digest(tensors)

    def told(self, folder: Path, progress: Progress | None) -> dict[str, Any]:
        """Score, and tell it in numbers; what is done is kept in ``folder``, to go on from after an interruption."""
        single = summarise(self._scores(folder / "scores.npz", self.x, self.along, progress))
        mixed = single
        if self.mixed is not None:
            mixed = summarise(self._scores(folder / "ensemble-scores.npz", *self.mixed, progress))
        told, told_mixed = asdict(single), asdict(mixed)
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
            **{key: told[key] for key in SPREADS},
            **{f"ensemble_{key}": told_mixed[key] for key in ("mean", *SPREADS)},
            "test_seed": TEST_SEED,
            "scoring_dtype": "float32" if self.dtype is None else "bfloat16",
            **self._told_of_precision(),
            "digest": self.digest,
        }

    def forget(self, folder: Path) -> None:
        """Remove the scores that were kept to resume from."""
        for name in ("scores.npz", "ensemble-scores.npz"):
            (folder / name).unlink(missing_ok=True)

    def _scores(self, cache: Path, x: Tensor, orderings: Tensor, progress: Progress | None) -> Tensor:
        """Log-probabilities [orderings, rows]; every piece is kept in a file as soon as it is done."""
        digest = self._digest([*self.model.state_dict().values(), x, orderings])
        scores = _kept(cache, digest, (len(orderings), len(x)))
        size = len(x) if self.model.can_decode_incrementally else PIECE
        for index in range(len(orderings)):
            for start in range(0, len(x), size):
                rows = slice(start, min(start + size, len(x)))
                if not np.isnan(scores[index, rows]).any():
                    continue

                def told(done: int, _: int, before: int = index * len(x) + start) -> None:
                    if progress is not None:
                        progress(before + done, scores.size)

                along = orderings[index] if orderings.ndim == 2 else orderings[index, rows]
                found = log_prob(self.model, x[rows], ordering=along, dtype=self.dtype, progress=told)
                scores[index, rows] = found.cpu().numpy()
                with replacing(cache) as stream:
                    np.savez(stream, digest=np.array(digest), scores=scores)
        return torch.from_numpy(scores)

    def _told_of_precision(self) -> dict[str, Any]:
        """How far scores in reduced precision are from those in the network's own, on a few rows, in nats."""
        if self.dtype is None:
            return {}
        x, ordering = self.x[:CHECKED_ROWS], self.orderings[0]
        away = log_prob(self.model, x, ordering=ordering, dtype=self.dtype) - log_prob(self.model, x, ordering=ordering)
        told = {"rows": len(x), "mean_difference": away.mean().item(), "largest_difference": away.abs().max().item()}
        return {"reduced_precision": told}

    def _digest(self, tensors: list[Tensor]) -> str:
        """Of what scores depend on: shapes and values, and a precision that is not the network's own."""
        digest = hashlib.sha256(b"" if self.dtype is None else str(self.dtype).encode())
        for tensor in tensors:
            digest.update(str(tuple(tensor.shape)).encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()


def _orderings(model: ConditionalModel, number: int) -> Tensor:
    """The first orderings of the one stream; a model of one ordering has only that."""
    return as_orderings(model, number, generator=_generator())


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(TEST_SEED)


def _kept(cache: Path, digest: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Scores that are done, if they are of the same model, rows and orderings; NaN for those that are not."""
    scores = np.full(shape, np.nan)
    if cache.is_file():
        # damaged: nothing is lost but time
        with contextlib.suppress(ValueError, KeyError, EOFError, zipfile.BadZipFile), np.load(cache) as kept:
            if str(kept["digest"]) == digest:
                scores[: len(kept["scores"])] = kept["scores"]
    return scores
