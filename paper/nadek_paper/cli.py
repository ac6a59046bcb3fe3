"""``nadek-paper``: run the paper's tables, grids and figures, and report their records."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from nadek.cli.app import run_app
from nadek.cli.arguments import DataDir, DeviceOption, Force, Json, Quiet, pick_device
from nadek.cli.console import say, show_json, show_line, show_table
from nadek.cli.progress import epochs_progress, rows_progress
from nadek.training import Epoch
from nadek_paper.any_steps_study import any_steps_study
from nadek_paper.confidence_study import confidence_study
from nadek_paper.figures import draw_picture, read_pictures
from nadek_paper.grids.grid import grids, read_grid
from nadek_paper.grids.study import grid_study
from nadek_paper.meanfield import meanfield_study
from nadek_paper.report import write_report
from nadek_paper.rows import Kind, tables
from nadek_paper.spread_study import spread_study
from nadek_paper.studies import Job, Study, Watcher, run_study
from nadek_paper.table3 import NAME as TABLE3
from nadek_paper.table3 import spreads_study
from nadek_paper.table_study import table_study
from nadek_paper.workspace import PAGE, PICTURES, RECIPES, RESULTS, Workspace

OWN_RECIPES = "NADEK_PAPER_RECIPES"
"""Environment variable that names a folder of recipes to use instead of the paper's."""

HELP = "Reproduce the paper of NADE-k: train and score its models, draw its figures, and report the records."
EPILOG = f"Set {OWN_RECIPES} to a folder of your own tables and grids to run these instead."


class Request(NamedTuple):
    """Options of a command that are not folders."""

    row: str | None
    kind: Kind
    force: bool
    as_json: bool
    quiet: bool


Work = Callable[[Request, Workspace], None]
StudyOf = Callable[[Request, Workspace], Study]
WHOLES: dict[str, tuple[Callable[[Workspace], Study], str]] = {
    "meanfield": (meanfield_study, "Turn RBMs into networks by mean field, and train those."),
    "confidence": (confidence_study, "Fit the confidence of trained networks on validation rows."),
    "any-steps": (any_steps_study, "Train for any number of steps at test time."),
    "spread": (spread_study, "Score along orderings that spread out, beside random ones."),
}
RowOption = Annotated[
    str | None, typer.Option("--row", help="One row, figure or cell (* for anything).", show_default=False)
]
RecipeOption = Annotated[
    Kind, typer.Option("--recipe", help="Our training, that of the paper, or learning from a teacher.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="A quick look: an epoch, few rows; no result.")]
ResultsOption = Annotated[Path, typer.Option("--results", metavar="DIR", help="Folder of the records.")]
RunsOption = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder to train in.")]
PicturesOption = Annotated[Path, typer.Option("--pictures", metavar="DIR", help="Folder of the pictures.")]
PageOption = Annotated[Path, typer.Option("--docs", metavar="FILE", help="Markdown page to update.")]


def make_app(recipes: Path = RECIPES) -> typer.Typer:
    """Return the command line, with a verb for each table and grid of a folder of recipes."""
    options: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": "rich"}
    app = typer.Typer(name="nadek-paper", help=HELP, epilog=EPILOG, **options)

    def add(group: typer.Typer, name: str, work: Work, text: str, example: str) -> None:
        group.command(name, help=f"{text}\n\nExample: [bold]nadek-paper {example}[/]")(_command(recipes, work))

    for name in tables(recipes):
        table = partial(_run, lambda r, w, name=name: table_study(name, r.kind, w, only=r.row))
        text = "Train and score the rows of a table. What is finished is not done again."
        add(app, name, table, text, f"{name} --row ROW")
    spreads = partial(_run, lambda r, w: spreads_study(w, only=r.row))
    add(app, TABLE3, spreads, "Show the spreads of log-likelihoods, from the records of other rows.", TABLE3)
    add(app, "figures", _figures, "Draw the figures, from trained models and records.", "figures")
    for name, (study, text) in WHOLES.items():
        add(app, name, partial(_run, partial(_whole, name, study)), text, name)
    cells = typer.Typer(help="Train and score the cells of a grid of small trainings.", **options)
    for name in grids(recipes):
        path = recipes / "grids" / f"{name}.toml"
        grid = partial(_run, lambda r, w, path=path: grid_study(read_grid(path), w, only=r.row))
        add(cells, name, grid, "Train and score the cells of this grid.", f"grids {name} --row 'CELLS*'")
    app.add_typer(cells, name="grids")

    @app.command()
    def report(*, results: ResultsOption = RESULTS, docs: PageOption = PAGE) -> None:
        """Write summary.json and the tables of a page, from the records.

        Example: [bold]nadek-paper report[/]
        """
        for stale in write_report(Workspace(recipes=recipes, results=results), docs):
            say(f"{stale.path}: its recipe was changed since; run the row with --force for the new one")
        show_line(str(results / "summary.json"))
        show_line(str(docs))

    return app


def _command(recipes: Path, work: Work) -> Callable[..., None]:

    def command(
        *,
        row: RowOption = None,
        recipe: RecipeOption = "modern",
        quick: QuickOption = False,
        results: ResultsOption = RESULTS,
        runs: RunsOption = Path("runs"),
        pictures: PicturesOption = PICTURES,
        data_dir: DataDir = None,
        device: DeviceOption = "auto",
        force: Force = False,
        as_json: Json = False,
        quiet: Quiet = False,
    ) -> None:
        folders = {"recipes": recipes, "results": results, "runs": runs, "pictures": pictures}
        workspace = Workspace(**folders, data_dir=data_dir, device=pick_device(device), quick=quick)
        try:
            work(Request(row, recipe, force, as_json, quiet), workspace)
        except KeyboardInterrupt:
            say(f"nadek: stopped; what was done is kept in {runs}: give the same command to go on")
            raise typer.Exit(130) from None

    return command


def _whole(name: str, study: Callable[[Workspace], Study], request: Request, workspace: Workspace) -> Study:
    if request.row is not None:
        raise ValueError(f"--row: expected none, as {name} is run as a whole; found {request.row!r}")
    return study(workspace)


def _run(study_of: StudyOf, request: Request, workspace: Workspace) -> None:
    study = study_of(request, workspace)
    for row, reason in study.skipped.items():
        say(f"{row}: {reason}", quiet=request.quiet)
    with _Bars(quiet=request.quiet) as bars:
        record = run_study(study, force=request.force, watcher=bars)
    if request.as_json:
        show_json({key: _without_curve(value) for key, value in record.items()})
        return
    title = f"{study.title} (a quick look, no result)" if workspace.quick else study.title
    show_table(title, list(study.columns), study.lines(record))


def _without_curve(value: Any) -> Any:  # noqa: ANN401 - JSON
    return {key: one for key, one in value.items() if key != "curve"} if isinstance(value, dict) else value


def _figures(request: Request, workspace: Workspace) -> None:
    """Draw the figures; one of all for which something is lacking is left out with a message."""
    drawn = {}
    for picture in read_pictures(workspace.recipes, only=request.row):
        try:
            drawn[picture.name] = str(draw_picture(picture, workspace))
        except FileNotFoundError as error:
            if request.row is not None:
                raise
            say(f"{picture.name}: not drawn, {error}", quiet=request.quiet)
    if request.as_json:
        show_json(drawn)
        return
    for path in drawn.values():
        show_line(path)


class _Bars(ExitStack, Watcher):
    """Shows one bar at a time, for the training and then for the scoring of each job."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet, self._name = quiet, ""
        self._shown: dict[str, Callable[..., None]] = {}

    def on_job(self, job: Job, number: int, total: int) -> None:
        self.close()
        self._shown = {}
        self._name = f"{job.name} ({number} of {total})" if total > 1 else job.name

    def on_epoch(self, epoch: Epoch) -> None:
        is_rbm = epoch.phase == "rbm"
        self._bar("training an RBM" if is_rbm else "training", epochs_progress)(epoch)

    def on_rows(self, done: int, total: int) -> None:
        self._bar(f"scoring {total:,}", rows_progress)(done, total)

    def _bar(self, label: str, make: Callable[..., Any]) -> Callable[..., None]:
        """Return the bar of a label; a new one takes the place of the last."""
        if label not in self._shown:
            self.close()
            self._shown[label] = self.enter_context(make(quiet=self._quiet, label=f"{self._name}: {label}"))
        return self._shown[label]


def main() -> None:
    """Run the command line."""
    run_app(make_app(Path(os.environ.get(OWN_RECIPES) or RECIPES)), "nadek-paper")
