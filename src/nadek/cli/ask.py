"""``nadek explain`` and ``nadek suggest``: which cells make a row unlikely, and which missing ones to ask for next."""

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from jaxtyping import Bool
from torch import Tensor

from nadek.checkpoints import SavedModel, load_saved
from nadek.cli.arguments import (
    DataArgument,
    DataDir,
    Device,
    DeviceOption,
    Force,
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
from nadek.cli.console import rows_progress, say
from nadek.cli.output import write_values
from nadek.inference import expected_information, explain_cells, log_prob
from nadek.inference.likelihood import reduce_orderings
from nadek.runs.data import Source, kinds_of, source_for
from nadek.tabular.columns import Column, Numeric, level_names
from nadek.tabular.declare import names_of
from nadek.tabular.io import as_known, quoted
from nadek.tabular.listed_names import listed_names
from nadek.tabular.values import falls

FORMS = (".csv", ".csv.gz", ".parquet")
"""Of tables that hold words."""

Top = Annotated[int, typer.Option("--top", min=1, help="So many cells of each row.")]


def explain(
    model: ModelArgument,
    data: DataArgument,
    *,
    top: Top = 3,
    lowest: Annotated[
        int | None, typer.Option("--lowest", min=1, help="Only so many rows: the least likely, these first.")
    ] = None,
    orderings: Orderings = 8,
    split: SplitOption = SplitName.test,
    output: OutputFile = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    device: DeviceOption = Device.auto,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Tell how likely each row is, and which of its cells make it unlikely: the most surprising ones given all others.

    One line a cell, in nats. Surprise is log(p(most probable value) / p(observed value)). Numbers are their bins, and
    they and their rows are less likely where they lie farther outside than is usual in their bin.

    Example: [bold]nadek explain model answers.csv --lowest 10[/]
    """
    check_file(output, FORMS, force=force)
    saved = load_saved(model, device=pick_device(device))
    source = source_for(saved, data, split=split.value, data_dir=data_dir)
    x = source.x.to(saved.model.b.device)
    generator = torch.Generator(x.device).manual_seed(seed)
    with rows_progress("scoring", quiet=quiet) as progress:
        table = log_prob(saved.model, x, orderings=orderings, generator=generator, progress=progress)
    names, kinds = names_of(saved.schema, saved.model.n_variables), kinds_of(saved)
    less = torch.zeros_like(x, dtype=torch.float64)
    if source.values is not None:
        less = falls(source.values, kinds, names).to(x.device)
    scores = reduce_orderings(table, "mixture") + less.sum(1)
    chosen = torch.arange(len(x), device=x.device) if lowest is None else scores.argsort(stable=True)[:lowest]
    with rows_progress("explaining", quiet=quiet) as progress:
        cells = explain_cells(saved.model, x[chosen], progress=progress)
    cells = cells._replace(log_prob=cells.log_prob + less[chosen])
    found = cells.surprise.masked_fill(cells.surprise.isnan(), -1)
    surprise, variables = found.sort(dim=1, descending=True, stable=True)
    place, rank = (surprise[:, :top] >= 0).nonzero(as_tuple=True)  # what is missing is no surprise
    row, variable = chosen[place], variables[place, rank]
    expected = cells.expected[place, variable].long()
    _write(
        output,
        row=row + 1,
        log_likelihood=scores[row],
        column=[names[j] for j in variable.tolist()],
        value=[_value(source, kinds, *cell) for cell in _pairs(row, variable)],
        expected=[level_names(kinds[j])[level] for j, level in _pairs(variable, expected)],
        surprise=surprise[place, rank],
        log_probability=cells.log_prob[place, variable],
    )


def suggest(
    model: ModelArgument,
    data: DataArgument,
    *,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", help="Columns to learn about, as a,b; all others if not given. Repeatable.", show_default=False
        ),
    ] = None,
    top: Top = 3,
    split: SplitOption = SplitName.test,
    output: OutputFile = None,
    data_dir: DataDir = None,
    device: DeviceOption = Device.auto,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Tell which missing cells of each row to ask for next: how much each is expected to tell about others, in nats.

    The gains for several targets are added, so targets that say the same are counted twice.

    Example: [bold]nadek suggest model answers.csv --target age[/]
    """
    check_file(output, FORMS, force=force)
    saved = load_saved(model, device=pick_device(device))
    x = source_for(saved, data, split=split.value, data_dir=data_dir).x.to(saved.model.b.device)
    flags = _flags(saved, target).to(x.device)
    unknown = x.isnan()
    asked = unknown & ~flags
    useful = asked.any(1) & (unknown & flags).any(1) if target else unknown.sum(1) > 1  # one alone tells of no other
    rows = useful.nonzero().squeeze(1)
    why = "the target is known, or nothing else is unknown" if target else "fewer than two cells are unknown"
    if not len(rows):
        raise ValueError(f"{data}: there is nothing to ask: in every row {why}")
    if len(rows) < len(x):
        say(f"{len(x) - len(rows)} of {len(x)} rows are left out, as {why} in them", quiet=quiet)
    information = expected_information(saved.model, x[rows], flags if target else None)
    found, variables = information.masked_fill(~asked[rows], -1).sort(dim=1, descending=True, stable=True)
    place, rank = (found[:, :top] >= 0).nonzero(as_tuple=True)
    names = names_of(saved.schema, saved.model.n_variables)
    asked_for = [names[j] for j in variables[place, rank].tolist()]
    _write(output, row=rows[place] + 1, ask=asked_for, expected_information=found[place, rank])


def _value(source: Source, kinds: tuple[Column, ...], row: int, variable: int) -> str:
    """An observed cell in the words of its table."""
    kind = kinds[variable]
    if source.values is None or not isinstance(kind, Numeric):
        return level_names(kind)[int(source.x[row, variable])]
    found = source.values[variable][row]
    number = found if isinstance(found, int | np.integer) else float(found)
    return str(int(number)) if number == int(number) else repr(number)


def _pairs(a: Tensor, b: Tensor) -> list[tuple[int, int]]:
    return list(zip(a.tolist(), b.tolist(), strict=True))


def _flags(saved: SavedModel, target: list[str] | None) -> Bool[Tensor, " D"]:
    """Which columns are targets."""
    names = names_of(saved.schema, saved.model.n_variables)
    wanted = as_known(listed_names(target or [], names), names)
    for name in wanted:
        if name not in names:
            raise ValueError(f'--target: there is no column "{name}"; known are {quoted(names)}')
    return torch.tensor([name in wanted for name in names])


def _write(output: Path | None, **columns: Tensor | list[str]) -> None:
    """Write a table of numbers and words."""
    values = [
        column.cpu().numpy() if isinstance(column, Tensor) else np.array(column, dtype=object)
        for column in columns.values()
    ]
    write_values(values, list(columns), output)
