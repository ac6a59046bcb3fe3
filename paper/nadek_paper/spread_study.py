"""Orderings that spread out over an image, beside random ones, as a study."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel, load_saved
from nadek.inference import image_distances, log_prob, random_orderings, spread_orderings, summarise
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
    model: str  # a trained model of images
    data: str  # its data set
    chunks: tuple[int, ...]  # numbers of pixels at a time; the first is compared with
    rows: int  # validation rows
    orderings: int  # orderings of each kind


def spread_study(workspace: Workspace) -> Study:
    """Return the study: each kind of orderings with each chunk."""
    options = read_config(SpreadOptions, workspace.recipes / f"{NAME}.toml")
    x = some_rows(workspace.open(options.data, "valid").x, options.rows)
    cases = {f"{kind}, {chunk} at a time": (kind, chunk) for chunk in options.chunks for kind in KINDS}

    def finish(results: dict[str, Tensor]) -> Record:
        first = next(iter(results.values()))
        n_pixels = x.shape[1]
        lines = [_entry(*cases[name], scores, first, n_pixels) for name, scores in results.items()]
        about = {"title": options.title, "quick": workspace.quick, "model": options.model, "data": options.data}
        sizes = {"rows": len(x), "orderings": options.orderings}
        path = workspace.record(NAME)
        write_record(
            path, {**about, **sizes, "evaluation": provenance(workspace.device), "lines": lines}, lines="lines"
        )
        return read_record(path)

    def score(saved: SavedModel, kind: str, chunk: int, progress: Progress | None) -> Tensor:
        rows, orderings = x.to(saved.model.b.device), orderings_of(saved, kind, options.orderings)
        return log_prob(saved.model, rows, orderings=orderings, chunk=chunk, progress=progress).cpu()

    def job(name: str, kind: str, chunk: int) -> Job:
        return Job(
            name=name,
            train=lambda force, on_epoch: load_saved(options.model, device=workspace.device),
            score=lambda saved, force, progress: score(saved, kind, chunk, progress),
        )

    return Study(
        title=f"{options.title}: log-likelihoods in nats a row",
        columns=("orderings", "at a time", "passes", "log-likelihood", "difference", "±"),
        lines=lambda record: [_shown(line) for line in record["lines"]],
        jobs=[job(name, *case) for name, case in cases.items()],
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


def _entry(kind: str, chunk: int, scores: Tensor, first: Tensor, n_pixels: int) -> Record:
    """Return a line of the record: scores, and their difference from the first ones, row by row."""
    summary, difference = summarise(scores), summarise((scores.mean(0) - first.mean(0)).unsqueeze(0))
    return {
        "orderings": kind,
        "at_a_time": chunk,
        "passes": -(-n_pixels // chunk),
        "log_likelihood": summary.mean,
        "ordering_error": summary.ordering_error,
        "ensemble": summary.ensemble,
        "difference": difference.mean,
        "standard_error": difference.standard_error,
    }


def _shown(line: Record) -> list[str]:
    values = (number(line[key]) for key in ("log_likelihood", "difference", "standard_error"))
    return [line["orderings"], str(line["at_a_time"]), str(line["passes"]), *values]
