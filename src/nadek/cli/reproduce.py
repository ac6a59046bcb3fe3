"""``nadek reproduce`` and ``nadek report``: the paper's tables, run and told."""

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nadek.cli.console import epochs_progress, rows_progress, say, show_json, show_line, show_table
from nadek.cli.options import DataDir, Device, DeviceOption, Force, Json, Quiet, pick_device
from nadek.experiments import Kind, Row, Workplace, read_table, write_report
from nadek.experiments import reproduce as reproduce_row

Experiments = Annotated[
    Path, typer.Option("--experiments", metavar="DIR", help="Folder of the tables and of their results.")
]


class RecipeKind(StrEnum):
    """Which of a row's recipes."""

    modern = "modern"
    paper = "paper"


def reproduce(
    table: Annotated[str, typer.Argument(help="A table of the paper, e.g. table2.", show_default=False)],
    *,
    row: Annotated[str | None, typer.Option("--row", help="One row only, by its name.", show_default=False)] = None,
    recipe: Annotated[
        RecipeKind, typer.Option("--recipe", help="Our training, or as the paper and its authors' code did it.")
    ] = RecipeKind.modern,
    quick: Annotated[bool, typer.Option("--quick", help="A look: an epoch, few rows; leaves no result.")] = False,
    experiments: Experiments = Path("experiments"),
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder to train in.")] = Path("runs"),
    data_dir: DataDir = None,
    device: DeviceOption = Device.auto,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train and score the rows of a table of the paper, and leave a record of each in experiments/results.

    What is finished is not done again, and what was interrupted goes on with the same command.

    Example: [bold]nadek reproduce table2 --row nade-2-1000h[/]
    """
    place = Workplace(experiments=experiments, runs=runs, data_dir=data_dir, device=pick_device(device))
    kind: Kind = "modern" if recipe is RecipeKind.modern else "paper"
    rows = read_table(experiments / table, only=row)
    records = []
    try:
        for one in rows:
            if one.cited and row is None:
                say(f"{one.name}: only cited, not run", quiet=quiet)
                continue
            records.append(_run(one, kind, place, quick=quick, force=force, quiet=quiet))
    except KeyboardInterrupt:
        say(f"nadek: stopped; what was done is kept in {runs}: give the same command to go on")
        raise typer.Exit(130) from None
    if as_json:
        show_json({record["row"]: {k: v for k, v in record.items() if k != "curve"} for record in records})
        return
    keys = ("paper", "test_log_likelihood", "standard_error", "paper_ensemble", "ensemble", "ensemble_standard_error")
    told = [[record["title"], *(_number(record[key]) for key in keys)] for record in records]
    columns = ["model", "paper", "ours", "±", "paper, ensemble", "ours, ensemble", "±"]
    title = f"{table}, recipe {kind}: test log-likelihood in nats a row"
    show_table(f"{title} (a quick look, no result)" if quick else title, columns, told)


def report(
    *,
    experiments: Experiments = Path("experiments"),
    docs: Annotated[
        Path,
        typer.Option("--docs", metavar="FILE", help="Markdown page whose tables are brought up to date."),
    ] = Path("docs/results.md"),
) -> None:
    """Write experiments/results/summary.json and the tables of a page, from the records.

    Example: [bold]nadek report --docs docs/results.md[/]
    """
    for stale in write_report(experiments, docs):
        say(f"{stale.path}: its recipe has been changed since; nadek reproduce --force runs the new one")
    show_line(str(experiments / "results" / "summary.json"))
    show_line(str(docs))


def _run(row: Row, kind: Kind, place: Workplace, *, quick: bool, force: bool, quiet: bool) -> dict[str, Any]:
    """One row, with a bar for its training and then one for its scoring."""
    with ExitStack() as bars:
        shown: dict[str, Any] = {}

        def bar(name: str, make: Any) -> Any:  # noqa: ANN401 - two kinds of bars
            if name not in shown:
                bars.close()
                shown[name] = bars.enter_context(make(quiet=quiet, label=f"{row.name}: {name}"))
            return shown[name]

        return reproduce_row(
            row,
            kind,
            place,
            quick=quick,
            force=force,
            on_epoch=lambda epoch: bar("training", epochs_progress)(epoch),
            progress=lambda done, total: bar(f"scoring {total:,}", rows_progress)(done, total),
        )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
