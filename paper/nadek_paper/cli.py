"""``nadek reproduce`` and ``nadek report``: the paper's tables, figures and what else was asked, run and told."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nadek.cli.app import run_app
from nadek.cli.arguments import DataDir, Device, DeviceOption, Force, Json, Quiet, pick_device
from nadek.cli.console import say, show_line
from nadek_paper.grids import grids
from nadek_paper.jobs import Workplace
from nadek_paper.report import write_report
from nadek_paper.reproducing import Wish, run_figures, run_grid_cells, run_machines, run_rows, show_spreads
from nadek_paper.rows import tables

Experiments = Annotated[
    Path, typer.Option("--experiments", metavar="DIR", help="Folder of the tables and of their results.")
]


class RecipeKind(StrEnum):
    """Which of a row's recipes."""

    modern = "modern"
    paper = "paper"
    taught = "taught"


def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            help="table1, table2, table3, figures, meanfield, or a grid (ksweep, ksweep-caltech, steps)",
            show_default=False,
        ),
    ],
    *,
    row: Annotated[
        str | None,
        typer.Option("--row", help="One row, figure or cell only, by its name.", show_default=False),
    ] = None,
    recipe: Annotated[
        RecipeKind,
        typer.Option("--recipe", help="Our training, as the paper and its authors' code did it, or by a teacher."),
    ] = RecipeKind.modern,
    quick: Annotated[bool, typer.Option("--quick", help="A look: an epoch, few rows; leaves no result.")] = False,
    experiments: Experiments = Path("experiments"),
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder to train in.")] = Path("runs"),
    pictures: Annotated[Path, typer.Option("--pictures", metavar="DIR", help="Folder for figures.")] = Path(
        "docs/pictures"
    ),
    data_dir: DataDir = None,
    device: DeviceOption = Device.auto,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train and score the rows of a table of the paper, and leave a record of each in experiments/results.

    What is finished is not done again, and what was interrupted goes on with the same command. Figures, and the table
    of spreads (table3), are made from what was trained and scored before. In the name of a cell, * stands for anything.

    Example: [bold]nadek reproduce table2 --row nade-2-1000h[/]
    """
    place = Workplace(
        experiments=experiments,
        runs=runs,
        data_dir=data_dir,
        device=pick_device(device),
        quick=quick,
        pictures=pictures,
    )
    wish = Wish(target, row, recipe.value, force, as_json, quiet)
    try:
        if target == "figures":
            run_figures(wish, place)
        elif target in grids(experiments):
            run_grid_cells(wish, place)
        elif target == "meanfield":
            run_machines(wish, place)
        elif (experiments / f"{target}.toml").is_file():
            show_spreads(wish, place)
        elif target in tables(experiments):
            run_rows(wish, place)
        else:
            known = ", ".join(_targets(experiments)) or "none"
            raise FileNotFoundError(f"there is no table {target} in {experiments}, nor a study; known are: {known}")
    except KeyboardInterrupt:
        say(f"nadek: stopped; what was done is kept in {runs}: give the same command to go on")
        raise typer.Exit(130) from None


def _targets(experiments: Path) -> list[str]:
    """All that can be reproduced: the tables, what is made from other records or models, and the grids."""
    studies = [name for name in ("table3", "figures", "meanfield") if any(experiments.glob(f"{name}*"))]
    return [*tables(experiments), *studies, *grids(experiments)]


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


app = typer.Typer(name="nadek-paper", help="Reproduce the paper of NADE-k.", add_completion=False)
app.command()(reproduce)
app.command()(report)


def main() -> None:
    """Run the command."""
    run_app(app, "nadek-paper")
