"""``nadek fit``: train a model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.markup import escape
from torch import Tensor

from nadek.checkpoints import METRICS, SavedModel, check_place, holds_model, holds_state
from nadek.cli.arguments import (
    LARGEST_SEED,
    DataArgument,
    DeviceOption,
    FileOptions,
    Force,
    Json,
    Quiet,
    option,
    some_folder,
    with_groups,
)
from nadek.cli.column_lines import MOST_NAMES, Reason, column_reasons, list_names, missing_word_lines, schema_lines
from nadek.cli.console import as_json_lines, say, show_json, show_table
from nadek.cli.processes import joined
from nadek.cli.progress import epochs_progress
from nadek.cli.tensorboard import curves
from nadek.datasets import names
from nadek.inference.dependence import unrelated_variables
from nadek.runs.data import CodedTable, open_training, read_tables
from nadek.runs.recipe import choose_recipe, parse_settings, read_recipe
from nadek.runs.resume import check_output, finished
from nadek.runs.train import train
from nadek.tabular.columns import Binary, describe, is_plain
from nadek.tabular.columns.infer import N_BINS
from nadek.tabular.columns.parsing import counted
from nadek.tabular.csv import CsvFormat
from nadek.tabular.learn_schema import UndecidedColumnsError
from nadek.tabular.names import quoted
from nadek.tabular.user_options import Choices, WholeNumbers
from nadek.training.defaults import Effort
from nadek.training.world import World
from nadek.utils.atomic import damage_in

Names = list[str] | None
CHECKED_ROWS = 200
"""Held-out rows that show which columns are unrelated to others, at most."""
CHECK_PART = 0.05
"""Rows to look at for that, as a part of the rows visited in training; a visit there costs three times as much."""


@dataclass(frozen=True, kw_only=True)
class RecipeOptions:
    """Options of model and training."""

    config: Annotated[Path | None, option("--config", "A recipe (TOML); options below go over it.")] = None
    effort: Annotated[
        Effort, option("--effort", "A third of the training of a table, for a first look, or three times as much.")
    ] = "default"
    hidden: Annotated[
        str | None, option("--hidden", "Widths of the layers of a deep network, as the paper's 500,500.")
    ] = None
    steps: Annotated[
        int | None, option("--steps", "k, the refining steps. [dim]\\[3; the paper's 5 for known sets][/]")
    ] = None
    epochs: Annotated[
        int | None, option("--epochs", "Passes over the rows. [dim]\\[chosen from the shape of the table][/]", min=1)
    ] = None
    batch_size: Annotated[
        int | None, option("--batch-size", "Rows a minibatch. [dim]\\[100; 300 in huge tables][/]")
    ] = None
    lr: Annotated[float | None, option("--lr", "Learning rate. [dim]\\[0.002; 0.004 in huge tables][/]")] = None
    setting: Annotated[
        Names, option("--set", "Any option of a recipe, as path=value, e.g. model.mask_input=true. Repeatable.")
    ] = None
    memory: Annotated[
        bool, option("--memory", "Keep the training rows beside the network: for rows that come up again.")
    ] = False
    seed: Annotated[
        int | None, option("--seed", "Seed of everything random. [dim]\\[0][/]", min=0, max=LARGEST_SEED)
    ] = None

    def changes(self) -> dict[str, Any]:
        """Return the given options as options of a recipe."""
        if self.hidden is not None and not all(width.strip().isdigit() for width in self.hidden.split(",")):
            raise ValueError(f"--hidden: expected widths of layers, such as 500,500, found {self.hidden!r}")
        short = (
            ("seed", self.seed),
            ("training.seed", self.seed),
            ("model.core.hidden", None if self.hidden is None else f"[{self.hidden}]"),
            ("model.steps", self.steps),
            ("training.batch_size", self.batch_size),
            ("training.optimizer.lr", self.lr),
            ("memory", "true" if self.memory else None),
        )
        given = [f"{name}={value}" for name, value in short if value is not None]
        return parse_settings((*given, *(self.setting or [])))


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Options that declare the columns of a table."""

    categorical: Annotated[
        Names, option("--categorical", "Columns of categories, as a,b or item_* or item_1..item_9. Repeatable.")
    ] = None
    numeric: Annotated[Names, option("--numeric", "Columns of numbers, named like these. Repeatable.")] = None
    whole_numbers: Annotated[WholeNumbers | None, option("--whole-numbers", "What other whole numbers are.")] = None
    n_bins: Annotated[int, option("--n-bins", "Bins of a column of numbers, at most.", min=2)] = N_BINS
    ordinal: Annotated[Names, option("--ordinal", "Answers in an order, as pain=none,mild,severe. Repeatable.")] = None
    drop: Annotated[Names, option("--drop", "Columns to leave out, as a,b. Repeatable.")] = None
    missing: Annotated[Names, option("--missing", "Cells that mean missing, as ?,age=99. Repeatable.")] = None
    keep: Annotated[Names, option("--keep", "Answers such as None, which else mean missing. Repeatable.")] = None

    def choices(self) -> Choices:
        """Return them for the reading of the table."""
        lists: Any = {name: tuple(value) for name, value in vars(self).items() if isinstance(value, list)}
        return Choices(**lists, whole_numbers=self.whole_numbers, n_bins=self.n_bins)


@dataclass(frozen=True, kw_only=True)
class RowOptions(FileOptions):
    """Options about the rows of a training."""

    validation: Annotated[str | None, option("--validation", "Table to choose the best epoch by.")] = None
    validation_fraction: Annotated[float, typer.Option(help="Part of a table held out where no other is given.")] = 0.1

    def read(self, data: str, columns: ColumnOptions, seed: int) -> tuple[CodedTable, CodedTable | None]:
        """Read training and validation rows, or name deciding options."""
        try:
            return open_training(
                data,
                validation=self.validation,
                fraction=self.validation_fraction,
                seed=seed,
                data_dir=self.data_dir,
                choices=columns.choices(),
                form=self.form,
            )
        except UndecidedColumnsError as error:
            groups: dict[tuple[str, ...], list[str]] = {}
            for column, remedies in error.remedies.items():
                groups.setdefault(remedies, []).append(column)
            raise ValueError("; ".join((str(error), *(_hint(*group) for group in groups.items())))) from None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options about the folder of a training."""

    resume: Annotated[bool, option("--resume", "Go on with an unfinished training.")] = False
    save_every: Annotated[
        float,
        typer.Option("--save-every", min=0.0, help="Seconds between savings of what --resume needs; 0: each epoch."),
    ] = 15.0
    dry_run: Annotated[bool, option("--dry-run", "Show what each column is taken for, and why; train nothing.")] = False
    tensorboard: Annotated[
        Path | None,
        option("--tensorboard", "Folder for curves to see in TensorBoard.", parser=some_folder, metavar="<path>"),
    ] = None
    force: Force = False
    as_json: Json = False
    quiet: Quiet = False


@with_groups
def fit(
    data: DataArgument,
    *,
    output: Annotated[
        Path | None, option("--output -o", "Folder for the model.", parser=some_folder, metavar="<path>")
    ] = None,
    recipe_options: RecipeOptions,
    columns: ColumnOptions,
    row_options: RowOptions,
    device: DeviceOption = "auto",
    run: RunOptions,
) -> None:
    """Train a model on a data set or a table.

    A cell may be missing (empty, NA, NaN, null, None, or a word of --missing): it is neither learnt from nor read. The
    types of the columns follow from their values, and are shown. Where these leave a doubt, as with whole numbers or
    very many words, you are asked.

    Example: [bold]nadek fit answers.csv -o model --categorical city,stage --numeric age --drop id[/]
    """
    if run.dry_run:
        _show_reasons(data, columns.choices(), row_options.form, as_json=run.as_json)
        return
    if output is None:
        raise typer.BadParameter("expected a folder for the model", param_hint="--output (-o)")
    with joined(device) as (world, torch_device):
        run = replace(run, quiet=run.quiet or world.rank > 0)
        _may_be_finished(output, run, world)
        if world.size > 1 and "-" in (data, row_options.validation):
            raise ValueError("standard input: expected a file, as several processes cannot share it")
        config = recipe_options.config
        options = {} if config is None else read_recipe(config)
        rows, held_out = row_options.read(data, columns, recipe_options.seed or 0)
        recipe = choose_recipe(
            rows,
            options,
            recipe_options.changes(),
            epochs=recipe_options.epochs,
            effort=recipe_options.effort,
            by_shape=config is None and data not in names(),
            where=str(config or ""),
        )
        if _may_be_finished(output, run, world):  # again: others may have worked there while the table was read
            if world.rank == 0:
                _show_finished(finished(recipe, output, rows, held_out), output, run)
            return
        _show_columns(data, rows, quiet=run.quiet)
        folder = run.tensorboard if world.rank == 0 else None
        with _stoppable(output, run, world), epochs_progress(quiet=run.quiet) as show, curves(folder, show) as on_epoch:
            saved = train(
                recipe,
                output,
                rows,
                held_out,
                device=torch_device,
                resume=run.resume,
                save_every=run.save_every,
                on_epoch=on_epoch,
                world=world,
            )
        if world.rank == 0:
            if held_out is not None and not run.quiet:
                _show_unrelated(saved, held_out.x, output)
            _show(saved, output, run)


def _may_be_finished(output: Path, run: RunOptions, world: World) -> bool:
    """Check the folder, in process 0; True if it holds a model that may be the result already."""
    may_be = False
    if world.rank == 0:
        may_be = run.resume and not run.force and holds_model(output) and not holds_state(output)
        if may_be:
            check_place(output)
        else:
            check_output(output, force=run.force, resume=run.resume)
    return bool(world.from_first(may_be))


@contextmanager
def _stoppable(output: Path, run: RunOptions, world: World) -> Iterator[None]:
    """Say after Ctrl-C what is kept of a training."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"what was learnt is kept in {output}: give the same command with --resume to go on"
        if not holds_state(output):
            when = f"every {run.save_every:g} seconds" if run.save_every else "after an epoch"
            kept = f"nothing was kept yet, as that happens {when} (--save-every)"
        if world.rank == 0:
            say(f"nadek: stopped; {kept}")
        raise typer.Exit(130) from None


def _show_reasons(data: str, choices: Choices, form: CsvFormat, *, as_json: bool) -> None:
    if data in names():
        raise ValueError(f"--dry-run: {data!r} is a known data set, whose columns are all of 0 and 1")
    (table,) = read_tables(data, form=form)()
    rows = column_reasons(table, choices)
    if as_json:
        keys = ("name", "type", "missing", "reason")
        show_json({"columns": [{key: getattr(row, key) for key in keys} for row in rows]})
        return
    groups: dict[tuple[str, str], list[Reason]] = {}
    for row in rows:
        groups.setdefault((row.type, row.reason.replace(row.example, "")), []).append(row)
    _tell_no_header(data, table.columns, plain=all(row.type == describe(Binary()) for row in rows))
    lines = []
    for some in groups.values():
        known = [row.missing for row in some if row.missing is not None]
        missing = " to ".join(map(str, sorted({min(known), max(known)}))) if known else ""
        lines.append([", ".join(row.name for row in some), some[0].type, missing, some[0].reason])
    show_table(data, ["column", "type", "missing", "reason"], [list(map(escape, line)) for line in lines])


def _show_columns(data: str, rows: CodedTable, *, quiet: bool) -> None:
    """Show column types, and words taken for missing."""
    for label, text in (*schema_lines(rows.schema), *missing_word_lines(rows.word_counts)):
        say(f"{label}: {text}" if label else text, quiet=quiet)
    _tell_no_header(data, rows.schema.columns, plain=all(map(is_plain, rows.schema.kinds or ())), quiet=quiet)


def _tell_no_header(data: str, columns: Sequence[str] | None, *, plain: bool, quiet: bool = False) -> None:
    if columns is None and not plain and (data == "-" or data.lower().endswith((".csv", ".csv.gz"))):
        say(f"{data}: no header found: the first row is taken for data, and columns have numbers from 1", quiet=quiet)


def _show_unrelated(saved: SavedModel, x: Tensor, output: Path) -> None:
    """Name columns that the others tell nothing of, if held-out rows show it at little cost."""
    n_variables, n_visits = x.shape[1], saved.metrics["rows"] * saved.metrics["epochs"]
    n_rows = min(len(x), CHECKED_ROWS, int(CHECK_PART * n_visits / n_variables))
    if saved.model.config.ordering is not None:
        return
    some = x[torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:n_rows]]
    if unrelated := [saved.labels[j] for j in unrelated_variables(saved.model, some.to(saved.model.b.device))]:
        line = f"{output}: the other columns tell nothing of {quoted(unrelated)}; --drop would leave them out"
        say(line, level="warning")


def _hint(remedies: tuple[str, ...], columns: Sequence[str]) -> str:
    """Return the options that decide about columns."""
    options = ", ".join(f"--{one}" for one in remedies)
    every = "--whole-numbers numeric (or categorical) for all of them, " if len(columns) > 1 else ""
    hint = every if "numeric" in remedies else ""
    hint += f"{options} or --drop {list_names(columns)}" if options else f"--drop {list_names(columns)}"
    if len(columns) > MOST_NAMES:
        hint += " (--dry-run shows all)"
    return f"use {hint}, or --missing with a word" if options else f"use {hint}"


def _show_finished(saved: SavedModel, output: Path, run: RunOptions) -> None:
    hint = f"-o NEW --set start={output} goes on from the model"
    say(f"{output}: this training is finished, nothing is left to do; {hint}", quiet=run.quiet)
    with damage_in(output / METRICS, "the metrics of a training"):
        _show(saved, output, run)


def _show(saved: SavedModel, output: Path, run: RunOptions) -> None:
    metrics, unit = saved.metrics, "nats a row" if saved.model.config.knots is None else "nats a row, numbers by bins"
    if n := metrics["skipped_rows"]:
        say(f"skipped {counted(n, 'row')} without any value", quiet=run.quiet)
    record = {"model": str(output), **{key: value for key, value in metrics.items() if key != "history"}}
    if run.as_json:
        show_json(record)
        if not as_json_lines():
            return
    if memory := metrics.get("memory"):
        costs = f"validation {-memory['after']:.3f} {unit} with it, {-memory['before']:.3f} without"
        say(f"{output}: holds {memory['rows']:,} different training rows: {costs}", quiet=run.quiet)
    best = "" if metrics["best_validation"] is None else f", validation {-metrics['best_validation']:.3f} {unit}"
    line = f"{output}: {metrics['epochs']} epochs in {metrics['seconds']:.0f} s{best}"
    say(line, quiet=run.quiet, event="end", result=record)
