"""``nadek complete``: fill missing cells with probable values."""

from typing import Annotated, Literal

import torch
import typer
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.cli.arguments import NUMBERS, DataArgument, ModelArgument, Seed, TableOptions
from nadek.cli.console import say
from nadek.cli.option_groups import with_groups
from nadek.cli.output import Whole, check_words, how_many
from nadek.inference import Completed, beam, best_of, greedy
from nadek.runs.data import kinds_of
from nadek.tabular.files import SUFFIXES
from nadek.tabular.writeback import decoded

Method = Literal["greedy", "certain-first", "beam", "best-of"]


@with_groups
def complete(
    model: ModelArgument,
    data: DataArgument,
    *,
    method: Annotated[Method, typer.Option("--method", help="Search method.")] = "beam",
    width: Annotated[int, typer.Option("--width", min=1, help="Number of prefixes that a beam keeps.")] = 16,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Number of draws that best-of chooses from.")] = 100,
    log_probability: Annotated[
        bool, typer.Option("--log-probability", help="Add a column: the log-probability of the completion, in nats.")
    ] = False,
    seed: Seed = 0,
    table: TableOptions,
) -> None:
    """Fill missing cells with a probable completion.

    No method finds the most probable completion for certain; a wider beam compares more of them. nadek impute draws
    instead. Columns that were dropped are copied.

    Example: [bold]nadek complete model answers.csv -o whole.csv[/]
    """
    saved = table.load(model, NUMBERS if log_probability else SUFFIXES)
    kinds = kinds_of(saved)
    check_words(kinds, table.output)
    source = table.read(saved, data)
    whole = Whole(source, table.output)
    if log_probability and "log_probability" in (whole.columns or ()):
        raise ValueError(f'--log-probability: {data} has a column "log_probability" already')
    x = source.x.to(saved.model.b.device)
    best = _complete(saved, x, method, width, draws, torch.Generator(x.device).manual_seed(seed))
    values = decoded(kinds, best.x.cpu().numpy())
    mean = float(best.log_prob.sum()) / max(1, int(x.isnan().any(1).sum()))
    say(f"{how_many(source.missing)}; mean log-probability of a row's completion: {mean:.3f} nats", quiet=table.quiet)
    whole.write(whole.filled(values), **({"log_probability": best.log_prob.cpu().numpy()} if log_probability else {}))


def _complete(
    saved: SavedModel, x: Tensor, method: Method, width: int, draws: int, generator: torch.Generator
) -> Completed:
    match method:
        case "greedy":
            return greedy(saved.model, x, generator=generator)
        case "certain-first":
            return greedy(saved.model, x, most_certain_first=True)
        case "beam":
            return beam(saved.model, x, width=width, generator=generator)
        case "best-of":
            return best_of(saved.model, x, n_draws=draws, generator=generator)
