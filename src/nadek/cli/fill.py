"""``nadek sample``, ``nadek impute`` and ``nadek complete``: new rows, and completed ones."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from nadek.checkpoints import SavedModel, load_saved
from nadek.cli.arguments import (
    NUMBERS,
    DataArgument,
    DeviceOption,
    Force,
    ModelArgument,
    OutputFile,
    Quiet,
    Seed,
    TableOptions,
    check_file,
    option,
    pick_device,
    with_groups,
)
from nadek.cli.console import say
from nadek.cli.output import PICTURES, Whole, check_form, target_of, write_pictures
from nadek.cli.progress import rows_progress
from nadek.inference import beam, greedy
from nadek.inference.row_random import number_uniforms
from nadek.inference.sampling import missing_probabilities
from nadek.inference.sampling import sample as sample_rows
from nadek.runs.data import ModelRows
from nadek.runs.fillings import Strategy, fillings, probabilities_by_rows
from nadek.tabular import cut_rows
from nadek.tabular.arrow_columns import AnyColumn, typed
from nadek.tabular.columns import bin_probabilities, is_plain, level_names
from nadek.tabular.columns.parsing import counted
from nadek.tabular.files import MATRICES, SUFFIXES, form_of
from nadek.tabular.writeback import decoded
from nadek.tabular.writing import writing

Method = Literal["greedy", "certain", "beam"]


def sample(
    model: ModelArgument,
    *,
    n_samples: Annotated[int, typer.Option("--number", "-n", min=1, help="Number of rows.")] = 100,
    orderings: Annotated[
        int | None,
        option("--orderings", "Number of orderings to draw along (quicker); one for each row if not given.", min=1),
    ] = None,
    output: OutputFile = None,
    seed: Seed = 0,
    device: DeviceOption = "auto",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw independent rows.

    An output that ends in .png, .svg or .pdf is a picture of them.

    Example: [bold]nadek sample model -n 1000 -o synthetic.csv[/]
    """
    check_file(output, (*SUFFIXES, *PICTURES), force=force)
    saved = load_saved(model, device=pick_device(device))
    generator = torch.Generator(saved.model.b.device).manual_seed(seed)
    kinds = saved.kinds
    check_form(saved, output)
    if output is not None and output.suffix.lower() in PICTURES:
        x = sample_rows(saved.model, n_samples, orderings=orderings, generator=generator)
        write_pictures(x, saved.schema.image_shape, output)
    else:
        form = form_of(target_of(output))
        most = cut_rows.rows_of(len(kinds), None if form in MATRICES else cut_rows.CELLS) or n_samples
        with writing(target_of(output)) as writer, rows_progress("drawing", quiet=quiet) as progress:
            for start in range(0, n_samples, most):
                ids = torch.arange(start, min(start + most, n_samples))
                generator.manual_seed(seed)  # draws follow from it and the row
                x = sample_rows(saved.model, len(ids), orderings=orderings, first_row=start, generator=generator)
                codes = x.cpu().numpy()
                rows: Sequence[AnyColumn] = decoded(kinds, codes, uniforms=number_uniforms(seed, ids))
                if form not in MATRICES and saved.schema.types:
                    levels = [getattr(kind, "levels", ()) for kind in kinds]
                    rows = list(map(typed, rows, saved.schema.types, levels))
                elif all(map(is_plain, kinds)):
                    rows = list(codes.T)
                writer.write(rows, columns=saved.schema.columns)
                progress(start + len(ids), n_samples)
    if output is not None:
        say(f"{output}: drew {counted(n_samples, 'row')}", quiet=quiet)


@with_groups
def impute(
    model: ModelArgument,
    data: DataArgument,
    *,
    probabilities: Annotated[
        bool, option("--probabilities", "Write a line for each level of each missing cell, with its probability.")
    ] = False,
    strategy: Annotated[
        Strategy,
        typer.Option("--strategy", help="Joint draws, or each cell's mean, median or mode. Whole numbers stay whole."),
    ] = "sample",
    seed: Seed = 0,
    table: TableOptions,
) -> None:
    """Fill missing cells with a joint draw.

    The draw is given the observed cells of the row, which stay as they are, and so is what --strategy names: each
    cell's own mean, median or mode. Columns that were dropped are copied. With --probabilities, a table of 0 and 1 has
    the probability of 1 in each missing cell.

    Example: [bold]nadek impute model answers.csv -o whole.csv[/]
    """
    if probabilities and strategy != "sample":
        raise ValueError(f"--strategy {strategy}: --probabilities writes no values to choose; give one of the two")
    saved = table.load(model, NUMBERS if probabilities else SUFFIXES)
    kinds = saved.kinds
    by_level = probabilities and not all(map(is_plain, kinds))
    if by_level and form_of(target_of(table.output)) in MATRICES:
        raise ValueError(f"{table.output}: --probabilities of these columns have words: write .csv or .parquet")
    if not probabilities:
        check_form(saved, table.output)
    stream, n_filled, n_empty = table.stream(saved, data), 0, 0
    with writing(target_of(table.output)) as writer, rows_progress("filling", quiet=table.quiet) as progress:
        for batch in stream:
            x = batch.x
            if by_level:
                for lines in _missing_levels(saved, batch):
                    writer.write(list(lines.values()), columns=list(lines))
            else:
                whole = Whole(batch, saved.schema, table.output)
                if probabilities:
                    columns: Sequence[AnyColumn] = list(missing_probabilities(saved.model, x).cpu().numpy().T)
                else:
                    columns = whole.filled(fillings(saved, batch, strategy, seed=seed))
                whole.write(writer, columns)
            n_filled, n_empty = n_filled + int(batch.missing.sum()), n_empty + int(batch.missing.all(1).sum())
            progress(batch.first_row + len(x), stream.n_rows)
    done = "gave probabilities of" if probabilities else "filled"
    say(_filled(n_filled, stream.n_rows, len(kinds), n_empty, done), quiet=table.quiet)


@with_groups
def complete(
    model: ModelArgument,
    data: DataArgument,
    *,
    method: Annotated[Method, typer.Option("--method", help="Search method.")] = "beam",
    width: Annotated[int, typer.Option("--width", min=1, help="Number of prefixes that a beam keeps.")] = 16,
    log_probability: Annotated[
        bool, option("--log-probability", "Add a column: the log-probability of the completion, in nats.")
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
    kinds = saved.kinds
    check_form(saved, table.output)
    stream, n_filled, n_empty, n_incomplete, total = table.stream(saved, data), 0, 0, 0, 0.0
    with writing(target_of(table.output)) as writer, rows_progress("filling", quiet=table.quiet) as progress:
        for batch in stream:
            whole, x = Whole(batch, saved.schema, table.output), batch.x
            if log_probability and "log_probability" in (whole.columns or ()):
                raise ValueError(f'--log-probability: {data} has a column "log_probability" already')
            generator = torch.Generator(x.device).manual_seed(seed)  # so the ordering is that of every batch
            if method == "beam":
                best = beam(saved.model, x, width=width, generator=generator)
            else:
                best = greedy(saved.model, x, most_certain_first=method == "certain", generator=generator)
            more = {"log_probability": best.log_prob.cpu().numpy()} if log_probability else {}
            whole.write(writer, whole.filled(decoded(kinds, best.x.cpu().numpy())), **more)
            n_filled, n_empty = n_filled + int(batch.missing.sum()), n_empty + int(batch.missing.all(1).sum())
            log_probs = best.log_prob.cpu()[batch.missing.any(1)]
            n_incomplete, total = n_incomplete + len(log_probs), total + float(log_probs.sum())
            progress(batch.first_row + len(x), stream.n_rows)
    line, mean = _filled(n_filled, stream.n_rows, len(kinds), n_empty), total / max(1, n_incomplete)
    say(f"{line}; mean log-probability of a row's completion: {mean:.3f} nats", quiet=table.quiet)


def _filled(n_cells: int, n_rows: int, n_columns: int, n_empty: int, done: str = "filled") -> str:
    line = f"{done} {n_cells:,} of {counted(n_rows * n_columns, 'cell')} in {counted(n_rows, 'row')}"
    return f"{line}, of which {n_empty:,} had no value at all" if n_empty else line


def _missing_levels(saved: SavedModel, batch: ModelRows) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield columns with a line for each level, or bin, of each missing cell."""
    kinds, start = saved.bent_kinds, batch.first_row
    names = np.array(saved.labels, dtype=object)
    words = [np.array(level_names(kind), dtype=object) for kind in kinds]
    for levels, missing in probabilities_by_rows(saved, batch.x):
        p = [bin_probabilities(*one) for one in zip(kinds, levels, missing.T, strict=True)]
        rows, places = missing.nonzero()
        n_lines = [len(words[j]) for j in places]
        yield {
            "row": np.repeat(start + rows + 1, n_lines),
            "column": np.repeat(names[places], n_lines),
            "value": np.concatenate([words[0][:0], *(words[j] for j in places)]),
            "probability": np.concatenate([np.empty(0), *(p[j][i] for i, j in zip(rows, places, strict=True))]),
        }
        start += len(missing)
