"""``nadek evaluate`` and ``nadek score``: exact log-likelihoods of a data set and of each row."""

from collections.abc import Sequence
from typing import Annotated

import torch
import typer
from torch import Tensor

from nadek.checkpoints import load_saved
from nadek.cli.arguments import (
    NUMBERS,
    DataArgument,
    DataDir,
    Device,
    DeviceOption,
    Force,
    Json,
    ModelArgument,
    Orderings,
    OutputFile,
    Quiet,
    Seed,
    SplitName,
    SplitOption,
    check_file,
    pick_device,
)
from nadek.cli.console import rows_progress, say, show_json, show_table
from nadek.cli.output import write_rows
from nadek.datasets import names
from nadek.inference import log_prob
from nadek.inference.likelihood import reduce_orderings
from nadek.inference.summary import Summary, deviation
from nadek.runs.data import rows_for
from nadek.runs.evaluate import evaluate as evaluate_model
from nadek.tabular.declare import names_of

USUAL = 8
"""Orderings that `evaluate` draws where nothing is said."""

MOST = 1024
"""Orderings that it draws at most where it is to stop by itself and nothing else is said."""


def evaluate(
    model: ModelArgument,
    data: DataArgument,
    *,
    orderings: Annotated[
        int | None,
        typer.Option(
            "--orderings",
            min=1,
            help=f"Number of random orderings; {USUAL}, or {MOST:,} at most with --until-error.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="A random subset of so many rows only.")] = None,
    until_error: Annotated[
        float | None,
        typer.Option(
            "--until-error",
            min=0.0,
            help="Stop once the orderings drawn so far, 8 or more, leave the mean so uncertain (standard error, nats).",
            show_default=False,
        ),
    ] = None,
    split: SplitOption = SplitName.test,
    output: OutputFile = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    device: DeviceOption = Device.auto,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Exact log-likelihood of complete rows, in nats: mean over orderings, and of their mixture (EoNADE).

    Ctrl-C stops early and tells what the orderings scored so far give.

    Example: [bold]nadek evaluate model mnist --orderings 128[/]
    """
    check_file(output, (".json",), force=force)
    n_orderings = orderings or (USUAL if until_error is None else MOST)
    saved = load_saved(model, device=pick_device(device))
    x = rows_for(saved, data, split=split.value, data_dir=data_dir)
    _check_complete(x, names_of(saved.schema, x.shape[1]), data)
    if rows is not None and rows < len(x):
        x = x[torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:rows]]
    with rows_progress("scoring", quiet=quiet) as progress:

        def estimate(now: Summary) -> None:
            in_all = n_orderings if saved.model.config.ordering is None else 1
            done, total = (n * len(x) for n in (now.n_orderings, in_all))
            progress(done, total, f"mean so far {now.mean:.3f} ± {now.ordering_error:.3f}")

        found = evaluate_model(
            saved,
            x,
            orderings=n_orderings,
            seed=seed,
            until_error=until_error,
            keep_interrupted=True,
            progress=progress,
            on_estimate=estimate,
        )
    record = {"data": data, "split": split.value if data in names() else None, **found}
    if until_error is not None and record["ordering_error"] > until_error:
        left = f"{record['orderings']} orderings leave the mean uncertain by {record['ordering_error']:.3g} nats"
        say(f"{left}, where {until_error:g} was asked for; more --orderings bring it closer", quiet=quiet)
    if output is not None:
        show_json(record, output)
    if as_json:
        show_json(record)
        return
    told = [
        ["mean over orderings", f"{record['test_log_likelihood']:.3f}", f"{record['standard_error']:.3f}"],
        ["its error by the choice of orderings", "", f"{record['ordering_error']:.3f}"],
        [
            "ensemble (mixture of the orderings)",
            f"{record['ensemble']:.3f}",
            f"{record['ensemble_standard_error']:.3f}",
        ],
        ["spread over orderings", f"{record['spread_over_orderings']:.3f}", ""],
        ["spread over rows", f"{record['spread_over_rows']:.3f}", ""],
    ]
    title = f"log-likelihood of {record['rows']} rows under {record['orderings']} orderings"
    show_table(title, ["", "nats a row", "standard error"], told)


def score(
    model: ModelArgument,
    data: DataArgument,
    *,
    orderings: Orderings = 8,
    split: SplitOption = SplitName.test,
    output: OutputFile = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    device: DeviceOption = Device.auto,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Exact log-likelihood of each row, in nats: of the mixture, the mean over orderings, and the spread over them.

    In rows with holes it is that of the observed cells; the missing ones are summed out.

    Low is unusual among rows with the same cells observed.

    Example: [bold]nadek score model answers.csv -o scores.csv[/]
    """
    check_file(output, NUMBERS, force=force)
    saved = load_saved(model, device=pick_device(device))
    x = rows_for(saved, data, split=split.value, data_dir=data_dir)
    generator = torch.Generator(x.device).manual_seed(seed)
    with rows_progress("scoring", quiet=quiet) as progress:
        table = log_prob(saved.model, x, orderings=orderings, generator=generator, progress=progress)
    columns = torch.stack([reduce_orderings(table, "mixture"), table.mean(0), deviation(table, 0)], dim=1)
    write_rows(columns, ("log_likelihood", "mean_over_orderings", "spread_over_orderings"), output)


def _check_complete(x: Tensor, names: Sequence[str], data: str) -> None:
    """Refuse rows with holes.

    Raises:
        ValueError: names the first one.
    """
    holes = x.isnan().nonzero()
    if len(holes):
        row, column = holes[0].tolist()
        found = f'row {row + 1}, column "{names[column]}": expected complete rows, found a missing value'
        raise ValueError(f"{data}: {found}; nadek score sums out what is missing")
