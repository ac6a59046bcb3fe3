"""``nadek fit``: train a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nadek.cli.console import epochs_progress, say, show_json
from nadek.cli.options import DataArgument, DataDir, Device, DeviceOption, Force, Json, Quiet, Seed, pick_device
from nadek.experiments import (
    check_output,
    make_recipe,
    merge,
    open_training,
    parse_settings,
    phases,
    read_recipe,
    train,
)


def fit(
    data: DataArgument,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.", show_default=False)],
    config: Annotated[Path | None, typer.Option("--config", help="A recipe (TOML); options below go over it.")] = None,
    hidden: Annotated[
        str | None, typer.Option("--hidden", help="Widths of the hidden layers. [dim]\\[500,500][/]")
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="k, the refining steps. [dim]\\[5][/]")] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", min=1, help="Passes over the rows. [dim]\\[20][/]")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Rows a minibatch. [dim]\\[100][/]")] = None,
    lr: Annotated[float | None, typer.Option("--lr", help="Learning rate. [dim]\\[0.002][/]")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any option of a recipe, as path=value, e.g. model.mask_input=true. Repeatable."),
    ] = None,
    validation: Annotated[str | None, typer.Option("--validation", help="Table to choose the best epoch by.")] = None,
    validation_fraction: Annotated[float, typer.Option(help="Part of a table held out where no other is given.")] = 0.1,
    data_dir: DataDir = None,
    seed: Seed = 0,
    device: DeviceOption = Device.auto,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished training.")] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a data set or a table and write it to a folder.

    A cell may be missing (empty, NaN, null): it is then neither learnt from nor read.

    Example: [bold]nadek fit answers.csv -o model --epochs 50[/]
    """
    check_output(output, force=force, resume=resume)
    rows, held_out = open_training(
        data, validation=validation, fraction=validation_fraction, seed=seed, data_dir=data_dir
    )
    options = merge({"seed": seed, "training": {"seed": seed}}, {} if config is None else read_recipe(config))
    options = merge(options, _flags(hidden, steps, batch_size, lr))
    options = merge(options, parse_settings(setting or []))
    if epochs is not None or "phases" not in options["training"]:
        usual = phases(20 if epochs is None else epochs, options.get("model", {}).get("steps", 5))
        options = merge(options, {"training": {"phases": usual}})
    recipe = make_recipe(options, n_variables=rows.x.shape[1], where="" if config is None else str(config))
    try:
        with epochs_progress(quiet=quiet) as told:
            saved = train(
                recipe,
                output,
                rows.x,
                None if held_out is None else held_out.x,
                schema=rows.schema,
                device=pick_device(device),
                resume=resume,
                on_epoch=told,
            )
    except KeyboardInterrupt:
        say(f"stopped; what was learnt is kept in {output}: give the same command with --resume to go on")
        raise typer.Exit(130) from None
    _show(saved.metrics, output, as_json=as_json, quiet=quiet)


def _flags(hidden: str | None, steps: int | None, batch_size: int | None, lr: float | None) -> dict[str, Any]:
    """The short options as options of a recipe."""
    options: dict[str, Any] = {}
    if hidden is not None:
        options = merge(options, {"model": {"core": {"kind": "deep", "hidden": _widths(hidden)}}})
    if steps is not None:
        options = merge(options, {"model": {"steps": steps}})
    if batch_size is not None:
        options = merge(options, {"training": {"batch_size": batch_size}})
    if lr is not None:
        options = merge(options, {"training": {"optimizer": {"kind": "adamw", "lr": lr}}})
    return options


def _widths(text: str) -> list[int]:
    try:
        return [int(width) for width in text.split(",")]
    except ValueError:
        raise ValueError(f"--hidden: expected widths such as 500,500, found {text!r}") from None


def _show(metrics: dict[str, Any], output: Path, *, as_json: bool, quiet: bool) -> None:
    if metrics["skipped_rows"]:
        say(f"{metrics['skipped_rows']} rows without any value were skipped", quiet=quiet)
    if as_json:
        show_json({"model": str(output), **{key: value for key, value in metrics.items() if key != "history"}})
        return
    best = "" if metrics["best_validation"] is None else f", validation {-metrics['best_validation']:.3f} nats a row"
    say(f"{output}: {metrics['epochs']} epochs in {metrics['seconds']:.0f} s{best}", quiet=quiet)
