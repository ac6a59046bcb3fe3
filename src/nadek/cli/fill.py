"""``nadek sample`` and ``nadek impute``: new rows, and whole rows out of incomplete ones."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
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
from nadek.cli.output import PICTURES, Whole, check_words, how_many, write_pictures, write_rows, write_values
from nadek.inference.sampling import impute as impute_rows
from nadek.inference.sampling import level_probabilities, missing_probabilities, rows_at_once
from nadek.inference.sampling import sample as sample_rows
from nadek.runs.data import kinds_of, source_for
from nadek.tabular.columns import is_plain
from nadek.tabular.declare import names_of
from nadek.tabular.io import SUFFIXES, AnyColumn, check_names
from nadek.tabular.values import completed, drawn, level_headers, spread_levels


def sample(
    model: ModelArgument,
    *,
    n_samples: Annotated[int, typer.Option("--number", "-n", min=1, help="How many rows.")] = 100,
    orderings: Annotated[
        int | None,
        typer.Option(
            "--orderings", min=1, help="Draw from a mixture of so many (quicker); every row its own if not given."
        ),
    ] = None,
    output: OutputFile = None,
    seed: Seed = 0,
    device: DeviceOption = Device.auto,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Draw independent rows. A suffix .png, .svg or .pdf draws images.

    Example: [bold]nadek sample model -n 1000 -o synthetic.csv[/]
    """
    check_file(output, (*SUFFIXES, *PICTURES), force=force)
    saved = load_saved(model, device=pick_device(device))
    generator = torch.Generator(saved.model.b.device).manual_seed(seed)
    kinds = kinds_of(saved)
    check_words(kinds, output)
    x = sample_rows(saved.model, n_samples, orderings=orderings, generator=generator)
    if output is not None and output.suffix.lower() in PICTURES:
        write_pictures(x, saved.schema.image_shape, output)
    elif all(map(is_plain, kinds)):
        write_rows(x, saved.schema.columns, output)
    else:
        write_values(drawn(kinds, x, rng=np.random.default_rng(seed)), saved.schema.columns, output)
    if output is not None:
        say(f"{output}: {n_samples} rows drawn", quiet=quiet)


def impute(
    model: ModelArgument,
    data: DataArgument,
    *,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="Write the probability of 1 (or of each level) in each cell, not a draw."),
    ] = False,
    split: SplitOption = SplitName.test,
    output: OutputFile = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
    device: DeviceOption = Device.auto,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Fill the missing cells of a table with a joint draw given the observed ones, which stay as they are.

    Columns that were dropped are written along.

    Example: [bold]nadek impute model answers.csv -o whole.csv[/]
    """
    check_file(output, NUMBERS if probabilities else SUFFIXES, force=force)
    saved = load_saved(model, device=pick_device(device))
    kinds = kinds_of(saved)
    headers = level_headers(names_of(saved.schema, len(kinds)), kinds)
    if probabilities:
        check_names(headers, len(headers), where="--probabilities")
    else:
        check_words(kinds, output)
    source = source_for(saved, data, split=split.value, data_dir=data_dir)
    whole = None if probabilities and source.values is not None else Whole(source, output)
    x = source.x.to(saved.model.b.device)
    holes = x.isnan()
    columns: Sequence[AnyColumn]
    if whole is None:
        columns = _level_columns(saved, x)
    elif probabilities:
        columns = list(missing_probabilities(saved.model, x).cpu().numpy().T)
    else:
        filled = impute_rows(saved.model, x, generator=torch.Generator(x.device).manual_seed(seed))
        values = completed(source.values, holes, kinds, filled, rng=np.random.default_rng(seed))
        columns = whole.filled(values)
    say(how_many(holes), quiet=quiet)
    if whole is None:
        write_values(columns, headers, output)
    else:
        whole.write(columns)


def _level_columns(saved: SavedModel, x: Tensor) -> list[NDArray[Any]]:
    """The probability of every level in every cell."""
    kinds = kinds_of(saved)
    parts = [
        spread_levels(kinds, level_probabilities(saved.model, rows)) for rows in x.split(rows_at_once(saved.model))
    ]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]
