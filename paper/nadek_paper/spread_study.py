"""Orderings that spread out, beside random ones, as a study: one variable at a time, and several at once."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from nadek.checkpoints import SavedModel, load_saved
from nadek.inference import (
    cheapest_chunks,
    image_distances,
    information_distances,
    log_prob,
    position_losses,
    random_orderings,
    spread_orderings,
    summarise,
)
from nadek.training import Recipe
from nadek_paper.markdown import number
from nadek_paper.studies import Job, OnEpoch, Progress, Record, Study, write_whole
from nadek_paper.trainings import Training
from nadek_paper.workspace import CHOICE_SEED, Workspace, read_config, some_rows

NAME = "spread"


@dataclass(frozen=True, kw_only=True)
class SpreadSet:
    """A data set of the study, and its model: a trained one, or a recipe to train."""

    data: str  # name of a known data set
    network: str | None = None  # a trained model
    recipe: Recipe | None = None  # or the training of one
    orderings: int = 1  # orderings of each kind


@dataclass(frozen=True, kw_only=True)
class SpreadOptions:
    """The options of ``spread.toml``."""

    title: str  # shown above the table
    sets: tuple[SpreadSet, ...]  # data sets and their models
    chunks: tuple[int, ...]  # numbers of variables at a time, the first of them 1
    rows: int  # test rows, a fixed random choice
    measured_rows: int  # validation rows, on which the losses of positions are measured

    def __post_init__(self) -> None:
        for one in self.sets:
            if (one.network is None) == (one.recipe is None):
                raise ValueError(f"{one.data}: expected either a network or a recipe")


class Case(NamedTuple):
    """A kind of orderings, and a size of chunks; ``measured`` ones are as many, each of a size of its own."""

    kind: str
    measured: bool
    chunk: int


def spread_study(workspace: Workspace) -> Study:
    """Return the study: each kind of orderings with chunks."""
    options = read_config(SpreadOptions, workspace.recipes / f"{NAME}.toml")

    def finish(results: Record) -> Record:
        content = {"title": options.title, "measured_rows": options.measured_rows, "sets": results}
        return write_whole(workspace, NAME, content, lines="sets")

    def job(one: SpreadSet) -> Job:
        def train(*, force: bool, on_epoch: OnEpoch) -> SavedModel:
            if one.recipe is None:
                return load_saved(str(one.network), device=workspace.device)
            training = Training(name=f"{NAME}-{one.data}", data=one.data, recipe=one.recipe, workspace=workspace)
            return training.trained(force=force, on_epoch=on_epoch)

        return Job(
            name=one.data,
            train=train,
            score=lambda saved, force, progress: set_results(saved, one, options, workspace, progress),
        )

    return Study(
        title=f"{options.title}: log-likelihoods in nats a row",
        columns=("set", "orderings", "at a time", "sizes", "passes", "log-likelihood", "gain", "±"),
        lines=lambda record: [_shown(name, line) for name, one in record["sets"].items() for line in one["lines"]],
        jobs=[job(one) for one in options.sets],
        finish=finish,
    )


def set_results(
    saved: SavedModel, one: SpreadSet, options: SpreadOptions, workspace: Workspace, progress: Progress
) -> Record:
    """Return a data set's entry of the record."""
    model = saved.model
    x = some_rows(workspace.open(one.data, "test").x, options.rows).to(model.b.device)
    others = some_rows(workspace.open(one.data, "valid").x, options.measured_rows).to(model.b.device)
    along = orderings_along(saved, workspace.open(one.data, "train").x, one.orderings)
    losses = [position_losses(model, others, ordering.unsqueeze(0)) for ordering in along["spread"]]
    scores: dict[Case, Tensor] = {}
    kinds = (("random", False), ("spread", False), ("spread", True))
    cases = [Case(*kind, chunk) for chunk in options.chunks for kind in kinds if chunk > 1 or not kind[1]]
    for done, case in enumerate(cases, 1):
        passes = -(-x.shape[1] // case.chunk)
        sizes = [cheapest_chunks(one, passes) if case.measured else case.chunk for one in losses]
        pairs = zip(along[case.kind].unsqueeze(1), sizes, strict=True)
        parts = [log_prob(model, x, orderings=ordering, chunk=chunk) for ordering, chunk in pairs]
        scores[case] = torch.cat(parts).cpu()
        progress(done, len(cases))
    lines = [_line(case, scores, x.shape[1]) for case in cases]
    return {"model": one.network, "orderings": one.orderings, "rows": len(x), "lines": lines}


def orderings_along(saved: SavedModel, train: Tensor, n: int) -> dict[str, Tensor]:
    """Draw orderings of each kind on a CPU, so that they are the same everywhere."""
    model, shape = saved.model, saved.schema.image_shape
    distances = information_distances(train, model.levels) if shape is None else image_distances(shape)
    random = random_orderings(n, model.n_variables, generator=torch.Generator().manual_seed(CHOICE_SEED))
    spread = spread_orderings(n, distances, generator=torch.Generator().manual_seed(CHOICE_SEED))
    return {"random": random, "spread": spread}


def _line(case: Case, scores: dict[Case, Tensor], n_variables: int) -> Record:
    """Return a line of the record: a mean, and its differences row by row from two kinds of one at a time."""
    summary = summarise(scores[case])
    line = {
        "orderings": case.kind,
        "at_a_time": case.chunk,
        "sizes": "measured" if case.measured else "equal",
        "passes": -(-n_variables // case.chunk),
        "log_likelihood": summary.mean,
        "ordering_error": summary.ordering_error,
        "ensemble": summary.ensemble,
    }
    for key, kind in (("gain", "random"), ("loss", case.kind)):
        difference = summarise((scores[case] - scores[Case(kind, measured=False, chunk=1)]).mean(0, keepdim=True))
        line |= {key: difference.mean, f"{key}_error": difference.standard_error}
    return line


def _shown(name: str, line: Record) -> list[str]:
    values = (number(line[key]) for key in ("log_likelihood", "gain", "gain_error"))
    return [name, line["orderings"], str(line["at_a_time"]), line["sizes"], str(line["passes"]), *values]
