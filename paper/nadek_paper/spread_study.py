"""Orderings that spread out over an image, beside random ones, as a study."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel, load_saved
from nadek.inference import (
    cheapest_chunks,
    image_distances,
    log_prob,
    position_losses,
    random_orderings,
    spread_orderings,
    summarise,
)
from nadek.inference.decoders.chunking import Progress
from nadek.runs.provenance import provenance
from nadek.utils.atomic import read_record, write_record
from nadek_paper.markdown import number
from nadek_paper.recipe_files import read_config
from nadek_paper.studies import Job, Record, Study
from nadek_paper.workspace import CHOICE_SEED, Workspace, some_rows

NAME = "spread"
KINDS = ("random", "spread")


@dataclass(frozen=True, kw_only=True)
class SpreadOptions:
    """The options of ``spread.toml``."""

    title: str  # shown above the table
    network: str  # a trained model of images
    data: str  # its data set
    chunks: tuple[int, ...]  # numbers of pixels at a time, the first of them 1
    rows: int  # validation rows
    measured_rows: int  # others, on which the losses of positions are measured
    orderings: int  # orderings of each kind


class Case(NamedTuple):
    """A kind of orderings, and a size of chunks; ``sized`` chunks are as many, each of a size of its own."""

    kind: str
    chunk: int
    sized: bool


def spread_study(workspace: Workspace) -> Study:
    """Return the study: each kind of orderings with chunks."""
    options = read_config(SpreadOptions, workspace.recipes / f"{NAME}.toml")
    both = some_rows(workspace.open(options.data, "valid").x, options.rows + options.measured_rows)
    others, x = both[: options.measured_rows], both[options.measured_rows :]
    chunks = [(chunk, sized) for sized in (False, True) for chunk in options.chunks if chunk > 1 or not sized]
    cases = {
        f"{kind}, {chunk} at a time{', sized' * sized}": Case(kind, chunk, sized)
        for chunk, sized in chunks
        for kind in KINDS
    }

    def finish(results: dict[str, Tensor]) -> Record:
        first = next(iter(results.values()))
        lines = [_entry(cases[name], scores, first, x.shape[1]) for name, scores in results.items()]
        about = {"title": options.title, "quick": workspace.quick, "model": options.network, "data": options.data}
        sizes = {"rows": len(x), "measured_rows": len(others), "orderings": options.orderings}
        path = workspace.record(NAME)
        write_record(
            path, {**about, **sizes, "evaluation": provenance(workspace.device), "lines": lines}, lines="lines"
        )
        return read_record(path)

    @cache
    def saved() -> SavedModel:
        return load_saved(options.network, device=workspace.device)

    @cache
    def losses(kind: str) -> Tensor:
        model = saved().model
        return position_losses(model, others.to(model.b.device), orderings_of(saved(), kind, options.orderings))

    def score(case: Case, progress: Progress | None) -> Tensor:
        model, passes = saved().model, -(-x.shape[1] // case.chunk)
        chunk = cheapest_chunks(losses(case.kind), passes) if case.sized else case.chunk
        orderings = orderings_of(saved(), case.kind, options.orderings)
        return log_prob(model, x.to(model.b.device), orderings=orderings, chunk=chunk, progress=progress).cpu()

    def job(name: str, case: Case) -> Job:
        return Job(
            name=name,
            train=lambda force, on_epoch: None,
            score=lambda model, force, progress: score(case, progress),
        )

    return Study(
        title=f"{options.title}: log-likelihoods in nats a row",
        columns=("orderings", "at a time", "sizes", "passes", "log-likelihood", "difference", "±"),
        lines=lambda record: [_shown(line) for line in record["lines"]],
        jobs=[job(name, case) for name, case in cases.items()],
        finish=finish,
    )


def orderings_of(saved: SavedModel, kind: str, n: int) -> Tensor:
    """Draw orderings of a kind on a CPU, so that they are the same everywhere."""
    generator, shape = torch.Generator().manual_seed(CHOICE_SEED), saved.schema.image_shape
    if kind == "random":
        return random_orderings(n, saved.model.n_variables, generator=generator)
    if shape is None:
        raise ValueError(f"{NAME}: expected a model of images, found one without image_shape")
    return spread_orderings(n, image_distances(shape), generator=generator)


def _entry(case: Case, scores: Tensor, first: Tensor, n_pixels: int) -> Record:
    """Return a line of the record: scores, and their difference from the first ones, row by row."""
    summary, difference = summarise(scores), summarise((scores.mean(0) - first.mean(0)).unsqueeze(0))
    return {
        "orderings": case.kind,
        "at_a_time": case.chunk,
        "sizes": "measured" if case.sized else "equal",
        "passes": -(-n_pixels // case.chunk),
        "log_likelihood": summary.mean,
        "ordering_error": summary.ordering_error,
        "ensemble": summary.ensemble,
        "difference": difference.mean,
        "standard_error": difference.standard_error,
    }


def _shown(line: Record) -> list[str]:
    values = (number(line[key]) for key in ("log_likelihood", "difference", "standard_error"))
    return [line["orderings"], str(line["at_a_time"]), line["sizes"], str(line["passes"]), *values]
