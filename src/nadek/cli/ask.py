"""``nadek explain`` and ``nadek suggest``: surprising cells, and cells to ask for."""

from typing import Annotated

import torch
import typer
from jaxtyping import Bool
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.cli.arguments import DataArgument, ModelArgument, Orderings, Seed, TableOptions, option, with_groups
from nadek.cli.console import say
from nadek.cli.output import write_columns
from nadek.cli.progress import rows_progress
from nadek.inference import expected_information, explain_cells, log_prob
from nadek.inference.likelihood import reduce_orderings
from nadek.runs.data import Source, kinds_of
from nadek.tabular.columns import Column, Numeric, level_names, log_fall_within, within_bins
from nadek.tabular.columns.parsing import shown
from nadek.tabular.encode import schema_labels
from nadek.tabular.names import quoted
from nadek.tabular.user_options import column_names

FORMS = (".csv", ".csv.gz", ".parquet")
"""Suffixes of tables with text."""

Top = Annotated[int, typer.Option("--top", min=1, help="Number of cells of each row.")]


@with_groups
def explain(
    model: ModelArgument,
    data: DataArgument,
    *,
    top: Top = 3,
    lowest: Annotated[
        int | None, typer.Option("--lowest", min=1, help="Number of rows: the least likely first; all if not given.")
    ] = None,
    orderings: Orderings = 8,
    seed: Seed = 0,
    table: TableOptions,
) -> None:
    """Find the cells that make a row unlikely.

    Written are the log-likelihood of each row and its most surprising cells given all others: one line a cell, in nats.
    Surprise is log(p(most probable value) / p(observed value)). A number has the probability of its bin; it and its row
    are less likely where it lies farther outside than is usual in this bin.

    Example: [bold]nadek explain model answers.csv --lowest 10[/]
    """
    saved = table.load(model, FORMS)
    source = table.read(saved, data)
    x = source.x
    generator = torch.Generator(x.device).manual_seed(seed)
    with rows_progress("scoring", quiet=table.quiet) as progress:
        log_probs = log_prob(saved.model, x, orderings=orderings, generator=generator, progress=progress)
    names, kinds = schema_labels(saved.schema, saved.model.n_variables), kinds_of(saved)
    less = torch.from_numpy(within_bins(log_fall_within, kinds, source.values, names)).to(x.device)
    scores = reduce_orderings(log_probs, "mixture") + less.sum(1)
    chosen = torch.arange(len(x), device=x.device) if lowest is None else scores.argsort(stable=True)[:lowest]
    with rows_progress("explaining", quiet=table.quiet) as progress:
        cells = explain_cells(saved.model, x[chosen], progress=progress)
    cells = cells._replace(log_prob=cells.log_prob + less[chosen])
    surprises = cells.surprise.masked_fill(cells.surprise.isnan(), -1)
    surprise, variables = surprises.sort(dim=1, descending=True, stable=True)
    place, rank = (surprise[:, :top] >= 0).nonzero(as_tuple=True)  # missing cells have none
    row, variable = chosen[place], variables[place, rank]
    expected = cells.expected[place, variable].long()
    write_columns(
        table.output,
        row=row + 1,
        log_likelihood=scores[row],
        column=[names[j] for j in variable.tolist()],
        value=[_value(source, kinds, *cell) for cell in _pairs(row, variable)],
        expected=[level_names(kinds[j])[level] for j, level in _pairs(variable, expected)],
        surprise=surprise[place, rank],
        log_probability=cells.log_prob[place, variable],
    )


@with_groups
def suggest(
    model: ModelArgument,
    data: DataArgument,
    *,
    target: Annotated[
        list[str] | None,
        option("--target", "Columns to learn about, as a,b; all others if not given. Repeatable."),
    ] = None,
    top: Top = 3,
    table: TableOptions,
) -> None:
    """Find the missing cells to ask for next.

    Written is the information that each is expected to give about the targets, in nats. The gains for several targets
    are added, so targets that depend on each other are counted twice.

    Example: [bold]nadek suggest model answers.csv --target age[/]
    """
    saved = table.load(model, FORMS)
    x = table.read(saved, data).x
    flags = _flags(saved, target).to(x.device)
    unknown = x.isnan()
    candidates = unknown & ~flags
    useful = candidates.any(1) & (unknown & flags).any(1) if target else unknown.sum(1) > 1
    rows = useful.nonzero().squeeze(1)
    reason = "the target is known, or nothing else is unknown" if target else "fewer than two cells are unknown"
    if not len(rows):
        raise ValueError(f"{data}: there is nothing to ask: in every row {reason}")
    if len(rows) < len(x):
        say(f"{len(x) - len(rows)} of {len(x)} rows are left out, as {reason} in them", quiet=table.quiet)
    information = expected_information(saved.model, x[rows], flags if target else None)
    gains, variables = information.masked_fill(~candidates[rows], -1).sort(dim=1, descending=True, stable=True)
    place, rank = (gains[:, :top] >= 0).nonzero(as_tuple=True)
    names = schema_labels(saved.schema, saved.model.n_variables)
    cells = [names[j] for j in variables[place, rank].tolist()]
    write_columns(table.output, row=rows[place] + 1, ask=cells, expected_information=gains[place, rank])


def _value(source: Source, kinds: tuple[Column, ...], row: int, variable: int) -> str:
    """Return an observed cell as its table writes it."""
    if not isinstance(kinds[variable], Numeric):
        return level_names(kinds[variable])[int(source.x[row, variable])]
    return shown(source.values[variable][row])


def _pairs(a: Tensor, b: Tensor) -> list[tuple[int, int]]:
    return list(zip(a.tolist(), b.tolist(), strict=True))


def _flags(saved: SavedModel, target: list[str] | None) -> Bool[Tensor, " D"]:
    """Return a flag for each column: True for targets."""
    names = schema_labels(saved.schema, saved.model.n_variables)
    targets = column_names(target or [], names)
    for name in targets:
        if name not in names:
            raise ValueError(f'--target: there is no column "{name}"; known are {quoted(names)}')
    return torch.tensor([name in targets for name in names])
