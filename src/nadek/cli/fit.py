"""``nadek fit``: train a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nadek.checkpoints import UNFINISHED, check_place, holds_model, holds_state
from nadek.cli.arguments import (
    LARGEST_SEED,
    DataArgument,
    DataDir,
    Device,
    DeviceOption,
    Force,
    Json,
    Quiet,
    pick_device,
    some_folder,
)
from nadek.cli.console import epochs_progress, say, show_json, tell_if_slow
from nadek.cli.kinds import kind_rows, list_names, taken_rows
from nadek.datasets import names
from nadek.runs.choosing import choose_recipe
from nadek.runs.data import Source, open_training
from nadek.runs.recipe import joined, parse_settings, read_recipe
from nadek.runs.resume import check_output, finished
from nadek.runs.train import train
from nadek.tabular.declare import Choices, UndecidedColumnsError, names_of
from nadek.training import EmptyColumnsError


def fit(
    data: DataArgument,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", parser=some_folder, metavar="<path>", help="Folder for the model.", show_default=False
        ),
    ],
    config: Annotated[Path | None, typer.Option("--config", help="A recipe (TOML); options below go over it.")] = None,
    hidden: Annotated[
        str | None, typer.Option("--hidden", help="Widths of the layers of a deep network, as the paper's 500,500.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="k, the refining steps. [dim]\\[3; the paper's 5 for known sets][/]")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option("--epochs", min=1, help="Passes over the rows. [dim]\\[chosen from the shape of the table][/]"),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", help="Rows a minibatch. [dim]\\[100; 300 in huge tables][/]")
    ] = None,
    lr: Annotated[
        float | None, typer.Option("--lr", help="Learning rate. [dim]\\[0.002; 0.004 in huge tables][/]")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any option of a recipe, as path=value, e.g. model.mask_input=true. Repeatable."),
    ] = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Keep the training rows beside the network: for rows that come up again.")
    ] = False,
    validation: Annotated[str | None, typer.Option("--validation", help="Table to choose the best epoch by.")] = None,
    validation_fraction: Annotated[float, typer.Option(help="Part of a table held out where no other is given.")] = 0.1,
    categorical: Annotated[
        list[str] | None,
        typer.Option("--categorical", help="Columns that hold categories, as a,b. Repeatable.", show_default=False),
    ] = None,
    numeric: Annotated[
        list[str] | None,
        typer.Option("--numeric", help="Columns that hold numbers, as a,b. Repeatable.", show_default=False),
    ] = None,
    ordinal: Annotated[
        list[str] | None,
        typer.Option(
            "--ordinal", help="Answers in an order, as pain=none,mild,severe. Repeatable.", show_default=False
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", help="Columns to leave out, as a,b. Repeatable.", show_default=False)
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option("--missing", help="Cells that mean missing, as ?,age=99. Repeatable.", show_default=False),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Answers such as None, which else mean missing. Repeatable.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of everything random. [dim]\\[0][/]"),
    ] = None,
    device: DeviceOption = Device.auto,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished training.")] = False,
    save_every: Annotated[
        float,
        typer.Option("--save-every", min=0.0, help="Seconds between savings of what --resume needs; 0: each epoch."),
    ] = 15.0,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a data set or a table and write it to a folder.

    A cell may be missing (empty, NA, NaN, null, None, or a word of --missing): it is then neither learnt from nor read.
    What the columns of a table are is told from their values, and shown; where these leave a doubt, such as whole
    numbers or very many words, you are asked.

    Example: [bold]nadek fit answers.csv -o model --categorical city,stage --numeric age --drop id[/]
    """
    may_be_finished = resume and not force and holds_model(output) and not holds_state(output)
    if may_be_finished:
        check_place(output)
    else:
        check_output(output, force=force, resume=resume)
    options = {} if config is None else read_recipe(config)
    flags = joined(_flags(seed, hidden, steps, batch_size, lr, memory=memory), parse_settings(setting or []))
    _check_tables(flags)
    where = pick_device(device)
    choices = Choices(
        categorical=_all(categorical),
        numeric=_all(numeric),
        ordinal=_all(ordinal),
        drop=_all(drop),
        missing=_all(missing),
        keep=_all(keep),
    )
    rows, held_out = _rows(data, choices, validation, validation_fraction, seed or 0, data_dir)
    by_shape = config is None and data not in names()
    recipe = choose_recipe(
        rows, options, flags, epochs=epochs, by_shape=by_shape, device=where, where=str(config or "")
    )
    if may_be_finished:
        validated = None if held_out is None else held_out.x
        metrics = finished(recipe, output, rows.x, validated, schema=rows.schema).metrics
        then = f"-o NEW --set start={output} goes on from the model"
        say(f"{output}: this training is finished, nothing is left to do; {then}", quiet=quiet)
        _show(metrics, output, as_json=as_json, quiet=quiet)
        return
    _show_kinds(rows, quiet=quiet)
    if rows.schema.kinds is not None and rows.schema.columns is None and data.lower().endswith((".csv", ".csv.gz")):
        say(f"{data}: no header found: the first row is taken for data, and columns have numbers from 1", quiet=quiet)
    tell_if_slow(recipe.training, where, quiet=quiet)
    before = _state(output)
    try:
        with epochs_progress(quiet=quiet) as told:
            saved = train(
                recipe,
                output,
                rows.x,
                None if held_out is None else held_out.x,
                schema=rows.schema,
                device=where,
                resume=resume,
                force=force,
                save_every=save_every,
                on_epoch=told,
            )
    except EmptyColumnsError as error:
        columns = names_of(rows.schema, rows.x.shape[1])
        option = f"use --drop {list_names([columns[place] for place in error.columns])}"
        raise ValueError(f"{data}: {error}; {option}") from None
    except KeyboardInterrupt:
        now = _state(output)
        if now is None or (now == before and not resume):  # an older training may lie there
            when = f"every {save_every:g} seconds" if save_every else "after an epoch"
            say(f"nadek: stopped; nothing was kept yet, as that happens {when} (--save-every)")
        else:
            say(f"nadek: stopped; what was learnt is kept in {output}: give the same command with --resume to go on")
        raise typer.Exit(130) from None
    _show(saved.metrics, output, as_json=as_json, quiet=quiet)


def _state(folder: Path) -> tuple[int, int] | None:
    """What tells the file of an unfinished training from another one; None where there is none."""
    if not holds_state(folder):
        return None
    found = (folder / UNFINISHED).stat()
    return found.st_ino, found.st_mtime_ns


def _rows(
    data: str, choices: Choices, validation: str | None, fraction: float, seed: int, data_dir: Path | None
) -> tuple[Source, Source | None]:
    try:
        return open_training(
            data, validation=validation, fraction=fraction, seed=seed, data_dir=data_dir, choices=choices
        )
    except UndecidedColumnsError as error:
        hints = []
        if error.unreadable:
            hints.append(f"use --drop {list_names(error.unreadable)}")
        if error.columns:
            names = list_names(error.columns)
            hints.append(f"use --categorical, --numeric or --drop {names}, or --missing with a word")
        raise ValueError("; ".join((str(error), *hints))) from None


def _show_kinds(rows: Source, *, quiet: bool) -> None:
    """Tell what the columns are taken for, where they are not all plain 0 and 1, and which words for missing."""
    for what, told in (*kind_rows(rows.schema), *taken_rows(rows.taken)):
        say(f"{what}: {told}" if what else told, quiet=quiet)


def _all(names: list[str] | None) -> tuple[str, ...]:
    return tuple(names or ())


def _flags(
    seed: int | None, hidden: str | None, steps: int | None, batch_size: int | None, lr: float | None, *, memory: bool
) -> dict[str, Any]:
    """The short options, as far as they are given, as options of a recipe; core and optimizer stay what they are."""
    given = (
        ("seed", seed),
        ("training.seed", seed),
        ("model.core.hidden", None if hidden is None else _widths(hidden)),
        ("model.steps", steps),
        ("training.batch_size", batch_size),
        ("training.optimizer.lr", lr),
        ("memory", "true" if memory else None),
    )
    return parse_settings(f"{name}={value}" for name, value in given if value is not None)


def _check_tables(flags: dict[str, Any]) -> None:
    """Refuse a single value where a recipe has a table of options.

    Raises:
        ValueError: names the first one by its path.
    """
    for path in ("model", "model.core", "training", "training.optimizer"):
        found = flags
        for part in path.split("."):
            found = found.get(part, {})
        if not isinstance(found, dict):
            raise ValueError(f"{path}: expected a table of options, found {found!r}")


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
    if memory := metrics.get("memory"):
        told = f"validation {-memory['after']:.3f} nats a row with it, {-memory['before']:.3f} without"
        say(f"{output}: holds {memory['rows']:,} different training rows: {told}", quiet=quiet)
