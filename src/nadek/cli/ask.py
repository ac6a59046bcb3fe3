"""``nadek explain`` and ``nadek suggest``: surprising cells, and cells to ask for."""

from typing import Annotated

import torch
import typer

from nadek.cli.arguments import FORMS, DataArgument, ModelArgument, TableOptions, option, with_groups
from nadek.cli.console import say
from nadek.cli.output import write_columns
from nadek.cli.progress import rows_progress
from nadek.inference import expected_information
from nadek.inference.cells import SURE_DECIMALS
from nadek.inference.decoders.chunking import part_of
from nadek.runs.odd_cells import OddCell, odd_cells
from nadek.tabular.names import chosen_columns
from nadek.tabular.user_options import column_names


@with_groups
def explain(
    model: ModelArgument,
    data: DataArgument,
    *,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of cells.")] = 20,
    row: Annotated[int | None, option("--row", "Only the cells of this row, counted from 1.", min=1)] = None,
    table: TableOptions,
) -> None:
    """Find the most surprising cells of a table.

    Each cell is judged by the other observed cells of its row. Written are its row, from 1, its column and value, the
    most probable value, and the surprise in nats, the most surprising cell first. Surprise is minus the log-probability
    of all values that are at most as probable as that of the cell. Numbers far outside count by how far.

    Example: [bold]nadek explain model answers.csv --top 10[/]
    """
    saved = table.load(model, FORMS)
    stream = table.stream(saved, data)
    if row is not None and row > stream.n_rows:
        raise ValueError(f"--row: expected one of the rows 1 to {stream.n_rows} of {data}, found {row}")
    oddest: list[OddCell] = []
    with rows_progress("explaining", quiet=table.quiet) as progress:
        for batch in stream:
            some = part_of(progress, batch.first_row, len(batch.x), stream.n_rows)
            every = torch.arange(len(batch.x))
            rows = every if row is None else every[every == row - 1 - batch.first_row]
            cells = odd_cells(saved, batch, rows, lambda cells: cells.oddest(top), some)
            oddest = sorted(oddest + cells, key=lambda cell: -round(cell.surprise, SURE_DECIMALS))[:top]
    columns = {name: [getattr(cell, name) for cell in oddest] for name in OddCell._fields}
    numbers = {name: torch.tensor(columns[name]) for name in ("row", "surprise")}
    write_columns(table.output, **columns | numbers)


@with_groups
def suggest(
    model: ModelArgument,
    data: DataArgument,
    *,
    target: Annotated[
        list[str] | None, option("--target", "Columns to learn about, as a,b; all others if not given. Repeatable.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of cells of each row.")] = 3,
    table: TableOptions,
) -> None:
    """Find the missing cells to ask for next.

    Written is the information that each is expected to give about the targets, in nats. The gains for several targets
    are added, so targets that depend on each other are counted twice.

    Example: [bold]nadek suggest model answers.csv --target age[/]
    """
    saved = table.load(model, FORMS)
    x, names = table.read(saved, data).x, saved.labels
    flags = torch.from_numpy(chosen_columns("--target", column_names(target or [], names), names, named=True))
    flags = flags.to(x.device)
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
    cells = [names[j] for j in variables[place, rank].tolist()]
    write_columns(table.output, row=rows[place] + 1, ask=cells, expected_information=gains[place, rank])
