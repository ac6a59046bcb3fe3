"""``nadek complete``: probable values of what is missing."""

from enum import StrEnum
from typing import Annotated

import torch
import typer
from torch import Tensor

from nadek.checkpoints import SavedModel, load_saved
from nadek.cli.arguments import (
    NUMBERS,
    DataArgument,
    DataDir,
    Device,
    DeviceOption,
    Force,
    ModelArgument,
    OutputFile,
    Quiet,
    Seed,
    SplitName,
    SplitOption,
    check_file,
    pick_device,
)
from nadek.cli.console import say
from nadek.cli.output import Whole, check_words, how_many
from nadek.inference import Completed, beam, best_of, greedy
from nadek.runs.data import kinds_of, source_for
from nadek.tabular.io import SUFFIXES
from nadek.tabular.values import completed


class Method(StrEnum):
    """Ways to a probable completion."""

    greedy = "greedy"
    certain_first = "certain-first"
    beam = "beam"
    best_of = "best-of"


def complete(
    model: ModelArgument,
    data: DataArgument,
    *,
    method: Annotated[Method, typer.Option("--method", help="How to look for it.")] = Method.beam,
    width: Annotated[int, typer.Option("--width", min=1, help="Beginnings that a beam keeps.")] = 16,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Draws that best-of chooses from.")] = 100,
    log_probability: Annotated[
        bool, typer.Option("--log-probability", help="Add a column: that of the completion, in nats.")
    ] = False,
    split: SplitOption = SplitName.test,
    output: OutputFile = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    device: DeviceOption = Device.auto,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Fill the missing cells of a table with a probable completion, not with a draw as nadek impute does.

    No method finds the most probable one for certain; a wider beam looks at more of them.

    Columns that were dropped are written along.

    Example: [bold]nadek complete model answers.csv -o whole.csv[/]
    """
    check_file(output, NUMBERS if log_probability else SUFFIXES, force=force)
    saved = load_saved(model, device=pick_device(device))
    kinds = kinds_of(saved)
    check_words(kinds, output)
    source = source_for(saved, data, split=split.value, data_dir=data_dir)
    whole = Whole(source, output)
    if log_probability and "log_probability" in (whole.columns or ()):
        raise ValueError(f'--log-probability: {data} has a column "log_probability" already')
    x = source.x.to(saved.model.b.device)
    found = _complete(saved, x, method, width, draws, torch.Generator(x.device).manual_seed(seed))
    holes = x.isnan()
    values = completed(source.values, holes, kinds, found.x, rng=None)
    mean = float(found.log_prob.sum()) / max(1, int(holes.any(1).sum()))
    say(f"{how_many(holes)}; mean log-probability of a row's completion: {mean:.3f} nats", quiet=quiet)
    whole.write(whole.filled(values), **({"log_probability": found.log_prob.cpu().numpy()} if log_probability else {}))


def _complete(
    saved: SavedModel, x: Tensor, method: Method, width: int, draws: int, generator: torch.Generator
) -> Completed:
    match method:
        case Method.greedy:
            return greedy(saved.model, x, generator=generator)
        case Method.certain_first:
            return greedy(saved.model, x, most_certain_first=True)
        case Method.beam:
            return beam(saved.model, x, width=width, generator=generator)
        case Method.best_of:
            return best_of(saved.model, x, n_draws=draws, generator=generator)
