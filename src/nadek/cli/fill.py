"""``nadek sample``, ``nadek impute`` and ``nadek complete``: new rows, and completed ones."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
import typer
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

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
from nadek.cli.output import PICTURES, Whole, check_form, how_many, target_of, write_pictures
from nadek.inference import beam, greedy
from nadek.inference.row_random import number_uniforms
from nadek.inference.sampling import impute as impute_rows
from nadek.inference.sampling import level_probabilities, missing_probabilities, rows_at_once
from nadek.inference.sampling import sample as sample_rows
from nadek.runs.data import kinds_of
from nadek.tabular.arrow_columns import AnyColumn, typed
from nadek.tabular.columns import Binary, Column, bin_probabilities, is_plain, level_names, n_levels
from nadek.tabular.encode import schema_labels
from nadek.tabular.files import SUFFIXES, form_of, write_table
from nadek.tabular.names import check_names
from nadek.tabular.writeback import decoded

Method = Literal["greedy", "certain-first", "beam"]


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
    kinds = kinds_of(saved)
    check_form(saved, output)
    x = sample_rows(saved.model, n_samples, orderings=orderings, generator=generator)
    if output is not None and output.suffix.lower() in PICTURES:
        write_pictures(x, saved.schema.image_shape, output)
    else:
        codes = x.cpu().numpy()
        uniforms = number_uniforms(seed, torch.arange(n_samples))
        rows: Sequence[AnyColumn] | NDArray[Any] = decoded(kinds, codes, uniforms=uniforms)
        if output is not None and form_of(output) == ".parquet" and saved.schema.types:
            rows = list(map(typed, rows, saved.schema.types))
        elif all(map(is_plain, kinds)):
            rows = codes
        write_table(target_of(output), rows, columns=saved.schema.columns)
    if output is not None:
        say(f"{output}: {n_samples} rows drawn", quiet=quiet)


@with_groups
def impute(
    model: ModelArgument,
    data: DataArgument,
    *,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="Write the probability of 1 (or of each level) in each cell, not a draw."),
    ] = False,
    seed: Seed = 0,
    table: TableOptions,
) -> None:
    """Fill missing cells with a joint draw.

    The draw is given the observed cells of the row, which stay as they are. Columns that were dropped are copied.

    Example: [bold]nadek impute model answers.csv -o whole.csv[/]
    """
    saved = table.load(model, NUMBERS if probabilities else SUFFIXES)
    kinds = kinds_of(saved)
    headers = level_headers(schema_labels(saved.schema, len(kinds)), kinds)
    if probabilities:
        check_names(headers, len(headers), where="--probabilities")
    else:
        check_form(saved, table.output)
    source = table.read(saved, data)
    whole = None if probabilities and not all(map(is_plain, kinds)) else Whole(source, table.output)
    x = source.x
    columns: Sequence[AnyColumn]
    if whole is None:
        columns = _level_columns(saved, x)
    elif probabilities:
        columns = list(missing_probabilities(saved.model, x).cpu().numpy().T)
    else:
        rows = torch.arange(len(x))
        filled = impute_rows(saved.model, x, rows=rows, generator=torch.Generator(x.device).manual_seed(seed))
        columns = whole.filled(decoded(kinds, filled.cpu().numpy(), uniforms=number_uniforms(seed, rows)))
    say(how_many(source.missing), quiet=table.quiet)
    if whole is None:
        write_table(target_of(table.output), columns, columns=headers)
    else:
        whole.write(columns)


@with_groups
def complete(
    model: ModelArgument,
    data: DataArgument,
    *,
    method: Annotated[Method, typer.Option("--method", help="Search method.")] = "beam",
    width: Annotated[int, typer.Option("--width", min=1, help="Number of prefixes that a beam keeps.")] = 16,
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
    check_form(saved, table.output)
    source = table.read(saved, data)
    whole = Whole(source, table.output)
    if log_probability and "log_probability" in (whole.columns or ()):
        raise ValueError(f'--log-probability: {data} has a column "log_probability" already')
    x = source.x
    generator = torch.Generator(x.device).manual_seed(seed)
    if method == "beam":
        best = beam(saved.model, x, width=width, generator=generator)
    else:
        best = greedy(saved.model, x, most_certain_first=method == "certain-first", generator=generator)
    values = decoded(kinds, best.x.cpu().numpy())
    mean = float(best.log_prob.sum()) / max(1, int(x.isnan().any(1).sum()))
    say(f"{how_many(source.missing)}; mean log-probability of a row's completion: {mean:.3f} nats", quiet=table.quiet)
    whole.write(whole.filled(values), **({"log_probability": best.log_prob.cpu().numpy()} if log_probability else {}))


def level_headers(names: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """Return headers for `spread_levels`, such as column=level."""
    bare = [isinstance(column, Binary) and column.levels == (False, True) for column in columns]  # which 0 and 1 equal
    texts = list(map(level_names, columns))
    return [names[j] if bare[j] else f"{names[j]}={texts[j][code]}" for j, code in _written_levels(columns)]


def spread_levels(
    columns: Sequence[Column], probabilities: Float[np.ndarray, "N D L"], missing: Bool[np.ndarray, "N D"]
) -> list[NDArray[Any]]:
    """Return the probabilities of all levels, or bins, as columns [N].

    A binary column stays one, with the probability of its second level. Every other one becomes one for each level.
    """
    spread = [
        bin_probabilities(column, probabilities[:, place, : n_levels(column)], missing[:, place])
        for place, column in enumerate(columns)
    ]
    return [spread[place][:, code] for place, code in _written_levels(columns)]


def _written_levels(columns: Sequence[Column]) -> list[tuple[int, int]]:
    """Return the places and codes whose probabilities are written."""
    first = [isinstance(column, Binary) for column in columns]
    return [(j, code) for j, column in enumerate(columns) for code in range(first[j], n_levels(column))]


def _level_columns(saved: SavedModel, x: Tensor) -> list[NDArray[Any]]:
    """Return the probability of every level in every cell."""
    kinds = kinds_of(saved)
    parts = [
        spread_levels(kinds, level_probabilities(saved.model, rows).cpu().numpy(), rows.isnan().cpu().numpy())
        for rows in x.split(rows_at_once(saved.model))
    ]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]
