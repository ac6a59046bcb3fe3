"""Scoring the test rows for a record, one ordering after the other, so that it can go on where it was interrupted."""

import hashlib
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nadek.experiments.rows import Row
from nadek.files import replacing
from nadek.likelihood import Progress, log_prob
from nadek.model import Network
from nadek.summaries import summarise
from nadek.walk import as_orderings

TEST_SEED = 0
"""Of the orderings and of the choice of test rows, the same for every row of every table."""

SPREADS = ("spread_over_orderings", "spread_over_rows")
"""Of `nadek.summaries.Summary`; those of the ensemble are the paper's Table 3."""


@dataclass(frozen=True)
class Scoring:
    """What is scored: all test rows under a few orderings, and perhaps some rows under many.

    Attributes:
        model: the model.
        x: all test rows [N, D].
        orderings: for them.
        mixed: rows and orderings of the ensemble; None where it is that of ``orderings``.
    """

    model: Network
    x: Tensor
    orderings: Tensor
    mixed: tuple[Tensor, Tensor] | None

    @classmethod
    def of(cls, row: Row, model: Network, x: Tensor) -> "Scoring":
        """Draw what a row asks for; the draws are made on a CPU, so that they are the same everywhere."""
        mixed = None
        if row.ensemble_orderings is not None:
            chosen = torch.randperm(len(x), generator=_generator())[: row.ensemble_rows]
            mixed = (x[chosen].to(model.b.device), _orderings(model, row.ensemble_orderings))
        return cls(model, x.to(model.b.device), _orderings(model, row.orderings), mixed)

    @property
    def digest(self) -> str:
        """Changes with anything that the numbers depend on."""
        tensors = [*self.model.state_dict().values(), self.x, self.orderings, *(self.mixed or ())]
        return _digest(tensors)

    def told(self, folder: Path, progress: Progress | None) -> dict[str, Any]:
        """Score, and tell it in numbers; what is done is kept in ``folder``, to go on from after an interruption."""
        single = summarise(self._scores(folder / "scores.npz", self.x, self.orderings, progress))
        mixed = single
        if self.mixed is not None:
            mixed = summarise(self._scores(folder / "ensemble-scores.npz", *self.mixed, progress))
        told, told_mixed = asdict(single), asdict(mixed)
        return {
            "test_log_likelihood": single.mean,
            "standard_error": single.standard_error,
            "orderings": single.n_orderings,
            "rows": single.n_rows,
            "ensemble": mixed.ensemble,
            "ensemble_standard_error": mixed.ensemble_standard_error,
            "ensemble_orderings": mixed.n_orderings,
            "ensemble_rows": mixed.n_rows,
            **{key: told[key] for key in SPREADS},
            **{f"ensemble_{key}": told_mixed[key] for key in ("mean", *SPREADS)},
            "test_seed": TEST_SEED,
            "digest": self.digest,
        }

    def forget(self, folder: Path) -> None:
        """Remove the scores that were kept to resume from."""
        for name in ("scores.npz", "ensemble-scores.npz"):
            (folder / name).unlink(missing_ok=True)

    def _scores(self, cache: Path, x: Tensor, orderings: Tensor, progress: Progress | None) -> Tensor:
        """Log-probabilities [orderings, rows]; every ordering is kept in a file as soon as it is done."""
        digest = _digest([*self.model.state_dict().values(), x, orderings])
        done, total = _kept(cache, digest), len(orderings) * len(x)
        for index in range(len(done), len(orderings)):

            def told(rows: int, _: int, before: int = index * len(x)) -> None:
                if progress is not None:
                    progress(before + rows, total)

            done.append(log_prob(self.model, x, orderings[index], progress=told).cpu().numpy())
            with replacing(cache) as stream:
                np.savez(stream, digest=np.array(digest), scores=np.stack(done))
        return torch.from_numpy(np.stack(done))


def _orderings(model: Network, number: int) -> Tensor:
    """The first orderings of the one stream; a model of one ordering has only that."""
    return as_orderings(model, number, generator=_generator())


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(TEST_SEED)


def _kept(cache: Path, digest: str) -> list[np.ndarray]:
    """Scores of the orderings that are done, if they are of the same model, rows and orderings."""
    if not cache.is_file():
        return []
    try:
        with np.load(cache) as kept:
            return list(kept["scores"]) if str(kept["digest"]) == digest else []
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return []  # damaged: nothing is lost but time


def _digest(tensors: list[Tensor]) -> str:
    """Of shapes and values."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
