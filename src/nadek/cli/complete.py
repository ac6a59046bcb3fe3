"""``nadek sample`` and ``nadek impute``: new rows, and whole rows out of incomplete ones."""

from typing import Annotated

import torch
import typer

from nadek.checkpoints import load_saved
from nadek.cli.console import say
from nadek.cli.options import (
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
from nadek.cli.output import PICTURES, write_pictures, write_rows
from nadek.experiments import rows_for
from nadek.sampling import impute as impute_rows
from nadek.sampling import missing_probabilities
from nadek.sampling import sample as sample_rows
from nadek.tables import SUFFIXES


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
) -> None:
    """Draw independent rows. A suffix .png, .svg or .pdf draws images.

    Example: [bold]nadek sample model -n 1000 -o synthetic.csv[/]
    """
    check_file(output, (*SUFFIXES, *PICTURES), force=force)
    saved = load_saved(model, device=pick_device(device))
    generator = torch.Generator(saved.model.b.device).manual_seed(seed)
    x = sample_rows(saved.model, n_samples, orderings=orderings, generator=generator)
    if output is not None and output.suffix in PICTURES:
        write_pictures(x, saved.schema.image_shape, output)
    else:
        write_rows(x, saved.schema.columns, output)


def impute(
    model: ModelArgument,
    data: DataArgument,
    *,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write the probability of 1 in each missing cell, not a draw.")
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

    Example: [bold]nadek impute model answers.csv -o whole.csv[/]
    """
    check_file(output, force=force)
    saved = load_saved(model, device=pick_device(device))
    x = rows_for(saved, data, split=split.value, data_dir=data_dir)
    generator = torch.Generator(x.device).manual_seed(seed)
    filled = (
        missing_probabilities(saved.model, x) if probabilities else impute_rows(saved.model, x, generator=generator)
    )
    say(f"filled {int(x.isnan().sum())} of {x.numel()} cells in {len(x)} rows", quiet=quiet)
    write_rows(filled, saved.schema.columns, output)
