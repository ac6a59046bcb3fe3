"""Confidence of trained networks, fitted and read on validation rows, as a study."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional as F

from nadek.checkpoints import load_saved
from nadek.inference import random_orderings
from nadek.inference.decoders.chunking import Progress, bytes_per_row, chunks
from nadek.inference.decoding import decode_rows
from nadek.inference.orderings import VISITED, rank_of
from nadek.inference.summary import deviation
from nadek.models.base import ConditionalModel
from nadek.models.confidence import Confidence
from nadek.models.evaluation import evaluation_mode
from nadek.training import fit_confidence, prepare
from nadek_paper.markdown import number
from nadek_paper.studies import Job, Record, Study, write_whole
from nadek_paper.workspace import CHOICE_SEED, Workspace, read_config, some_rows

NAME = "confidence"
TENTHS = 10
BINS = 20
"""Equal parts of the probabilities from 0 to 1 for a calibration error."""


@dataclass(frozen=True, kw_only=True)
class ConfidenceOptions:
    """The options of ``confidence.toml``."""

    title: str  # shown above the table
    models: tuple[str, ...]  # trained models of binary variables
    data: str  # their data set
    knots: tuple[int, ...]  # numbers of knots to compare
    shown: int  # the number of knots that is shown by tenths
    rows: int  # validation rows to read on, from the half that is not fitted on
    orderings: int  # random orderings to read along

    def __post_init__(self) -> None:
        if self.shown not in self.knots:
            raise ValueError(f"shown: expected one of the knots {self.knots}, found {self.shown}")


@dataclass(frozen=True)
class Conditionals:
    """Conditionals of a model along orderings.

    ``logit`` is that of the value which a variable has, ``rank`` the number of variables given.
    """

    logit: Float[Tensor, "M B D"]
    rank: Float[Tensor, "M 1 D"]
    x: Float[Tensor, "B D"]

    def scaled(self, confidence: Confidence | None) -> Float[Tensor, "M B D"]:
        """Return the logits with a confidence."""
        return self.logit if confidence is None else confidence(self.rank / self.x.shape[1]) * self.logit


def confidence_study(workspace: Workspace) -> Study:
    """Return the study: confidences of several numbers of knots for each network."""
    options = read_config(ConfidenceOptions, workspace.recipes / f"{NAME}.toml")
    x = workspace.open(options.data, "valid").x
    x = some_rows(x, len(x))  # shuffled
    fitted, read = x[: len(x) // 2], x[len(x) // 2 :][: options.rows]

    def finish(results: Record) -> Record:
        about = {"title": options.title, "data": options.data, "bins": BINS, "shown": options.shown}
        sizes = {"fitted_rows": len(fitted), "rows": len(read), "orderings": options.orderings}
        return write_whole(workspace, NAME, {**about, **sizes, "models": results}, lines="models")

    return Study(
        title=f"{options.title}: gains in nats a row",
        columns=("model", "knots", "gain", "±"),
        lines=lambda record: [
            [name, str(line["knots"]), number(line["gain"]), number(line["standard_error"])]
            for name, entry in record["models"].items()
            for line in entry["by_knots"]
        ],
        jobs=[
            Job(
                name=name,
                train=lambda force, on_epoch, name=name: load_saved(name, device=workspace.device).model,
                score=lambda model, force, progress: model_results(model, fitted, read, options, progress),
            )
            for name in options.models
        ],
        finish=finish,
    )


def model_results(
    model: ConditionalModel, fitted: Tensor, read: Tensor, options: ConfidenceOptions, progress: Progress
) -> Record:
    """Return a model's entry of the record."""
    fitted, read = fitted.to(model.b.device), read.to(model.b.device)
    source = partial(torch.Generator, read.device)
    orderings = random_orderings(
        options.orderings, model.n_variables, device=read.device, generator=source().manual_seed(CHOICE_SEED)
    )
    conditionals = conditionals_along(model, read, orderings, progress)
    plain = F.logsigmoid(conditionals.logit)
    lines, tenths = [], []
    for knots in options.knots:
        tuned = fit_confidence(model, prepare(fitted), knots=knots, generator=source().manual_seed(CHOICE_SEED))
        assert tuned.confidence is not None
        confidence = tuned.confidence.double().requires_grad_(requires_grad=False)
        gain = F.logsigmoid(conditionals.scaled(confidence)) - plain
        by_row = gain.sum(2).mean(0)
        error = deviation(by_row, 0).item() / len(by_row) ** 0.5
        lines.append({"knots": knots, "gain": by_row.mean().item(), "standard_error": error})
        if knots == options.shown:
            tenths = [_tenth(conditionals, confidence, gain, tenth) for tenth in range(TENTHS)]
    shown = next(line for line in lines if line["knots"] == options.shown)
    return {"log_likelihood": plain.sum(2).mean().item(), **shown, "by_knots": lines, "tenths": tenths}


@evaluation_mode
def conditionals_along(
    model: ConditionalModel, x: Shaped[Tensor, "B D"], orderings: Shaped[Tensor, "M D"], progress: Progress
) -> Conditionals:
    """Return all conditionals of rows of binary variables; a confidence only scales their logits."""
    if set(model.levels) != {2}:
        raise ValueError(f"{NAME}: expected a model of binary variables, found one of {max(model.levels)} levels")
    stage, done, parts = torch.full_like(x, VISITED, dtype=torch.uint8), 0, []
    for ordering in orderings:
        for rows in chunks(len(x), bytes_per_row(model)):
            parts.append(decode_rows(model, x[rows], ordering, stage[rows]).log_probs)
            done += len(parts[-1])
            progress(done, len(orderings) * len(x))
    log_p = torch.cat(parts).view(len(orderings), *x.shape)
    logit = log_p - (-log_p.expm1()).log()  # infinite for a probability of 1
    return Conditionals(logit, rank_of(orderings).unsqueeze(1).double(), x.double())


def calibration_error(p: Float[Tensor, " N"], x: Float[Tensor, " N"]) -> float:
    """Return the mean distance of probabilities and frequencies, by bins of probability."""
    place = (p * BINS).long().clamp(max=BINS - 1)
    return p.new_zeros(BINS).index_add_(0, place, p - x).abs().sum().item() / len(p)


def _tenth(conditionals: Conditionals, confidence: Confidence, gain: Tensor, tenth: int) -> dict[str, Any]:
    n = conditionals.x.shape[1]
    here = ((conditionals.rank * TENTHS / n).floor() == tenth).expand_as(gain)
    sign = 2 * conditionals.x - 1
    x = conditionals.x.expand_as(gain)[here]
    before, after = (
        calibration_error((sign * conditionals.scaled(one)).sigmoid()[here], x) for one in (None, confidence)
    )
    factor = confidence(conditionals.rank.expand_as(gain)[here] / n)
    return {
        "given": f"{100 * tenth // TENTHS}–{100 * (tenth + 1) // TENTHS} %",
        "factor": factor.mean().item(),
        "gain": (gain * here).sum().item() / gain[..., 0].numel(),
        "error_before": before,
        "error_after": after,
    }
